"""What every model promises."""

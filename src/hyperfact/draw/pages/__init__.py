"""Every HTML page and report."""

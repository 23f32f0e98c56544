"""Time and memory, measured as ratios in one process; never collected by pytest."""

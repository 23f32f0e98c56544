"""`python -m hyperfact` is the command line."""

from hyperfact.cli import main

main()

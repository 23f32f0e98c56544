"""Hyper-relational knowledge graphs: read, audit, transform, train, ask."""

__version__ = "0.1.0"

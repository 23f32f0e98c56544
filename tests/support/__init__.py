"""Shared by the tests: hostile names, random graphs, paths to real benchmarks."""

from pathlib import Path

ROOT = Path(__file__).parents[2]  # of the repository

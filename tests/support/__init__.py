"""Shared by the tests: hostile names, random graphs, paths to real benchmarks."""

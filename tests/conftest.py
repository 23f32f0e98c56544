"""Options of the whole suite."""

import os

import pytest
from hypothesis import settings

settings.register_profile("any machine", deadline=None)  # how busy it is decides nothing
settings.load_profile("any machine")
if "PYTEST_XDIST_WORKER" in os.environ:  # workers share the cores; tests of threads set their own
    os.environ.setdefault("OMP_NUM_THREADS", "1")


def pytest_addoption(parser: pytest.Parser) -> None:
    text = "run all tests with torch.use_deterministic_algorithms(True)"
    parser.addoption("--deterministic", action="store_true", help=text)


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--deterministic"):
        import torch

        torch.use_deterministic_algorithms(True)

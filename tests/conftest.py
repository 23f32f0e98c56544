"""Options of the whole suite."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    text = "run all tests with torch.use_deterministic_algorithms(True)"
    parser.addoption("--deterministic", action="store_true", help=text)


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--deterministic"):
        import torch

        torch.use_deterministic_algorithms(True)

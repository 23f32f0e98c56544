"""The forecast of memory against what a run then takes, on five shapes."""

import json
import os
import subprocess
import sys

import pytest

from tests.support.shapes import SHAPES

pytestmark = pytest.mark.skipif(
    not hasattr(os, "fork"), reason="processes are not forked on this system"
)


@pytest.fixture(scope="module")
def found() -> dict[str, list[float]]:
    command = [sys.executable, "-m", "tests.support.shapes"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    result: dict[str, list[float]] = json.loads(done.stdout)
    return result


@pytest.mark.slow  # trains in processes of their own, and weighs them
@pytest.mark.parametrize("shape", SHAPES)
def test_the_forecast_of_memory_is_within_30_percent(
    shape: str, found: dict[str, list[float]]
) -> None:
    before, forecast, taken = found[shape]
    assert forecast == pytest.approx(taken, rel=0.3)
    assert forecast - before == pytest.approx(taken - before, rel=0.5)  # beside the process itself

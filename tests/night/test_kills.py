"""Hundreds of real kills, and ten fresh processes; minutes rather than seconds."""

import random
from pathlib import Path

import pytest

from tests.support.kills import dataset, equal, finish, kill_again_and_again, train

pytestmark = [pytest.mark.slow, pytest.mark.timeout(4800)]


@pytest.mark.parametrize(("runs", "kills"), [(3, 10), (30, 10)])
def test_kills_at_random_moments(runs: int, kills: int, tmp_path: Path) -> None:
    """30 and 300 kills, ten in a run; every run ends with the bits of an undisturbed one."""
    data, rng = dataset(tmp_path), random.Random(runs)
    finish(train(data, tmp_path / "whole"))
    done = 0
    for number in range(runs):
        path = tmp_path / f"run{number}"
        done += kill_again_and_again(data, path, kills, rng)
        assert equal(tmp_path / "whole", path), number
    assert done >= 0.7 * runs * kills  # a run that ends early is killed less often


def test_ten_fresh_processes_give_the_same_bits(tmp_path: Path) -> None:
    data = dataset(tmp_path)
    for number in range(10):
        finish(train(data, tmp_path / f"run{number}"))
    assert all(equal(tmp_path / "run0", tmp_path / f"run{number}") for number in range(1, 10))

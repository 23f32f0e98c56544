"""Hundreds of real kills, and ten fresh processes; minutes rather than seconds."""

import random
from pathlib import Path

import pytest

from tests.support.kills import dataset, equal, finish, fresh, kill_again_and_again, train

pytestmark = [pytest.mark.slow, pytest.mark.timeout(4800)]


@pytest.mark.parametrize("kills", [30, 300])
def test_kills_at_random_moments(kills: int, tmp_path: Path) -> None:
    """Up to ten in a run; every run ends with the bits of an undisturbed one."""
    data, rng = dataset(tmp_path), random.Random(kills)
    finish(train(data, tmp_path / "whole", by=fresh))
    done = runs = 0
    while done < kills:
        path = tmp_path / f"run{runs}"
        done += kill_again_and_again(data, path, 10, rng)
        assert equal(tmp_path / "whole", path), runs
        runs += 1
    print(f"{done} kills in {runs} runs, all with the same bits")


def test_ten_fresh_processes_give_the_same_bits(tmp_path: Path) -> None:
    data = dataset(tmp_path)
    for number in range(10):
        finish(train(data, tmp_path / f"run{number}", by=fresh))
    assert all(equal(tmp_path / "run0", tmp_path / f"run{number}") for number in range(1, 10))

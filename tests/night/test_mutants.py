"""Mutants: every small change of the source of ranking and objective must fail some test."""

import ast
import json
import os
import subprocess
import sys

import pytest

from tests.night.changes import EQUIVALENT, mutants
from tests.night.mutants import PACKAGE, ROOT, SOURCES

SHARE = 0.95  # of killed mutants
EVERY = os.environ.get("HYPERFACT_MUTANTS", "1")  # try every n-th mutant only


def test_mutants_differ_from_the_source() -> None:
    for name in SOURCES:
        source = ast.unparse(ast.parse((PACKAGE / name).read_text()))
        texts = [mutant.text for mutant in mutants(name, source)]
        assert texts, name
        assert source not in texts
        assert len(set(texts)) == len(texts)


def test_what_is_left_out_is_there() -> None:
    """An excuse for code that has gone would excuse something else one day."""
    found = {
        (name, mutant.change)
        for name in SOURCES
        for mutant in mutants(name, (PACKAGE / name).read_text(), excused=True)
    }
    assert set(EQUIVALENT) <= found


@pytest.mark.slow
@pytest.mark.timeout(6 * 3600)
def test_mutants_are_killed() -> None:
    """In a process of its own, which forks: nothing of ours may be imported there yet."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.night.mutants", "--every", EVERY],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    alive = [f"{v['file']}: {v['where']}" for v in found if v["killer"] is None]
    assert 1 - len(alive) / len(found) >= SHARE, "\n".join(alive)

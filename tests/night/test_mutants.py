"""Mutants: every small change of the source of ranking and objective must fail some test."""

import ast
import json
import os
import subprocess
import sys

import pytest

from tests.night.changes import EQUIVALENT, mutants
from tests.night.mutants import PACKAGE, SOURCES
from tests.support import ROOT

SHARE = 0.95  # of killed mutants
EVERY = os.environ.get("HYPERFACT_MUTANTS", "1")  # try every n-th mutant only


@pytest.mark.slow
def test_mutants_differ_from_the_source_and_excuses_are_for_some() -> None:
    """An excuse for code that has gone would excuse something else one day."""
    changes = set()
    for name in SOURCES:
        source = (PACKAGE / name).read_text()
        found = list(mutants(name, source, excused=True))
        texts = {mutant.text for mutant in found}
        assert len(texts) == len(found) > 0, name
        assert ast.unparse(ast.parse(source)) not in texts
        changes |= {(name, mutant.change) for mutant in found}
    assert set(EQUIVALENT) <= changes


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

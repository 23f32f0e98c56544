"""Queries with several blanks: against every choice, against a database, and by laws of logic."""

import random

import pytest

from hyperfact.graph.language.formula import Query
from hyperfact.predict.logic.database import FactDatabase
from hyperfact.predict.logic.effort import Effort
from hyperfact.predict.logic.program import compiled
from hyperfact.predict.logic.solving import Rows, Solver
from hyperfact.predict.logic.truths import FactTruths, Observed, Truths
from tests.support.logic import RandomTruths, oracle, random_query, small_graph


def solve(truths: Truths, query: Query, effort: Effort, splits: object) -> list[float]:
    graph = splits.all  # type: ignore[attr-defined]
    program = compiled(query, graph.entities, graph.relations, splits.labels)  # type: ignore[attr-defined]
    solver = Solver(truths, program.form, effort)
    found: list[float] = solver.solve(Rows.of([program]), 0).expand(1, truths.size)[0].tolist()
    return found


def check_against_everything(logic: str, graphs: int) -> None:
    rng = random.Random(logic)
    for _ in range(graphs):
        splits = small_graph(rng)
        truths = RandomTruths(splits, rng.randrange(1000))
        for _ in range(10):
            query = random_query(rng)
            wanted = oracle(query, truths.of, logic)
            for beam in (None, truths.size):
                found = solve(truths, query, Effort(beam, logic), splits)
                assert found == pytest.approx(wanted, abs=1e-5), (str(query), beam)


@pytest.mark.parametrize("logic", ["product", "godel"])
def test_exact_is_what_trying_everything_gives(logic: str) -> None:
    check_against_everything(logic, graphs=8)


@pytest.mark.slow
@pytest.mark.parametrize("logic", ["product", "godel"])
def test_exact_is_what_trying_everything_gives_a_thousand_times(logic: str) -> None:
    check_against_everything(logic, graphs=100)


def test_facts_alone_are_a_database() -> None:
    rng = random.Random(5)
    for _ in range(12):
        splits = small_graph(rng, 24)
        truths = FactTruths(Observed(splits))
        with FactDatabase.opened(splits) as db:
            for _ in range(20):
                query = random_query(rng)
                found = solve(truths, query, Effort(None), splits)
                assert [e for e, truth in enumerate(found) if truth > 0] == db.ids(query), str(
                    query
                )
                assert set(found) <= {0.0, 1.0}

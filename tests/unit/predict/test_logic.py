"""Queries with several blanks: against every choice, against a database, and by laws of logic."""

import random
from dataclasses import replace

import numpy as np
import pytest
import torch

from hyperfact.errors import UserError
from hyperfact.graph.hkg import Splits
from hyperfact.graph.language.formula import And, Formula, Not, Or, Query
from hyperfact.graph.language.query_text import read_query
from hyperfact.predict import Predictor
from hyperfact.predict.logic.asker import Asker
from hyperfact.predict.logic.database import FactDatabase, Limits, _refusal
from hyperfact.predict.logic.effort import Effort
from hyperfact.predict.logic.program import compiled
from hyperfact.predict.logic.query_ranks import rank_queries, report
from hyperfact.predict.logic.query_rows import Rows
from hyperfact.predict.logic.sampling import Sampler, Wanted
from hyperfact.predict.logic.solving import Solver
from hyperfact.predict.logic.truths import FactTruths, Observed, Truths
from hyperfact.predict.questions import QuestionIds
from tests.support.logic import RandomTruths, oracle, random_query, small_graph
from tests.support.runs import league, league_run


def solve(truths: Truths, query: Query, effort: Effort, splits: Splits) -> list[float]:
    graph = splits.all
    program = compiled(query, graph.entities, graph.relations, splits.labels)
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
    check_against_everything(logic, graphs=5)


@pytest.mark.slow
@pytest.mark.parametrize("logic", ["product", "godel"])
def test_exact_is_what_trying_everything_gives_a_thousand_times(logic: str) -> None:
    check_against_everything(logic, graphs=100)


def check_against_database(graphs: int) -> None:
    rng = random.Random(5)
    for _ in range(graphs):
        splits = small_graph(rng, 24)
        truths = FactTruths(Observed(splits))
        with FactDatabase.opened(splits, Limits(threads=1)) as db:
            for _ in range(12):
                query = random_query(rng)
                found = solve(truths, query, Effort(None), splits)
                assert set(found) <= {0.0, 1.0}
                true = [e for e, truth in enumerate(found) if truth > 0]
                assert true == db.ids(query), str(query)


def test_facts_alone_are_a_database() -> None:
    check_against_database(graphs=3)


@pytest.mark.slow
def test_facts_alone_are_a_database_a_thousand_times() -> None:
    check_against_database(graphs=84)


def shuffled(formula: Formula, rng: random.Random) -> Formula:
    """The same with its parts in another order, and with `not not` here and there."""
    if isinstance(formula, And | Or):
        parts = [shuffled(part, rng) for part in formula.parts]
        rng.shuffle(parts)
        return type(formula)(tuple(parts))
    if isinstance(formula, Not):
        return Not(shuffled(formula.part, rng))
    return Not(Not(formula)) if rng.random() < 0.3 else formula


@pytest.mark.parametrize("logic", ["product", "godel"])
def test_order_and_double_negation_change_nothing(logic: str) -> None:
    rng = random.Random(7)
    for _ in range(25):
        splits, query = small_graph(rng), random_query(rng)
        truths, other = RandomTruths(splits, 1), Query(query.asked, shuffled(query.where, rng))
        one, two = (solve(truths, q, Effort(None, logic), splits) for q in (query, other))
        assert one == pytest.approx(two, abs=1e-5), str(query)


def test_more_facts_make_nothing_less_true() -> None:
    rng, checked = random.Random(8), 0
    while checked < 20:
        query, splits = random_query(rng), small_graph(rng)
        if "not" in str(query):
            continue
        fewer = replace(splits, parts={"train": splits["train"]})
        less, more = RandomTruths(fewer, 2), RandomTruths(splits, 2)
        one, two = (solve(truths, query, Effort(None), splits) for truths in (less, more))
        assert all(a <= b + 1e-6 for a, b in zip(one, two, strict=True)), str(query)
        checked += 1


def test_the_search_ends_early_with_the_same_best_answers() -> None:
    rng = random.Random(9)
    for _ in range(40):
        splits, query = small_graph(rng), random_query(rng)
        truths = RandomTruths(splits, 3)
        every = solve(truths, query, Effort(None), splits)
        best = solve(truths, query, Effort(None, k=2), splits)
        assert sorted(best)[-2:] == pytest.approx(sorted(every)[-2:], abs=1e-6), str(query)


@pytest.mark.parametrize("text", ["?x : a | r | ?y and ?y | s | ?x", "?x : not a | r | ?x"])
def test_when_time_is_over_nothing_is_true_that_was_not_looked_at(text: str) -> None:
    splits = small_graph(random.Random(1))
    graph, query = splits.all, read_query(text)
    program = compiled(query, graph.entities, graph.relations, splits.labels)
    solver = Solver(RandomTruths(splits, 1), program.form, Effort(None, seconds=-1.0))
    assert solver.solve(Rows.of([program]), 0).max() == 0
    assert solver.cuts.late


# -- a run ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def predictor() -> Predictor:
    return Predictor.load(league_run(), splits=league())


def test_a_question_with_one_blank_is_a_query(predictor: Predictor) -> None:
    """Probabilities are those of `predict`, shared by as many answers as are known."""
    text = "player 1 | lives in | ?"
    asked = predictor.ask(text, 100)
    known = max(1, sum(answer.known for answer in asked))
    wanted = {a.name: 1.0 if a.known else min(0.999, known * a.probability) for a in asked}
    found = {a.name: a.truth for a in Asker(predictor).ask(text, 100)}
    assert found == pytest.approx(wanted, abs=1e-5)


def test_a_run_answers_as_trying_everything_does(predictor: Predictor) -> None:
    """Two facts in a row, by the questions that `predict` answers."""
    asker, names = Asker(predictor, splits=["train"]), predictor.entities
    first = asker.truths.rows([_ids(predictor, "player 3 | plays for | ?")], denied=False)[0]
    best: dict[str, float] = {}
    for club in range(len(names)):
        if not first[club]:
            continue
        question = _ids(predictor, f"{names[club]} | in | ?")
        for city, truth in enumerate(first[club] * asker.truths.rows([question], denied=False)[0]):
            best[names[city]] = max(best.get(names[city], 0.0), float(truth))
    found = asker.ask("?x : player 3 | plays for | ?y and ?y | in | ?x", 50, Effort(None))
    assert {a.name: a.truth for a in found} == pytest.approx(
        {name: truth for name, truth in best.items() if truth > 0}, abs=1e-5
    )


def _ids(predictor: Predictor, text: str) -> QuestionIds:
    return predictor.resolve(text).ids


def test_bindings_prove_the_truth_of_an_answer(predictor: Predictor) -> None:
    text = "?p : ?p | plays for | ?c and ?c | in | city 1 and not ?p | lives in | city 1"
    for beam in (None, 4):
        for answer in Asker(predictor).ask(text, 20, Effort(beam)):
            parts = [abs(e.denied - float(e.truth or 0)) for e in answer.evidence]
            assert answer.truth == pytest.approx(np.prod(parts), abs=1e-5)
            assert all((e.truth == 1.0) == e.known for e in answer.evidence)
            assert [name for name, _ in answer.bindings] == ["c"]


def test_many_queries_are_answered_as_each_alone(predictor: Predictor) -> None:
    asker = Asker(predictor)
    texts = [f"?x : player {i} | plays for | ?y and ?y | in | ?x" for i in range(5)]
    texts += ["?x : ?x | in | city 1 or ?x | in | city 2", "?x : ?x | plays for | ?"]
    programs = [asker.compiled(text) for text in texts]
    together = {
        p: row
        for places, rows in asker.truth_rows(programs)
        for p, row in zip(places, rows, strict=True)
    }
    for place, program in enumerate(programs):
        ((_, alone),) = asker.truth_rows([program])
        torch.testing.assert_close(together[place], alone[0])


# -- sampled queries ------------------------------------------------------------------------------


def test_sampled_answers_are_those_of_the_database() -> None:
    splits = league()
    known = replace(splits, parts={n: splits[n] for n in ("train", "valid")})
    wanted = Wanted(count=2, most=60)
    drawn = list(Sampler(splits, wanted).draw())
    assert {one.shape for one in drawn} >= {"1p", "2p", "2i", "2u", "2in", "pni"}
    limits = Limits(threads=1)
    with FactDatabase.opened(splits, limits) as full, FactDatabase.opened(known, limits) as less:
        for one in drawn:
            names = splits.entities
            easy = {names[e] for e in less.ids(one.query)}
            hard = {names[e] for e in full.ids(one.query)} - easy
            assert (set(one.easy), {name for name, _ in one.hard}) == (easy, hard)
            facts = sum(1 for _ in one.query.where.atoms)
            assert all(1 <= missing <= facts for _, missing in one.hard)
    assert [one.as_dict() for one in Sampler(splits, wanted).draw()] == [
        one.as_dict() for one in drawn
    ]


def test_a_perfect_run_ranks_every_hard_answer_first() -> None:
    """Where test facts are known to the run nothing is left to predict but easy answers."""
    predictor = Predictor.load(league_run(), splits=league())
    drawn = list(Sampler(league(), Wanted.named("1p,2p,2i,2u", count=4)).draw())
    ranks = rank_queries(Asker(predictor), drawn)
    assert {one.rank for one in ranks} == {1.0}
    found = report(ranks)
    assert all(score.mrr == 1.0 and score.hits == (1.0, 1.0, 1.0) for score in found.shapes)
    blind = report(rank_queries(Asker(predictor, splits=["train", "valid"]), drawn))
    assert all(0 < score.mrr < 1 for score in blind.shapes)


def test_runaway_queries_are_refused() -> None:
    splits = league()
    text = "?x : ?x | plays for | ?c and ?y | plays for | ?c and ?y | lives in | ?v"
    with (
        FactDatabase.opened(splits, Limits(ways=10, threads=1)) as db,
        pytest.raises(UserError, match="more than 10 combinations"),
    ):
        db.ask(text)
    assert "seconds" in str(_refusal("INTERRUPT Error: Interrupted!", Limits()))
    assert "memory" in str(_refusal("Out of Memory Error", Limits()))

"""Explanations against what they claim: leave-one-out, nearness, paths, hidden facts, moves."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from hyperfact.errors import FactSyntaxError, UnknownNameError, UserError
from hyperfact.graph.facts import Fact, Literal
from hyperfact.predict import Answer, Predictor, read_any, write_any
from hyperfact.predict.answers import Request
from hyperfact.predict.explain import Change, apply_changes, explain, faithfulness, read_change
from hyperfact.predict.explain.support import score_without, support_of, touching
from hyperfact.predict.fitting import entity_questions
from hyperfact.predict.questions import AnyQuestion, ResolvedQuestion
from hyperfact.predict.whatif import whatif
from hyperfact.runs.experiment import run
from tests.support.benchmarks import data_folder
from tests.support.models import config_of
from tests.support.runs import league, league_run, untrained

QUESTION = "player 1 | plays for | ? | position = wing | since = 2001"


@pytest.fixture(scope="module")
def predictor() -> Predictor:
    return Predictor.load(league_run(), splits=league())


def asked_in(predictor: Predictor, split: str, *, every: int = 1) -> list[tuple[AnyQuestion, str]]:
    """Questions with their true answers."""
    questions, answers = entity_questions(predictor.splits[split])
    names = predictor.entities, predictor.relations
    return [
        (ResolvedQuestion.by_ids(q, *names).question, predictor.entities[a])
        for q, a in zip(questions, answers, strict=True)
    ][::every]


# -- parts ----------------------------------------------------------------------------------------


def test_a_qualifier_is_left_out_by_asking_without_it(predictor: Predictor) -> None:
    found = explain(predictor, QUESTION, "club 1")
    parts = {part.text: part for part in found.parts}
    assert set(parts) == {"player 1", "plays for", "position = wing", "since = 2001"}
    without = listed(predictor, "player 1 | plays for | ? | since = 2001", "club 1", Request())
    part = parts["position = wing"]
    assert part.rank == without.rank
    assert part.score == pytest.approx(without.score, rel=1e-4)
    assert part.score_change == pytest.approx(without.score - found.place.score, rel=1e-3)
    assert part.how == "dropped"


def listed(predictor: Predictor, question: str, name: str, request: Request) -> Answer:
    """The row of a name in the list of all answers."""
    answers = predictor.answer([question], replace(request, k=10**6))[0]
    return next(answer for answer in answers if answer.name == name)


@pytest.mark.parametrize("request_", [Request(), Request(restrict_range=False)])
def test_an_explanation_has_the_rank_and_probability_of_the_list(
    predictor: Predictor, request_: Request
) -> None:
    bare = ("player 1 | plays for | ?", "player 1 | lives in | ?", "player 1 | ? | club 1")
    for question in (QUESTION, *bare, "player 1 | plays for | club 1 | position = ?"):
        for answer in predictor.answer([question], request_)[0]:
            place = explain(predictor, question, answer.name, count=1, request=request_).place
            assert (place.rank, place.probability) == (answer.rank, answer.probability)


def test_an_answer_out_of_range_is_explained_as_if_it_were_in_range(predictor: Predictor) -> None:
    inside = explain(predictor, QUESTION, "club 1").place
    outside = explain(predictor, QUESTION, "city 1").place
    assert outside.candidates == inside.candidates + 1 == 9
    assert 0.0 < outside.probability < 1.0


def test_an_entity_is_left_out_by_the_mean_vector(predictor: Predictor) -> None:
    found = explain(predictor, "player 1 | lives in | ?", "city 1")
    (subject,) = [part for part in found.parts if part.part == "subject"]
    z, decoder = predictor.scorer.z, predictor.scorer.decoder
    _, constant = 1.0, decoder.scale**2 * decoder.dim**0.5
    relation = z.relations[predictor.relations.id("lives in")]
    mean, answer = z.entities.mean(0), z.entities[predictor.entities.id("city 1")]
    expected = (relation * mean / decoder.scale * answer).sum() / constant
    assert subject.how == "replaced by the mean"
    assert subject.score == pytest.approx(float(expected), rel=1e-3)


def test_a_part_that_matters_less_stands_later(predictor: Predictor) -> None:
    for question, answer in asked_in(predictor, "test", every=5):
        changes = [p.log_probability_change for p in explain(predictor, question, answer).parts]
        assert changes == sorted(changes)


def test_the_asked_qualifier_is_no_part(predictor: Predictor) -> None:
    found = explain(predictor, "player 1 | plays for | club 1 | position = ?", "wing")
    assert {part.part for part in found.parts} == {"subject", "relation", "object"}


def test_relations_are_explained_too(predictor: Predictor) -> None:
    found = explain(predictor, "player 1 | plays for | club 1 | ? = wing", "position")
    assert {part.part for part in found.parts} == {"subject", "relation", "object"}
    assert found.paths == ()
    assert found.support
    found = explain(predictor, "player 1 | ? | club 1 | position = wing", "plays for")
    assert {part.part for part in found.parts} == {"subject", "object", "qualifier"}


# -- support and paths ----------------------------------------------------------------------------


def test_supporting_facts_share_an_entity_and_come_nearest_first(predictor: Predictor) -> None:
    train = set(predictor.splits.train)
    for split in ("train", "test"):
        for question, answer in asked_in(predictor, split, every=9):
            whole = question.answered(answer)
            found = explain(predictor, question, answer, count=4)
            near = [support.nearness for support in found.support]
            assert near == sorted(near, reverse=True)
            for support in found.support:
                assert support.fact in train
                assert support.fact != whole
                assert support.shared
                assert set(support.shared) <= _names(support.fact) & _names(whole)


def _names(fact: Fact) -> set[str]:
    return {fact.subject, fact.object, *(v for _, v in fact.qualifiers)}


def test_the_same_fact_with_one_other_entity_is_near(predictor: Predictor) -> None:
    asked = predictor.resolve("player 63 | lives in | ? | since = 2001").ids
    whole = asked.filled(predictor.entities.id("city 3"))
    best = support_of(predictor, whole, 1)[0]
    assert best.fact.relation == "lives in"


def test_touching_is_a_scan(predictor: Predictor) -> None:
    asked = predictor.resolve(QUESTION).ids
    whole = asked.filled(predictor.entities.id("club 1"))
    names = {"player 1", "club 1", "wing", "2001"}
    expected = [bool(_names(fact) & names) for fact in predictor.splits.train]
    assert touching(predictor, whole).tolist() == expected
    row = next(i for i, f in enumerate(predictor.splits.train) if f.relation == "in")
    fact = predictor.splits.train[row]
    asked = predictor.resolve(f"{fact.subject} | in | ?").ids
    assert not touching(predictor, asked.filled(predictor.entities.id(fact.object)))[row]


def test_paths_link_known_entities_with_the_answer(predictor: Predictor) -> None:
    train = set(predictor.splits.train)
    found_long = False
    for question, answer in asked_in(predictor, "test"):
        whole = question.answered(answer)
        for path in explain(predictor, question, answer, count=6).paths:
            assert path.steps[0].start in _names(whole) - {answer}
            assert path.steps[-1].end == answer
            assert len(path.steps) <= 2
            found_long |= len(path.steps) == 2
            for step in path.steps:
                assert step.fact in train
                assert step.fact != whole
                assert {step.start, step.end} <= _names(step.fact)
            for one, two in zip(path.steps, path.steps[1:], strict=False):
                assert one.end == two.start
                assert one.fact != two.fact
    assert found_long


# -- faithfulness ---------------------------------------------------------------------------------


def test_hiding_nothing_changes_nothing(predictor: Predictor) -> None:
    asked = predictor.resolve(QUESTION).ids
    answer = predictor.entities.id("club 1")
    none = np.zeros(0, dtype=np.int64)
    plain = predictor.place(QUESTION, "club 1").score
    assert score_without(predictor, asked, answer, none) == pytest.approx(plain, rel=1e-5)
    far = np.flatnonzero(~touching(predictor, asked.filled(answer)))[:1]
    near = np.flatnonzero(touching(predictor, asked.filled(answer)))
    assert abs(score_without(predictor, asked, answer, near) - plain) > abs(
        score_without(predictor, asked, answer, far) - plain
    )


def test_supporting_facts_carry_the_answer_more_than_random_ones(predictor: Predictor) -> None:
    found = faithfulness(predictor, asked_in(predictor, "test"), facts=5)
    assert found.support > 2 * found.random
    assert found.better_than_random > 0.75
    assert found.questions == len(asked_in(predictor, "test"))


def test_measured_effects_are_those_of_hiding(predictor: Predictor) -> None:
    found = explain(predictor, QUESTION, "club 1", count=3, measure=True)
    asked = predictor.resolve(QUESTION).ids
    answer = predictor.entities.id("club 1")
    plain = predictor.place(QUESTION, "club 1").score
    for support in found.support:
        without = score_without(predictor, asked, answer, np.array([support.row]))
        assert support.effect == pytest.approx(without - plain, abs=1e-4)
    effects = [support.effect or 0.0 for support in found.support]
    assert effects == sorted(effects)


@pytest.mark.parametrize("name", ["stare", "gmpnn"])
def test_effects_are_measured_where_facts_are_read_too(name: str) -> None:
    reader = Predictor.of(untrained(league(), encoder={"name": name}))
    found = explain(reader, "player 1 | lives in | ?", "city 1", measure=True)
    effects = [s.effect for s in found.support]
    assert effects
    assert all(effects)


def test_an_encoder_that_sees_no_graph_has_nothing_to_hide() -> None:
    blind = Predictor.of(untrained(league(), encoder={"name": "lookup"}))
    with pytest.raises(UserError, match="does not look at the graph"):
        faithfulness(blind, [("player 1 | lives in | ?", "city 1")])
    found = explain(blind, "player 1 | lives in | ?", "city 1", measure=True)
    assert all(support.effect is None for support in found.support)


@pytest.mark.slow
@pytest.mark.bench_data
def test_explanations_are_faithful_on_fb_auto() -> None:
    from hyperfact.data import load

    torch.set_num_threads(1)
    training = {"dim": 64, "epochs": 8, "validate_every": 0}
    model = Predictor.of(
        run(config_of(training=training), splits=load("FB-AUTO", data_dir=data_folder()))
    )
    found = faithfulness(model, asked_in(model, "test", every=100), facts=5)
    assert found.support > 5 * found.touching > 0
    assert found.better_than_random > 0.75
    assert found.better_than_touching > 0.75


def test_an_explanation_says_that_it_is_approximate(predictor: Predictor) -> None:
    found = explain(predictor, QUESTION, "club 1")
    assert found.approximate
    assert "approximate" in found.note
    assert found.as_dict()["approximate"] is True
    with pytest.raises(UnknownNameError, match="did you mean 'club 1'"):
        explain(predictor, QUESTION, "Club 1")


# -- what if --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("+ a = v", Change("add", "a", "v")),
        ("-a=v", Change("remove", "a", "v")),
        ("  a b = v w ", Change("set", "a b", "v w")),
        ('"+ a" = "x | y"', Change("set", "+ a", "x | y")),
        ("+ a = '5'", Change("add", "a", Literal("5"))),
    ],
)
def test_changes_are_read_and_written(text: str, change: Change) -> None:
    assert read_change(text) == change
    assert read_change(str(change)) == change


@pytest.mark.parametrize("text", ["", "+", "a", "+ a", "a = ?", "a = b | c = d", "+ a = b = c"])
def test_what_is_no_change_is_refused(text: str) -> None:
    with pytest.raises(FactSyntaxError, match="a change is"):
        read_change(text)


def test_changes_apply_one_after_the_other() -> None:
    question = read_any("s | r | ? | a = v | b = w")
    changes = [read_change(text) for text in ("- a = v", "b = x", "+ c = y")]
    assert write_any(apply_changes(question, changes)) == "s | r | ? | b = x | c = y"
    for text, reason in (
        ("- a = x", "no such qualifier"),
        ("c = x", "no such qualifier"),
        ("+ a = v", "already"),
    ):
        with pytest.raises(UserError, match=reason):
            apply_changes(question, [read_change(text)])
    twice = read_any("s | r | ? | a = v | a = w")
    with pytest.raises(UserError, match="2 such qualifiers"):
        apply_changes(twice, [read_change("a = x")])


def test_the_blank_cannot_be_changed_away() -> None:
    for text in ("- a = v", "a = v"):
        with pytest.raises(UserError, match="no such qualifier"):
            apply_changes(read_any("s | r | o | a = ?"), [read_change(text)])


def test_moves_are_the_ranks_of_both_rankings(predictor: Predictor) -> None:
    found = whatif(predictor, QUESTION, ["- since = 2001", "position = goal"], k=3)
    after = "player 1 | plays for | ? | position = goal"
    assert write_any(found.after.question) == after
    ranks = [{a.name: a for a in predictor.ask(text, 10**6)} for text in (QUESTION, after)]
    best = {a.name for text in (QUESTION, after) for a in predictor.ask(text, 3)}
    assert {move.name for move in found.moves} == best
    for move in found.moves:
        one, two = (rank[move.name] for rank in ranks)
        assert (move.before, move.after) == (one.rank, two.rank)
        assert move.rise == one.rank - two.rank
        assert move.probability_after == pytest.approx(two.probability, rel=1e-4)
    assert [len(found.before), len(found.after)] == [3, 3]
    with pytest.raises(UserError, match="at least one change"):
        whatif(predictor, QUESTION, [])


def test_who_is_no_candidate_stands_behind_all(predictor: Predictor) -> None:
    fact = next(f for f in predictor.splits.train if len(f.qualifiers) == 2)
    (a, v), (b, w) = fact.qualifiers
    question = f"{fact.subject} | plays for | ? | {a} = {v} | {b} = {w}"
    found = whatif(predictor, question, [f"- {b} = {w}"], k=100)
    assert {move.name for move in found.moves} == {f"club {i}" for i in range(8)}  # in range
    other = next(year for year in ("2000", "2001") if year != w)
    found = whatif(predictor, question, [f"{b} = {other}"], k=100, known="remove")
    (move,) = [move for move in found.moves if move.name == fact.object]
    assert (move.before, move.probability_before) == (8, 0.0)  # behind the other seven clubs
    assert move.probability_after > 0.0

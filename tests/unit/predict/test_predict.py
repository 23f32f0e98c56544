"""Questions, answers, probabilities and completions, against plain scans and `evaluate`."""

import itertools
import json
import math
import shutil
from collections import Counter
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import torch

from hyperfact.errors import DataError, FactSyntaxError, NumericalError, UnknownNameError, UserError
from hyperfact.evaluation import evaluate
from hyperfact.graph.facts import Fact, Literal
from hyperfact.graph.hkg import HKG, Splits
from hyperfact.graph.queries import KnownAnswers, Question
from hyperfact.models.representations import Representations
from hyperfact.predict import Predictor, RelationQuestion, complete, read_any, write_any
from hyperfact.predict.answers import Known, Request
from hyperfact.predict.cache import RunCache
from hyperfact.predict.calibration import Calibration, expected_calibration_error, fit
from hyperfact.predict.candidates import log_partition, scores_of
from hyperfact.predict.fitting import (
    METHOD,
    Kind,
    entity_questions,
    kind_of,
    partial_questions,
    relation_questions,
)
from hyperfact.predict.questions import AnyQuestion, ResolvedQuestion, batch_of
from hyperfact.predict.scoring import Scorer, top
from hyperfact.runs.artifacts import read_manifest
from tests.support.models import ENCODER_FORMS
from tests.support.names import HOSTILE, LITERALS
from tests.support.runs import league, league_run, stored, untrained

DECODERS = ("hype", "mdistmult", "mtransh", "transformer")


@pytest.fixture(scope="module")
def predictor() -> Predictor:
    return Predictor.load(league_run(), splits=league())


def texts(predictor: Predictor, split: str) -> list[tuple[str, str]]:
    """Every question of a split, and the name that was there."""
    found = []
    for questions, names in (
        (entity_questions(predictor.splits[split]), predictor.entities),
        (relation_questions(predictor.splits[split]), predictor.relations),
    ):
        for asked, answer in zip(*questions, strict=True):
            whole = ResolvedQuestion.by_ids(asked, predictor.entities, predictor.relations)
            found.append((write_any(whole.question), names[answer]))
    return found


# -- reading --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("? | r | o", Question),
        ("s | r | ? | a = v", Question),
        ("s | r | o | a = ? | b = w", Question),
        ("s | ? | o | a = v", RelationQuestion),
        ("s | r | o | ? = v", RelationQuestion),
    ],
)
def test_the_blank_may_stand_anywhere(text: str, kind: type) -> None:
    question = read_any(text)
    assert isinstance(question, kind)
    assert write_any(question) == text
    assert read_any(write_any(question)) == question


@pytest.mark.parametrize(
    "text", ["s | r | o", "? | r | ?", "? | ? | o", "s | r | o | ? = ?", "s | r", "s | r | o | ?"]
)
def test_a_question_has_one_blank(text: str, predictor: Predictor) -> None:
    with pytest.raises(FactSyntaxError):
        predictor.ask(text)


def test_a_question_object_has_one_blank(predictor: Predictor) -> None:
    with pytest.raises(FactSyntaxError, match="one blank, this has 2"):
        predictor.ask(Question(None, "lives in", None))
    with pytest.raises(FactSyntaxError, match="one blank, this has 0"):
        predictor.ask(RelationQuestion("city 0", "in", "city 1"))


def test_unknown_names_say_the_nearest(predictor: Predictor) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'player 1'"):
        predictor.ask("Player 1 | lives in | ?")
    with pytest.raises(UnknownNameError, match=r"unknown relation 'livs in'.*'lives in'"):
        predictor.ask("player 1 | livs in | ?")
    with pytest.raises(UnknownNameError, match="'remove'"):
        predictor.ask("player 1 | lives in | ?", known="removed")  # type: ignore[arg-type]
    with pytest.raises(UserError, match="at least 1"):
        predictor.ask("player 1 | lives in | ?", 0)


def test_hostile_names_are_asked_for_and_answered() -> None:
    names = [*HOSTILE, *LITERALS]
    facts = [
        Fact(str(a), "r | 'x' = ?", b, (("?", c),))
        for a, b, c in itertools.islice(zip(names, names[1:], names[2:], strict=False), 60)
    ]
    train = HKG.from_facts(facts, entities=dict.fromkeys([*map(str, names), *names]))
    splits = Splits({"train": train}, "hostile")
    path = stored(untrained(splits))
    Predictor.load(path, splits=splits)
    asked = Predictor.load(path)
    for fact in train[0:20]:
        question = Question(fact.subject, fact.relation, None, fact.qualifiers)
        answers = asked.ask(write_any(question), known="only")
        assert fact.object in [answer.name for answer in answers]
        assert any(type(answer.name) is type(fact.object) for answer in answers)
        assert write_any(answers.question) == write_any(question)


def test_a_bare_text_finds_the_literal_where_no_entity_has_it() -> None:
    facts = [Fact("a", "r", Literal("5")), Fact("b", "r", "a")]
    asked = Predictor.of(untrained(Splits({"train": HKG.from_facts(facts)}, "x")))
    (answer,) = asked.ask("? | r | 5", known="only")
    assert answer.name == "a"


# -- ranking --------------------------------------------------------------------------------------


def test_places_are_the_ranks_of_evaluate(predictor: Predictor) -> None:
    known = KnownAnswers.build(*predictor.splits.values())
    found = evaluate(predictor.model, predictor.splits.test, known)
    asked, answers = entity_questions(predictor.splits.test)
    names = predictor.entities, predictor.relations
    places = [
        predictor.place(ResolvedQuestion.by_ids(q, *names), predictor.entities[a])
        for q, a in zip(asked, answers, strict=True)
    ]
    np.testing.assert_array_equal([place.rank for place in places], found.ranks.by("realistic"))


@pytest.mark.parametrize("restrict_range", [True, False])
@pytest.mark.parametrize("known", get_args(Known))
def test_a_list_and_the_place_of_one_answer_have_the_same_numbers(
    predictor: Predictor, known: Known, restrict_range: bool
) -> None:
    request = Request(10**6, known, restrict_range)
    for text, _ in texts(predictor, "test")[::5]:
        ids = predictor.resolve(text).ids
        scores = scores_of(predictor.scorer, predictor.knowledge, [ids])[0]
        answers = predictor.answer([text], request)[0]
        for answer in answers:
            number = predictor.answer_id(ids, answer.name)
            place = predictor.list_ranking(ids, number, request).place(scores)
            found = (place.rank, place.candidates, place.score, place.probability)
            assert found == (answer.rank, answers.candidates, answer.score, answer.probability)


@pytest.mark.parametrize("encoder", ["lookup", "compgcn-sub", "rgcn"])
@pytest.mark.parametrize("decoder", DECODERS)
def test_scores_are_those_of_the_model(encoder: str, decoder: str) -> None:
    result = untrained(league(), encoder=ENCODER_FORMS[encoder], decoder={"name": decoder})
    loaded = Predictor.load(stored(result), splits=result.splits)
    test = result.splits.test
    asked, _ = entity_questions(test)
    with torch.no_grad():
        result.model.eval()
        z = result.model.encode()
        for row in range(0, len(asked), 5):
            facts, slots = batch_of([asked[row]])
            expected = result.model.score_slot(facts, slots, z)
            torch.testing.assert_close(loaded.scorer.entities([asked[row]]), expected)
    assert type(loaded.model.decoder) is type(result.model.decoder)


def test_answers_are_sorted_and_their_probabilities_sum_to_one(predictor: Predictor) -> None:
    ways: tuple[Known, ...] = ("mark", "remove")
    for known in ways:
        answers = predictor.ask("player 1 | lives in | ?", 10**6, known=known)
        assert [a.rank for a in answers] == list(range(1, len(answers) + 1))
        scores = [a.score for a in answers]
        assert scores == sorted(scores, reverse=True)
        assert math.isclose(sum(a.probability for a in answers), 1.0, abs_tol=1e-5)
        assert answers.candidates == len(answers)
    answers = predictor.ask("player 1 | ? | city 1", 100, restrict_range=False)
    assert len(answers) == len(predictor.relations)
    assert math.isclose(sum(a.probability for a in answers), 1.0, abs_tol=1e-5)


def agrees(question: AnyQuestion, name: str, fact: Fact) -> bool:
    """Whether a fact says at least what the question says with this name in its blank."""
    whole = question.answered(name)
    pairs, said = Counter(fact.qualifiers), Counter(whole.qualifiers)
    return fact.primary == whole.primary and said <= pairs and len(whole.qualifiers) == said.total()


def test_every_known_answer_is_marked_by_split(predictor: Predictor) -> None:
    parts = {name: list(part) for name, part in predictor.splits.items()}
    bare = ["player 1 | plays for | ?", "? | lives in | city 1", "player 1 | ? | club 1"]
    asked = [text for split in ("train", "test") for text, _ in texts(predictor, split)[::7]]
    for text in [*asked, *bare, "player 4 | plays for | club 4 | since = ?"]:
        answers = predictor.ask(text, 10**6, restrict_range=False)
        for answer in answers:
            expected = tuple(
                name
                for name, facts in parts.items()
                if any(agrees(answers.question, answer.name, fact) for fact in facts)
            )
            assert answer.where == expected, (text, answer)
            assert answer.known == bool(expected)


def test_the_answers_of_a_question_that_leaves_qualifiers_out_are_known(
    predictor: Predictor,
) -> None:
    for split, part in predictor.splits.items():
        for fact in part:
            question = f"{fact.subject} | {fact.relation} | ?"
            known = predictor.ask(question, known="only", restrict_range=False)
            assert split in next(a.where for a in known if a.name == fact.object)


def test_the_true_answer_is_known_and_may_be_removed_or_hidden(predictor: Predictor) -> None:
    for text, name in texts(predictor, "test"):
        marked, only, removed, hidden = (
            list(predictor.ask(text, 10**6, known=way, restrict_range=False))
            for way in ("mark", "only", "remove", "hide")
        )
        by_name = {a.name: a for a in marked}
        assert "test" in by_name[name].where
        assert only == [a for a in marked if a.known]
        assert {a.name for a in removed} == {a.name for a in marked if not a.known}
        assert [a.name for a in hidden] == [a.name for a in removed]
        for answer in hidden:
            assert answer.probability == pytest.approx(by_name[answer.name].probability, rel=1e-4)


def test_what_training_knows_and_a_list_leaves_out_is_told(predictor: Predictor) -> None:
    for fact in predictor.splits.train:
        question = f"? | {fact.relation} | {fact.object}"
        everybody = list(predictor.ask(question, 10**6))
        for k in (1, 3):
            listed = predictor.ask(question, k)
            below = [a for a in everybody[k:] if "train" in a.where]
            assert list(listed.told) == below[:4], question
            assert listed.told == predictor.ask(question, 10**6).head(k).told
            assert [a["name"] for a in listed.as_dict()["also_known"]] == [
                a.name for a in below[:3]
            ]
            assert all(a.name in listed.also for a in below[:3])
            assert ("…" in listed.also) == (len(below) > 3)
        assert predictor.ask(question, 1, known="hide").told == ()


def test_the_range_holds_what_training_shows(predictor: Predictor) -> None:
    train = predictor.splits.train
    found = {a.name for a in predictor.ask("player 1 | lives in | ?", 999)}
    assert found == {f.object for f in train if f.relation == "lives in"}
    text = "player 1 | plays for | club 1 | position = ?"
    found = {a.name for a in predictor.ask(text, 999)}
    assert found == {v for f in train for a, v in f.qualifiers if a == "position"}
    text = "player 1 | plays for | club 1 | ? = wing"
    found = {a.name for a in predictor.ask(text, 999)}
    assert found == {a for f in train if f.relation == "plays for" for a, _ in f.qualifiers}
    found = {a.name for a in predictor.ask("player 1 | ? | club 1", 999)}
    assert found == {f.relation for f in train}
    everybody = predictor.ask("player 1 | lives in | ?", 999, restrict_range=False)
    assert len(everybody) == len(predictor.entities)


def test_where_training_shows_nobody_everybody_is_a_candidate(predictor: Predictor) -> None:
    answers = predictor.ask("player 1 | since | ?")
    assert answers.candidates == len(predictor.entities)
    assert not answers.seen_role
    assert "everybody is a candidate" in repr(answers)
    assert predictor.ask("player 1 | lives in | ?").seen_role


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("player 1 | plays for | ? | position = goal", True),
        ("player 1 | plays for | ? | position = goal | since = 2001", True),
        ("player 1 | plays for | club 1 | position = ?", True),
        ("player 1 | lives in | city 1 | ? = 2001", True),
        ("player 1 | ? | city 1 | since = 2001", True),
        ("player 1 | lives in | ? | position = wing", False),
        ("player 1 | since | ?", False),
        ("player 1 | in | city 1 | ? = 2001", False),
        ("player 1 | lives in | city 1 | since = 2001 | ? = wing", False),
        ("player 1 | ? | city 1 | in = city 1", False),
        ("player 1 | plays for | ? | since = 2001 | since = 2002", False),
    ],
)
def test_a_shape_that_training_never_saw_is_said(
    predictor: Predictor, text: str, seen: bool
) -> None:
    answers = predictor.ask(text, 1)
    assert answers.seen_shape is answers.as_dict()["seen_shape"] is seen
    assert any("this is a guess" in note for note in answers.notes) is not seen


def test_questions_that_leave_qualifiers_out_are_new_unless_they_were_trained() -> None:
    bare, whole = "player 1 | plays for | ?", "player 1 | plays for | ? | position = goal"
    for share in (0.0, 0.5):
        asking = Predictor.of(untrained(league(), objective={"partial": share}))
        assert asking.ask(whole).seen_shape
        answers = asking.ask(bare)
        assert answers.seen_shape is answers.as_dict()["seen_shape"] is (share > 0)
        assert any("train with objective.partial" in line for line in answers.notes) == (not share)


def test_a_calibration_that_was_fitted_otherwise_is_fitted_again(tmp_path: Path) -> None:
    path = tmp_path / "run"
    shutil.copytree(league_run(), path)

    def calibration() -> Calibration | None:
        return Predictor.load(path, splits=league()).calibration()

    fitted = calibration()
    assert fitted is not None
    assert calibration() == fitted
    cache = RunCache(path, read_manifest(path))
    wrong = {"entity": {**fitted.as_dict(), "temperature": 99.0}}
    cache.keep_calibration(METHOD, wrong)
    assert calibration() != fitted  # as kept
    cache.keep_calibration("1", wrong)
    assert calibration() == fitted
    cache._write("calibration.json", json.dumps(wrong).encode())  # as it was written before
    assert calibration() == fitted


def test_several_qualifiers_in_any_order_are_one_question(predictor: Predictor) -> None:
    one = predictor.ask("player 1 | plays for | ? | position = goal | since = 2001")
    two = predictor.ask("player 1 | plays for | ? | since = 2001 | position = goal | since = 2001")
    assert list(one) == list(two)


def test_equal_scores_keep_the_order_of_ids() -> None:
    scores = torch.tensor([[1.0, 2.0, 2.0, 2.0, 0.0], [5.0, 4.0, 3.0, 2.0, 1.0]])
    columns, values = top(scores, 2)
    assert columns.tolist() == [[1, 2], [0, 1]]
    assert values.tolist() == [[2.0, 2.0], [5.0, 4.0]]
    assert top(scores, 9)[0].tolist() == [[1, 2, 3, 0, 4], [0, 1, 2, 3, 4]]


def test_the_log_partition_is_a_logsumexp() -> None:
    scores = torch.randn(21, 13, generator=torch.Generator().manual_seed(0)) * 50
    scores[2, 3], scores[4] = float("-inf"), float("-inf")
    for beta in (0.3, 1.0, 4.0):
        torch.testing.assert_close(log_partition(scores, beta), (scores * beta).logsumexp(dim=1))


def test_a_score_that_is_no_number_is_refused(predictor: Predictor) -> None:
    z = predictor.scorer.z
    broken = Representations(z.entities.clone(), z.relations)
    broken.entities[3] = float("nan")
    scorer = Scorer(predictor.scorer.decoder, broken, "float32")
    other = Predictor(predictor.config, predictor.splits, scorer=scorer)
    other._calibrations.update({"entity": None, "partial": None})
    with pytest.raises(NumericalError):
        other.ask("player 1 | lives in | ?")


# -- many questions -------------------------------------------------------------------------------


def test_a_batch_answers_as_single_questions_do(predictor: Predictor) -> None:
    asked = [text for text, _ in texts(predictor, "test")]
    ways: tuple[dict[str, Any], ...] = (
        {},
        {"known": "remove"},
        {"known": "only"},
        {"restrict_range": False},
    )
    for options in ways:
        many = list(predictor.ask_many([*asked, *asked], 5, **options))
        assert len(many) == 2 * len(asked)
        for text, answers, again in zip(asked, many, many[len(asked) :], strict=False):
            single = predictor.ask(text, 5, **options)
            np.testing.assert_array_equal(answers.ids, single.ids)
            np.testing.assert_allclose(answers.scores, single.scores, rtol=1e-4, atol=1e-5)
            np.testing.assert_allclose(answers.probabilities, single.probabilities, rtol=1e-3)
            assert (answers.where, answers.candidates) == (single.where, single.candidates)
            assert again is answers  # scored once


def test_a_stream_is_read_in_chunks(predictor: Predictor) -> None:
    endless = itertools.cycle(["player 1 | lives in | ?", "player 2 | lives in | ?"])
    first = next(predictor.ask_many(endless, 1))
    assert len(first) == 1


# -- probability ----------------------------------------------------------------------------------


def test_the_temperature_undoes_a_scale() -> None:
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(4000, 12, generator=generator) * 2
    answers = torch.multinomial(torch.softmax(logits, 1), 1, generator=generator)[:, 0]
    fitted = fit(logits * 3, answers)
    assert fitted is not None
    assert fitted.temperature == pytest.approx(3.0, rel=0.1)
    assert fitted.nll_after < fitted.nll_before
    assert fitted.ece_after < 0.05 < fitted.ece_before
    assert fitted.doubt < 0.02
    assert fit(logits[:5], answers[:5]) is None


def test_the_doubt_is_the_share_of_answers_by_chance() -> None:
    generator = torch.Generator().manual_seed(1)
    logits = torch.randn(6000, 30, generator=generator) * 3
    answers = torch.multinomial(torch.softmax(logits, 1), 1, generator=generator)[:, 0]
    answers[:1500] = torch.randint(30, (1500,), generator=generator)
    order = torch.randperm(6000, generator=generator)
    fitted = fit(logits[order], answers[order])
    assert fitted is not None
    assert fitted.doubt == pytest.approx(0.25, abs=0.04)
    assert fitted.temperature == pytest.approx(1.0, rel=0.1)
    assert fitted.ece_after < fitted.ece_before / 3


def test_the_calibration_error_is_the_gap_by_bins() -> None:
    scores = torch.tensor([[2.0, 0.0], [2.0, 0.0], [0.1, 0.0]])
    answers = torch.tensor([0, 1, 0])
    sure, unsure = (1 / (1 + math.exp(-x)) for x in (2.0, 0.1))
    expected = (abs(2 * sure - 1) + abs(unsure - 1)) / 3
    assert expected_calibration_error(scores, answers, 1.0) == pytest.approx(expected)


def test_a_question_that_leaves_qualifiers_out_has_its_own_temperature(
    predictor: Predictor,
) -> None:
    kinds = {
        "player 1 | plays for | ?": "partial",
        "player 1 | lives in | ?": "partial",
        "player 1 | lives in | ? | since = 2001": "entity",
        "club 1 | in | ?": "entity",  # no fact of this relation says more
        "player 1 | plays for | ? | position = wing | since = 2001": "entity",
        "player 1 | ? | club 1": "relation",
        "player 1 | since | ?": "entity",  # there is nothing to compare it with
    }
    for text, kind in kinds.items():
        assert kind_of(predictor.resolve(text).ids, predictor.knowledge) == kind, text
    fitted = {kind: predictor.calibration(kind) for kind in get_args(Kind)}
    assert len({value and value.temperature for value in fitted.values()}) == 3
    assert all(value is not None for value in fitted.values())


def test_partial_questions_lose_qualifiers_and_keep_their_answers(predictor: Predictor) -> None:
    valid = predictor.splits.valid
    asked, answers = partial_questions(valid)
    names = predictor.entities, predictor.relations
    assert asked
    for ids, answer in zip(asked, answers, strict=True):
        question = ResolvedQuestion.by_ids(ids, *names).question
        name = predictor.entities[answer]
        agreeing = [fact for fact in valid if agrees(question, name, fact)]
        assert agreeing
        assert all(len(question.qualifiers) < len(fact.qualifiers) for fact in agreeing)


def test_without_validation_facts_nothing_is_calibrated() -> None:
    train = league().train
    asked = Predictor.of(untrained(Splits({"train": train}, "x")))
    answers = asked.ask("player 1 | lives in | ?")
    assert not answers.calibrated
    assert asked.calibration() is None


# -- completion -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "about",
    [{}, {"entity": "player 1"}, {"relation": "since"}, {"entity": "city 1", "relation": "in"}],
)
def test_proposals_are_new_different_and_about_what_was_asked(
    predictor: Predictor, about: dict[str, str]
) -> None:
    found = complete(predictor, **about, limit=50)  # type: ignore[arg-type]
    facts = [proposal.fact for proposal in found.proposals]
    assert facts
    assert len(set(facts)) == len(facts)
    assert not set(facts) & set(predictor.splits.all)
    probabilities = [proposal.probability for proposal in found.proposals]
    assert probabilities == sorted(probabilities, reverse=True)
    for fact in facts:
        names = [fact.subject, fact.object, *(v for _, v in fact.qualifiers)]
        assert about.get("entity") in (None, *names)
        assert about.get("relation") in (None, fact.relation, *(a for a, _ in fact.qualifiers))


def test_the_budget_limits_the_candidates(predictor: Predictor) -> None:
    size = len(predictor.entities)
    found = complete(predictor, budget=3 * size + 1)
    assert (found.questions, found.scored) == (3, 3 * size)
    assert found.possible > 3
    with pytest.raises(UserError, match="does not pay"):
        complete(predictor, budget=size - 1)
    with pytest.raises(UnknownNameError):
        complete(predictor, entity="nobody")
    with pytest.raises(UserError, match="no training fact"):
        complete(predictor, entity="club 1", relation="lives in")


# -- loading --------------------------------------------------------------------------------------


def test_a_run_answers_without_its_dataset(predictor: Predictor) -> None:
    again = Predictor.load(league_run())  # the dataset has no file; the cache holds the facts
    assert again.splits == predictor.splits
    text = "player 1 | lives in | ?"
    assert list(again.ask(text)) == list(predictor.ask(text))
    assert again.calibration() == predictor.calibration()
    assert repr(again) == repr(predictor)


def test_a_damaged_or_foreign_cache_is_not_used(tmp_path: Path, predictor: Predictor) -> None:
    assert predictor.calibration() is not None
    copy = tmp_path / "run"
    shutil.copytree(league_run(), copy)
    facts = copy / "cache" / "facts.safetensors"
    facts.write_bytes(facts.read_bytes()[:-1] + b"x")
    with pytest.raises(UserError):
        Predictor.load(copy)
    assert Predictor.load(copy, splits=league()).splits.name == "league"
    Predictor.load(copy)  # repaired


def test_other_facts_are_refused() -> None:
    other = league()
    parts = {**other.parts, "train": other.train[1:]}
    with pytest.raises(DataError, match="the train facts are not those of the run"):
        Predictor.load(league_run(), splits=Splits(parts, "league"))


def test_a_run_in_memory_answers_as_its_directory() -> None:
    result = untrained(league())
    memory, disk = Predictor.of(result), Predictor.load(stored(result), splits=result.splits)
    text = "player 1 | lives in | ? | since = 2001"
    assert list(memory.ask(text)) == list(disk.ask(text))
    assert memory.path is None
    assert disk.path is not None

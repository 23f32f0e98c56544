"""Facts that join after training: heard at once, undone exactly, and refused as a whole."""

from functools import lru_cache
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from hyperfact.config import ExperimentConfig
from hyperfact.errors import FactSyntaxError, UnknownNameError, UserError
from hyperfact.evaluation import evaluating
from hyperfact.graph.facts import Fact
from hyperfact.graph.hkg import HKG
from hyperfact.graph.kg import KG
from hyperfact.models.transeq import TransEQ
from hyperfact.predict import Predictor
from hyperfact.predict.explain import explain
from hyperfact.runs.build import build
from tests.support.runs import league, untrained

COUNTS = {"order": 3, "related": True, "related_two": True, "chains": 0.01, "profiles": True}
NEW = [
    Fact("player 99", "plays for", "club 3", (("position", "wing"),)),
    Fact("player 99", "in", "city 1"),
    Fact("club 3", "in", "city 0"),
    Fact("player 1", "plays for", "club 2", (("position", "goal"), ("since", "2001"))),
    Fact("club 5", "in", "city 1", (("since", "2002"),)),  # whose bare twin is known
]
ASKED = ["player 99 | lives in | ?", "? | plays for | club 3", "player 1 | plays for | ?"]


@lru_cache
def predictor(encoder: str = "compgcn", **options: object) -> Predictor:
    graph: dict[str, Any] = {
        key: options.pop(key) for key in ("transformation", "mode") if key in options
    }
    return Predictor.of(untrained(league(), encoder={"name": encoder, **options}, graph=graph))


@lru_cache
def counting() -> Predictor:
    return Predictor.of(untrained(league(), evidence=COUNTS))


def scores(one: Predictor, question: str) -> Tensor:
    return one.scorer.entities([one.resolve(question).ids])[0]


def all_scores(one: Predictor) -> Tensor:  # (questions, entities)
    return torch.stack([scores(one, q) for q in ("player 3 | plays for | ?", "? | in | city 0")])


# -- against a model that is built on all facts ----------------------------------------------------


def naive(model: TransEQ, config: ExperimentConfig, train: HKG, added: list[Fact]) -> TransEQ:
    """The model of all facts with the same weights, put there row by row."""
    rows = sorted(added, key=str)
    names = {n for f in rows for n in (f.subject, f.object, *(v for _, v in f.qualifiers))}
    entities = [*train.entities, *sorted(n for n in names if n not in train.entities)]
    both = HKG.from_facts([*train, *rows], entities=entities, relations=train.relations)
    new = build(config, both, torch.Generator().manual_seed(5))
    old, state = model.state_dict(), new.state_dict()
    for name, tensor in state.items():
        if old[name].shape == tensor.shape and "entities" not in name:
            tensor.copy_(old[name])
    table = "encoder.nodes.entities" if "encoder.nodes.entities" in state else "encoder.entities"
    vectors, seen = old[table], {n for f in train for n in _entities(f)}
    state[table][: len(train.entities)] = vectors
    for name in sorted(names - seen):
        parts = []
        for role in {role for f in rows for role, who in _roles(f) if who == name}:
            members = {who for f in train for r, who in _roles(f) if r == role} or seen
            parts.append(vectors[[train.entities.id(n) for n in sorted(members)]].mean(dim=0))
        state[table][entities.index(name)] = torch.stack(parts).mean(dim=0)
    if isinstance(model.encoded, KG) and isinstance(new.encoded, KG) and "nodes" in table:
        _mediators(old, state, model.encoded, new.encoded)
    new.load_state_dict(state)
    return new.eval()


def _entities(fact: Fact) -> list[str]:
    return [fact.subject, fact.object, *(v for _, v in fact.qualifiers)]


def _roles(fact: Fact) -> list[tuple[tuple[int, str], str]]:
    found = [((0, fact.relation), fact.subject), ((1, fact.relation), fact.object)]
    return found + [((2, a), v) for a, v in fact.qualifiers]


def _mediators(old: dict[str, Tensor], state: dict[str, Tensor], before: KG, after: KG) -> None:
    name = "encoder.nodes.mediators."
    own, had = old[name + "own"], before.mediator_fact.tolist()
    relations = sorted(set(before.mediator_relation.tolist()))
    now = sorted(set(after.mediator_relation.tolist()))
    for i, fact in enumerate(after.mediator_fact.tolist()):
        relation = int(after.mediator_relation[i])
        if fact in had:
            state[name + "own"][i] = own[had.index(fact)]
        else:
            like = np.flatnonzero(before.mediator_relation == relation)
            like = like if len(like) else np.arange(len(had))
            state[name + "own"][i] = own[torch.from_numpy(like)].mean(dim=0)
    common = old[name + "common"]
    for i, relation in enumerate(now):
        known = relation in relations
        row = common[relations.index(relation)] if known else common.mean(dim=0)
        state[name + "common"][i] = row


@pytest.mark.parametrize(
    ("encoder", "options"),
    [
        ("lookup", {}),
        ("compgcn", {}),
        ("compgcn", {"layers": 2}),
        ("compgcn", {"normaliser": "mean"}),
        ("compgcn", {"normaliser": "published", "batch_norm": False}),
        ("compgcn", {"mode": "literal"}),
        ("compgcn", {"mode": "paper-text", "composition": "sub"}),
        ("compgcn", {"transformation": "plain"}),
        ("compgcn", {"transformation": "no_distinction"}),
        ("compgcn", {"transformation": "clique_plain"}),
        ("vrgcn", {}),
        ("kegcn", {}),
        ("ingram", {}),
        ("stare", {}),
        ("gmpnn", {}),
    ],
)
def test_it_is_the_model_of_all_facts(encoder: str, options: dict[str, object]) -> None:
    base = predictor(encoder, **options)
    trained = base.model
    one = base.given(NEW)
    full = naive(trained, base.config, base.knowledge.train, NEW)
    with evaluating(full):
        z = full.encode()
    torch.testing.assert_close(one.scorer.z.entities, z.entities, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(one.scorer.z.relations, z.relations, atol=1e-5, rtol=1e-5)
    if z.stand_ins is None:
        assert one.scorer.z.stand_ins is None
    else:
        assert one.scorer.z.stand_ins is not None
        both = one.scorer.z.stand_ins, z.stand_ins
        torch.testing.assert_close(both[0].vectors, both[1].vectors, atol=1e-5, rtol=1e-5)
        assert torch.equal(both[0].unseen, both[1].unseen)
    with evaluating(one.model):
        again = one.model.encode()
    torch.testing.assert_close(again.entities, z.entities, atol=1e-5, rtol=1e-5)


def test_counts_are_those_of_all_facts() -> None:
    base = counting()
    one = base.given([*NEW, Fact("player 5", "plays for", "club 3", (("position", "wing"),))])
    before, after = (scores(p, "player 5 | plays for | ?")[:75] for p in (base, one))
    club = base.entities.id("club 3")
    assert after[club] - before[club] > 0.5
    assert one.scorer.evidence is not None
    assert base.scorer.evidence is not None
    torch.testing.assert_close(one.scorer.evidence.weights(), base.scorer.evidence.weights())


# -- properties ------------------------------------------------------------------------------------

names = st.sampled_from(["player 1", "player 2", "club 3", "city 0", "somebody", "somewhere"])
some_facts = st.lists(
    st.builds(
        Fact,
        names,
        st.sampled_from(["plays for", "in", "lives in"]),
        names,
        st.lists(st.tuples(st.sampled_from(["since", "position"]), names), max_size=2).map(tuple),
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=15, deadline=None)
@given(some_facts, st.randoms())
def test_adding_and_removing_is_the_identity_and_order_does_not_matter(
    facts: list[Fact], random: object
) -> None:
    one = predictor().given([])
    before = all_scores(one)
    one.add(facts)
    together = all_scores(one)
    one.remove()
    assert torch.equal(all_scores(one), before)
    assert one.entities == predictor().entities
    random.shuffle(facts)  # type: ignore[attr-defined]
    for fact in facts:
        one.add(fact)
    assert torch.equal(all_scores(one), together)
    for fact in facts[1:]:
        one.remove(fact)
    alone = predictor().given(facts[0]) if facts[0] not in facts[1:] else predictor()
    assert torch.equal(all_scores(one), all_scores(alone))


def test_a_known_fact_changes_nothing() -> None:
    one = predictor().given([])
    found = one.add([one.knowledge.train[3], str(one.knowledge.train[5])])
    assert (found.facts, found.repeated, found.names) == ((), 2, ())
    assert one.scorer is predictor().scorer
    assert next(found.notes) == "known already, which changes nothing: 2"


# -- what people see -------------------------------------------------------------------------------


def test_a_newcomer_is_asked_about_at_once() -> None:
    one = predictor().given([])
    with pytest.raises(UnknownNameError, match="player 99"):
        one.ask(ASKED[0])
    found = one.add(NEW)
    assert found.names == ("player 99",)
    assert len(found.facts) == len(NEW)
    assert "player 99 is a new entity (not " in next(found.notes)
    assert len(one.ask(ASKED[0])) == 4  # cities
    known = one.ask(ASKED[1], k=80, known="only")
    assert {a.name: a.where for a in known}["player 99"] == ("added",)
    clubs = one.ask("player 99 | plays for | ?", known="only")
    assert [a.name for a in clubs] == ["club 3"]
    assert one.remove("club 3 | in | city 0") == 1
    assert one.added == frozenset(NEW) - {NEW[2]}


def test_explanations_show_new_facts() -> None:
    one = predictor().given(NEW)
    found = explain(one, "player 99 | lives in | ?", "city 1", count=20)
    assert NEW[1] in [s.fact for s in found.support]
    assert NEW[1] in [step.fact for path in found.paths for step in path.steps]


def test_a_fact_that_was_held_out_may_join() -> None:
    one = predictor().given([])
    fact = one.splits.test[0]
    assert one.add(fact).facts == (fact,)
    assert not torch.equal(all_scores(one), all_scores(predictor()))


@pytest.mark.parametrize(
    ("wrong", "error", "says"),
    [
        ("player 1 | plays for", FactSyntaxError, "player 1"),
        ("player 1 | plays for | ?", FactSyntaxError, "no blank"),
        ("player 1 | play for | club 1", UnknownNameError, "nearest known ones are plays for"),
        (Fact("a", "in", "b", (("until", "c"),)), UnknownNameError, "unknown relation 'until'"),
        (Fact("", "in", "city 1"), UserError, "without a name"),
        (Fact("a", "in", "b", tuple(("since", f"c {i}") for i in range(99))), UserError, "may hav"),
        ([Fact("p", "in", f"c {i}") for i in range(9_999)], UserError, "10,001 entities"),
    ],
)
def test_bad_facts_change_nothing(wrong: object, error: type[Exception], says: str) -> None:
    one = predictor().given(NEW)
    before, added, known = one.scorer, one.added, one.splits
    bad: list[Any] = (
        wrong if isinstance(wrong, list) else [NEW[0], wrong, Fact("x", "in", "city 1")]
    )
    with pytest.raises(error, match=says):
        one.add(bad)
    assert (one.scorer, one.added, one.splits) == (before, added, known)


def test_what_an_encoder_has_no_weights_for_is_refused() -> None:
    one = predictor("rgcn")
    with pytest.raises(UserError, match="has no weights for"):
        one.given(Fact("club 1", "in", "city 1", (("since", "2001"),)))
    assert not one.added


# -- relations that nobody had named ---------------------------------------------------------------

UNHEARD = [
    Fact("player 1", "coaches", "club 2", (("position", "wing"),)),
    Fact("player 2", "coaches", "club 3", (("salary", "low"),)),
]


def test_ingram_takes_new_relations_and_others_say_who_does() -> None:
    with pytest.raises(UnknownNameError, match=r"the encoder ingram with encoder\.strangers"):
        predictor().given(UNHEARD)
    with pytest.raises(UnknownNameError):
        predictor("ingram", heads=2).given(UNHEARD)  # which was not prepared
    before = predictor("ingram", heads=2, strangers=0.2)
    after = before.given(UNHEARD)
    assert set(after.relations) - set(before.relations) == {"coaches", "salary"}
    assert "player 9 | coaches | ?" not in before.splits.relations
    found = after.ask("player 9 | coaches | ?")
    assert {answer.name for answer in found} == {"club 2", "club 3"}  # who stands in that role
    asked = after.ask("player 1 | ? | club 2 | position = wing")
    assert "coaches" in {answer.name for answer in asked}
    assert next(a for a in asked if a.name == "coaches").where == ("added",)


def test_known_relations_keep_their_weights_beside_a_new_one() -> None:
    one = predictor("ingram", heads=2, strangers=0.2)
    other = one.given(UNHEARD)
    old, new = one.model.encoder, other.model.encoder
    kinds = len(old.relations) // len(one.relations)  # type: ignore[arg-type]  # a table
    before = old.relations.view(kinds, len(one.relations), -1)  # type: ignore[operator]
    after = new.relations.view(kinds, len(other.relations), -1)  # type: ignore[operator]
    assert torch.equal(before, after[:, : len(one.relations)])
    assert torch.allclose(after[:, len(one.relations) :], old.relations.mean(dim=0))  # type: ignore[operator]


def test_new_relations_are_taken_back_exactly() -> None:
    one = predictor("ingram", heads=2, strangers=0.2).given(())
    before = all_scores(one)
    added = one.add(UNHEARD)
    assert added.relations == ("coaches", "salary")
    assert any("coaches is a new relation" in note for note in added.notes)
    assert one.remove() == 2
    assert torch.equal(all_scores(one), before)
    with pytest.raises(UnknownNameError):
        one.ask("player 1 | coaches | ?")

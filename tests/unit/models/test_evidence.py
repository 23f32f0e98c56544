"""Counts as evidence, against a naive scan of the facts."""

from collections.abc import Callable
from itertools import combinations, permutations
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from torch import Tensor

from hyperfact.config import EvidenceConfig
from hyperfact.graph import profiles
from hyperfact.graph.batches import FactBatch
from hyperfact.graph.facts import Fact
from hyperfact.graph.hkg import HKG
from hyperfact.graph.queries import Queries
from hyperfact.kernels import reference
from hyperfact.kernels.added_scores import added_scores
from hyperfact.kernels.softmax import Targets
from hyperfact.models.evidence import Evidence
from tests.support.graphs import hkgs

Slots = list[tuple[tuple[str, int], int]]
START = (0.25, 1.0, 0.5)


def slots_of(hkg: HKG, row: int) -> Slots:
    """Role and entity of each slot of a fact."""
    c = hkg.columns
    relation = int(c.relation[row])
    found = [(("s", relation), int(c.subject[row])), (("o", relation), int(c.object[row]))]
    places = range(int(c.offsets[row]), int(c.offsets[row + 1]))
    return found + [(("v", int(c.attributes[p])), int(c.values[p])) for p in places]


def naive(hkg: HKG, asked: Slots, slot: int, without: int | None) -> list[float]:
    """The evidence for each entity, by a scan of all facts but one."""
    facts = [slots_of(hkg, row) for row in range(len(hkg)) if row != without]
    role, known = asked[slot][0], [part for i, part in enumerate(asked) if i != slot]
    total = [0.0] * len(hkg.entities)
    for size in range(3):
        for company in combinations(known, size):
            for entity in range(len(total)):
                if (role, entity) in company:
                    continue
                count = sum({(role, entity), *company} <= set(fact) for fact in facts)
                total[entity] += START[size] * np.log1p(count)
    return total


def asked_about(hkg: HKG) -> tuple[Queries, FactBatch, Tensor]:
    queries = Queries.of(hkg)
    facts = FactBatch.of(hkg, queries.fact)
    return queries, facts, torch.from_numpy(queries.slot.astype(np.int64))


def evidence_of(hkg: HKG, order: int = 3) -> Evidence:
    return Evidence(hkg, EvidenceConfig(order=order, start=START)).double()


@given(hkgs(hostile=False))
@settings(max_examples=60)
def test_every_count_is_that_of_a_scan(hkg: HKG) -> None:
    queries, facts, slots = asked_about(hkg)
    if not len(queries):
        return
    found = evidence_of(hkg).scores(facts, slots).detach()
    for i, (row, slot) in enumerate(zip(queries.fact, queries.slot, strict=True)):
        expected = naive(hkg, slots_of(hkg, int(row)), int(slot), without=None)
        assert found[i].tolist() == pytest.approx(expected)


@given(hkgs(hostile=False))
@settings(max_examples=60)
def test_leaving_a_fact_out_gives_the_counts_without_it(hkg: HKG) -> None:
    queries, facts, slots = asked_about(hkg)
    if not len(queries):
        return
    answers = torch.from_numpy(queries.answer.astype(np.int64))
    targets = Targets.one_each(answers)
    found = evidence_of(hkg).scores(facts, slots, answers=targets).detach()
    for i, (row, slot) in enumerate(zip(queries.fact, queries.slot, strict=True)):
        expected = naive(hkg, slots_of(hkg, int(row)), int(slot), without=int(row))
        answer = int(answers[i])
        assert float(found[i, answer]) == pytest.approx(expected[answer])


@given(hkgs(hostile=False))
@settings(max_examples=30)
def test_the_kernel_is_its_reference_with_gradients(hkg: HKG) -> None:
    queries, facts, slots = asked_about(hkg)
    if not len(queries):
        return
    evidence = evidence_of(hkg)
    answers = torch.from_numpy(queries.answer.astype(np.int64))
    targets = Targets.one_each(answers)
    some = slice(0, max(1, len(hkg.entities) - 1))
    slope = torch.rand(len(queries), some.stop, dtype=torch.float64)
    results = []
    for form in (added_scores, reference.added_scores):
        evidence.zero_grad()
        scores = form(evidence.added(facts, slots, candidates=some, answers=targets))
        torch.autograd.backward((scores * slope).sum())
        assert evidence.own.grad is not None
        results.append((scores.detach(), evidence.own.grad.clone()))
    torch.testing.assert_close(results[0], results[1])


def test_quiet_questions_hear_no_counts_while_training() -> None:
    rows = [Fact(f"s{i % 7}", "r", f"o{i % 5}", (("a", f"v{i % 3}"),)) for i in range(60)]
    hkg = HKG.from_facts(rows)
    _, facts, slots = asked_about(hkg)
    evidence = Evidence(hkg, EvidenceConfig(order=2, quiet=0.4))
    every = evidence.scores(facts, slots)
    found = evidence.scores(facts, slots, generator=torch.Generator().manual_seed(0))
    is_quiet = (found == 0).all(dim=1)
    assert 0.2 < float(is_quiet.double().mean()) < 0.6
    torch.testing.assert_close(found[~is_quiet], every[~is_quiet])
    assert not (every == 0).all(dim=1).any()


def related_naive(hkg: HKG, asked: Slots, slot: int, without: int | None) -> list[float]:
    """Counts beside known entities in other roles, weighted by links that all facts show."""
    every = [slots_of(hkg, row) for row in range(len(hkg))]
    facts = [fact for row, fact in enumerate(every) if row != without]
    pairs = {(a[0], b[0], a[1], b[1]) for fact in every for a, b in permutations(fact, 2)}
    kinds = {pair[:2] for pair in pairs}
    who = {kind: {pair[2:] for pair in pairs if pair[:2] == kind} for kind in kinds}
    total = [0.0] * len(hkg.entities)
    role = asked[slot][0]
    for known_role, known in (part for i, part in enumerate(asked) if i != slot):
        for kind in kinds - {(role, known_role)}:
            support = len(who.get((role, known_role), set()) & who[kind])
            if support < 2:
                continue
            weight = np.log1p(50 * support / (len(who[kind]) + 5))
            for entity in range(len(total)):
                ends = {(kind[0], entity), (kind[1], known)}
                count = sum(len(ends) == 2 and ends <= set(fact) for fact in facts)
                total[entity] += weight * np.log1p(count)
    return total


def check_against(
    naive_of: Callable[[HKG, Slots, int, int | None], list[float]], hkg: HKG, **counted: Any
) -> None:
    """Every score is that of a scan of all facts, and of the others for a fact's own answer."""
    queries, facts, slots = asked_about(hkg)
    if not len(queries):
        return
    answers = torch.from_numpy(queries.answer.astype(np.int64))
    config = EvidenceConfig(start=(0.0, 0.0, 0.0), **counted)
    evidence = Evidence(hkg, config).double()
    found = evidence.scores(facts, slots).detach()
    left = evidence.scores(facts, slots, answers=Targets.one_each(answers)).detach()
    for i, (row, slot) in enumerate(zip(queries.fact, queries.slot, strict=True)):
        asked, answer = slots_of(hkg, int(row)), int(answers[i])
        assert found[i].tolist() == pytest.approx(naive_of(hkg, asked, int(slot), None))
        without = naive_of(hkg, asked, int(slot), int(row))
        assert float(left[i, answer]) == pytest.approx(without[answer])


@given(hkgs(hostile=False))
@settings(max_examples=60)
def test_related_roles_speak_by_their_confidence(hkg: HKG) -> None:
    check_against(related_naive, hkg, order=2, related=True)


def related_two_naive(hkg: HKG, asked: Slots, slot: int, without: int | None) -> list[float]:
    """The same beside two known entities at once."""
    every = [slots_of(hkg, row) for row in range(len(hkg))]
    facts = [set(fact) for row, fact in enumerate(every) if row != without]
    threes = {
        ((a[0], b[0], c[0]), (a[1], b[1], c[1]))
        for fact in every
        for a, b, c in permutations(fact, 3)
    }
    who: dict[tuple[tuple[str, int], ...], set[tuple[int, ...]]] = {}
    for kind, entities in threes:
        who.setdefault(kind, set()).add(entities)
    total = [0.0] * len(hkg.entities)
    known = [part for i, part in enumerate(asked) if i != slot]
    for one, two in combinations(known, 2):
        head = (asked[slot][0], one[0], two[0])
        for body in who.keys() - {head}:
            support = len(who.get(head, set()) & who[body])
            if support < 2:
                continue
            weight = np.log1p(50 * support / (len(who[body]) + 5))
            for entity in range(len(total)):
                ends = {(body[0], entity), (body[1], one[1]), (body[2], two[1])}
                count = sum(len(ends) == 3 and ends <= fact for fact in facts)
                total[entity] += weight * np.log1p(count)
    return total


def told_twice() -> HKG:
    """Facts that are told from both ends, with the same value."""
    facts = [
        fact
        for i in range(4)
        for fact in (
            Fact(f"a{i}", "brother of", f"b{i}", (("since", f"y{i % 2}"), ("at", "p"))),
            Fact(f"b{i}", "sister of", f"a{i}", (("from", f"y{i % 2}"), ("at", "p"))),
        )
    ]
    return HKG.from_facts([*facts, Fact("a0", "brother of", "a0", (("since", "y0"),))])


@given(hkgs(hostile=False))
@example(told_twice())
@settings(max_examples=60)
def test_three_related_roles_speak_by_their_confidence(hkg: HKG) -> None:
    check_against(related_two_naive, hkg, order=3, related_two=True)


def test_who_is_told_of_from_the_other_end_is_found() -> None:
    hkg = told_twice()
    config = EvidenceConfig(order=3, start=(0.0, 0.0, 0.0), related_two=True)
    scores = Evidence(hkg, config).scores(*asked_about(hkg)[1:])
    assert float(scores.detach().max()) > 1.0


@given(hkgs(hostile=False))
@settings(max_examples=40)
def test_a_profile_leaves_the_fact_out(hkg: HKG) -> None:
    queries, facts, slots = asked_about(hkg)
    if not len(queries):
        return
    answers = torch.from_numpy(queries.answer.astype(np.int64))
    config = EvidenceConfig(order=1, start=(0.0, 0.0, 0.0), profiles=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(profiles, "_COUNT", 0)
        patch.setattr(profiles, "_LEAST", -1.0)
        evidence = Evidence(hkg, config).double()
        left = evidence.scores(facts, slots, answers=Targets.one_each(answers)).detach()
        for i, row in enumerate(queries.fact):
            rest = hkg.select(np.setdiff1d(np.arange(len(hkg)), [row]))
            alone = FactBatch.of(hkg, np.array([row]))
            expected = Evidence(rest, config).double().scores(alone, slots[i : i + 1]).detach()
            answer = int(answers[i])
            assert float(left[i, answer]) == pytest.approx(float(expected[0, answer]), abs=1e-6)


def test_a_told_answer_speaks_in_the_profiles_of_the_others_only() -> None:
    pairs = [("a", "x"), ("a", "y"), ("b", "x"), ("b", "y"), ("c", "x"), ("c", "z"), ("d", "x")]
    hkg = HKG.from_facts(Fact(s, "has", o) for s, o in [*pairs, ("e", "y"), ("e", "z")])
    ids = {name: hkg.entities.id(name) for name in "acdxyz"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(profiles, "_COUNT", 1)
        evidence = Evidence(hkg, EvidenceConfig(order=1, start=(0.0, 0.0, 0.0), profiles=True))

    def asked(subject: str, answers: str) -> Tensor:
        question = HKG.from_facts(
            [Fact(subject, "has", answers[0])], entities=hkg.entities, relations=hkg.relations
        )
        told = torch.tensor(sorted(ids[a] for a in answers))
        targets = Targets(torch.tensor([0, len(told)]), told)
        facts = FactBatch.of(question, np.array([0]))
        return evidence.scores(facts, torch.tensor([1]), answers=targets).detach()[0]

    alone, two = asked("d", "x"), asked("a", "xy")
    assert float(alone.abs().max()) < 1e-6  # nothing else is known of d
    assert float(two[ids["z"]]) > 0  # half of what x and y say
    whole = evidence.scores(*only(hkg, ids["a"])).detach()[0]
    assert float(two[ids["z"]]) == pytest.approx(float(whole[ids["z"]]) / 2)


def only(hkg: HKG, subject: int) -> tuple[FactBatch, Tensor]:
    """The question for the object of the first fact of a subject."""
    row = np.flatnonzero(hkg.columns.subject == subject)[:1]
    return FactBatch.of(hkg, row), torch.tensor([1])

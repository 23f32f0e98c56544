"""Questions that leave qualifiers out, ranked by hand; and the baseline by counting."""

from collections import Counter

import numpy as np
import pytest
import torch
from torch import Tensor

from hyperfact import load
from hyperfact.evaluation import Background, Policy
from hyperfact.evaluation.baseline import most_frequent
from hyperfact.evaluation.evaluator import rank_with
from hyperfact.graph.batches import FactBatch
from hyperfact.graph.hkg import HKG, Splits
from tests.support.benchmarks import data_folder
from tests.support.models import random_facts


def _splits() -> Splits:
    graph = random_facts(60, entities=8)
    return Splits({"train": graph.select(np.arange(40)), "test": graph.select(np.arange(40, 60))})


def _by_id(facts: FactBatch, slots: Tensor, candidates: slice) -> Tensor:
    """Scores that depend on nothing but the candidate: the higher the id the better."""
    del slots
    return torch.arange(8.0)[candidates].expand(len(facts), -1)


def test_a_bare_question_is_filtered_by_all_facts_that_agree() -> None:
    splits = _splits()
    found = rank_with(_by_id, splits.test, Background.of(splits), policy=Policy(given="none"))
    everything = list(splits.all)
    for fact, slot, greater in zip(
        found.ranks.fact.tolist(),
        found.ranks.slot.tolist(),
        found.ranks.greater.tolist(),
        strict=True,
    ):
        asked = splits.test[fact]
        same = [f for f in everything if f.relation == asked.relation]
        if slot == 0:
            known = {f.subject for f in same if f.object == asked.object}
        elif slot == 1:
            known = {f.object for f in same if f.subject == asked.subject}
        else:
            ends, attribute = (asked.subject, asked.object), asked.qualifiers[slot - 2][0]
            known = {
                v
                for f in same
                if (f.subject, f.object) == ends
                for a, v in f.qualifiers
                if a == attribute
            }
        answer = [asked.subject, asked.object, *(v for _, v in asked.qualifiers)][slot]
        ids = {splits.entities.id(name) for name in known}
        mine = splits.entities.id(answer)
        assert greater == sum(i > mine and i not in ids for i in range(8))


def test_half_lies_between_and_all_is_as_it_was() -> None:
    splits = _splits()
    background = Background.of(splits)
    ranked = {
        given: rank_with(
            _by_id, splits.test, background, policy=Policy(given=given)
        ).ranks.candidates.sum()
        for given in ("all", "half", "none")
    }
    assert ranked["all"] >= ranked["half"] >= ranked["none"]
    assert ranked["all"] > ranked["none"]


def _counted(train: HKG, test: HKG, everything: HKG) -> float:
    """The baseline by dictionaries."""
    counts: Counter[tuple[object, ...]] = Counter()
    for fact in train:
        counts["s", fact.relation, fact.subject] += 1
        counts["o", fact.relation, fact.object] += 1
        counts.update(("v", a, v) for a, v in fact.qualifiers)
    facts, total, ranks = set(everything), 0.0, 0
    for fact in test:
        fills = [
            ("s", fact.relation),
            ("o", fact.relation),
            *(("v", a) for a, _ in fact.qualifiers),
        ]
        for slot, (kind, role) in enumerate(fills):
            slots = [fact.subject, fact.object, *(v for _, v in fact.qualifiers)]
            mine, greater, equal = counts[kind, role, slots[slot]], 0, 0
            for name in everything.entities:
                other = [name if i == slot else x for i, x in enumerate(slots)]
                pairs = tuple((a, v) for (a, _), v in zip(fact.qualifiers, other[2:], strict=True))
                changed = type(fact)(other[0], fact.relation, other[1], pairs)
                if changed == fact or changed in facts:
                    continue
                greater += counts[kind, role, name] > mine
                equal += counts[kind, role, name] == mine
            total, ranks = total + 1 / (1 + greater + equal / 2), ranks + 1
    return total / ranks


def test_the_baseline_is_that_of_counting() -> None:
    splits = _splits()
    found = rank_with(most_frequent(splits.train), splits.test, Background.of(splits))
    assert found.metrics.mrr == pytest.approx(_counted(splits.train, splits.test, splits.all))


def test_the_baseline_of_a_benchmark() -> None:
    splits = load("FB-AUTO", data_dir=data_folder())
    found = rank_with(most_frequent(splits.train), splits.test, Background.of(splits))
    assert round(found.metrics.mrr, 4) == 0.1634

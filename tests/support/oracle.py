"""Ranking by brute force: sets of facts, one candidate after the other, no array anywhere."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hyperfact.evaluation import Policy
from hyperfact.graph.batches import FactBatch
from hyperfact.graph.facts import Vocabulary
from hyperfact.graph.hkg import HKG, Columns, Splits
from hyperfact.graph.ragged import offsets_of

#: A fact by ids: subject, relation, object, qualifiers in rising order.
Plain = tuple[int, int, int, tuple[tuple[int, int], ...]]
Query = tuple[Plain, int]
SLOTS = {"all": (0, 1, 2), "so": (0, 1), "subject": (0,), "object": (1,), "value": (2,)}


def plain_facts(graph: HKG) -> list[Plain]:
    c = graph.columns
    found = []
    for i in range(len(graph)):
        start, stop = int(c.offsets[i]), int(c.offsets[i + 1])
        pairs = zip(c.attributes[start:stop].tolist(), c.values[start:stop].tolist(), strict=True)
        found.append((int(c.subject[i]), int(c.relation[i]), int(c.object[i]), tuple(pairs)))
    return found


def entities_of(fact: Plain) -> list[int]:
    return [fact[0], fact[2], *(value for _, value in fact[3])]


def fill(query: Query, entity: int) -> Plain:
    """The fact that a candidate makes; a repeated pair stays, so that no slot is lost."""
    (s, r, o, pairs), slot = query
    if slot == 0:
        return entity, r, o, pairs
    if slot == 1:
        return s, r, entity, pairs
    changed = [(a, entity if i == slot - 2 else v) for i, (a, v) in enumerate(pairs)]
    return s, r, o, tuple(sorted(changed))


def is_known(query: Query, entity: int, policy: Policy, filters: dict[str, set[Plain]]) -> bool:
    if policy.filter == "none":
        return False
    if policy.filter != "ignore-qualifiers":
        return fill(query, entity) in filters[policy.filter]
    known = filters["exact"]
    (s, r, o, pairs), slot = query
    if slot < 2:
        triple = fill(((s, r, o, ()), slot), entity)[:3]
        return any(fact[:3] == triple for fact in known)
    wanted = (pairs[slot - 2][0], entity)
    return any(fact[:3] == (s, r, o) and wanted in fact[3] for fact in known)


def score(query: Query, entity: int, levels: int) -> int:
    """A number that depends on the known part alone, whatever the order of qualifiers."""
    (s, r, o, pairs), slot = query
    total = 7 * (0 if slot == 0 else s + 1) + 11 * r + 13 * (0 if slot == 1 else o + 1)
    for i, (a, v) in enumerate(pairs):
        total += 17 * (a + 1) * (3 if i == slot - 2 else v + 5)
    return (total * 31 + entity * 17 + total * entity % 13) % levels


def scorer(levels: int) -> Callable[[FactBatch, Tensor, slice], Tensor]:
    """The same numbers for a whole batch."""

    def matrix(facts: FactBatch, slots: Tensor, candidates: slice) -> Tensor:
        e, asked = facts.entities + 1, torch.arange(facts.entities.shape[1]) == slots[:, None]
        total = torch.where(asked[:, 0], 0, 7 * e[:, 0]) + 11 * facts.relations[:, 0]
        total = total + torch.where(asked[:, 1], 0, 13 * e[:, 1])
        values = torch.where(asked[:, 2:], 3, e[:, 2:] + 4) * facts.mask[:, 2:]
        total = (total + (17 * (facts.relations[:, 1:] + 1) * values).sum(dim=1))[:, None]
        ids = torch.arange(candidates.start, candidates.stop)
        return ((total * 31 + ids * 17 + total * ids % 13) % levels).double()

    return matrix


@dataclass(frozen=True)
class Case:
    """Facts in three splits, a policy, and how many different scores there are."""

    splits: Splits
    policy: Policy
    levels: int
    split: str = "test"


def count(case: Case) -> Iterator[tuple[int, int, int, int, int]]:
    """Fact, slot, greater, equal and candidates of every asked query."""
    policy, levels = case.policy, case.levels
    train, known = set(plain_facts(case.splits.train)), set(plain_facts(case.splits.all))
    before_test = train | set(plain_facts(case.splits.valid))
    filters = {"exact": known, "train+valid": before_test, "train-only": train}
    seen = {e for fact in train for e in entities_of(fact)}
    ends = {e for fact in known for e in (fact[0], fact[2])}
    every = range(len(case.splits.entities))
    for row, fact in enumerate(plain_facts(case.splits[case.split])):
        if policy.unseen == "skip" and not set(entities_of(fact)) <= seen:
            continue
        for slot, answer in enumerate(entities_of(fact)):
            if min(slot, 2) not in SLOTS[policy.slots]:
                continue
            query, true = (fact, slot), score((fact, slot), answer, levels)
            rivals = [
                score(query, e, levels)
                for e in every
                if e != answer
                and (policy.candidates == "all" or e in ends)
                and not is_known(query, e, policy, filters)
            ]
            greater, equal = sum(s > true for s in rivals), rivals.count(true)
            yield row, slot, greater, equal, len(rivals) + 1


def random_splits(rng: random.Random) -> Splits:
    """A few facts over very few names, many of them twins, so that every coincidence happens."""
    entities, relations = rng.randint(1, 7), rng.randint(1, 3)
    facts: list[Plain] = []
    for _ in range(rng.randint(3, 13)):
        twin = facts and rng.random() < 0.5
        facts.append(
            _changed(rng, rng.choice(facts), entities) if twin else _fact(rng, entities, relations)
        )
    cut = sorted((rng.randint(1, len(facts) - 2), rng.randint(1, len(facts) - 2)))
    rng.shuffle(facts)
    parts = {"train": facts[: cut[0]], "valid": facts[cut[0] : cut[1]], "test": facts[cut[1] :]}
    e = Vocabulary(f"e{i}" for i in range(entities))
    r = Vocabulary(f"r{i}" for i in range(relations))
    return Splits({n: HKG.from_columns(e, r, _columns(p)) for n, p in parts.items()}, "random")


def _fact(rng: random.Random, entities: int, relations: int) -> Plain:
    size = rng.choice((0, 0, 1, 1, 2, 3))
    pairs = tuple((rng.randrange(relations), rng.randrange(entities)) for _ in range(size))
    s, r, o = rng.randrange(entities), rng.randrange(relations), rng.randrange(entities)
    return s, r, o, pairs


def _changed(rng: random.Random, fact: Plain, entities: int) -> Plain:
    """The same fact with another entity in one slot, or with a qualifier less."""
    slot = rng.randrange(len(entities_of(fact)))
    if slot >= 2 and rng.random() < 0.2:
        return (*fact[:3], fact[3][: slot - 2] + fact[3][slot - 1 :])
    return fill((fact, slot), rng.randrange(entities))


def _columns(facts: list[Plain]) -> Columns:
    pairs = [pair for fact in facts for pair in fact[3]]
    return Columns(
        _ids([fact[0] for fact in facts]),
        _ids([fact[1] for fact in facts]),
        _ids([fact[2] for fact in facts]),
        offsets_of(np.array([len(fact[3]) for fact in facts], dtype=np.int64)),
        _ids([a for a, _ in pairs]),
        _ids([v for _, v in pairs]),
    )


def _ids(numbers: list[int]) -> NDArray[np.int32]:
    return np.array(numbers, dtype=np.int32)

"""Part the facts of one file into train, valid and test.

The unit is a primary triple with all its facts: no triple stands in two splits. At random, valid
and test name only what train names too; by time and by entity they may not, that is their point.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from hyperfact.errors import DataError, UserError
from hyperfact.graph.hkg import HKG, Splits
from hyperfact.graph.ragged import Array, Places, offsets_of, owners_of

RATIOS = (0.8, 0.1, 0.1)
FEWEST = 20  # facts that are worth a test
SPLITS = ("train", "valid", "test")
_TIME = re.compile(r'"?([+-]?\d+)(?:-(\d\d))?(?:-(\d\d))?(.*)', re.DOTALL)


@dataclass(frozen=True)
class _Triples:
    """The primary triples of a graph, and which of its names stand where."""

    of_fact: Places  # (facts,) the triple of each fact
    sizes: Places  # (triples,) how many facts
    owners: Places  # (names,) the triple in which each name stands
    names: Places  # (names,) entities, then relations and attributes behind them

    @classmethod
    def of(cls, graph: HKG) -> "_Triples":
        c = graph.columns
        rows = np.stack([c.subject, c.relation, c.object], axis=1)  # (facts, 3)
        _, of_fact, sizes = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
        of_fact, shift = of_fact.reshape(-1), len(graph.entities)
        qualified = of_fact[owners_of(c.offsets)]
        owners = [of_fact, of_fact, qualified, of_fact, qualified]
        names = [c.subject, c.object, c.values, c.relation + shift, c.attributes + shift]
        return cls(of_fact, sizes, np.concatenate(owners), np.concatenate(names))


def split_facts(graph: HKG, ratios: Sequence[float] = RATIOS, *, seed: int = 0) -> Splits:
    """Part facts at random; every name of valid and test stands in train.

    In a random order of triples, the first that names something stays in train for its sake. Where
    few names repeat, valid and test get smaller than asked.
    """
    wanted = wanted_sizes(len(graph), ratios)
    triples = _Triples.of(graph)
    order = np.random.default_rng(seed).permutation(len(triples.sizes))
    place = np.argsort(order)  # of each triple in the order
    first = np.full(len(graph.entities) + len(graph.relations), len(order))
    np.minimum.at(first, triples.names, place[triples.owners])
    part = share_out(order, first, triples.sizes, wanted)
    return _parted(graph, part[triples.of_fact])


def share_out(order: Array, first: Array, sizes: Array, wanted: Sequence[int]) -> Places:
    """The part of each triple: 0 train, 1 valid, 2 test.

    Args:
        order: The triples in random order.
        first: Places in the order that must stay in train; the place behind the last is none.
        sizes: How many facts each triple has.
        wanted: How many facts each split should get.
    """
    needed = np.zeros(len(order) + 1, dtype=bool)
    needed[first] = True
    free = order[~needed[:-1]]  # (free triples,) in random order
    offered = int(sizes[free].sum())
    share = min(1.0, offered / max(1, wanted[1] + wanted[2]))
    part = np.zeros(len(order), dtype=np.int64)
    ends = np.cumsum(sizes[free])
    part[free[ends <= share * (wanted[1] + wanted[2])]] = 1
    part[free[ends <= share * wanted[2]]] = 2
    return part


def split_by_time(graph: HKG, attribute: str, ratios: Sequence[float] = RATIOS) -> Splits:
    """The newest values of an attribute go to test, those before them to valid.

    All facts of one time stay together; facts without the attribute are training facts.
    """
    wanted = wanted_sizes(len(graph), ratios)
    triples = _Triples.of(graph)
    times, rank = _times(graph, attribute)
    newest = np.full(len(triples.sizes), -1)
    np.maximum.at(newest, triples.of_fact, rank)
    facts = np.bincount(newest[triples.of_fact] + 1, minlength=times + 1)[1:]  # of each time
    return _parted(graph, time_parts(facts, wanted)[newest][triples.of_fact])


def time_parts(facts: Array, wanted: Sequence[int]) -> Places:
    """The part of each time by the facts of each, and behind them that of no time: train."""
    newer = np.cumsum(facts[::-1])[::-1]  # (times,) facts of this time or a newer one
    part = np.zeros(len(facts) + 1, dtype=np.int64)
    part[_since(newer, wanted[1] + wanted[2]) : -1] = 1
    part[_since(newer, wanted[2]) : -1] = 2
    return part


def split_by_entity(graph: HKG, ratios: Sequence[float] = RATIOS, *, seed: int = 0) -> Splits:
    """Hold out entities: no training fact names one, some fact of every tested triple does."""
    wanted = wanted_sizes(len(graph), ratios)
    triples = _Triples.of(graph)
    entity = triples.names < len(graph.entities)
    names, owners = triples.names[entity], triples.owners[entity]
    by_name = owners[np.argsort(names, kind="stable")]
    offsets = offsets_of(np.bincount(names, minlength=len(graph.entities)))
    part = np.zeros(len(triples.sizes), dtype=np.int64)
    order = iter(np.random.default_rng(seed).permutation(len(graph.entities)).tolist())
    for number in (2, 1):
        room = wanted[number]
        for name in order:
            of_name = np.unique(by_name[offsets[name] : offsets[name + 1]])
            new = of_name[part[of_name] == 0]
            facts = int(triples.sizes[new].sum())
            if facts <= room:
                part[new] = number
                room -= facts
            if not room:
                break
    return _parted(graph, part[triples.of_fact])


def ensure_splits(splits: Splits) -> tuple[Splits, str]:
    """The dataset with facts to test on, parted at random if it has none; and what to say of it."""
    if len(splits.valid) or len(splits.test) or not len(splits.train):
        return splits, ""
    facts = splits.train
    if len(facts) < FEWEST:
        return splits, f"{splits.name}: {len(facts)} facts are too few to split; not evaluated"
    parted = split_facts(facts)
    sizes = ", ".join(f"{name} {len(parted[name]):,}" for name in SPLITS)
    note = f"{splits.name}: no valid and test facts, so split at random (seed 0): {sizes}"
    if not len(parted.test):
        note += "; each fact names something that no other does, so not evaluated"
    return replace(splits, parts={**splits.parts, **parted.parts}), note


def unseen_names(splits: Splits, name: str) -> int:
    """How many entities and relations of a split no training fact names."""
    here, train = _Triples.of(splits[name]).names, _Triples.of(splits.train).names
    return len(np.setdiff1d(here, train))


def wanted_sizes(facts: int, ratios: Sequence[float]) -> tuple[int, int, int]:
    """How many facts each split should get."""
    if len(ratios) != 3 or min(ratios) < 0 or not ratios[0]:
        raise UserError(f"expected shares of train, valid and test as in 80,10,10; got {ratios}")
    valid, test = (round(facts * ratio / sum(ratios)) for ratio in ratios[1:])
    return facts - valid - test, valid, test


def _parted(graph: HKG, part: Places) -> Splits:
    return Splits({name: graph.select(part == i) for i, name in enumerate(SPLITS)})


def _times(graph: HKG, attribute: str) -> tuple[int, Places]:
    """The number of times, and for each fact the place of its newest among them; else -1."""
    c = graph.columns
    wanted = np.flatnonzero(c.attributes == graph.relations.id(attribute, "attribute"))
    ids, which = np.unique(c.values[wanted], return_inverse=True)
    times, ranks = time_ranks([graph.entities[i] for i in ids.tolist()], attribute)
    newest = np.full(len(graph), -1)
    np.maximum.at(newest, owners_of(c.offsets)[wanted], ranks[which.reshape(-1)])
    return times, newest


def time_ranks(names: Sequence[str], attribute: str) -> tuple[int, Places]:
    """The number of different times among these names, and the place of each in their order.

    Raises:
        DataError: One is no time, or they are all the same.
    """
    keys = [_time(name) for name in names]
    rising = {key: place for place, key in enumerate(sorted(set(keys)))}
    if len(rising) < 2:
        raise DataError(f"the attribute {attribute!r} has {len(rising)} times; a split needs two")
    return len(rising), np.array([rising[key] for key in keys])


def _since(newer: Places, facts: int) -> int:
    """The time since which there are so many facts, as nearly as whole times allow."""
    return 1 + int(np.abs(newer[1:] - facts).argmin()) if facts else len(newer)


def _time(name: str) -> tuple[int, int, int, str]:
    """Year, month, day and the rest of a name that is a time; also a plain number."""
    match = _TIME.fullmatch(str.__str__(name))
    if match is None:
        raise DataError(f"{str(name)!r} is no time: expected a number, or year-month-day")
    year, month, day, rest = match.groups()
    return int(year), int(month or 0), int(day or 0), rest

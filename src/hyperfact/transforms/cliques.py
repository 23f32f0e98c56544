"""Transformations without mediators: every pair of a fact's slots becomes an edge."""

from dataclasses import dataclass

import numpy as np

from hyperfact.graph.hkg import HKG
from hyperfact.graph.kg import KG, Kind
from hyperfact.graph.ragged import Array, Ids, Places, offsets_of
from hyperfact.transforms.edge_blocks import Block, Triples, assemble, distinct


@dataclass(frozen=True)
class Pairs:
    """Pairs (earlier slot, later slot) of qualified facts, but for the primary pair.

    The later slot is always a value. Pairs of an entity with itself are left out.
    """

    fact: Places  # (pairs,)
    source: Ids  # (pairs,) the entity of the earlier slot
    target: Ids  # (pairs,) the value
    attribute: Ids  # (pairs,) of the value
    place: Ids  # (pairs,) 1 if the earlier slot is subject or object, 1 + i if it is value i

    @classmethod
    def of(cls, hkg: HKG) -> "Pairs":
        """The pairs of every qualified fact."""
        fact, slot, entity, attribute = _slots(hkg)
        counts = np.where(slot >= 2, slot, 0)
        later = np.repeat(np.arange(len(fact), dtype=np.int32), counts)
        starts = offsets_of(counts)[:-1].astype(np.int32)
        partner = np.arange(len(later), dtype=np.int32) - np.repeat(starts, counts)  # its slot
        earlier = later - slot[later] + partner
        keep = entity[earlier] != entity[later]
        earlier, later, partner = earlier[keep], later[keep], partner[keep]
        return cls(
            fact[later],
            entity[earlier],
            entity[later],
            attribute[later],
            np.maximum(partner, 1),
        )


def clique_plain(hkg: HKG) -> KG:
    """Every pair of a fact's entities, joined by the primary relation."""
    c, pairs = hkg.columns, Pairs.of(hkg)
    rows = np.arange(len(hkg))
    fact = np.concatenate([rows, pairs.fact])
    source = np.concatenate([c.subject, pairs.source])
    target = np.concatenate([c.object, pairs.target])
    relation = c.relation[fact]
    first, edge = distinct(source, relation, target)
    fact, edge = _once(hkg, fact, edge)
    block = Block(Kind.BASE, source[first], relation[first], target[first], fact, edge)
    return _clique(hkg, [block], "clique_plain")


def clique_semantic(hkg: HKG) -> KG:
    """Pairs labelled by roles: r for (s, o), and for a pair with a value its attribute and place.

    The derived relation of (x, v_j) is a_j at place 1 if x is the subject or the object, at place
    1 + i if x is value i: at most n_a derived relations for each attribute (table 8).
    """
    pairs = Pairs.of(hkg)
    first, edge = distinct(pairs.source, pairs.attribute, pairs.target, pairs.place)
    fact, edge = _once(hkg, pairs.fact, edge)
    source, attribute, target, place = (
        column[first] for column in (pairs.source, pairs.attribute, pairs.target, pairs.place)
    )
    block = Block(Kind.QUALIFIER, source, attribute, target, fact, edge, place)
    return _clique(hkg, [Triples.of(hkg.columns).base(), block], "clique_semantic")


def _clique(hkg: HKG, blocks: list[Block], name: str) -> KG:
    none = np.zeros(0, dtype=np.int64)
    return assemble(hkg, blocks, mediators=none, transformation=name, mode=None)


def _slots(hkg: HKG) -> tuple[Places, Array, Ids, Ids]:
    """Every slot of every qualified fact: its fact, number, entity and attribute."""
    c = hkg.columns
    rows = np.flatnonzero(hkg.num_qualifiers > 0)
    arity = hkg.arity[rows]
    fact = np.repeat(rows, arity)
    starts = offsets_of(arity)[:-1].astype(np.int32)
    slot = np.arange(len(fact), dtype=np.int32) - np.repeat(starts, arity)
    entity = np.where(slot == 0, c.subject[fact], c.object[fact])
    attribute = np.full(len(fact), -1, dtype=np.int32)
    entity[slot >= 2] = c.values  # facts without qualifiers have none, so these are all values
    attribute[slot >= 2] = c.attributes
    return fact, slot, entity, attribute


def _once(hkg: HKG, fact: Array, edge: Array) -> tuple[Array, Array]:
    """A fact asks for an edge once, even if two of its pairs give it.

    Only a fact that holds an entity twice can have such pairs, so few facts are looked at.
    """
    owner, _, entity, _ = _slots(hkg)
    key = np.sort(owner * len(hkg.entities) + entity)
    repeated = np.zeros(len(hkg), dtype=bool)
    repeated[key[1:][key[1:] == key[:-1]] // max(1, len(hkg.entities))] = True
    doubtful = repeated[fact]
    some = np.flatnonzero(doubtful)
    first, _ = distinct(fact[some], edge[some])
    keep = np.sort(np.concatenate([np.flatnonzero(~doubtful), some[first]]))
    return fact[keep], edge[keep]

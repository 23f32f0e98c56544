"""The recovery of the paper's appendix: find (s, r, o) by its motif, without reading edge kinds.

Algorithm 3 looks for the three-node clique of a mediator and two of its neighbours. Other facts put
edges between those neighbours too, so the motif is often not the only one; this module counts.
"""

from dataclasses import dataclass

import numpy as np

from hyperfact.graph.hkg import HKG, Columns
from hyperfact.graph.kg import KG, Kind
from hyperfact.graph.ragged import Ids, Places, offsets_of, owners_of, places_of
from hyperfact.transforms.edge_blocks import Mask, distinct


@dataclass(frozen=True)
class Motifs:
    """For each mediator the base edges that could be the primary triple of its fact."""

    offsets: Places  # (mediators + 1,)
    edges: Places  # (motifs,) base edges between two different neighbours of the mediator
    fact: Places  # (mediators,) row of the fact, -1 if the graph was imported
    right: Mask  # (mediators,) exactly one motif, and it is the primary triple

    @property
    def count(self) -> Places:
        """The number of motifs of each mediator."""  # (mediators,)
        return np.diff(self.offsets)

    @property
    def ambiguous(self) -> Mask:
        """Mediators without exactly one motif: structure alone does not tell their fact."""
        found: Mask = self.count != 1
        return found

    @property
    def wrong(self) -> Mask:
        """Mediators with one motif which is not their primary triple (self loops)."""
        found: Mask = ~self.ambiguous & ~self.right
        return found

    def __repr__(self) -> str:
        a, w, n = int(self.ambiguous.sum()), int(self.wrong.sum()), len(self.fact)
        share = f"{a / n:.1%}" if n else "none"
        return f"Motifs({a:,} of {n:,} mediators ambiguous ({share}), {w:,} recovered wrongly)"


def find_motifs(kg: KG) -> Motifs:
    """Every three-node clique (mediator, neighbour, neighbour), reading no kind of any edge."""
    n = kg.num_entities
    away = kg.source >= n
    mediator, neighbour = (kg.source[away] - n).astype(np.int64), kg.target[away]
    first, _ = distinct(mediator, neighbour)
    mediator, neighbour = mediator[first], neighbour[first]
    base = np.flatnonzero(~away)
    base = base[np.argsort(kg.source[base], kind="stable")]
    out = offsets_of(np.bincount(kg.source[base], minlength=n))
    # Walk from each neighbour along its base edges; keep those that end at another neighbour.
    at = places_of(out, neighbour)
    owner = np.repeat(mediator, out[neighbour + 1] - out[neighbour])
    edge = base[at]
    known = mediator * n + neighbour  # rising, for `distinct` sorts
    inside = _contains(known, owner * n + kg.target[edge])
    inside &= kg.target[edge] != kg.source[edge]
    owner, edge = owner[inside], edge[inside]
    offsets = offsets_of(np.bincount(owner, minlength=kg.num_mediators))
    return Motifs(offsets, edge, kg.mediator_fact, _right(kg, offsets, edge))


def recover_by_motifs(kg: KG) -> HKG:
    """Algorithm 3 as far as it goes, reading no kind of any edge.

    A mediator with exactly one motif, and one edge to each of its ends, gives a fact; its other
    edges are the qualifiers. Base edges that are no such motif are added as they stand. Mediators
    that structure alone does not tell are left out: `find_motifs` lists them.
    """
    motifs, n = find_motifs(kg), kg.num_entities
    primary = np.full(kg.num_mediators, -1, dtype=np.int64)
    once = np.flatnonzero(~motifs.ambiguous)
    primary[once] = motifs.edges[motifs.offsets[once]]
    away = np.flatnonzero(kg.source >= n)
    owner, ends = kg.source[away] - n, kg.target[away]
    at_end = np.zeros(kg.num_mediators, dtype=np.int64)
    inner = (ends == kg.source[primary[owner]]) | (ends == kg.target[primary[owner]])
    np.add.at(at_end, owner[inner], 1)
    told = np.flatnonzero((primary >= 0) & (at_end == 2))
    keep = away[~inner & np.isin(owner, told)]
    keep = keep[np.argsort(kg.source[keep], kind="stable")]
    counts = np.bincount(kg.source[keep] - n, minlength=kg.num_mediators)[told]
    rest = np.setdiff1d(np.flatnonzero(kg.source < n), primary[told])
    rows = np.concatenate([primary[told], rest])
    offsets = offsets_of(np.concatenate([counts, np.zeros(len(rest), dtype=np.int64)]))
    columns = Columns(
        kg.source[rows],
        kg.relation[rows],
        kg.target[rows],
        offsets,
        kg.relation[keep],
        kg.target[keep],
    )
    return HKG.from_columns(kg.entities, kg.relations, columns)


def _contains(rising: Places, keys: Places) -> Mask:
    if not len(rising):
        return np.zeros(len(keys), dtype=bool)
    at = np.minimum(np.searchsorted(rising, keys), len(rising) - 1)
    found: Mask = rising[at] == keys
    return found


def _right(kg: KG, offsets: Places, edges: Places) -> Mask:
    """Whether a mediator's only motif is what its typed edges call the primary triple."""
    owner = owners_of(offsets)
    subject, object_ = _role(kg, Kind.SUB), _role(kg, Kind.OBJ)
    same = (kg.source[edges] == subject[owner]) & (kg.target[edges] == object_[owner])
    same &= kg.relation[edges] == kg.mediator_relation[owner]
    right = np.zeros(kg.num_mediators, dtype=bool)
    right[owner[same]] = True
    right[np.diff(offsets) != 1] = False
    return right


def _role(kg: KG, kind: Kind) -> Ids:
    entity = np.full(kg.num_mediators, -1, dtype=np.int32)
    edges = kg.kind == kind
    entity[kg.source[edges] - kg.num_entities] = kg.target[edges]
    return entity

"""KG to HKG: the facts behind the edges, or the reason why there are none.

`restore` has two outcomes only: an HKG whose transformation is this very KG, or NotInImageError.
"""

from dataclasses import dataclass

import numpy as np

from hyperfact.errors import DataError
from hyperfact.graph.facts import Fact
from hyperfact.graph.hkg import HKG, Columns, union
from hyperfact.graph.kg import KG, TYPED, Kind
from hyperfact.graph.ragged import Array, Ids, Places, group, offsets_of
from hyperfact.transforms.edge_blocks import Mask, distinct
from hyperfact.transforms.stars import MODES, equivalent, no_distinction

#: Why a graph is refused; `NotInImageError.reason` is one of these names.
REASONS = {
    "lossy_transformation": "this transformation does not keep what a fact is made of",
    "unknown_mode": "the mode says which facts have mediators, and this is no mode",
    "unequal_columns": "the columns of the graph differ in length",
    "unknown_id": "an edge names a node, a relation or a kind that the graph does not have",
    "wrong_kind": "an edge has a kind or a place that this transformation never makes",
    "incoming_edge": "an edge leads to a mediator; a mediator is no value, subject or object",
    "base_edge_from_mediator": "a base edge starts at a mediator",
    "role_edge_from_entity": "an edge that only a mediator can have starts at an entity",
    "repeated_edge": "an edge stands there twice",
    "no_subject": "a mediator has no r^sub edge",
    "two_subjects": "a mediator has several r^sub edges",
    "no_object": "a mediator has no r^obj edge",
    "two_objects": "a mediator has several r^obj edges",
    "two_relations": "the r^sub and r^obj edges of a mediator belong to different relations",
    "wrong_primary_relation": "the relation noted for a mediator is not that of its r^sub edge",
    "same_fact_twice": "two mediators stand for the same fact",
    "no_base_edge": "the primary triple of a mediator has no base edge",
    "needless_mediator": "a fact without qualifiers has a mediator that this mode never makes",
    "uncovered_base_edge": "in mode literal every base edge has a mediator; this one has none",
}


class NotInImageError(DataError):
    """A KG that no HKG is transformed to, with the reason and the first offender."""

    def __init__(self, reason: str, where: str = ""):
        super().__init__(f"not restorable, {reason}: {REASONS[reason]}" + (where and f" ({where})"))
        self.reason = reason


def restore(kg: KG) -> HKG:
    """The HKG of a KG, from vocabularies and typed edges alone.

    A graph of mode `paper-text` gives the smallest HKG that it can come from: a bare fact beside a
    qualified one with the same primary triple has left no trace.

    Raises:
        NotInImageError: if no HKG is transformed to this KG.
    """
    _check_edges(kg)
    stars = _stars(kg)
    bare = _bare_facts(kg, stars)
    # Ids are checked, qualifiers sorted and facts distinct by now: nothing is left to canonicalise.
    return HKG(kg.entities, kg.relations, Columns.concatenate([stars.columns, bare]))


def unite(*graphs: KG) -> KG:
    """The KG of all facts of several KGs made in the same way over the same vocabularies.

    Edges cannot simply be pooled: a bare fact of one graph may meet its qualified twin in another.
    """
    first = graphs[0]
    if any((g.transformation, g.mode) != (first.transformation, first.mode) for g in graphs):
        raise DataError("only graphs of the same transformation and mode can be united")
    facts = union(*(restore(g) for g in graphs))
    if first.transformation == "equivalent":
        return equivalent(facts, first.mode or "compact")
    return no_distinction(facts)


def _refuse(kg: KG, reason: str, bad: Mask, *, mediators: bool = False) -> None:
    """Raise if any edge (or mediator) is bad, and say which is the first."""
    at = np.flatnonzero(bad)
    if not len(at):
        return
    where = f"mediator {at[0]}" if mediators else f"edge {at[0]}: {_written(kg, int(at[0]))}"
    more = f" and {len(at) - 1:,} more" if len(at) > 1 else ""
    raise NotInImageError(reason, where + more)


def _written(kg: KG, edge: int) -> str:
    ids = (int(kg.source[edge]), int(kg.relation[edge]), int(kg.target[edge]), int(kg.kind[edge]))
    s, r, o, kind = ids
    n = kg.num_entities
    if not (0 <= s < kg.num_nodes and 0 <= o < kg.num_nodes and 0 <= r < len(kg.relations)):
        return f"source {s}, relation {r}, target {o}, kind {kind}"
    ends = [kg.entities[x] if x < n else f"mediator {x - n}" for x in (s, o)]
    return f"{Fact(ends[0], kg.relations[r], ends[1])}, kind {kind}"


def _check_edges(kg: KG) -> None:
    if kg.transformation not in TYPED:
        raise NotInImageError("lossy_transformation", kg.transformation)
    if kg.mode not in (MODES if kg.transformation == "equivalent" else (None,)):
        raise NotInImageError("unknown_mode", repr(kg.mode))
    columns = (kg.relation, kg.target, kg.kind, kg.place)
    if any(len(c) != len(kg) for c in columns) or len(kg.mediator_fact) != kg.num_mediators:
        raise NotInImageError("unequal_columns")
    nodes, relations = kg.num_nodes, len(kg.relations)
    unknown = (kg.relation < 0) | (kg.relation >= relations)
    for ends in (kg.source, kg.target):
        unknown |= (ends < 0) | (ends >= nodes)
    _refuse(kg, "unknown_id", unknown)
    _refuse(kg, "wrong_kind", (kg.kind < 0) | (kg.kind > Kind.QUALIFIER) | (kg.place != 0))
    _refuse(kg, "incoming_edge", kg.target >= kg.num_entities)
    base, mediated = kg.kind == Kind.BASE, kg.source >= kg.num_entities
    _refuse(kg, "base_edge_from_mediator", base & mediated)
    _refuse(kg, "role_edge_from_entity", ~base & ~mediated)
    _, number = distinct(kg.kind, kg.source, kg.relation, kg.target)
    order = np.argsort(number, kind="stable")
    repeated = np.zeros(len(kg), dtype=bool)
    repeated[order[1:]] = number[order[1:]] == number[order[:-1]]
    _refuse(kg, "repeated_edge", repeated)


@dataclass(frozen=True)
class _Stars:
    """What the mediators say, a fact each."""

    columns: Columns

    @property
    def bare(self) -> Mask:
        found: Mask = np.diff(self.columns.offsets) == 0
        return found


def _stars(kg: KG) -> _Stars:
    subject, relation = _role(kg, Kind.SUB, "subject")
    object_, other = _role(kg, Kind.OBJ, "object")
    _refuse(kg, "two_relations", relation != other, mediators=True)
    _refuse(kg, "wrong_primary_relation", relation != kg.mediator_relation, mediators=True)
    edges = np.flatnonzero(kg.kind == Kind.QUALIFIER)
    owner = kg.source[edges] - kg.num_entities
    order, _ = distinct(owner, kg.relation[edges], kg.target[edges])  # no edge is repeated here
    edges, owner = edges[order], owner[order]
    offsets = offsets_of(np.bincount(owner, minlength=kg.num_mediators))
    columns = Columns(subject, relation, object_, offsets, kg.relation[edges], kg.target[edges])
    groups = group(columns.table)
    repeated = np.ones(kg.num_mediators, dtype=bool)
    repeated[groups.first] = False
    _refuse(kg, "same_fact_twice", repeated, mediators=True)
    return _Stars(columns)


def _role(kg: KG, kind: Kind, role: str) -> tuple[Ids, Ids]:
    """Target and relation of the one edge of this kind that each mediator has."""
    edges = np.flatnonzero(kg.kind == kind)
    owner = kg.source[edges] - kg.num_entities
    counts = np.bincount(owner, minlength=kg.num_mediators)
    _refuse(kg, f"no_{role}", counts == 0, mediators=True)
    _refuse(kg, f"two_{role}s", counts > 1, mediators=True)
    target, relation = np.empty_like(kg.mediator_relation), np.empty_like(kg.mediator_relation)
    target[owner], relation[owner] = kg.target[edges], kg.relation[edges]
    return target, relation


def _bare_facts(kg: KG, stars: _Stars) -> Columns:
    """The facts that base edges stand for; checks what the mode says about mediators."""
    edges = np.flatnonzero(kg.kind == Kind.BASE)
    if kg.transformation == "no_distinction":
        _refuse(kg, "needless_mediator", stars.bare, mediators=True)
        return _triples(kg, edges)
    triple, count = _match(kg, edges, stars.columns)
    base, of_star = triple[: len(edges)], triple[len(edges) :]
    has_base, covered, qualified = (np.zeros(count, dtype=bool) for _ in range(3))
    has_base[base], covered[of_star], qualified[of_star[~stars.bare]] = True, True, True
    _refuse(kg, "no_base_edge", ~has_base[of_star], mediators=True)
    if kg.mode == "literal":
        lonely = np.zeros(len(kg), dtype=bool)
        lonely[edges] = ~covered[base]
        _refuse(kg, "uncovered_base_edge", lonely)
    elif kg.mode == "compact":
        needless = stars.bare & ~qualified[of_star]
        _refuse(kg, "needless_mediator", needless, mediators=True)
    else:
        _refuse(kg, "needless_mediator", stars.bare, mediators=True)
    return _triples(kg, edges[~covered[base]])


def _match(kg: KG, edges: Places, stars: Columns) -> tuple[Places, int]:
    """A number for each distinct triple of the base edges and then of the mediators."""
    first, number = distinct(
        np.concatenate([kg.source[edges], stars.subject]),
        np.concatenate([kg.relation[edges], stars.relation]),
        np.concatenate([kg.target[edges], stars.object]),
    )
    return number, len(first)


def _triples(kg: KG, edges: Array) -> Columns:
    none = np.zeros(0, dtype=np.int32)
    offsets = np.zeros(len(edges) + 1, dtype=np.int64)
    return Columns(
        kg.source[edges], kg.relation[edges], kg.target[edges], offsets, none, none.copy()
    )

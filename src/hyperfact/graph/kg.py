"""The transformed graph: typed edges as columns, and mediators in an id range of their own.

An edge is a kind and a relation id, never a suffixed name, so no name of the user can clash with
one of ours. See docs/adr/0002-typed-edges.md.
"""

from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperfact.graph.facts import Vocabulary
from hyperfact.graph.fingerprints import name_hashes
from hyperfact.graph.mediator_hashes import Edges, digest, id_hashes, star_hashes
from hyperfact.graph.ragged import Array, Ids, Places, places_of


class Kind(IntEnum):
    """What an edge says: the primary triple, a role of the fact behind a mediator, or neither."""

    BASE = 0  # (s, r, o)
    SUB = 1  # (mediator, r^sub, s)
    OBJ = 2  # (mediator, r^obj, o)
    QUALIFIER = 3  # (mediator, a, v); in a clique (x, derived from a, v)
    MEMBER = 4  # (mediator, r, x) of the plain transformation: x has some part in the fact


#: Transformations whose mediator edges say subject, object and attribute.
TYPED = ("equivalent", "no_distinction")

Kinds = NDArray[np.int8]


@dataclass(frozen=True)
class Provenance:
    """Which edges each fact asked for, ragged: fact i owns edges[offsets[i]:offsets[i + 1]]."""

    offsets: Places = field(default_factory=lambda: np.zeros(1, dtype=np.int64))  # (facts + 1,)
    edges: Array = field(default_factory=lambda: np.zeros(0, dtype=np.int64))  # (uses,)

    def of(self, rows: Array) -> Array:
        """The edges of these facts, fact after fact; a shared edge stands there repeatedly."""
        return self.edges[places_of(self.offsets, rows)]


@dataclass(frozen=True, eq=False, repr=False)
class KG:
    """A knowledge graph made from an HKG (algorithm 1 and figure 4 of the paper).

    Entities have the ids 0 to n - 1, mediators n to n + m - 1. Relations keep the ids they have in
    the HKG; `kind` tells r from r^sub and r^obj. Two graphs are equal when their vocabularies,
    transformation and edges are, whatever the numbers of their mediators.
    """

    entities: Vocabulary
    relations: Vocabulary
    source: Ids  # (edges,) node
    relation: Ids  # (edges,) relation of the HKG
    target: Ids  # (edges,) node
    kind: Kinds  # (edges,)
    place: Ids  # (edges,) in clique_semantic the role of the source, counted from 1; else 0
    mediator_relation: Ids  # (mediators,) psi(b), the primary relation; -1 if no edge tells it
    mediator_fact: Places  # (mediators,) row of the fact; -1 if the graph was imported
    transformation: str = "equivalent"
    mode: str | None = "compact"
    provenance: Provenance = field(default_factory=Provenance)

    # -- size -------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.source)

    @property
    def num_entities(self) -> int:
        """Entities of the HKG, with or without edges."""
        return len(self.entities)

    @property
    def num_mediators(self) -> int:
        """Entities that the transformation added."""
        return len(self.mediator_relation)

    @property
    def num_nodes(self) -> int:
        """Entities and mediators."""
        return self.num_entities + self.num_mediators

    @property
    def num_edge_types(self) -> int:
        """The size of the range of `edge_type`."""
        variants = 3 if self.transformation in TYPED else 1 + int(self.place.max(initial=0))
        return variants * len(self.relations)

    @cached_property
    def edge_type(self) -> Ids:
        """One number for kind and relation: r, R + r for r^sub, 2 R + r for r^obj."""  # (edges,)
        variant = np.where(self.kind == Kind.QUALIFIER, self.place, 0)
        variant[self.kind == Kind.SUB] = 1
        variant[self.kind == Kind.OBJ] = 2
        return (variant * len(self.relations) + self.relation).astype(np.int32)

    # -- where edges come from --------------------------------------------------------------------

    @cached_property
    def support(self) -> Places:
        """For each edge the number of facts that ask for it."""  # (edges,)
        return np.bincount(self.provenance.edges, minlength=len(self))

    def edges_only_of(self, rows: Array) -> Array:
        """The edges that no fact but these (different) rows asks for, each once, rising."""
        edges, uses = np.unique(self.provenance.of(rows), return_counts=True)
        alone: Array = edges[uses == self.support[edges]]
        return alone

    # -- content ----------------------------------------------------------------------------------

    @property
    def edges(self) -> Edges:
        """The columns alone, without names."""
        columns = (self.source, self.relation, self.target, self.kind, self.place)
        return Edges(*columns, self.num_entities, self.num_mediators)

    @cached_property
    def _mediator_hashes(self) -> NDArray[np.uint64]:
        """128 bits of what the edges of each mediator say, by name."""  # (mediators, 2)
        return star_hashes(self.edges, name_hashes(self.entities), name_hashes(self.relations))

    def mediator_names(self) -> list[str]:
        """A name for each mediator that depends on the content of its fact alone (32 hex digits).

        Mediators with the same edges, which a lossy transformation makes, count on: `….2`, `….3`.
        """
        words = self._mediator_hashes.astype(">u8").tobytes().hex()
        names = [words[i : i + 32] for i in range(0, len(words), 32)]
        seen: dict[str, int] = {}
        for i, name in enumerate(names):
            seen[name] = seen.get(name, 0) + 1
            if seen[name] > 1:
                names[i] = f"{name}.{seen[name]}"
        return names

    def canonical(self) -> "KG":
        """The same graph with mediators ordered by content and edges sorted."""
        order, by, columns = self._sorted(self._mediator_hashes)
        moved = np.empty(len(by), dtype=np.int64)
        moved[by] = np.arange(len(by))
        return replace(
            self,
            **columns,
            mediator_fact=self.mediator_fact[order],
            provenance=replace(self.provenance, edges=moved[self.provenance.edges]),
        )

    def _sorted(self, hashes: NDArray[np.uint64]) -> tuple[Array, Array, dict[str, Any]]:
        """The order of mediators and edges by content, and the columns in that order."""
        n = self.num_entities
        order = np.lexsort((hashes[:, 1], hashes[:, 0]))
        new = np.arange(self.num_nodes, dtype=np.int32)
        new[n + order] = np.arange(n, self.num_nodes, dtype=np.int32)
        source, target = new[self.source], new[self.target]
        by = np.lexsort((self.place, target, self.relation, source, self.kind))
        columns: dict[str, Any] = {
            "source": source[by],
            "relation": self.relation[by],
            "target": target[by],
            "kind": self.kind[by],
            "place": self.place[by],
            "mediator_relation": self.mediator_relation[order],
        }
        return order, by, columns

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, KG):
            return NotImplemented
        if (self.transformation, self.mode, len(self), self.num_mediators) != (
            other.transformation,
            other.mode,
            len(other),
            other.num_mediators,
        ):
            return False
        if self.entities != other.entities or self.relations != other.relations:
            return False
        ids = id_hashes(self.num_entities), id_hashes(len(self.relations))
        a, b = (g._sorted(star_hashes(g.edges, *ids))[2] for g in (self, other))
        return all(np.array_equal(a[name], b[name]) for name in a)

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of names and edges; no order matters, and mediators count by content."""
        names = name_hashes(self.entities), name_hashes(self.relations)
        return digest(self.edges, f"{self.transformation} {self.mode}", *names)

    def __repr__(self) -> str:
        title = self.transformation + (f"/{self.mode}" if self.mode else "")
        return (
            f"KG({title}: {len(self):,} edges, {self.num_entities:,} entities, "
            f"{self.num_mediators:,} mediators, {len(self.relations):,} relations)"
        )

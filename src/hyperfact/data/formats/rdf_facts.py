"""Triples and reifiers to facts, in columns.

A reifier of a triple is one fact: the triple, qualified by what the file says of the reifier. A
triple that has a reifier is the base edge of those facts and no fact by itself; a reifier of which
nothing is said states the bare fact. Every other triple is a bare fact.
"""

from array import array

import numpy as np
from numpy.typing import NDArray

from hyperfact.data.builder import FactBuilder
from hyperfact.graph import rdf_terms as rdf_names
from hyperfact.graph import reserved
from hyperfact.graph.facts import Literal
from hyperfact.graph.label_texts import LABEL_PROPERTIES
from hyperfact.graph.ragged import Ids, Places, Table, group, offsets_of

_NAMES = (rdf_names.SUBJECT, rdf_names.PREDICATE, rdf_names.OBJECT)


class NestedError(Exception):
    """A qualifier with qualifiers of its own; `place` is that of its reifier."""

    def __init__(self, place: int):
        super().__init__("a qualifier has qualifiers of its own; a fact's qualifiers have none")
        self.place = place


class Triples:
    """The triples of one file as ids of names, until all reifiers are known."""

    def __init__(self, builder: FactBuilder):
        self._builder = builder
        self._names: list[str] = []  # of entities; a reserved IRI may mean a blank node's name
        self._entities: dict[str, int] = {}
        self._blanks: dict[str, int] = {}
        self._relation_names: list[str] = []
        self._relations: dict[str, int] = {}
        self._structural = dict.fromkeys(_NAMES, -1)
        self._s, self._r, self._o = array("i"), array("i"), array("i")
        self._node, self._place = array("i"), array("q")
        self._rs, self._rr, self._ro = array("i"), array("i"), array("i")
        self.graphs = 0  # triples in a named graph

    def entity(self, name: str) -> int:
        """The id of an entity's name; a literal meets the policy for literals here."""
        found = self._entities.get(name)
        if found is None:
            if isinstance(name, Literal):
                self._builder.entities[name]
            found = self._entities[name] = self._append(name)
        return found

    def blank(self, name: str) -> int:
        """The id of a blank node by its name."""
        found = self._blanks.get(name)
        if found is None:
            found = self._blanks[name] = self._append(name)
        return found

    def _append(self, name: str) -> int:
        self._names.append(name)
        return len(self._names) - 1

    def relation(self, name: str, *, iri: str = "") -> int:
        """The id of a relation's name; what it is in standard reification, its IRI tells."""
        if iri in self._structural:
            if self._structural[iri] < 0:
                self._structural[iri] = len(self._relation_names)
                self._relation_names.append(name)
            return self._structural[iri]
        found = self._relations.get(name)
        if found is None:
            found = self._relations[name] = len(self._relation_names)
            self._relation_names.append(name)
        return found

    def add(self, s: int, r: int, o: int) -> None:
        """An asserted triple."""
        self._s.append(s)
        self._r.append(r)
        self._o.append(o)

    def reify(self, node: int, s: int, r: int, o: int, *, place: int) -> None:
        """A reifier of a triple; `place` tells where it stands, for messages."""
        self._node.append(node)
        self._rs.append(s)
        self._rr.append(r)
        self._ro.append(o)
        self._place.append(place)

    def finish(self, path: str) -> None:
        """Give the facts to the builder."""
        rows = np.stack([_ids(self._s), _ids(self._r), _ids(self._o)], axis=1)  # (triples, 3)
        self._collect_labels(rows)
        rows = rows[self._standard(rows)]
        node = _ids(self._node)
        reified = np.stack([_ids(self._rs), _ids(self._rr), _ids(self._ro)], axis=1)
        reifier = np.zeros(len(self._names) + 1, dtype=bool)
        reifier[node] = True
        if reifier[reified[:, 0]].any():
            raise NestedError(self._place[int(np.flatnonzero(reifier[reified[:, 0]])[0])])
        qualifies = reifier[rows[:, 0]]
        pairs, rows = rows[qualifies], rows[~qualifies]
        base, unasserted = _bases(rows, reified)
        pointers = np.concatenate([rows[~base, 2], reified[:, 2], pairs[:, 2]])
        self._warn(path, unasserted, int(reifier[pointers].sum()))
        self._build(rows[~base], node, reified, pairs)

    def _collect_labels(self, rows: Ids) -> None:
        """Labels are facts like others, and how their subjects are shown."""
        for place, iri in enumerate(LABEL_PROPERTIES):
            if iri in self._relations:
                found = rows[rows[:, 1] == self._relations[iri]]
                for s, _, o in found.tolist():
                    self._builder.labels.add_literal(self._names[s], self._names[o], place=place)

    def _build(self, bare: Ids, node: Ids, reified: Ids, pairs: Ids) -> None:
        pairs = pairs[np.argsort(pairs[:, 0], kind="stable")]
        start = np.searchsorted(pairs[:, 0], node, side="left")
        counts = np.searchsorted(pairs[:, 0], node, side="right") - start
        chosen = np.repeat(start - offsets_of(counts)[:-1], counts)
        chosen = chosen + np.arange(len(chosen))
        facts = np.concatenate([bare, reified])
        self._builder.add_ids(
            self._names,
            self._relation_names,
            facts[:, 0],
            facts[:, 1],
            facts[:, 2],
            offsets_of(np.concatenate([np.zeros(len(bare), dtype=np.int64), counts])),
            pairs[chosen, 1],
            pairs[chosen, 2],
        )

    def _standard(self, rows: Ids) -> NDArray[np.bool_]:
        """Find nodes of standard reification; which rows are left as they stand."""
        keep = np.ones(len(rows), dtype=bool)
        kinds = list(self._structural.values())
        if -1 in kinds:
            return keep
        nodes: dict[int, list[int]] = {}
        for row in np.flatnonzero(np.isin(rows[:, 1], kinds)).tolist():
            nodes.setdefault(int(rows[row, 0]), []).append(row)
        names, whole = self._names, []
        for node, found in nodes.items():
            found.sort(key=lambda row: kinds.index(rows[row, 1]))
            if rows[found, 1].tolist() == kinds and _is_iri(names[rows[found[1], 2]]):
                s, p, o = rows[found, 2].tolist()
                relation = self.relation(reserved.relation_of(names[p]))
                self.reify(node, s, relation, o, place=0)
                whole.append(node)
                keep[found] = False
        kind = self._entities.get(rdf_names.STATEMENT, -1)
        is_type = rows[:, 1] == self._relations.get(rdf_names.TYPE, -1)
        keep &= ~(np.isin(rows[:, 0], whole) & is_type & (rows[:, 2] == kind))
        return keep

    def _warn(self, path: str, unasserted: int, pointed: int) -> None:
        for count, text in (
            (self.graphs, "triples stand in a named graph; the names of graphs are not kept"),
            (unasserted, "reified triples are not asserted; they are read as facts"),
            (pointed, "triples point at a reifier, which is kept as an entity"),
        ):
            if count:
                self._builder.warn(f"{path}: {count:,} {text}")


def _is_iri(name: str) -> bool:
    return not isinstance(name, Literal) and not name.startswith("_:")


def _ids(values: "array[int]") -> Ids:
    return np.frombuffer(values, dtype=np.int32) if len(values) else np.zeros(0, dtype=np.int32)


def _bases(rows: Ids, reified: Ids) -> tuple[NDArray[np.bool_], int]:
    """Which asserted triples have a reifier, and how many reified ones are not asserted."""
    both = np.concatenate([rows, reified])
    empty: Places = np.zeros(len(both) + 1, dtype=np.int64)
    of = group(Table(both, empty, both[:0, 0], both[:0, 0])).of_rows()
    asserted, reifying = of[: len(rows)], of[len(rows) :]
    base: NDArray[np.bool_] = np.isin(asserted, reifying)
    return base, len(np.setdiff1d(reifying, asserted))

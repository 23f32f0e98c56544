"""The hyper-relational knowledge graph as columns of ids: no Python object per fact.

Facts are a set: a repeated fact and a repeated qualifier are dropped and counted. Qualifiers stand
in canonical order, (attribute id, value id). See docs/adr/0001-ragged-facts.md.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from hyperfact.errors import DataError, UnknownNameError
from hyperfact.graph.columns import Columns, Repeats, canonical, check_ids, used
from hyperfact.graph.facts import Fact, Vocabulary, name_order
from hyperfact.graph.fingerprints import digest_of, fact_hashes, name_hashes
from hyperfact.graph.frames import facts_frame, frame_facts
from hyperfact.graph.label_texts import LabelTexts
from hyperfact.graph.labels import Labels
from hyperfact.graph.ragged import Ids, Places, group, offsets_of, owners_of

__all__ = ["HKG", "Columns", "Splits", "union"]


@dataclass(frozen=True, eq=False, repr=False)
class HKG:
    """A set of facts over two vocabularies (definition 2 of the paper)."""

    entities: Vocabulary
    relations: Vocabulary
    columns: Columns
    repeats: Repeats = field(default_factory=Repeats)

    @classmethod
    def from_columns(cls, entities: Vocabulary, relations: Vocabulary, columns: Columns) -> "HKG":
        """Canonicalise: sort qualifiers, drop and count repeated pairs and facts."""
        check_ids(columns, len(entities), len(relations))
        return cls(entities, relations, *canonical(columns))

    @classmethod
    def from_facts(
        cls,
        facts: Iterable[Fact],
        *,
        entities: Iterable[str] | None = None,
        relations: Iterable[str] | None = None,
    ) -> "HKG":
        """From facts by name; vocabularies are the names used, in name order, unless given."""
        rows = list(facts)
        used = [n for f in rows for n in (f.subject, f.object, *(v for _, v in f.qualifiers))]
        kinds = [n for f in rows for n in (f.relation, *(a for a, _ in f.qualifiers))]
        e = Vocabulary.of(sorted(set(used), key=name_order) if entities is None else entities)
        r = Vocabulary.of(sorted(set(kinds), key=name_order) if relations is None else relations)
        pairs = [pair for f in rows for pair in f.qualifiers]
        columns = Columns(
            _ids([e.id(f.subject, "entity") for f in rows]),
            _ids([r.id(f.relation, "relation") for f in rows]),
            _ids([e.id(f.object, "entity") for f in rows]),
            offsets_of(np.array([len(f.qualifiers) for f in rows], dtype=np.int64)),
            _ids([r.id(a, "relation") for a, _ in pairs]),
            _ids([e.id(v, "entity") for _, v in pairs]),
        )
        return cls.from_columns(e, r, columns)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        subject: str = "subject",
        relation: str = "relation",
        object: str = "object",
        qualifiers: Sequence[str] | Mapping[str, str] | None = None,
    ) -> "HKG":
        """From a table in memory (pandas, polars, Arrow, a list of dicts), a fact for each row.

        Args:
            frame: the table; a cell that is None, NaN or empty is no qualifier.
            subject: its column; `:text` is the same in every row.
            relation: its column, or the `:text` of every row.
            object: its column, or the `:text` of every row.
            qualifiers: columns, or attribute to column; all others if None.
        """
        return cls.from_facts(frame_facts(frame, (subject, relation, object), qualifiers))

    def to_frame(self, kind: str | None = None) -> Any:
        """As a table with a column for each attribute.

        Args:
            kind: `pandas`, `polars`, `arrow` or `rows`; if None, pandas or polars, as installed.
        """
        return facts_frame(list(self), kind)

    # -- size -------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def num_qualifiers(self) -> Places:
        """The number of qualifiers of each fact."""  # (facts,)
        return np.diff(self.columns.offsets)

    @property
    def arity(self) -> Places:
        """The number of slots of each fact."""  # (facts,)
        return 2 + self.num_qualifiers

    # -- views ------------------------------------------------------------------------------------

    @overload
    def __getitem__(self, place: int) -> Fact: ...
    @overload
    def __getitem__(self, place: slice) -> "HKG": ...
    def __getitem__(self, place: int | slice) -> "Fact | HKG":
        if isinstance(place, slice):
            return self.select(np.arange(len(self))[place])
        c, i = self.columns, range(len(self))[place]
        e, r = self.entities, self.relations
        start, stop = c.offsets[i], c.offsets[i + 1]
        pairs = tuple(
            (r[a], e[v])
            for a, v in zip(c.attributes[start:stop], c.values[start:stop], strict=True)
        )
        return Fact(e[c.subject[i]], r[c.relation[i]], e[c.object[i]], pairs)

    def __iter__(self) -> Iterator[Fact]:
        return (self[i] for i in range(len(self)))

    def select(self, rows: NDArray[Any]) -> "HKG":
        """The facts of these rows (indices or a mask), over the same vocabularies."""
        rows = np.flatnonzero(rows) if rows.dtype == bool else rows
        return replace(self, columns=self.columns.take(rows), repeats=Repeats())

    def rows_of_relation(self, relation: str | int) -> Places:
        """Rows in which this relation is the primary relation or an attribute."""
        r = relation if isinstance(relation, int) else self.relations.id(relation, "relation")
        return self._rows(self.columns.relation == r, self.columns.attributes == r)

    def rows_of_entity(self, entity: str | int) -> Places:
        """Rows in which this entity stands in any slot."""
        e = entity if isinstance(entity, int) else self.entities.id(entity, "entity")
        c = self.columns
        return self._rows((c.subject == e) | (c.object == e), c.values == e)

    def of_relation(self, relation: str | int) -> "HKG":
        """The facts of a relation."""
        return self.select(self.rows_of_relation(relation))

    def of_entity(self, entity: str | int) -> "HKG":
        """The facts of an entity."""
        return self.select(self.rows_of_entity(entity))

    def _rows(self, primary: NDArray[np.bool_], qualifier: NDArray[np.bool_]) -> Places:
        hit = primary.copy()
        hit[owners_of(self.columns.offsets)[qualifier]] = True
        return np.flatnonzero(hit)

    # -- content ----------------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        """The same vocabularies in the same order, and the same set of facts."""
        if not isinstance(other, HKG):
            return NotImplemented
        if len(self) != len(other):
            return False
        if self.entities != other.entities or self.relations != other.relations:
            return False
        both = Columns.concatenate([self.columns, other.columns])
        return len(group(both.table).keys) == len(self)

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of names and facts; the order of facts, names and qualifiers does not matter."""
        entities, relations = name_hashes(self.entities), name_hashes(self.relations)
        facts = fact_hashes(self.columns, entities, relations)
        return digest_of("hyperfact facts 1", (entities, relations, facts))

    def compact(self) -> "HKG":
        """The same facts over the names they use, in name order."""
        c = self.columns
        e, entities = used(self.entities, [c.subject, c.object, c.values])
        r, relations = used(self.relations, [c.relation, c.attributes])
        columns = Columns(
            e[c.subject], r[c.relation], e[c.object], c.offsets, r[c.attributes], e[c.values]
        )
        return replace(HKG.from_columns(entities, relations, columns), repeats=self.repeats)

    def _repr_svg_(self) -> str:
        return str(import_module("hyperfact.draw").draw_facts(self))

    def __repr__(self) -> str:
        qualified = int((self.num_qualifiers > 0).sum())
        head = (
            f"HKG({len(self):,} facts, {qualified:,} qualified, {len(self.entities):,} entities, "
            f"{len(self.relations):,} relations)"
        )
        lines = [f"  {self[i]}" for i in range(min(3, len(self)))]
        return "\n".join([head, *lines, *(["  …"] if len(self) > 3 else [])])


@dataclass(frozen=True, repr=False)
class Splits(Mapping[str, HKG]):
    """Named sets of facts over one shared pair of vocabularies."""

    parts: Mapping[str, HKG]
    name: str = "dataset"
    label_texts: LabelTexts = field(default_factory=LabelTexts, compare=False)

    def __post_init__(self) -> None:
        first = next(iter(self.parts.values()), None)
        for part in self.parts.values():
            if part.entities != first.entities or part.relations != first.relations:  # type: ignore[union-attr]
                raise DataError("the splits of a dataset must share their vocabularies")

    def __getitem__(self, name: str) -> HKG:
        return self.parts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.parts)

    def __len__(self) -> int:
        return len(self.parts)

    def _part(self, name: str) -> HKG:
        found = self.parts.get(name)
        return found if found is not None else self.all[0:0]

    @property
    def train(self) -> HKG:
        """The facts to learn from; empty if the dataset has no such part."""
        return self._part("train")

    @property
    def valid(self) -> HKG:
        """The facts to choose by; empty if the dataset has no such part."""
        return self._part("valid")

    @property
    def test(self) -> HKG:
        """The facts to report on; empty if the dataset has no such part."""
        return self._part("test")

    @property
    def entities(self) -> Vocabulary:
        """The shared vocabulary of entities."""
        return next(iter(self.parts.values())).entities

    @property
    def relations(self) -> Vocabulary:
        """The shared vocabulary of relations and attributes."""
        return next(iter(self.parts.values())).relations

    @cached_property
    def all(self) -> HKG:
        """Every fact of every split, once."""
        return union(*self.parts.values())

    @cached_property
    def labels(self) -> Labels:
        """How the names are shown."""
        return Labels(self.label_texts, self.entities, self.relations)

    def only(self, name: str) -> "Splits":
        """One part, as a dataset."""
        if name not in self.parts:
            raise UnknownNameError("split", name, self.parts)
        return replace(self, parts={name: self.parts[name]})

    def with_labels(self, texts: LabelTexts) -> "Splits":
        """The same facts; what these labels say goes before what the data says."""
        used = texts.used_by(self.entities, self.relations)
        return replace(self, label_texts=used.over(self.label_texts))

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name} {len(part):,}" for name, part in self.parts.items())
        return (
            f"Splits({self.name}: {sizes} facts; {len(self.entities):,} entities, "
            f"{len(self.relations):,} relations)"
        )


def union(*graphs: HKG) -> HKG:
    """The facts of several graphs that share their vocabularies."""
    first = graphs[0]
    if any(g.entities != first.entities or g.relations != first.relations for g in graphs):
        raise DataError("only graphs with the same vocabularies can be united")
    columns = Columns.concatenate([g.columns for g in graphs])
    return HKG.from_columns(first.entities, first.relations, columns)


def _ids(values: Sequence[int]) -> Ids:
    return np.array(values, dtype=np.int32)

"""The hyper-relational knowledge graph as columns of ids: no Python object per fact.

Facts are a set: a repeated fact and a repeated qualifier are dropped and counted. Qualifiers stand
in canonical order, (attribute id, value id). See docs/adr/0001-ragged-facts.md.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from hyperfact.errors import DataError
from hyperfact.facts import Fact, Literal, Vocabulary, name_order
from hyperfact.ragged import Array, Ids, Places, Table, group, mix, offsets_of, owners_of, places_of


@dataclass(frozen=True)
class Columns:
    """Facts as ids: three columns and ragged qualifiers. Not yet a set."""

    subject: Ids  # (facts,)
    relation: Ids  # (facts,)
    object: Ids  # (facts,)
    offsets: Places  # (facts + 1,)
    attributes: Ids  # (qualifiers,)
    values: Ids  # (qualifiers,)

    def __len__(self) -> int:
        return len(self.subject)

    @cached_property
    def table(self) -> Table:
        """The same facts, comparable by content."""
        fixed = np.stack([self.subject, self.relation, self.object], axis=1)
        return Table(fixed, self.offsets, self.attributes, self.values)

    def take(self, rows: Array) -> "Columns":
        """The facts of these rows, in this order."""
        places = places_of(self.offsets, rows)
        return Columns(
            self.subject[rows],
            self.relation[rows],
            self.object[rows],
            offsets_of(self.offsets[rows + 1] - self.offsets[rows]),
            self.attributes[places],
            self.values[places],
        )

    @staticmethod
    def concatenate(parts: Sequence["Columns"]) -> "Columns":
        """One after the other."""
        counts = np.concatenate([np.diff(p.offsets) for p in parts])
        return Columns(
            np.concatenate([p.subject for p in parts]),
            np.concatenate([p.relation for p in parts]),
            np.concatenate([p.object for p in parts]),
            offsets_of(counts),
            np.concatenate([p.attributes for p in parts]),
            np.concatenate([p.values for p in parts]),
        )


@dataclass(frozen=True)
class Repeats:
    """What set semantics dropped: rows of the input that repeat an earlier one."""

    facts: Places = field(default_factory=lambda: np.zeros(0, dtype=np.int64))  # input rows
    qualifiers: int = 0


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
        _check_ids(columns, len(entities), len(relations))
        columns, pairs = _sort_qualifiers(columns)
        groups = group(columns.table)
        keep = np.sort(groups.first)
        repeated = np.setdiff1d(np.arange(len(columns)), keep, assume_unique=True)
        if len(repeated):
            columns = columns.take(keep)
        return cls(entities, relations, columns, Repeats(repeated, pairs))

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
        e = Vocabulary(sorted(set(used), key=name_order) if entities is None else entities)
        r = Vocabulary(sorted(set(kinds), key=name_order) if relations is None else relations)
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
        entities, relations = _name_hashes(self.entities), _name_hashes(self.relations)
        lanes = [_fact_hashes(self.columns, entities, relations, lane) for lane in (0, 1)]
        digest = hashlib.sha256(b"hyperfact facts 1")
        for block in (
            *map(_sorted_bytes, (entities, relations)),
            _sorted_bytes(np.stack(lanes, 1)),
        ):
            digest.update(len(block).to_bytes(8, "little") + block)
        return digest.hexdigest()

    def compact(self) -> "HKG":
        """The same facts over the names they use, in name order."""
        c = self.columns
        e, entities = _used(self.entities, [c.subject, c.object, c.values])
        r, relations = _used(self.relations, [c.relation, c.attributes])
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


def _check_ids(columns: Columns, entities: int, relations: int) -> None:
    sides = [
        ("entity", entities, (columns.subject, columns.object, columns.values)),
        ("relation", relations, (columns.relation, columns.attributes)),
    ]
    for kind, size, arrays in sides:
        for ids in arrays:
            if len(ids) and (ids.min() < 0 or ids.max() >= size):
                raise DataError(f"a fact names {kind} {ids.max()} of {size}")


def _sort_qualifiers(columns: Columns) -> tuple[Columns, int]:
    """Canonical order inside each fact, repeated pairs dropped; and how many were."""
    owner = owners_of(columns.offsets)
    a, v = columns.attributes, columns.values
    if not _is_sorted(owner, a, v):
        order = np.lexsort((v, a, owner))
        a, v = a[order], v[order]
    repeat = np.zeros(len(a), dtype=bool)
    repeat[1:] = (owner[1:] == owner[:-1]) & (a[1:] == a[:-1]) & (v[1:] == v[:-1])
    dropped = int(repeat.sum())
    offsets = columns.offsets
    if dropped:
        a, v, owner = a[~repeat], v[~repeat], owner[~repeat]
        offsets = offsets_of(np.bincount(owner, minlength=len(columns)))
    return replace(columns, offsets=offsets, attributes=a, values=v), dropped


def _is_sorted(owner: Places, a: Ids, v: Ids) -> bool:
    same = owner[1:] == owner[:-1]
    rising = (a[1:] > a[:-1]) | ((a[1:] == a[:-1]) & (v[1:] >= v[:-1]))
    return bool((~same | rising).all())


def _used(names: Vocabulary, columns: Sequence[Ids]) -> tuple[Ids, Vocabulary]:
    """A map from old ids to new ones, and the vocabulary of the used names in name order."""
    used = np.unique(np.concatenate(columns))
    kept = sorted(used.tolist(), key=lambda i: name_order(names[i]))
    new = np.full(len(names), -1, dtype=np.int32)
    new[kept] = np.arange(len(kept), dtype=np.int32)
    return new, Vocabulary(names[i] for i in kept)


def _name_hashes(names: Vocabulary) -> NDArray[np.uint64]:
    """Two 64-bit words of each name; a literal never shares them with an entity."""
    digests = b"".join(
        hashlib.blake2b(
            name.encode("utf-8", "surrogatepass"),
            digest_size=16,
            person=b"literal" if isinstance(name, Literal) else b"name",
        ).digest()
        for name in names
    )
    return np.frombuffer(digests, dtype="<u8").reshape(-1, 2)  # (names, 2)


def _fact_hashes(
    c: Columns, entities: NDArray[np.uint64], relations: NDArray[np.uint64], lane: int
) -> NDArray[np.uint64]:
    e, r = entities[:, lane], relations[:, lane]
    salt = 100 * (lane + 1)
    pairs = mix(mix(r[c.attributes], salt) + e[c.values], salt + 1)
    sums = np.zeros(len(pairs) + 1, dtype=np.uint64)
    np.cumsum(pairs, out=sums[1:])
    total = sums[c.offsets[1:]] - sums[c.offsets[:-1]]
    for column, place in ((e[c.subject], 2), (r[c.relation], 3), (e[c.object], 4)):
        total = mix(total, salt + place) + mix(column, salt + place)
    return mix(total, salt)


def _sorted_bytes(words: NDArray[np.uint64]) -> bytes:
    """Rows of two words in rising order, as bytes."""
    order = np.lexsort((words[:, 1], words[:, 0]))
    return words[order].astype("<u8").tobytes()

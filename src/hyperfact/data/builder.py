"""Names in, ids out: collects the facts of all files of a dataset over shared vocabularies."""

import re
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hyperfact.graph.facts import Derived, Literal, Vocabulary, name_order
from hyperfact.graph.hkg import HKG, Columns, Splits
from hyperfact.graph.label_texts import LabelCollector
from hyperfact.graph.ragged import Ids, Places, offsets_of, owners_of
from hyperfact.system.source import Fault

LITERAL_POLICIES = ("keep", "drop", "error")
_DROPPED = -1
_LITERAL = re.compile(
    r"[+-]\d[\d.]*(?:[eE][+-]?\d+)?(?:#.*)?"  # +7.07, +5#http://…
    r"|[+-]\d+-\d\d-\d\d(?:T.*)?"  # +1915-01-01T00:00:00Z#0#0#0#9#http://…
    r'|".*"(?:@[A-Za-z]+(?:-[A-Za-z0-9]+)*|\^\^.+)',  # "3.73"^^<km2>, "chat"@fr
    re.DOTALL,
)


def typed_text(text: str) -> str:
    """The name that a field of an untyped text file means: a literal if it is written like one."""
    first = text[:1]
    if first in {"+", "-", '"'} and _LITERAL.fullmatch(text):
        return Literal(text)
    return text


@dataclass(frozen=True)
class ReadReport:
    """What reading kept, dropped and noticed; nothing is dropped without being counted here."""

    literals: int = 0  # distinct literal values
    dropped_facts: int = 0  # facts whose subject or object was a literal
    dropped_qualifiers: int = 0  # qualifiers whose value was a literal
    repeated_facts: int = 0
    repeated_qualifiers: int = 0
    warnings: tuple[str, ...] = ()
    formats: tuple[str, ...] = ()  # of the files, each once
    guesses: tuple[str, ...] = ()  # how files were read that do not say it themselves


class _Names(dict[str, int]):
    """Name to id; an unknown name gets the next id."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __missing__(self, name: str) -> int:
        found = self[name] = len(self.names)
        self.names.append(name)
        return found

    def ids(self, names: Sequence[str]) -> Ids:
        """The id of each of these distinct names; the first ones of a dataset come at once."""
        if not self and Literal not in set(map(type, names)):
            self.update(zip(names, range(len(names)), strict=True))
            self.names.extend(names)
        return np.array([self[name] for name in names] or [0], dtype=np.int32)


class _Entities(_Names):
    """Entity names, with the policy for literals."""

    def __init__(self, policy: str):
        super().__init__()
        self.policy = policy
        self.literals = 0

    def __missing__(self, name: str) -> int:
        if not isinstance(name, Literal):
            return super().__missing__(name)
        if self.policy == "error":
            raise Fault(f"the literal {str(name)!r} (allow it by --literals keep or drop)")
        self.literals += 1
        if self.policy == "keep":
            return super().__missing__(name)
        self[name] = _DROPPED
        return _DROPPED


class _Texts(dict[str, int]):
    """Field of an untyped file to id; the field decides if it is a literal."""

    def __init__(self, entities: _Entities):
        super().__init__()
        self.entities = entities

    def __missing__(self, text: str) -> int:
        found = self[text] = self.entities[typed_text(text)]
        return found


class FactBuilder:
    """Takes facts by name, split after split, and makes a dataset of them."""

    def __init__(self, *, literals: str = "keep"):
        self.entities = _Entities(literals)
        self.relations = _Names()
        self._texts = _Texts(self.entities)
        self._entity: dict[str, int] = self._texts
        self.derived: dict[str, tuple[Derived, list[Derived], str]] = {}  # of n-ary relations
        self.place, self.labels = "", LabelCollector()
        self.warnings: list[str] = []
        self.guesses: list[str] = []
        self.formats: list[str] = []
        self._splits: dict[str, _Rows] = {}
        self._rows = _Rows()
        self._block = _Block()
        # A refused literal must be reported with its line, so then no fact waits.
        self._block_size = 1 if literals == "error" else 8192

    def begin(self, split: str, *, typed: bool = False) -> None:
        """The facts that follow belong to `split`; `typed` names say themselves if literal."""
        self._flush()
        self._entity = self.entities if typed else self._texts
        self._rows = self._splits.setdefault(split, _Rows())

    def add(
        self,
        subject: str,
        relation: str,
        obj: str,
        attributes: Iterable[str] = (),
        values: Sequence[str] = (),
    ) -> None:
        """One fact."""
        block = self._block
        block.subject.append(subject)
        block.relation.append(relation)
        block.object.append(obj)
        block.counts.append(len(values))
        if values:
            block.attributes.extend(attributes)
            block.values.extend(values)
        if len(block.counts) >= self._block_size:
            self._flush()

    def _flush(self) -> None:
        """Turn the names of the waiting block into ids, column after column."""
        block, self._block = self._block, _Block()
        rows = self._rows
        entity, relation = self._entity.__getitem__, self.relations.__getitem__
        rows.subject.extend(map(entity, block.subject))
        rows.relation.extend(map(relation, block.relation))
        rows.object.extend(map(entity, block.object))
        rows.counts.extend(block.counts)
        rows.attributes.extend(map(relation, block.attributes))
        rows.values.extend(map(entity, block.values))

    def add_ids(
        self,
        entities: Sequence[str],
        relations: Sequence[str],
        subject: Ids,
        relation: Ids,
        obj: Ids,
        offsets: Places,
        attributes: Ids,
        values: Ids,
    ) -> None:
        """Many facts at once, as ids into these names."""
        e, r = self.entities.ids(entities), self.relations.ids(relations)
        rows = self._rows
        rows.subject.frombytes(e[subject].tobytes())
        rows.relation.frombytes(r[relation].tobytes())
        rows.object.frombytes(e[obj].tobytes())
        rows.counts.frombytes(np.diff(offsets).astype(np.int32).tobytes())
        rows.attributes.frombytes(r[attributes].tobytes())
        rows.values.frombytes(e[values].tobytes())

    def locate(self, path: Path) -> None:
        """Name the file at hand, for messages that point back to it."""
        self.place = str(path)

    @property
    def count(self) -> int:
        """The number of facts of the split at hand so far."""
        return len(self._rows.subject) + len(self._block.counts)

    def warn(self, text: str) -> None:
        """Something that the user should know and that does not stop the reading."""
        self.warnings.append(text)

    def tell(self, text: str) -> None:
        """How a file is read that could have been meant otherwise."""
        self.guesses.append(text)

    def finish(self, name: str) -> tuple[Splits, ReadReport]:
        """The dataset over vocabularies in name order, and what happened on the way."""
        self._flush()
        counts = [0, 0]
        columns = {split: rows.columns(counts) for split, rows in self._splits.items()}
        parts_of = columns.values()
        names_e, names_r = self.entities.names, self.relations.names
        entities, new_e = _in_order(names_e, _used(parts_of, "entity", len(names_e)))
        relations, new_r = _in_order(names_r, _used(parts_of, "relation", len(names_r)))
        parts = {
            split: HKG.from_columns(
                entities,
                relations,
                Columns(
                    new_e[c.subject],
                    new_r[c.relation],
                    new_e[c.object],
                    c.offsets,
                    new_r[c.attributes],
                    new_e[c.values],
                ),
            )
            for split, c in columns.items()
        }
        report = ReadReport(
            literals=self.entities.literals,
            dropped_facts=counts[0],
            dropped_qualifiers=counts[1],
            repeated_facts=sum(len(p.repeats.facts) for p in parts.values()),
            repeated_qualifiers=sum(p.repeats.qualifiers for p in parts.values()),
            warnings=tuple(self.warnings),
            formats=tuple(dict.fromkeys(self.formats)),
            guesses=tuple(self.guesses),
        )
        return Splits(parts, name, self.labels.used_by(entities, relations)), report


class _Block:
    """Facts by name that wait to be turned into ids."""

    __slots__ = ("attributes", "counts", "object", "relation", "subject", "values")

    def __init__(self) -> None:
        self.subject: list[str] = []
        self.relation: list[str] = []
        self.object: list[str] = []
        self.counts: list[int] = []
        self.attributes: list[str] = []
        self.values: list[str] = []


class _Rows:
    """The growing columns of one split."""

    def __init__(self) -> None:
        self.subject, self.relation, self.object = array("i"), array("i"), array("i")
        self.counts, self.attributes, self.values = array("i"), array("i"), array("i")

    def columns(self, dropped: list[int]) -> Columns:
        """The columns without dropped literals; `dropped` counts facts and qualifiers."""
        s, r, o, counts, a, v = (
            np.frombuffer(x, dtype=np.int32) if len(x) else np.zeros(0, dtype=np.int32)
            for x in (
                self.subject,
                self.relation,
                self.object,
                self.counts,
                self.attributes,
                self.values,
            )
        )
        offsets = offsets_of(counts)
        if (v == _DROPPED).any():
            keep = v != _DROPPED
            dropped[1] += int((~keep).sum())
            offsets = offsets_of(np.bincount(owners_of(offsets)[keep], minlength=len(s)))
            a, v = a[keep], v[keep]
        columns = Columns(s, r, o, offsets, a, v)
        gone = (s == _DROPPED) | (o == _DROPPED)
        dropped[0] += int(gone.sum())
        return columns.take(np.flatnonzero(~gone)) if gone.any() else columns


def _used(columns: Iterable[Columns], kind: str, size: int) -> Ids:
    """The ids that stand in a fact; dropping may have left names without one."""
    seen = np.zeros(size, dtype=bool)
    for c in columns:
        for ids in (
            (c.subject, c.object, c.values) if kind == "entity" else (c.relation, c.attributes)
        ):
            seen[ids] = True
    return np.flatnonzero(seen).astype(np.int32)


def _in_order(names: list[str], used: Ids) -> tuple[Vocabulary, Ids]:
    """The vocabulary of the used names in name order, and the map from old ids to new."""
    kept = used.tolist()
    if Literal in set(map(type, names)):
        kept.sort(key=lambda i: name_order(names[i]))
    else:
        kept.sort(key=names.__getitem__)
    new = np.full(len(names) + 1, _DROPPED, dtype=np.int32)
    new[kept] = np.arange(len(kept), dtype=np.int32)
    return Vocabulary(names[i] for i in kept), new

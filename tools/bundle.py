"""What the two dataset builders share: clean facts, split them without leaks, write them.

The order of facts and the choice of held-out facts come from hashes of their text, never from
a random generator or a set's order, so a rebuild gives the same bytes.
"""

import gzip
import hashlib
import io
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

Qualifiers = tuple[tuple[str, str], ...]
Splits = Mapping[str, "list[Fact]"]

SEED = "hyperfact-1"
HELD_OUT = {"valid": 0.1, "test": 0.1}
COUNTS_BEGIN, COUNTS_END = "<!-- counts: written by tools/ -->", "<!-- end of counts -->"
MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)


class Fact(NamedTuple):
    """A primary triple and its qualifiers, all of them readable labels."""

    subject: str
    relation: str
    object: str
    qualifiers: Qualifiers = ()

    @property
    def triple(self) -> tuple[str, str, str]:
        """The primary triple."""
        return self.subject, self.relation, self.object

    def entities(self) -> Iterator[str]:
        """The entities of all slots."""
        yield self.subject
        yield self.object
        yield from (value for _, value in self.qualifiers)

    def relations(self) -> Iterator[str]:
        """The relation and the attributes."""
        yield self.relation
        yield from (attribute for attribute, _ in self.qualifiers)


@dataclass
class Kinds:
    """Remembers what each label stands for, and refuses one label for two kinds of thing."""

    kind_of: dict[str, str] = field(default_factory=dict)

    def __call__(self, kind: str, label: str) -> str:
        """Return the label after noting its kind."""
        seen = self.kind_of.setdefault(label, kind)
        if seen != kind:
            raise ValueError(f"the label {label!r} stands for a {seen} and for a {kind}")
        return label

    def apart(self, kind: str, label: str) -> str:
        """Return the label, with its kind in brackets where another kind has it already."""
        taken = self.kind_of.get(label, kind) != kind
        return self(kind, f"{label} ({kind})" if taken else label)


def qualifiers(*pairs: tuple[str, str | None]) -> Qualifiers:
    """The pairs that have a value."""
    return tuple((attribute, value) for attribute, value in pairs if value is not None)


def clean(facts: Iterable[Fact]) -> list[Fact]:
    """Drop repeated facts and bare twins of qualified facts; sort the rest."""
    unique = {(*fact.triple, frozenset(fact.qualifiers)): fact for fact in facts}
    qualified = {fact.triple for fact in unique.values() if fact.qualifiers}
    return sorted(f for f in unique.values() if f.qualifiers or f.triple not in qualified)


def split(facts: Sequence[Fact]) -> dict[str, list[Fact]]:
    """Hold out whole groups of facts, as long as each of their labels stays in train.

    A group is all facts of one relation between the same two entities, in either direction, so
    no primary triple and no mirrored triple stands in two splits.
    """
    groups: dict[tuple[str, ...], list[Fact]] = {}
    for fact in facts:
        pair = sorted((fact.subject, fact.object))
        groups.setdefault((fact.relation, *pair), []).append(fact)
    in_train = Counter(label for fact in facts for label in _labels(fact))
    splits: dict[str, list[Fact]] = {"train": [], "valid": [], "test": []}
    for key in sorted(groups, key=_hash):
        group = groups[key]
        name = _choose(splits, len(group), len(facts))
        leaving = Counter(label for fact in group for label in _labels(fact))
        if name != "train" and all(in_train[label] > n for label, n in leaving.items()):
            in_train.subtract(leaving)
        else:
            name = "train"
        splits[name].extend(group)
    return {name: sorted(chosen) for name, chosen in splits.items()}


def write(folder: Path, splits: Splits) -> None:
    """Write one compressed JSON-lines file per split and refresh the counts in the data card."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, facts in splits.items():
        text = "".join(_line(fact) for fact in facts)
        (folder / f"{name}.jsonl.gz").write_bytes(_compress(text))
    card = folder / "CARD.md"
    if card.exists():
        before, _, rest = card.read_text("utf-8").partition(COUNTS_BEGIN)
        _, _, after = rest.partition(COUNTS_END)
        counts = f"{COUNTS_BEGIN}\n\n{describe(splits)}\n{COUNTS_END}"
        card.write_text(before + counts + after, "utf-8")


def describe(splits: Splits) -> str:
    """The counts of a dataset as Markdown tables."""
    facts = [fact for chosen in splits.values() for fact in chosen]
    entities = {label for fact in facts for label in fact.entities()}
    attributes = {attribute for fact in facts for attribute, _ in fact.qualifiers}
    relations = Counter(fact.relation for fact in facts)
    qualified = Counter(fact.relation for fact in facts if fact.qualifiers)
    arities = Counter(2 + len(fact.qualifiers) for fact in facts)
    share = 100 * qualified.total() / len(facts)
    rows = [("Facts", f"{len(facts):,}")]
    rows += [(f"Facts in {name}", f"{len(chosen):,}") for name, chosen in splits.items()]
    rows += [("Qualified facts", f"{qualified.total():,} ({share:.1f} %)")]
    rows += [("Entities", f"{len(entities):,}"), ("Relations", f"{len(relations)}")]
    rows += [("Attributes", f"{len(attributes)}")]
    rows += [(f"Facts of arity {arity}", f"{n:,}") for arity, n in sorted(arities.items())]
    lines = _table(("What", "Count"), rows)
    lines += ["", *_table(("Relation", "Facts", "Qualified", "Attributes"), _by_relation(facts))]
    return "\n".join(lines) + "\n"


def _by_relation(facts: Sequence[Fact]) -> list[tuple[str, ...]]:
    relations = Counter(fact.relation for fact in facts)
    rows: list[tuple[str, ...]] = []
    for relation, n in sorted(relations.items(), key=lambda item: (-item[1], item[0])):
        own = [fact for fact in facts if fact.relation == relation]
        names = Counter(attribute for fact in own for attribute, _ in fact.qualifiers)
        ordered = sorted(names, key=lambda name: (-names[name], name))
        qualified = sum(bool(fact.qualifiers) for fact in own)
        rows.append((relation, f"{n:,}", f"{qualified:,}", ", ".join(ordered)))
    return rows


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    rule = tuple("---" for _ in head)
    return ["| " + " | ".join(row) + " |" for row in (head, rule, *rows)]


def _choose(splits: Splits, size: int, total: int) -> str:
    """The held-out split that is furthest from full and has room, or train."""
    room = {name: share - len(splits[name]) / total for name, share in HELD_OUT.items()}
    name = max(room, key=lambda split_name: room[split_name])
    return name if room[name] * total >= size else "train"


def _labels(fact: Fact) -> Iterator[tuple[str, str]]:
    yield from (("entity", label) for label in fact.entities())
    yield from (("relation", label) for label in fact.relations())


def _hash(key: tuple[str, ...]) -> str:
    return hashlib.sha256("\t".join((SEED, *key)).encode()).hexdigest()


def _line(fact: Fact) -> str:
    record: dict[str, object] = dict(zip(("subject", "relation", "object"), fact, strict=False))
    if fact.qualifiers:
        record["qualifiers"] = fact.qualifiers
    return json.dumps(record, ensure_ascii=False) + "\n"


def _compress(text: str) -> bytes:
    buffer = io.BytesIO()
    with gzip.GzipFile("", "wb", compresslevel=9, fileobj=buffer, mtime=0) as file:
        file.write(text.encode())
    return buffer.getvalue()

"""The findings of `data.audit`, counted by SQL; the order and the examples are the same.

`fact` (n, split, s, r, o, q) holds the facts of all splits one after the other, those of two splits
twice: the rows of an audit's `View`.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from hyperfact.data.audit import KINDS, Audit, Finding
from hyperfact.data.audit.leaks import SAME_SHARE
from hyperfact.data.audit.shapes import folded
from hyperfact.data.audit.view import HELD_OUT, SHOWN, View
from hyperfact.graph.facts import Literal, Vocabulary, show
from hyperfact.graph.hkg import HKG, Splits
from hyperfact.graph.label_texts import LabelTexts
from hyperfact.graph.labels import Labels
from hyperfact.graph.syntax import quote
from hyperfact.scale.disk_facts import DiskFacts
from hyperfact.scale.disk_rules import linked_relations
from hyperfact.scale.row_words import fact_words
from hyperfact.system.engine import Engine

_TRIPLE = "s, r, o"


@dataclass(frozen=True)
class DiskView:
    """A dataset laid out for auditing."""

    facts: DiskFacts
    examples: int
    labels: Labels

    @property
    def engine(self) -> Engine:
        """Where the tables are."""
        return self.facts.engine

    @property
    def sizes(self) -> dict[str, int]:
        """The facts of each split."""
        return dict(self.facts.manifest.splits)

    @property
    def shown(self) -> list[str]:
        """The splits that a model is shown."""
        return [name for name in SHOWN if name in self.sizes]

    @property
    def held_out(self) -> list[str]:
        """The splits that are measured on, if there is anything to be shown before."""
        return [name for name in HELD_OUT if name in self.sizes and self.shown]

    def of_facts(self, kind: str, query: str, of: int, where: str = "") -> Finding:
        """A finding about the rows n of a query."""
        count = int(self.engine.value(f"SELECT count(*) FROM ({query})"))
        few = f"SELECT n FROM ({query}) ORDER BY n LIMIT {self.examples}"
        rows = [int(n) for (n,) in self.engine.rows(few)] if count and self.examples else []
        facts = self.facts.facts(rows)
        labels = tuple(map(self.labels.fact, facts))
        return Finding(KINDS[kind], count, of, where, tuple(map(str, facts)), labels)

    def of_names(
        self,
        kind: str,
        ids: Sequence[int],
        count: int,
        of: int,
        *,
        table: str = "entity",
        where: str = "",
    ) -> Finding:
        """A finding about names, of which the first are given."""
        named = self.facts.named(table, list(ids))
        some = [named[i] for i in ids]
        labels = tuple(quote(self.labels.full(name)) for name in some)
        return Finding(KINDS[kind], count, of, where, tuple(map(show, some)), labels)

    def count(self, query: str) -> int:
        """The rows of a query."""
        return int(self.engine.value(f"SELECT count(*) FROM ({query})"))

    def some(self, query: str) -> list[int]:
        """The first ids of a query, as many as there are examples."""
        if not self.examples:
            return []
        few = f"SELECT id FROM ({query}) ORDER BY id LIMIT {self.examples}"
        return [int(i) for (i,) in self.engine.rows(few)]


def audit_on_disk(facts: DiskFacts, *, examples: int = 3, texts: LabelTexts | None = None) -> Audit:
    """Check a dataset in parts; each finding comes with at most `examples` examples."""
    facts.load_words()
    facts.choose_rows()
    e = facts.engine
    e.table(
        "fact_word",
        f"SELECT w.n, f.split, w.x, w.y FROM ({fact_words(e.dialect)}) w JOIN fact f ON f.n = w.n",
    )
    view = DiskView(facts, examples, Labels(texts))
    found = [f for check in _CHECKS for f in check(view)]
    relations = Vocabulary(name for page in facts.names("relation") for name in page)
    empty = HKG.from_facts([], entities=(), relations=relations)
    small = View(Splits({"train": empty}, label_texts=texts or LabelTexts()), examples)
    found += linked_relations(view.of_facts, facts, small, view.shown, view.held_out)
    order = list(KINDS)
    found.sort(key=lambda f: order.index(f.id))
    return Audit(facts.manifest.name, view.sizes, tuple(found))


def _in(splits: Sequence[str]) -> str:
    return f"split IN ({', '.join(map(repr, splits))})" if splits else "1 = 0"


def _same_fact(here: Sequence[str], there: Sequence[str]) -> str:
    """Rows of these splits whose fact stands in those, too."""
    return (
        f"SELECT n FROM fact_word WHERE {_in(here)} AND (x, y) IN "
        f"(SELECT x, y FROM fact_word WHERE {_in(there)})"
    )


def _same_triple(here: Sequence[str], there: Sequence[str], more: str = "") -> str:
    return (
        f"SELECT n FROM fact WHERE {_in(here)} {more} AND ({_TRIPLE}) IN "
        f"(SELECT {_TRIPLE} FROM fact WHERE {_in(there)})"
    )


def _leaks(view: DiskView) -> Iterator[Finding]:
    sizes = view.sizes
    if {"valid", "test"} <= set(sizes):
        both, larger = _same_fact(["test"], ["valid"]), max(sizes["valid"], sizes["test"])
        same = larger > 0 and view.count(both) / larger > SAME_SHARE
        query = both if same else "SELECT n FROM fact WHERE 1 = 0"
        yield view.of_facts("valid-is-test", query, larger, "valid, test")
    for one, other in combinations(sizes, 2):
        if one in SHOWN and other in SHOWN:
            continue
        smaller = min(sizes[one], sizes[other])
        both = _same_fact([other], [one])
        yield view.of_facts("facts-in-two-splits", both, smaller, f"{one}, {other}")
    for split in view.held_out:
        seen = _same_triple([split], view.shown)
        yield view.of_facts("primary-in-train", seen, sizes[split], split)
    if view.held_out == ["valid", "test"]:
        seen = _same_triple(["test"], [*view.shown, "valid"])
        yield view.of_facts("primary-in-train-or-valid", seen, sizes["test"], "test")


def _names(splits: Sequence[str], role: str) -> str:
    """The different ids that stand in a role in these splits."""
    where = f"WHERE {_in(splits)}"
    pairs = f"FROM pair p JOIN fact f ON f.n = p.n {where}"
    if role == "entity":
        return (
            f"SELECT s AS id FROM fact {where} UNION SELECT o AS id FROM fact {where} "
            f"UNION SELECT p.v AS id {pairs}"
        )
    if role == "relation":
        return f"SELECT DISTINCT r AS id FROM fact {where}"
    return f"SELECT DISTINCT p.a AS id {pairs}"


def _unseen(view: DiskView) -> Iterator[Finding]:
    roles = ("entity", "relation", "attribute")
    for role in roles:
        view.engine.table(f"shown_{role}", _names(view.shown, role))
    unseen = {r: f"NOT IN (SELECT id FROM shown_{r})" for r in roles}
    for split in view.held_out:
        here, of = _in([split]), view.sizes[split]
        pairs = f"SELECT f.n FROM pair p JOIN fact f ON f.n = p.n WHERE {here} AND p"
        own = f"SELECT n FROM fact WHERE {here} AND"
        entity = unseen["entity"]
        rows = f"{own} (s {entity} OR o {entity}) UNION {pairs}.v {entity}"
        yield view.of_facts("facts-with-unseen-entity", rows, of, split)
    for split in view.held_out:
        here, of = _in([split]), view.sizes[split]
        pairs = f"SELECT f.n FROM pair p JOIN fact f ON f.n = p.n WHERE {here} AND p"
        own = f"SELECT n FROM fact WHERE {here} AND r {unseen['relation']}"
        rows = f"{own} UNION {pairs}.a {unseen['attribute']}"
        yield view.of_facts("facts-with-unseen-relation", rows, of, split)
    for split in view.held_out:
        used = {r: f"({_names([split], r)})" for r in roles}
        new = {r: f"SELECT id FROM {used[r]} WHERE id {unseen[r]}" for r in roles}
        of = view.count(f"SELECT * FROM {used['entity']}")
        entities = view.some(new["entity"])
        count = view.count(new["entity"])
        yield view.of_names("unseen-entities", entities, count, of, where=split)
        ids = [i for role in roles[1:] for i in view.some(new[role])][: view.examples]
        count = sum(view.count(new[role]) for role in roles[1:])
        of = sum(view.count(f"SELECT * FROM {used[role]}") for role in roles[1:])
        yield view.of_names("unseen-relations", ids, count, of, table="relation", where=split)


def _repeats(view: DiskView) -> Iterator[Finding]:
    """A dataset in parts holds none: they were dropped, and told of, when it was made."""
    for split, size in view.sizes.items():
        yield Finding(KINDS["repeated-facts"], 0, size, split)
    for split in view.sizes:
        pairs = view.engine.value(f"SELECT sum(q) FROM fact WHERE {_in([split])}")
        yield Finding(KINDS["repeated-qualifiers"], 0, int(pairs or 0), split)


def _shapes(view: DiskView) -> Iterator[Finding]:
    for split in view.sizes:
        here = _in([split])
        twins = (
            f"SELECT n FROM fact WHERE {here} AND q = 0 AND ({_TRIPLE}) IN "
            f"(SELECT {_TRIPLE} FROM fact WHERE {here} AND q > 0)"
        )
        bare = view.count(f"SELECT n FROM fact WHERE {here} AND q = 0")
        yield view.of_facts("bare-twins", twins, bare, split)
    qualified = view.count("SELECT n FROM fact WHERE q > 0")
    again = "SELECT DISTINCT n FROM (SELECT n FROM pair GROUP BY n, a HAVING count(*) > 1)"
    yield view.of_facts("repeated-attributes", again, qualified)
    copies = "SELECT DISTINCT f.n FROM pair p JOIN fact f ON f.n = p.n WHERE p.v = f.s OR p.v = f.o"
    yield view.of_facts("value-is-subject-or-object", copies, qualified)
    loops = "SELECT n FROM fact WHERE s = o"
    yield view.of_facts("self-loops", loops, sum(view.sizes.values()))


def _odd_names(view: DiskView) -> Iterator[Finding]:
    entities, relations = view.facts.manifest.entities, view.facts.manifest.relations
    ends = "SELECT s FROM fact UNION SELECT o FROM fact"
    only = f"SELECT DISTINCT v AS id FROM pair WHERE v NOT IN ({ends})"
    yield view.of_names("qualifier-only-entities", view.some(only), view.count(only), entities)
    literals = "SELECT id FROM entity WHERE kind = 'literal'"
    yield view.of_names("literals", view.some(literals), view.count(literals), entities)
    texts: list[str] = []
    count = 0
    for kind in ("entity", "relation"):
        some, size = _lookalikes(view, kind)
        texts, count = texts + some, count + size
    shown = tuple(texts[: view.examples])
    yield Finding(KINDS["lookalike-names"], count, entities + relations, "", shown)


def _lookalikes(view: DiskView, kind: str) -> tuple[list[str], int]:
    """The first groups of names that differ by case, space or form only; and all their names."""
    e, start = view.engine, 0
    e.drop("folded_name")
    for names in view.facts.names(kind):
        keys = b"".join(_key(name) for name in names)
        words = np.frombuffer(keys, dtype="<u8").reshape(-1, 2)
        numbers = np.arange(start, start + len(names), dtype=np.int32)
        e.load("folded_name", {"id": numbers, "x": words[:, 0], "y": words[:, 1]})
        start += len(names)
    if not start:
        return [], 0
    e.table(
        "alike",
        "SELECT x, y, count(*) AS size, min(id) AS id FROM folded_name GROUP BY x, y "
        "HAVING count(*) > 1",
    )
    total = int(e.value("SELECT sum(size) FROM alike") or 0)
    texts = []
    for first in view.some("SELECT id FROM alike"):
        rows = e.rows(
            "SELECT f.id FROM folded_name f JOIN alike a ON a.x = f.x AND a.y = f.y "
            f"WHERE a.id = {first} ORDER BY f.id"
        )
        ids = [int(i) for (i,) in rows]
        named = view.facts.named(kind, ids)
        texts.append(" ~ ".join(show(named[i]) for i in ids))
    return texts, total


def _key(name: str) -> bytes:
    text = folded(name).encode("utf-8", "surrogatepass")
    person = b"literal" if isinstance(name, Literal) else b"name"
    return hashlib.blake2b(text, digest_size=16, person=person).digest()


_CHECKS = (_leaks, _unseen, _repeats, _shapes, _odd_names)

"""Relations that tell each other, found by SQL: the rules of `data.audit.relations`."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from hyperfact.data.audit import Finding
from hyperfact.data.audit.relations import CROWD, SUPPORT, THRESHOLD, Rules, mutual, rule_findings
from hyperfact.data.audit.view import View
from hyperfact.scale.disk_facts import DiskFacts

Finder = Callable[[str, str, int, str], Finding]


def linked_relations(
    of_facts: Finder,
    facts: DiskFacts,
    small: View,
    shown: Sequence[str],
    held_out: Sequence[str],
) -> Iterator[Finding]:
    """Inverse, symmetric and duplicate relations; held-out facts that follow by one of them.

    Args:
        of_facts: Makes a finding of the rows of a query.
        facts: The tables.
        small: A view without facts, which knows the names of relations.
        shown: Splits that a model is shown.
        held_out: Splits that it is measured on.
    """
    e, relations = facts.engine, facts.manifest.relations
    _make_pairs(facts, "joined", "1 = 1")
    backward = _rules(facts, "b.s = a.o AND b.o = a.s")
    forward = mutual(_rules(facts, "b.s = a.s AND b.o = a.o"), relations)
    total = int(e.value("SELECT count(DISTINCT r) FROM fact"))
    listed = ", ".join(map(repr, shown)) or "''"
    _make_pairs(facts, "seen_pair", f"split IN ({listed})")
    told = " UNION ".join(
        _told(facts, name, rules, ends)
        for name, rules, ends in (
            ("backward_rule", backward, "h.s = f.o AND h.o = f.s"),
            ("forward_rule", forward, "h.s = f.s AND h.o = f.o"),
        )
    )
    e.table("told", told)
    for split in held_out:
        rows = f"SELECT n FROM told WHERE split = '{split}'"
        yield of_facts("told-by-another-relation", rows, facts.manifest.splits[split], split)
    yield from rule_findings(small, backward, forward, total)


def _make_pairs(facts: DiskFacts, name: str, where: str) -> None:
    """Distinct triples without self loops (s, o, r), and how many relations join the pair."""
    e = facts.engine
    e.table(f"{name}_triple", f"SELECT DISTINCT s, o, r FROM fact WHERE s <> o AND {where}")
    e.table(
        name,
        "SELECT t.s, t.o, t.r, c.size FROM "
        f"{name}_triple t JOIN (SELECT s, o, count(*) AS size FROM {name}_triple GROUP BY s, o) c "
        "ON c.s = t.s AND c.o = t.o",
    )
    e.drop(f"{name}_triple")


def _rules(facts: DiskFacts, ends: str) -> Rules:
    """The rules between relations of pairs that meet in this way."""
    found = facts.engine.columns(
        "SELECT c.one, c.two, c.size, p.size AS support FROM (SELECT a.r AS one, b.r AS two, "
        f"count(*) AS size FROM joined a JOIN joined b ON {ends} WHERE b.size <= {CROWD} "
        "GROUP BY a.r, b.r) c JOIN (SELECT r, count(*) AS size FROM joined GROUP BY r) p "
        f"ON p.r = c.one WHERE p.size >= {SUPPORT} AND c.size >= {THRESHOLD} * p.size - 1 "
        "ORDER BY c.one, c.two"
    )
    columns = (found[name].astype(np.int64) for name in ("one", "two", "size", "support"))
    return Rules.of_counts(*columns)


def _told(facts: DiskFacts, name: str, rules: Rules, ends: str) -> str:
    """Rows that a rule leads to from a pair that is shown."""
    facts.engine.drop(name)
    facts.engine.load(name, {"one": rules.first, "two": rules.second})
    return (
        f"SELECT DISTINCT f.n, f.split FROM fact f JOIN seen_pair h ON {ends} "
        f"JOIN {name} k ON k.one = h.r AND k.two = f.r WHERE h.size <= {CROWD}"
    )

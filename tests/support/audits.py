"""An audit by plain loops over facts: slow, and obviously right."""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

from hyperfact.graph.facts import Fact, Literal
from hyperfact.graph.hkg import HKG, Splits
from hyperfact.graph.queries import read_fact

Facts = Sequence[Fact]
Counts = dict[tuple[str, str], tuple[int, int]]  # (kind, where) -> count, of


def dataset(**splits: Facts | str) -> Splits:
    """A dataset from facts, or from lines in the syntax of facts."""
    parts = {
        name: [read_fact(line) for line in facts.splitlines() if line]
        if isinstance(facts, str)
        else facts
        for name, facts in splits.items()
    }
    every = [fact for facts in parts.values() for fact in facts]
    shared = HKG.from_facts(every)
    graphs = {
        name: HKG.from_facts(facts, entities=shared.entities, relations=shared.relations)
        for name, facts in parts.items()
    }
    return Splits(graphs, "made up")


def entities_of(fact: Fact) -> set[str]:
    return {fact.subject, fact.object, *(value for _, value in fact.qualifiers)}


def roles_of(fact: Fact) -> set[tuple[str, str]]:
    return {("relation", fact.relation), *(("attribute", a) for a, _ in fact.qualifiers)}


def naive_counts(splits: Mapping[str, Facts], *, threshold: float, support: int) -> Counts:
    """Count and whole of every finding, by the definition of its kind."""
    parts = {name: set(facts) for name, facts in splits.items()}
    counts: Counts = {}
    counts |= _overlaps(parts)
    counts |= _unseen(parts)
    counts |= _rules(parts, threshold, support)
    counts |= _inside(splits, parts)
    return counts


def _shown(parts: Mapping[str, set[Fact]]) -> set[Fact]:
    return parts.get("train", set()) | parts.get("aux", set())


def _held_out(parts: Mapping[str, set[Fact]]) -> list[str]:
    if not {"train", "aux"} & set(parts):
        return []
    return [name for name in ("valid", "test") if name in parts]


def _overlaps(parts: Mapping[str, set[Fact]]) -> Counts:
    counts: Counts = {}
    for one, other in combinations(parts, 2):
        if {one, other} != {"train", "aux"}:
            both = len(parts[one] & parts[other])
            smaller = min(len(parts[one]), len(parts[other]))
            counts["facts-in-two-splits", f"{one}, {other}"] = both, smaller
    if {"valid", "test"} <= set(parts):
        both, larger = len(parts["valid"] & parts["test"]), max(map(len, _pair(parts)))
        found = both if larger and both / larger > 0.9 else 0
        counts["valid-is-test", "valid, test"] = found, larger
    shown = {fact.primary for fact in _shown(parts)}
    for name in _held_out(parts):
        hits = sum(fact.primary in shown for fact in parts[name])
        counts["primary-in-train", name] = hits, len(parts[name])
    if _held_out(parts) == ["valid", "test"]:
        shown |= {fact.primary for fact in parts["valid"]}
        hits = sum(fact.primary in shown for fact in parts["test"])
        counts["primary-in-train-or-valid", "test"] = hits, len(parts["test"])
    return counts


def _pair(parts: Mapping[str, set[Fact]]) -> tuple[set[Fact], set[Fact]]:
    return parts["valid"], parts["test"]


def _union(sets: Iterable[set[str]]) -> set[str]:
    return set().union(*sets)


def _unseen(parts: Mapping[str, set[Fact]]) -> Counts:
    counts: Counts = {}
    entities = _union(entities_of(fact) for fact in _shown(parts))
    roles = {role for fact in _shown(parts) for role in roles_of(fact)}
    for name in _held_out(parts):
        facts = parts[name]
        used = _union(map(entities_of, facts))
        played = {role for fact in facts for role in roles_of(fact)}
        new = sum(bool(entities_of(fact) - entities) for fact in facts)
        counts["facts-with-unseen-entity", name] = new, len(facts)
        new = sum(bool(roles_of(fact) - roles) for fact in facts)
        counts["facts-with-unseen-relation", name] = new, len(facts)
        counts["unseen-entities", name] = len(used - entities), len(used)
        counts["unseen-relations", name] = len(played - roles), len(played)
    return counts


def _rules(parts: Mapping[str, set[Fact]], threshold: float, support: int) -> Counts:
    every = set().union(*parts.values())
    relations = {fact.relation for fact in every}
    pairs = {r: {(f.subject, f.object) for f in every if f.relation == r} for r in relations}
    pairs = {r: {(s, o) for s, o in found if s != o} for r, found in pairs.items()}
    turned = {r: {(o, s) for s, o in found} for r, found in pairs.items()}

    def holds(first: set[tuple[str, str]], second: set[tuple[str, str]]) -> bool:
        return len(first) >= support and 0 < threshold * len(first) <= len(first & second)

    back = {(a, b) for a in relations for b in relations if holds(turned[a], pairs[b])}
    same = {(a, b) for a in relations for b in relations if a != b and holds(pairs[a], pairs[b])}
    same &= {(b, a) for a, b in same}
    shown = {fact.primary for fact in _shown(parts)}
    counts: Counts = {
        ("inverse-relations", ""): (len({a for a, b in back if a != b}), len(relations)),
        ("symmetric-relations", ""): (len({a for a, b in back if a == b}), len(relations)),
        ("duplicate-relations", ""): (len({a for a, _ in same}), len(relations)),
    }
    for name in _held_out(parts):
        told = sum(
            f.subject != f.object
            and (
                any((f.object, a, f.subject) in shown for a, b in back if b == f.relation)
                or any((f.subject, a, f.object) in shown for a, b in same if b == f.relation)
            )
            for f in parts[name]
        )
        counts["told-by-another-relation", name] = told, len(parts[name])
    return counts


def _inside(splits: Mapping[str, Facts], parts: Mapping[str, set[Fact]]) -> Counts:
    counts: Counts = {}
    for name, facts in splits.items():
        counts["repeated-facts", name] = len(facts) - len(parts[name]), len(facts)
        again = sum(len(f.qualifiers) - len(set(f.qualifiers)) for f in facts)
        kept = sum(len(set(f.qualifiers)) for f in parts[name])
        counts["repeated-qualifiers", name] = again, kept + again
        bare = [f for f in parts[name] if not f.qualifiers]
        rich = {f.primary for f in parts[name] if f.qualifiers}
        counts["bare-twins", name] = sum(f.primary in rich for f in bare), len(bare)
    rows = [f for facts in parts.values() for f in facts]
    rich_rows = [f for f in rows if f.qualifiers]
    many = sum(max(Counter(a for a, _ in set(f.qualifiers)).values()) > 1 for f in rich_rows)
    copy = sum(bool({f.subject, f.object} & {v for _, v in f.qualifiers}) for f in rich_rows)
    counts["repeated-attributes", ""] = many, len(rich_rows)
    counts["value-is-subject-or-object", ""] = copy, len(rich_rows)
    counts["self-loops", ""] = sum(f.subject == f.object for f in rows), len(rows)
    return counts | _names(rows)


def _names(rows: Facts) -> Counts:
    entities = _union(map(entities_of, rows))
    relations = {name for f in rows for _, name in roles_of(f)}
    ends = {name for f in rows for name in (f.subject, f.object)}
    literals = sum(isinstance(name, Literal) for name in entities)
    alike = sum(_has_double(name, names) for names in (entities, relations) for name in names)
    return {
        ("qualifier-only-entities", ""): (len(entities - ends), len(entities)),
        ("literals", ""): (literals, len(entities)),
        ("lookalike-names", ""): (alike, len(entities) + len(relations)),
    }


def _has_double(name: str, names: set[str]) -> bool:
    return any(
        other != name
        and isinstance(other, Literal) == isinstance(name, Literal)
        and _fold(other) == _fold(name)
        for other in names
    )


def _fold(name: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", str(name)).casefold().split())

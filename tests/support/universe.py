"""Every fact over a few names, and the edges of a fact written out plainly: an oracle."""

from itertools import combinations, product

from hyperfact.graph.facts import Derived, Fact, Literal
from hyperfact.graph.hkg import HKG

Edge = tuple[object, ...]

#: A bare twin, a literal, a derived relation, unused names, a reserved prefix.
HKG_EXAMPLE = HKG.from_facts(
    [
        Fact("Turing", "educated at", "Princeton", (("degree", "PhD"), ("year", Literal("1938")))),
        Fact("Turing", "educated at", "Princeton"),
        Fact("Turing", Derived("field_so"), "logic"),
    ],
    entities=["Turing", "nobody", "Princeton", "PhD", Literal("1938"), "logic", "urn:hyperfact:x"],
    relations=["unused", "educated at", "degree", "year", Derived("field_so")],
)


def facts_of(entities: str, relations: tuple[str, ...], qualifiers: int) -> list[Fact]:
    """Every fact with at most so many qualifiers."""
    pairs = list(product(relations, entities))
    return [
        Fact(s, r, o, chosen)
        for s, r, o in product(entities, relations, entities)
        for count in range(qualifiers + 1)
        for chosen in combinations(
            sorted(pairs, key=lambda p: (relations.index(p[0]), p[1])), count
        )
    ]


def naive_edges(fact: Fact, transformation: str) -> set[Edge]:
    """The edges of one fact by the definition; its mediator is the fact itself."""
    s, r, o = fact.primary
    pairs = fact.qualifiers
    if not pairs:
        return {("base", s, r, o)}
    if transformation == "plain":
        return {("member", fact, r, x) for x in (s, o, *(v for _, v in pairs))}
    if transformation in ("equivalent", "no_distinction"):
        star: set[Edge] = {("sub", fact, r, s), ("obj", fact, r, o)}
        star |= {("qualifier", fact, a, v) for a, v in pairs}
        return star | ({("base", s, r, o)} if transformation == "equivalent" else set())
    return {("base", s, r, o)} | _clique(fact, semantic=transformation == "clique_semantic")


def _clique(fact: Fact, *, semantic: bool) -> set[Edge]:
    slots = [fact.subject, fact.object, *(v for _, v in fact.qualifiers)]
    edges: set[Edge] = set()
    for j in range(2, len(slots)):
        attribute = fact.qualifiers[j - 2][0]
        for i in range(j):
            if slots[i] == slots[j]:
                continue
            if semantic:
                edges.add(("qualifier", slots[i], attribute, slots[j], max(i, 1)))
            else:
                edges.add(("base", slots[i], fact.relation, slots[j]))
    return edges

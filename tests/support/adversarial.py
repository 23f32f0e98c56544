"""Small graphs that hold every trap of the equivalent transformation, and which traps they hold."""

import random
from collections import Counter
from collections.abc import Iterator

from hyperfact.graph.facts import Fact
from hyperfact.graph.hkg import HKG
from tests.support.names import LITERALS

LONG = "long " + "x" * 9_995
NAME_EVENTS: dict[str, tuple[str, ...]] = {
    "entity named like a mediator": ("b_0", "_:b0", "mediator_0", "urn:hyperfact:fact:0"),
    "padding token": ("<pad>",),
    "empty string": ("",),
    "space around": (" lead", "trail ", "\u00a0nbsp\u00a0"),
    "control character": ("a\tb", "a\nb", "a\rb", "a\u0085b", "a\u2028b", "a\x0bb"),
    "punctuation": ("a,b", 'a"b', "a\\b", "#a", "100 %"),
    "BOM": ("\ufeffa",),
    "bidi or zero width": ("\u202ea", "a\u200bb"),
    "long name": (LONG,),
    "words of formats": ("nan", "NULL", "None", "true", "1e5"),
}
NFC_NFD = ("caf\u00e9", "cafe\u0301")
SUFFIXES = ("_sub", "_obj", "_h", "_t", "_so", "_1", "_inv")
PLAIN = ("a", "b", "c", "d", "e")
_ENTITIES = (*(n for names in NAME_EVENTS.values() for n in names), *NFC_NFD, *PLAIN, "r", "q")
_RELATIONS = ("r", "q", "p", *(f"r{s}" for s in SUFFIXES), *(f"q{s}" for s in SUFFIXES))
_ODD_RELATIONS = ("", " lead", "a\tb", "a\nb", "\ufeffa", "<pad>", *NFC_NFD, "nan", LONG, "a")

Case = tuple[list[Fact], list[str], list[str]]  # facts, entities, relations


def draw_case(rng: random.Random) -> Case:
    """Facts over few names, with variations of each other, and vocabularies in any order."""
    pool = _ENTITIES if rng.random() < 0.8 else (*PLAIN, *LITERALS)
    entities = rng.sample(pool, k=rng.randint(1, 5))
    if rng.random() < 0.06:
        entities = list({*entities, *NFC_NFD})
    relations = rng.sample(_RELATIONS if rng.random() < 0.7 else _ODD_RELATIONS, rng.randint(1, 4))
    facts = [_fact(rng, entities, relations) for _ in range(rng.choice((0, 1, 1, 2, 2, 3, 4)))]
    facts += [_variation(rng, fact) for fact in facts if rng.random() < 0.5]
    if rng.random() < 0.03:
        facts = [*facts[:1], _wide(rng, entities, relations)]
    rng.shuffle(entities)
    rng.shuffle(relations)
    return facts, entities, relations


def build(case: Case) -> HKG:
    """The graph of a case, with its own vocabularies."""
    facts, entities, relations = case
    return HKG.from_facts(facts, entities=entities, relations=relations)


def beside(cases: list[Case]) -> Case:
    """One graph of many: entities are marked with the number of their case, relations shared."""
    facts: list[Fact] = []
    entities: list[str] = []
    relations: dict[str, None] = {}
    for number, (some, names, kinds) in enumerate(cases):
        new = {name: f"{name}\x1f{number}{type(name).__name__}" for name in names}
        entities += new.values()
        relations |= dict.fromkeys(kinds)
        facts += [
            Fact(
                new[f.subject],
                f.relation,
                new[f.object],
                tuple((a, new[v]) for a, v in f.qualifiers),
            )
            for f in some
        ]
    return facts, entities, list(relations)


def _fact(rng: random.Random, entities: list[str], relations: list[str]) -> Fact:
    count = rng.choice((0, 0, 1, 1, 2, 3))
    pairs = tuple((rng.choice(relations), rng.choice(entities)) for _ in range(count))
    return Fact(rng.choice(entities), rng.choice(relations), rng.choice(entities), pairs)


def _wide(rng: random.Random, entities: list[str], relations: list[str]) -> Fact:
    """A fact with 100 qualifiers; the vocabularies grow until they allow so many."""
    while len(entities) * len(relations) < 100:
        entities.append(f"v{len(entities)}")
    pairs = [(a, v) for a in relations for v in entities]
    return Fact(entities[0], relations[0], entities[-1], tuple(rng.sample(pairs, 100)))


def _variation(rng: random.Random, fact: Fact) -> Fact:
    pairs = list(fact.qualifiers)
    change = rng.randrange(6)
    if change == 0:
        return fact
    if change == 1:
        return Fact(*fact.primary)
    if change == 2:
        return Fact(*fact.primary, tuple(pairs[:-1]))
    if change == 3:
        return Fact(*fact.primary, tuple(reversed(pairs)))
    if change == 4:
        return Fact(*fact.primary, (*pairs, *pairs[:1]))
    return Fact(fact.object, fact.relation, fact.subject, fact.qualifiers)


def events(case: Case) -> Iterator[str]:
    """The labels of the traps that a case holds, each at most once."""
    facts, entities, relations = case
    names = {*entities, *relations}
    yield from (event for event, known in NAME_EVENTS.items() if not names.isdisjoint(known))
    yield from (
        f"relation ending in {s}" for s in SUFFIXES if any(r.endswith(s) for r in relations)
    )
    if any(r + s in relations for r in relations for s in SUFFIXES):
        yield "suffixed form is another relation"
    if not set(entities).isdisjoint(relations):
        yield "entity named like a relation"
    if names.issuperset(NFC_NFD):
        yield "NFC against NFD"
    yield from _events_of_sizes(facts, entities, relations)
    yield from {event for fact in facts for event in _events_of_fact(fact)}
    yield from _events_between(facts)


def _events_of_sizes(facts: list[Fact], entities: list[str], relations: list[str]) -> Iterator[str]:
    if not facts:
        yield "0 facts"
    elif not any(f.qualifiers for f in facts):
        yield "0 qualifiers"
    used = {n for f in facts for n in (f.subject, f.object, *(v for _, v in f.qualifiers))}
    if len(used) < len(entities):
        yield "isolated entity"
    if len({n for f in facts for n in (f.relation, *(a for a, _ in f.qualifiers))}) < len(
        relations
    ):
        yield "unused relation"


def _events_of_fact(fact: Fact) -> Iterator[str]:
    s, r, o = fact.primary
    if s == o:
        yield "self loop"
        if any(v == s for _, v in fact.qualifiers):
            yield "same entity as s, o and value"
    if any(a == r for a, _ in fact.qualifiers):
        yield "attribute equal to primary relation"
    if len(set(fact.qualifiers)) < len(fact.qualifiers):
        yield "duplicated pair"
    if len({a for a, _ in fact.qualifiers}) < len(set(fact.qualifiers)):
        yield "same attribute, several values"
    if len(set(fact.qualifiers)) == 100:
        yield "100 qualifiers"


def _events_between(facts: list[Fact]) -> Iterator[str]:
    found = Counter[str]()
    for i, one in enumerate(facts):
        for two in facts[i + 1 :]:
            found.update(_events_of_pair(one, two))
    yield from found


def _events_of_pair(one: Fact, two: Fact) -> Iterator[str]:
    if (one.subject, one.relation, one.object) == (two.object, two.relation, two.subject):
        yield "symmetric pair"
    if one.primary != two.primary:
        return
    p, q = set(one.qualifiers), set(two.qualifiers)
    if p == q:
        yield "duplicate facts"
        if one.qualifiers != two.qualifiers and len(p) == len(one.qualifiers):
            yield "differ only in qualifier order"
    elif not p or not q:
        yield "bare twin"
    elif p < q or q < p:
        yield "subset qualifiers on one triple"


EVENTS = (
    *NAME_EVENTS,
    *(f"relation ending in {s}" for s in SUFFIXES),
    "suffixed form is another relation",
    "entity named like a relation",
    "NFC against NFD",
    "0 facts",
    "0 qualifiers",
    "100 qualifiers",
    "isolated entity",
    "unused relation",
    "self loop",
    "same entity as s, o and value",
    "attribute equal to primary relation",
    "duplicated pair",
    "same attribute, several values",
    "symmetric pair",
    "duplicate facts",
    "differ only in qualifier order",
    "bare twin",
    "subset qualifiers on one triple",
)

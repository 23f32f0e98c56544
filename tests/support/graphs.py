"""Random graphs that hold every awkward shape, from a seed (fast) or from hypothesis (shrinks)."""

import random
from collections.abc import Sequence

from hypothesis import strategies as st

from hyperfact.graph.facts import Fact
from hyperfact.graph.hkg import HKG
from tests.support.names import HOSTILE, LITERALS, TAME

ENTITY_NAMES = (*HOSTILE, *LITERALS, *TAME)
RELATION_NAMES = (*HOSTILE, "played for", "P1", "P2", "P3")


def random_graph(rng: random.Random, *, hostile: bool = True) -> HKG:
    """A graph of up to eight facts over few names, so that coincidences are common."""
    names: Sequence[str] = ENTITY_NAMES if hostile else TAME
    kinds: Sequence[str] = RELATION_NAMES if hostile else ("P1", "P2", "P3", "P4")
    entities = rng.sample(names, k=rng.randint(1, min(6, len(names))))
    relations = rng.sample(kinds, k=rng.randint(1, 4))
    facts = [_fact(rng, entities, relations) for _ in range(rng.randint(0, 8))]
    facts += [_variation(rng, fact) for fact in facts if rng.random() < 0.3]
    return HKG.from_facts(facts)


def _fact(rng: random.Random, entities: Sequence[str], relations: Sequence[str]) -> Fact:
    count = rng.choice((0, 0, 1, 1, 2, 3, 5))
    pairs = tuple((rng.choice(relations), rng.choice(entities)) for _ in range(count))
    return Fact(rng.choice(entities), rng.choice(relations), rng.choice(entities), pairs)


def _variation(rng: random.Random, fact: Fact) -> Fact:
    """A twin: the same fact again, bare, with fewer qualifiers, reordered or turned round."""
    pairs = list(fact.qualifiers)
    rng.shuffle(pairs)
    change = rng.randrange(4)
    if change == 0:
        return Fact(*fact.primary)
    if change == 1:
        return Fact(*fact.primary, tuple(pairs[: len(pairs) // 2]))
    if change == 2:
        return Fact(*fact.primary, (*pairs, *pairs[:1]))
    return Fact(fact.object, fact.relation, fact.subject, tuple(pairs))


def nary_graph(rng: random.Random) -> HKG:
    """Facts that come from n-ary relations, each of one arity."""
    bases = rng.sample(["r", "r_1", "r_so", "model", "a.b_c", "x y"], k=rng.randint(1, 3))
    arity = {base: rng.randint(2, 5) for base in bases}
    entities = rng.sample([*TAME, "a b", "é", "x_so"], k=4)
    facts = []
    for _ in range(rng.randint(1, 8)):
        base = rng.choice(bases)
        values = [rng.choice(entities) for _ in range(arity[base])]
        pairs = tuple((f"{base}_{i}", v) for i, v in enumerate(values[2:], start=1))
        facts.append(Fact(values[0], f"{base}_so", values[1], pairs))
    return HKG.from_facts(facts)


def item_graph(rng: random.Random) -> HKG:
    """Items and properties as Wikidata names them, which some formats are about."""
    entities = [f"Q{rng.randint(1, 99)}" for _ in range(rng.randint(2, 6))]
    relations = rng.sample(["P1", "P31", "P54", "P580"], k=rng.randint(1, 4))
    return HKG.from_facts(_fact(rng, entities, relations) for _ in range(rng.randint(1, 8)))


@st.composite
def hkgs(draw: st.DrawFn, *, hostile: bool = True) -> HKG:
    """A small graph, by hypothesis."""
    text = st.one_of(
        st.sampled_from(HOSTILE if hostile else TAME),
        st.text(st.characters(codec="utf-8"), max_size=6) if hostile else st.nothing(),
    )
    literals = st.sampled_from(LITERALS) if hostile else st.nothing()
    entities = draw(st.lists(st.one_of(text, literals), min_size=1, max_size=5, unique=True))
    relations = draw(st.lists(text, min_size=1, max_size=4, unique=True))
    entity, relation = st.sampled_from(entities), st.sampled_from(relations)
    pairs = st.lists(st.tuples(relation, entity), max_size=4).map(tuple)
    facts = st.builds(Fact, entity, relation, entity, pairs)
    return HKG.from_facts(draw(st.lists(facts, max_size=6)))

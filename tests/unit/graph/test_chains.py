"""Chains of two facts, against a search by hand."""

import random
from collections import Counter
from itertools import product

import numpy as np
import pytest

from hyperfact.graph import chains, profiles
from hyperfact.graph.chains import Chains
from hyperfact.graph.facts import Fact
from hyperfact.graph.hkg import HKG
from hyperfact.graph.profiles import Profiles

Step = tuple[int, int, int]  # kind, from, to


def graph(rng: random.Random) -> HKG:
    entities, relations = rng.randint(3, 7), rng.randint(1, 3)
    return HKG.from_facts(
        Fact(
            f"e{rng.randrange(entities)}",
            f"r{rng.randrange(relations)}",
            f"e{rng.randrange(entities)}",
        )
        for _ in range(rng.randint(2, 18))
    )


def steps_of(hkg: HKG) -> set[Step]:
    c, relations = hkg.columns, len(hkg.relations)
    facts = zip(c.subject.tolist(), c.relation.tolist(), c.object.tolist(), strict=True)
    steps = set()
    for s, r, o in facts:
        if s != o:
            steps |= {(r, s, o), (r + relations, o, s)}
    return steps


def ends_of(steps: set[Step]) -> dict[tuple[int, int, int], dict[int, int]]:
    """For two steps and a beginning, where they end and over how many others."""
    ends: dict[tuple[int, int, int], dict[int, int]] = {}
    for (a, begin, x), (b, y, end) in product(steps, repeat=2):
        if x == y and begin != end:
            found = ends.setdefault((a, b, begin), {})
            found[end] = found.get(end, 0) + 1
    return ends


@pytest.mark.parametrize("seed", range(30))
def test_rules_and_ends_are_those_of_a_search(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chains, "_SUPPORT", 1)
    monkeypatch.setattr(chains, "_RULES", 1000)
    hkg = graph(random.Random(seed))
    found, steps = Chains.of(hkg, least=1e-9), steps_of(hkg)
    ends, kinds = ends_of(steps), range(2 * len(hkg.relations))
    support = {}
    for head, a, b in product(kinds, repeat=3):
        right = sum(end in ends.get((a, b, begin), {}) for h, begin, end in steps if h == head)
        if right:
            support[head, a, b] = right
    pairs = sorted({(a, b) for _, a, b in support})
    rules = {}
    for head in kinds:
        for i in range(int(found.offsets[head]), int(found.offsets[head + 1])):
            rules[(head, *pairs[int(found.paths[i])])] = float(found.confidence[i])
    sizes = {
        (a, b): sum(x == y for (k, _, x), (m, y, _) in product(steps, repeat=2) if (k, m) == (a, b))
        for a, b in pairs
    }
    expected = {(h, a, b): n / (sizes[a, b] + 5) for (h, a, b), n in support.items()}
    assert rules == pytest.approx(expected)
    for i, start in enumerate(found.starts.tolist()):
        number, begin = divmod(start, len(hkg.entities) + 1)
        mine = slice(int(found.ends[i]), int(found.ends[i + 1]))
        row = dict(zip(found.who[mine].tolist(), found.counts[mine].tolist(), strict=True))
        assert row == ends[(*pairs[number], begin)]


def test_few_and_unsure_rules_are_left_out() -> None:
    facts = [Fact(f"a{i}", "mother", f"b{i}") for i in range(4)]
    facts += [Fact(f"b{i}", "citizen", "x") for i in range(4)]
    facts += [Fact(f"a{i}", "citizen", "x") for i in range(3)]
    hkg = HKG.from_facts(facts)
    found = Chains.of(hkg, least=0.2)
    heads = np.array([hkg.relations.id("citizen")])
    who = np.array([hkg.entities.id("a3")])
    _, rows, rules = found.find(heads, who)
    assert len(rows) == 1
    assert found.confidence[rules[0]] == pytest.approx(3 / (4 + 5))
    mine = slice(int(found.ends[rows[0]]), int(found.ends[rows[0] + 1]))
    assert found.who[mine].tolist() == [hkg.entities.id("x")]
    assert not len(Chains.of(hkg, least=0.9).paths)


@pytest.mark.parametrize("seed", range(20))
def test_profiles_are_what_others_answer(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profiles, "_COUNT", 1)
    monkeypatch.setattr(profiles, "_LEAST", 0.0)
    hkg = graph(random.Random(seed))
    found, steps = Profiles.of(hkg), steps_of(hkg)
    for head, who in product(range(2 * len(hkg.relations)), range(len(hkg.entities))):
        expected = {}
        for kind, begin, to in steps:
            if begin != who:
                continue
            others = {u for k, u, x in steps if (k, x) == (kind, to)}
            same = {to} if kind == head else set()
            answers = Counter(e for k, u, e in steps if k == head and u in others and e not in same)
            if answers:
                expected[kind, to] = (dict(answers), sum(answers.values()))
        _, rows, links = found.find(np.array([head]), np.array([who]))
        seen = {}
        for row in rows.tolist():
            mine = slice(int(found.ends[row]), int(found.ends[row + 1]))
            entries = dict(zip(found.who[mine].tolist(), found.counts[mine].tolist(), strict=True))
            seen[found.step(row)] = (entries, int(found.totals[row]))
        assert seen == expected
        assert len(links) == len(rows)

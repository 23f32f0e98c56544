"""The index of names against plain scans and difflib."""

import random
import time
from difflib import SequenceMatcher, get_close_matches

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperfact.errors import UnknownNameError, nearest
from hyperfact.graph.facts import Vocabulary
from hyperfact.graph.name_search import NameIndex, fold
from tests.support.names import HOSTILE

_SYLLABLES = ("ka", "mo", "ri", "ber", "lin", "san", "to", "ny", "ux", "el", "gra", "ham")


def names(count: int) -> list[str]:
    rng = random.Random(0)

    def word() -> str:
        return "".join(rng.choice(_SYLLABLES) for _ in range(rng.randint(2, 5))).title()

    return list(dict.fromkeys(f"{word()} {word()}" for _ in range(2 * count)))[:count]


def misspell(name: str, rng: random.Random) -> str:
    at = rng.randrange(len(name))
    ways = (
        name[:at] + name[at + 1 :],
        name[:at] + "q" + name[at:],
        name[:at] + "q" + name[at + 1 :],
    )
    return rng.choice(ways)


def likeness(one: str, two: str) -> float:
    return SequenceMatcher(None, fold(one), fold(two), autojunk=False).ratio()


def test_a_misspelt_name_is_found_as_well_as_difflib_finds_it() -> None:
    known, rng = names(3000), random.Random(1)
    index, folded = NameIndex(known), [fold(name) for name in names(3000)]
    for _ in range(30):
        wrong = misspell(rng.choice(known), rng)
        found = index.nearest(wrong)
        assert found is not None
        (best,) = get_close_matches(fold(wrong), folded, n=1)
        assert likeness(known[found], wrong) >= likeness(best, wrong) - 1e-9


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("Ken Griffey", "Ken Griffey (born 1969)"),  # the words, not what looks alike
        ("griffey", "Ken Griffey (born 1969)"),
        ("ben grieve", "Ben Grieve"),
        ("Ben Griev", "Ben Grieve"),  # no whole word: by likeness
        ("Milwaukee Brave", "Milwaukee Braves"),
        ("Milwaukee", "Milwaukee Braves"),  # the shortest
        ("Ken", None),  # too little to tell
    ],
)
def test_words_of_a_name_tell_more_than_letters(typed: str, meant: str | None) -> None:
    known = ["Ben Grieve", "Ken Griffey (born 1969)", "Milwaukee Brewers", "Milwaukee Braves"]
    found = NameIndex(known).nearest(typed)
    assert (None if found is None else known[found]) == meant


def test_prefixes_come_before_words_and_likeness() -> None:
    known = ["New York", "York", "yorkshire", "Old Yorker", "Yrok", "Paris", "New-York", "Stork"]
    found = [known[i] for i in NameIndex(known).search("york", 9, weights=[5, 1, 3, 9, 1, 1, 7, 0])]
    assert found[:5] == ["York", "yorkshire", "Old Yorker", "New-York", "New York"]
    assert set(found[5:]) == {"Yrok", "Stork"}
    assert NameIndex(known).search("york", 2, weights=[0] * 8) == [1, 2]


def test_case_and_accents_do_not_count() -> None:
    known = ["Zürich", "ÅNGSTRÖM", "Straße", "ﬁve", "x\ny"]
    index = NameIndex(known)
    for text, place in (("zurich", 0), ("angs", 1), ("STRASSE", 2), ("five", 3), ("x y", 4)):
        assert index.search(text, 1, weights=[0] * 5) == [place]


def test_nothing_typed_finds_the_heaviest() -> None:
    assert NameIndex("abc").search("", 2, weights=[1, 3, 2]) == [1, 2]
    assert NameIndex([]).search("a", 2, weights=[]) == []
    assert NameIndex([]).nearest("a") is None


@given(st.lists(st.text(max_size=12), unique=True, max_size=12), st.text(max_size=6))
def test_groups_are_those_of_a_scan(known: list[str], text: str) -> None:
    found = NameIndex(known).search(text, len(known), weights=[0] * len(known))
    asked = fold(text)
    begins = [i for i, name in enumerate(known) if fold(name).startswith(asked)]
    equal = [i for i in begins if fold(known[i]) == asked]
    expected = equal + [i for i in begins if i not in equal] if asked else begins
    assert found[: len(expected)] == expected
    assert len(set(found)) == len(found)


@pytest.mark.parametrize("name", HOSTILE)
def test_every_name_finds_itself(name: str) -> None:
    index = NameIndex(HOSTILE)
    found = index.search(name, len(HOSTILE), weights=[0] * len(HOSTILE))
    assert fold(HOSTILE[found[0]]) == fold(name) or not fold(name)


def test_an_unknown_name_among_many_is_answered_quickly() -> None:
    known = Vocabulary(names(47_155))
    _ = known.search
    times = []
    for name in known[:20]:
        start = time.process_time()
        with pytest.raises(UnknownNameError, match="did you mean"):
            known.id(f"{name[:-3]}xx{name[-3:]}", "entity")
        times.append(time.process_time() - start)
    assert sorted(times)[10] <= 0.05
    assert nearest(known[7].upper(), known) == known[7]

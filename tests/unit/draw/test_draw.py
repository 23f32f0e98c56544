"""Pictures are whole documents with every name in them, whatever the names are."""

import re
from xml.etree import ElementTree as ET

import pytest

from hyperfact.draw import (
    Picture,
    draw_fact,
    draw_facts,
    draw_neighbourhood,
    draw_transformations,
)
from hyperfact.draw.svg import STYLE
from hyperfact.draw.text import fit, is_rtl, visible, width
from hyperfact.errors import UnknownNameError, UserError
from hyperfact.graph.facts import Fact
from hyperfact.graph.hkg import HKG
from hyperfact.transforms import TRANSFORMS
from tests.support.names import HOSTILE, LITERALS

FACT = Fact("Turing", "educated at", "Princeton", (("degree", "PhD"), ("advisor", "Church")))
WIDE = Fact("s", "r", "o", tuple((f"attribute {i}", f"value {i}") for i in range(12)))
SVG = "{http://www.w3.org/2000/svg}"


def tree(picture: Picture) -> ET.Element:
    root = ET.fromstring(picture)
    assert root.tag == f"{SVG}svg"
    return root


def titles(root: ET.Element) -> list[str]:
    return [element.text or "" for element in root.iter(f"{SVG}title")]


def boxes(root: ET.Element) -> int:
    return sum("box" in (r.get("class") or "").split() for r in root.iter(f"{SVG}rect"))


@pytest.mark.parametrize("fact", [FACT, WIDE, Fact("a", "r", "a"), Fact("", "", "", (("", ""),))])
def test_every_name_is_there(fact: Fact) -> None:
    for picture in (draw_fact(fact), draw_transformations(fact)):
        shown = titles(tree(picture))
        names = [*fact.primary, *(n for pair in fact.qualifiers for n in pair)]
        assert {visible(name) for name in names} <= set(shown)


def test_both_views_show_each_slot_once() -> None:
    assert boxes(tree(draw_fact(WIDE))) == 2 * WIDE.arity
    assert boxes(tree(draw_transformations(WIDE))) == (1 + len(TRANSFORMS)) * WIDE.arity
    assert boxes(tree(draw_fact(Fact("a", "r", "b")))) == 2


def test_hostile_names_stay_text() -> None:
    names = [*HOSTILE, *LITERALS, "</svg><script>", "\ud800", "\x00", "]]>", "&amp;"]
    for name in names:
        fact = Fact(name, name, name, ((name, name),))
        for picture in (draw_fact(fact), draw_neighbourhood(HKG.from_facts([fact]), name)):
            root = tree(picture)
            assert visible(name) in titles(root)
            tags = {e.tag.removeprefix(SVG) for e in root.iter()}
            assert tags <= {"svg", "title", "style", "rect", "g", "text", "tspan", "path",
                            "polygon", "circle"}  # fmt: skip
            picture.encode()


def test_nothing_comes_from_outside() -> None:
    for picture in (draw_fact(FACT), draw_transformations(WIDE)):
        assert re.findall(r"https?://[^\"]*", picture) == ["http://www.w3.org/2000/svg"]
        assert "url(" not in picture
        assert "prefers-color-scheme:dark" in picture


def test_long_names_are_cut_and_short_ones_are_not() -> None:
    assert fit("short", 100) == "short"
    cut = fit("x" * 10_000, 100)
    assert cut.endswith("…")
    assert 60 < width(cut) <= 100
    assert fit("日本語の名前がとても長い場合", 80).endswith("…")
    assert width("日本") > width("ab") > width("il")


def test_direction_is_that_of_the_first_letter() -> None:
    assert is_rtl("שלום")
    assert is_rtl("(عربي")
    assert not is_rtl("abc שלום")
    assert not is_rtl("123")
    assert 'direction="rtl"' in draw_fact(Fact("שלום", "r", "b"))


def test_more_qualifiers_than_fit_are_counted() -> None:
    pairs = tuple((f"a{i:03}", "v") for i in range(100))
    picture = draw_fact(Fact("s", "r", "o", pairs))
    assert picture.count("and 76 more qualifiers") == 2
    assert boxes(tree(picture)) == 2 * 26


def test_a_neighbourhood_shows_at_most_so_many_facts() -> None:
    facts = [Fact("hub", "r", f"e{i}", (("at", "place"),)) for i in range(9)]
    hkg = HKG.from_facts([*facts, Fact("x", "r", "y")])
    picture = draw_neighbourhood(hkg, "hub", limit=4)
    assert boxes(tree(picture)) == 1 + 4 * 3
    assert "5 more facts" in picture
    lit = [r for r in tree(picture).iter(f"{SVG}rect") if r.get("class") == "box lit"]
    assert len(lit) == 1 + 4
    assert "more facts" not in draw_neighbourhood(hkg, "x")
    assert ">at<" in draw_neighbourhood(hkg, "place", limit=1)  # the part of a value
    with pytest.raises(UnknownNameError, match="did you mean 'hub'"):
        draw_neighbourhood(hkg, "hubb")
    with pytest.raises(UserError, match="at least one fact"):
        draw_neighbourhood(hkg, "hub", limit=0)


def test_verdicts_are_those_of_verify() -> None:
    assert draw_transformations(FACT).count(">on its own it can be restored<") == 3
    assert draw_transformations(Fact("a", "r", "b")).count(">it cannot be restored<") == 1


def test_notebooks_show_the_same_document() -> None:
    picture = draw_fact(FACT)
    assert picture._repr_svg_() == picture._repr_html_() == str(picture)


def test_a_graph_shows_its_first_facts() -> None:
    hkg = HKG.from_facts([FACT, WIDE, Fact("a", "r", "b")])
    assert boxes(tree(draw_facts(hkg))) == FACT.arity + WIDE.arity + 2
    assert boxes(tree(draw_facts(hkg, limit=1))) == FACT.arity
    assert "HKG(0 facts" in draw_facts(hkg[0:0])


def test_notebooks_show_facts_and_graphs_as_the_same_pictures() -> None:
    hkg = HKG.from_facts([FACT, WIDE])
    assert FACT._repr_svg_() == draw_fact(FACT)
    assert hkg._repr_svg_() == draw_facts(hkg)


def test_a_strict_page_can_hold_a_picture() -> None:
    for picture in (draw_fact(WIDE), draw_transformations(WIDE)):
        assert not [e for e in tree(picture).iter() if e.get("style") is not None]
    hkg = HKG.from_facts([FACT])
    plain = draw_neighbourhood(hkg, "Turing", styled=False)
    assert not list(tree(plain).iter(f"{SVG}style"))
    assert draw_neighbourhood(hkg, "Turing").replace(f"<style>{STYLE}</style>", "") == plain


def test_coloured_lines_have_a_rule_for_their_class() -> None:
    used = set(re.findall(r"\bhue\d+\b", draw_transformations(WIDE).partition("</style>")[2]))
    assert len(used) > 4
    assert all(f".line.{name}{{stroke:" in STYLE for name in used)

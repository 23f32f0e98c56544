"""A person's whole path through the page, in a real browser, by mouse and by keyboard."""

import re
from pathlib import Path

from playwright.sync_api import Browser, Page, expect

from hyperfact.graph.queries import Question
from hyperfact.predict import write_any
from tests.support.runs import league
from tests.unit.serve.page.watched import Watch, watched

HOME = "/m/league"
QUESTION = "player 1 | plays for | ? | position = wing"
PATHS = {
    "models": ("/", {}),
    "start": (HOME, {}),
    "answers": (HOME, {"q": QUESTION}),
    "explained": (HOME, {"q": QUESTION, "answer": "club 1"}),
    "what if": (HOME, {"q": QUESTION, "change": "- position = wing"}),
    "guess": (HOME, {"q": "player 1 | lives in | ? | position = wing"}),
    "entity": (f"{HOME}/entity", {"name": "club 1"}),
    "guesses": (f"{HOME}/entity", {"name": "player 1", "relation": "plays for", "else": "1"}),
    "map": (f"{HOME}/map", {}),
    "card": (f"{HOME}/card", {}),
    "refused": (HOME, {"q": "player 1 | plays for | ? | positon = wing"}),
    "not found": (f"{HOME}/entity", {"name": "klub 1"}),
}


def test_from_the_first_page_to_an_explanation_by_keyboard(watch: Watch) -> None:
    page = watch.page
    watch.open("/")
    page.get_by_role("link", name="league", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Ask anything a fact can hold")
    choose(page, "subject", "player 1", "player 1")
    page.keyboard.press("Tab")
    expect(page.get_by_label("relation", exact=True)).to_be_focused()
    choose(page, "relation", "pl", "plays for")
    page.get_by_role("button", name="Add a qualifier").press("Enter")
    attribute = page.get_by_label("attribute 1", exact=True)
    expect(attribute).to_be_focused()
    expect(page.get_by_role("option").first).to_contain_text("position")  # of this relation
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(attribute).to_have_value("position")
    choose(page, "value 1", "win", "wing")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Answers")).to_be_visible()
    assert "q=player%201%20%7C%20plays%20for%20%7C%20%3F%20%7C%20position%20%3D%20wing" in page.url
    rows = page.locator(".answer")
    expect(rows).to_have_count(8)  # the clubs
    expect(rows.first).to_be_in_viewport()
    assert "%" in (rows.first.inner_text())
    assert set(page.locator(".mark").all_inner_texts()) <= {"new", "known train", "known test"}
    page.get_by_role("link", name="Why?").first.press("Enter")
    title = page.locator("#why-title")
    expect(title).to_be_focused()
    assert "answer=" in page.url
    shown = page.locator(".why").inner_text()
    page.reload()  # the address is the whole state
    assert page.locator(".why").inner_text() == shown
    page.go_back()
    expect(page.locator(".why")).to_have_count(0)
    watch.check()


def test_answers_and_explanations_come_into_view_on_a_small_screen(watch: Watch) -> None:
    page = watch.page
    page.set_viewport_size({"width": 360, "height": 740})
    watch.open(HOME, q=QUESTION)
    page.get_by_role("button", name="Ask", exact=True).first.click()
    expect(page.locator(".answer").first).to_be_in_viewport()
    page.get_by_role("link", name="Why?").first.click()
    title = page.locator("#why-title")
    expect(title).to_be_in_viewport()
    box = title.bounding_box()
    assert box is not None
    assert box["y"] < 400  # with what stands below it


def choose(page: Page, label: str, typed: str, name: str) -> None:
    """Type, go down to a name, take it."""
    field = page.get_by_label(label, exact=True)
    field.fill(typed)
    option = page.get_by_role("option").filter(has=page.get_by_text(name, exact=True))
    option.wait_for()
    for _ in range(12):
        page.keyboard.press("ArrowDown")
        if option.get_attribute("aria-selected") == "true":
            break
    page.keyboard.press("Enter")
    expect(field).to_have_value(name)
    expect(field).to_have_attribute("aria-expanded", "false")


def test_answers_move_when_a_qualifier_is_left_out_or_added(watch: Watch) -> None:
    page = watch.page
    watch.open(HOME, q=QUESTION)
    before = page.locator(".answer .who").all_inner_texts()
    page.get_by_role("link", name="Leave out position = wing").click()
    expect(page.get_by_role("link", name="Put back position = wing")).to_be_visible()
    expect(page.locator(".answer .move")).to_have_count(8)
    assert "change=-%20position%20%3D%20wing" in page.url
    assert re.search(r"was \d+|same place", page.locator(".answer .move").first.inner_text())
    page.get_by_text("+ another qualifier").click()
    page.get_by_label("attribute", exact=True).last.fill("since")
    page.get_by_label("value", exact=True).last.fill("2001")
    page.get_by_role("button", name="See the answers move").click()
    expect(page.get_by_role("link", name="Take away since = 2001")).to_be_visible()
    assert page.url.count("change=") == 2
    page.get_by_role("link", name="Undo").click()
    expect(page.locator(".answer .move")).to_have_count(0)
    assert page.locator(".answer .who").all_inner_texts() == before
    watch.check()


def test_known_answers_are_marked_or_removed(watch: Watch) -> None:
    page = watch.page
    fact = next(f for f in league().train if f.relation == "plays for")
    question = write_any(Question(fact.subject, fact.relation, None, fact.qualifiers))
    watch.open(HOME, q=question, k="100")
    row = page.locator(".answer").filter(has=page.get_by_text(fact.object, exact=True))
    expect(row.locator(".mark")).to_have_text("known train")
    page.get_by_label("Known ones").select_option("removed")
    page.get_by_role("button", name="Ask", exact=True).first.click()
    page.wait_for_url("**&known=remove**")
    expect(row).to_have_count(0)
    assert page.locator(".mark.known").count() == 0


def test_the_blank_goes_anywhere(watch: Watch) -> None:
    page = watch.page
    watch.open(HOME, q=QUESTION)
    for label, mark in (
        ("subject", "?"),
        ("relation", "player 1 | ? |"),
        ("attribute 1", "? = wing"),
        ("value 1", "position = ?"),
    ):
        page.get_by_label("object", exact=True).fill("club 1")
        page.get_by_label("subject", exact=True).fill("player 1")
        page.keyboard.press("Tab")  # closes the list of names
        page.get_by_role("radio", name=f"Ask for the {label}", exact=True).check()
        page.get_by_role("button", name="Ask", exact=True).first.click()
        expect(page.locator(".answer").first).to_be_visible()
        assert mark in page.locator("#q").input_value()
        watch.open(HOME, q=QUESTION)


def test_an_entity_its_facts_the_map_and_the_card(watch: Watch, tmp_path: Path) -> None:
    page = watch.page
    watch.open(HOME)
    search = page.get_by_label("Search an entity")
    search.fill("club 3")
    page.get_by_role("option").first.wait_for()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/entity?name=club*")
    expect(page.get_by_role("heading", level=1)).to_have_text("club 3")
    assert page.locator(".drawing svg.hf .box.lit").count() > 1
    page.get_by_role("link", name="in 1", exact=True).click()
    expect(page.locator("#facts > .facts > li")).to_have_count(1)
    page.get_by_role("link", name="Let the model guess").click()
    expect(page.locator(".guesses > li").first).to_be_in_viewport()
    expect(page.locator("#facts .facts > li").first).to_contain_text("club 3")
    page.get_by_role("link", name="Ask for this subject").first.click()
    expect(page.get_by_role("heading", name="Answers")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV").click()
    download.value.save_as(tmp_path / "answers.csv")
    lines = (tmp_path / "answers.csv").read_text("utf-8-sig").splitlines()
    assert lines[0] == "rank,answer,label,probability,score,known_in"
    assert len(lines) > 5
    page.get_by_role("link", name="Map").click()
    explore_map(page)
    page.get_by_role("link", name="Card", exact=True).click()
    for words in ("Protocol", "MRR", "realistic", "among equal scores", "Limits"):
        expect(page.get_by_text(words).first).to_be_visible()
    watch.check()


def explore_map(page: Page) -> None:
    tip, drawing = page.locator("#tip"), page.locator("svg.map")
    marks = page.locator("svg.map [data-c]")
    assert marks.count() == page.locator("#points tr").count()
    marks.last.hover(force=True)
    expect(tip).to_be_visible()
    drawing.focus()
    names = set()
    for key in ("ArrowLeft", "ArrowUp", "ArrowRight", "ArrowDown"):
        page.keyboard.press(key)
        names.add(tip.inner_text())
    assert len(names) > 1
    assert page.locator("#status").inner_text() in names
    page.get_by_role("button", name="Zoom in").click()
    assert drawing.get_attribute("viewBox") != "0 0 1000 1000"
    page.get_by_label("Highlight names that hold").fill("club 3")
    assert page.locator("svg.map .hit").count() > 1
    hidden = page.locator("svg.map .off")
    page.get_by_role("checkbox").first.uncheck()
    assert hidden.count() > 0


def test_a_question_is_asked_without_script(browser: Browser, site: str) -> None:
    with watched(browser, site, java_script_enabled=False) as watch:
        page = watch.page
        page.goto(site + HOME)
        for label, text in (
            ("subject", "player 1"),
            ("relation", "plays for"),
            ("attribute 1", "position"),
            ("value 1", "wing"),
        ):
            page.get_by_label(label, exact=True).fill(text)
        page.get_by_role("button", name="Ask", exact=True).first.click()
        expect(page.locator(".answer")).to_have_count(8)
        expect(page.locator("#answers-title")).to_be_in_viewport()
        page.get_by_role("link", name="Why?").last.click()
        expect(page.locator("#why-title")).to_be_in_viewport()
        page.goto(site + HOME + "?q=player%201%20%7C%20plays%20for%20%7C%20%3F")
        page.get_by_text("+ another qualifier").click()
        page.get_by_label("attribute", exact=True).last.fill("position")
        page.get_by_label("value", exact=True).last.fill("goal")
        page.get_by_role("button", name="See the answers move").click()
        expect(page.locator(".answer .move").first).to_be_visible()


def test_errors_keep_what_was_typed_and_offer_the_near_name(watch: Watch) -> None:
    page = watch.page
    watch.open(HOME, s="player 1", r="plays four", blank="o")
    expect(page.get_by_role("alert")).to_contain_text("unknown relation 'plays four'")
    expect(page.get_by_label("relation", exact=True)).to_have_value("plays four")
    page.get_by_role("alert").get_by_role("link", name="plays for").click()
    expect(page.locator(".answer").first).to_be_visible()
    watch.open(HOME, s="", r="plays for", blank="o")
    expect(page.get_by_role("alert")).to_contain_text("the subject is empty")
    expect(page.get_by_label("relation", exact=True)).to_have_value("plays for")


UNNAMED = """() =>
  [...document.querySelectorAll("input:not([type=hidden]), select, button, a[href]")]
  .filter((e) => !(e.labels && [...e.labels].some((l) => l.textContent.trim()))
    && !e.getAttribute("aria-label") && !e.textContent.trim() && !e.querySelector("img[alt]"))
  .map((e) => e.outerHTML)"""
TWICE = """() => { const all = [...document.querySelectorAll("[id]")].map((e) => e.id);
  return all.filter((id, i) => all.indexOf(id) !== i); }"""


def test_every_page_fits_and_everything_has_a_name(watch: Watch) -> None:
    page = watch.page
    for path, query in PATHS.values():
        watch.open(path, **query)
        assert page.evaluate(UNNAMED) == []
        assert page.evaluate(TWICE) == []
        assert page.locator("h1").count() == 1
        page.set_viewport_size({"width": 360, "height": 740})
        watch.check()
        page.set_viewport_size({"width": 1440, "height": 900})


def test_light_and_dark_are_the_reader_s(watch: Watch) -> None:
    watch.open(HOME)
    sums = {}
    for scheme in ("light", "dark"):
        watch.page.emulate_media(color_scheme=scheme)
        colour = watch.page.evaluate("getComputedStyle(document.body).backgroundColor")
        sums[scheme] = sum(map(int, re.findall(r"\d+", colour)[:3]))
    assert sums["dark"] < 150 < 600 < sums["light"]

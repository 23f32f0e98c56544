"""Names that try to be more than text stay text, wherever a name can appear."""

import csv
import io
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, expect

from hyperfact.draw.pages.filters import short
from hyperfact.graph.facts import show
from tests.unit.serve.page.hostile import PAYLOADS, RELATIONS, SHORT
from tests.unit.serve.page.watched import Watch, watched

HOME = "/m/hostile"


def test_there_are_forty() -> None:
    assert len(set(PAYLOADS)) >= 40
    assert max(map(len, PAYLOADS)) == 10_000


def test_in_lists_tables_tooltips_and_labels(browser: Browser, site: str) -> None:
    with watched(browser, site, width=360, height=740) as watch:
        page = watch.page
        subject = show(PAYLOADS[0])
        watch.open(HOME, q=f"{subject} | {show(RELATIONS[0])} | ?", k="100", any="1")
        assert set(page.locator(".who .name").all_inner_texts()) == everything()
        watch.open(f"{HOME}/map")
        page.get_by_text("The same as a table").click()
        cells = page.locator("#points td:first-child .name").all_text_contents()
        assert everything() <= set(cells)
        page.locator("svg.map").focus()
        for key in ("ArrowLeft", "ArrowUp", "ArrowRight", "ArrowDown") * 4:
            page.keyboard.press(key)
            assert page.locator("#tip").text_content() in {cell[:160] for cell in cells}
            watch.check()
        page.get_by_label("Highlight names that hold").fill("<script>")
        assert page.locator("svg.map .hit").count() > 5
        watch.open(f"{HOME}/card")
        expect(page.get_by_role("heading", level=1)).to_contain_text("<img src=x onerror=")
        watch.open("/")
        expect(page.locator(".tiles")).to_contain_text("<img src=x onerror=")


def everything() -> set[str]:
    return {short(name) for name in PAYLOADS}


def test_while_typing(watch: Watch) -> None:
    page = watch.page
    watch.open(HOME)
    field = page.get_by_label("subject", exact=True)
    for typed in ("<", '"', "java", "{", "W"):
        field.fill(typed)
        page.get_by_role("option").first.wait_for()
        watch.check()
        field.fill("")
        page.keyboard.press("Escape")
    field.fill("<iframe")
    option = page.get_by_role("option").first
    expect(option).to_contain_text('<iframe srcdoc="<script>')
    option.click()
    assert field.input_value().startswith("<iframe srcdoc=")


every_or_some = pytest.mark.parametrize("step", [pytest.param(1, marks=pytest.mark.slow), 3])


@every_or_some
def test_on_a_page_of_its_own(step: int, browser: Browser, site: str) -> None:
    with watched(browser, site, width=360, height=740) as watch:
        page = watch.page
        for name in SHORT[::step]:
            watch.open(f"{HOME}/entity", name=name)
            assert page.locator("h1").text_content() == short(name, 200)
            assert page.title().startswith(" ".join(short(name, 60).split())[:20])
            assert short(name) in page.locator(".drawing title").all_text_contents()
            assert (
                page.locator(".facts .node.lit").first.inner_text().strip() == short(name).strip()
            )


@every_or_some
def test_in_questions_and_explanations(step: int, browser: Browser, site: str) -> None:
    pairs = list(zip(SHORT[::2], [*SHORT[1::2], SHORT[0]], strict=True))
    with watched(browser, site, width=360, height=740) as watch:
        page = watch.page
        for name, value in pairs[step // 2 :: step]:
            pair = f"{show(RELATIONS[1])} = {show(value)}"
            question = f"{show(name)} | {show(RELATIONS[0])} | ? | {pair}"
            page.goto(
                f"{site}{HOME}?q={quote(question, safe='')}&answer={quote(value, safe='')}"
                f"&change={quote('- ' + pair, safe='')}#{name}"
            )
            watch.check()
            assert page.get_by_label("subject", exact=True).input_value() == one_line(name)
            assert short(value, 60) in (page.locator("#why-title").text_content() or "")
            assert short(value, 40) in page.locator(".chip.removed").all_text_contents()[0]


def one_line(name: str) -> str:
    """What a field for one line keeps of a text."""
    return name.replace("\r", "").replace("\n", "")


def test_the_long_name_has_a_page_by_its_number(browser: Browser, site: str) -> None:
    with watched(browser, site, width=360, height=740) as watch:
        page = watch.page
        long = "W" * 10_000
        watch.open(HOME, q=f"{show(SHORT[0])} | {show(RELATIONS[0])} | ?", k="100", any="1")
        page.locator(".who a").filter(has_text=short(long)).click()
        expect(page.locator("h1")).to_have_text(short(long, 200))
        watch.check()
        page.get_by_text("Whole name, 10,000 characters").click()
        assert long in (page.locator(".whole").text_content() or "")
        watch.check()
        page.go_back()
        page.locator(".answer").filter(has_text=short(long)).get_by_role(
            "link", name="Why?"
        ).click()
        expect(page.locator("#why-title")).to_contain_text(short(long, 60))
        watch.check()


def test_in_error_texts(browser: Browser, site: str) -> None:
    with watched(browser, site, width=360, height=740) as watch:
        page = watch.page
        for name in SHORT[::4]:
            wrong = name + "!"
            watch.open(f"{HOME}/entity", name=wrong)
            expect(page.get_by_role("alert")).to_contain_text("unknown entity")
        watch.open(HOME, q="<script>window.canary=1</script>")
        expect(page.get_by_role("alert")).to_contain_text("<script>window.canary=1</script>")
        watch.open("/m/<script>window.canary=1<%2Fscript>")
        watch.open(HOME, k="<img src=x onerror=window.canary=1>")
        expect(page.get_by_role("alert")).to_contain_text("k is a number from 1 to 100")


def test_in_a_download(watch: Watch) -> None:
    question = f"{show(SHORT[0])} | {show(RELATIONS[0])} | ?"
    address = f"{watch.site}{HOME}/answers.csv?k=100&any=1&q={quote(question, safe='')}"
    answer = watch.page.request.get(address)
    assert answer.headers["content-type"].startswith("text/csv")
    assert answer.headers["content-disposition"] == 'attachment; filename="answers-hostile.csv"'
    rows = list(csv.reader(io.StringIO(answer.body().decode("utf-8-sig"), newline="")))
    names = {row[1] for row in rows[1:]}
    assert "'=cmd|' /C calc'!A0" in names
    assert "'@SUM(1+1)*cmd|' /C calc'!A0" in names
    assert {name[1:] if name[:1] == "'" and name[1:2] in "=@-" else name for name in names} == set(
        PAYLOADS
    )

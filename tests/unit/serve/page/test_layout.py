"""Every page fits its window with text of any width: nothing sticks out, is cut off or on top."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from hyperfact.data.audit import audit_of
from hyperfact.data.stats import stats_of
from hyperfact.draw.pages import audit_page, report
from hyperfact.graph.facts import show
from hyperfact.runs.catalog import look
from tests.support.serving import league_path
from tests.unit.serve.page.hostile import PAYLOADS, RELATIONS, hostile, hostile_run
from tests.unit.serve.page.layout import misplaced
from tests.unit.serve.page.test_journey import PATHS
from tests.unit.serve.page.watched import Watch, watched

_HOME = "/m/hostile"
_ASKED = (
    f"{show(PAYLOADS[0])} | {show(RELATIONS[0])} | ? | {show(RELATIONS[1])} = {show(PAYLOADS[2])}"
)
HOSTILE = {
    "answers": (_HOME, {"q": _ASKED, "k": "100", "any": "1", "answer": PAYLOADS[3]}),
    "what if": (_HOME, {"q": _ASKED, "change": f"- {show(RELATIONS[1])} = {show(PAYLOADS[2])}"}),
    "entity": (f"{_HOME}/entity", {"name": PAYLOADS[0]}),
    "long name": (f"{_HOME}/entity", {"name": PAYLOADS[38]}),
    "map": (f"{_HOME}/map", {}),
    "card": (f"{_HOME}/card", {}),
    "not found": (f"{_HOME}/entity", {"name": "W" * 300}),
}


@pytest.fixture(scope="module")
def window(browser: Browser, site: str) -> Iterator[Watch]:
    """One window for all pages of this module."""
    with watched(browser, site) as found:
        yield found


@pytest.mark.parametrize("name", PATHS)
def test_a_page_fits(window: Watch, name: str) -> None:
    path, query = PATHS[name]
    window.open(path, **query)
    assert misplaced(window.page) == []


@pytest.mark.parametrize("name", HOSTILE)
def test_a_page_with_hostile_names_fits(window: Watch, name: str) -> None:
    path, query = HOSTILE[name]
    window.open(path, **query)
    assert misplaced(window.page) == []


@pytest.mark.parametrize("run", [league_path, hostile_run])
def test_the_report_of_a_run_fits(window: Watch, run: Callable[[], Path]) -> None:
    window.page.goto("about:blank")  # without the policy of the service
    window.page.set_content(report.page(look(run())))
    assert misplaced(window.page) == []


def test_the_report_of_an_audit_fits(window: Watch) -> None:
    splits = hostile()
    window.page.goto("about:blank")  # without the policy of the service
    window.page.set_content(audit_page.page(audit_of(splits), stats_of(splits)))
    assert misplaced(window.page) == []


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ('<p style="width: 2000px">wide</p>', "the page is 2000 wide"),
        ('<p class="card" style="width: 40px">incomprehensible</p>', "leaves its frame: P.card"),
        ('<p style="width: 40px; overflow: hidden">incomprehensible</p>', "is cut off: P."),
        ('<p style="width: 40px; word-break: break-all">3.14159265</p>', "is broken: P."),
        ('<p>first</p><p style="margin-top: -2em">second</p>', "lies on "),
    ],
)
def test_the_check_sees_what_is_wrong(window: Watch, body: str, words: str) -> None:
    window.page.goto("about:blank")
    window.page.set_content(f'<body style="margin: 0">{body}')
    assert any(words in line for line in misplaced(window.page))

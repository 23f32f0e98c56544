"""A real Chromium and a real service; without a browser the tests say why they are skipped."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Error, Page, expect, sync_playwright

from tests.support.serving import league_path, start
from tests.unit.serve.page.hostile import hostile_run
from tests.unit.serve.page.watched import Watch, watched
from tools.system import find_browser

expect.set_options(timeout=60_000)  # milliseconds; a busy machine is no failure


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """For a module, not longer: while playwright lives, this thread cannot run another loop."""
    path = find_browser()
    if path is None:
        pytest.skip("no Chromium here: `python -m tools.system` installs one where it can")
    with sync_playwright() as playwright:
        try:
            found = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        except Error as error:
            pytest.skip(f"{path} does not start: {str(error).splitlines()[0]}")
        yield found
        found.close()


@pytest.fixture(scope="module")
def site(browser: Browser) -> Iterator[str]:  # noqa: ARG001 - no service without a browser
    """A service over the league and over the hostile names."""
    service = start(runs=[f"league={league_path()}", f"hostile={hostile_run()}"])
    yield f"http://127.0.0.1:{service.port}"
    service.stop()


@pytest.fixture
def watch(browser: Browser, site: str) -> Iterator[Watch]:
    """A window of 1440 pixels in which everything that goes wrong is noted."""
    with watched(browser, site) as found:
        yield found


@pytest.fixture
def page(watch: Watch) -> Page:
    return watch.page

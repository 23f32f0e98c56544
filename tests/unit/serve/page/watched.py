"""A window whose requests, violations and errors are kept, and must be none at the end."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlsplit

from playwright.sync_api import Browser, Page

_NOTE_VIOLATIONS = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (e) =>
  window.violations.push(e.violatedDirective + " " + e.blockedURI));
"""
_WIDEST = "Math.max(document.documentElement.scrollWidth, document.body.scrollWidth) - innerWidth"


@dataclass
class Watch:
    """A window and what it has seen."""

    page: Page
    site: str
    requests: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def open(self, path: str, **query: str) -> None:
        text = "&".join(f"{key}={quote(value, safe='')}" for key, value in query.items())
        self.page.goto(self.site + path + ("?" + text if text else ""))
        self.check()

    def check(self) -> None:
        """No script of a name ran, nothing was forbidden, nothing is wider than the window."""
        assert self.page.evaluate("window.canary") is None
        assert self.page.evaluate("window.violations") == []
        assert self.page.evaluate(_WIDEST) <= 0, self.page.url
        assert not self.wrong

    @property
    def foreign(self) -> list[str]:
        """Requests to other hosts."""
        host = urlsplit(self.site).netloc
        return [url for url in self.requests if urlsplit(url).netloc != host]


@contextmanager
def watched(
    browser: Browser, site: str, *, width: int = 1440, height: int = 900, **options: Any
) -> Iterator[Watch]:
    """A new window; at its end nothing may have gone wrong."""
    context = browser.new_context(viewport={"width": width, "height": height}, **options)
    context.set_default_timeout(60_000)
    context.add_init_script(_NOTE_VIOLATIONS)
    found = Watch(context.new_page(), site)
    page = found.page
    page.on("request", lambda request: found.requests.append(request.url))
    page.on("pageerror", lambda error: found.wrong.append(str(error)))
    page.on("dialog", lambda dialog: found.wrong.append(f"dialog {dialog.message}"))
    page.on(
        "console",
        lambda message: (
            found.wrong.append(message.text) if "Content Security" in message.text else None
        ),
    )
    yield found
    assert not found.wrong
    assert not found.foreign
    context.close()

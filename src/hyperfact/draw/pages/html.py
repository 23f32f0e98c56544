"""What every page of ours shares: one file, no script, no network, every name escaped."""

from html import escape

from hyperfact import __version__
from hyperfact.draw.pages.style import STYLE

_LONGEST = 400  # characters of one text
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def document(title: str, body: str, *, footer: str = "") -> str:
    """A complete HTML document.

    Args:
        title: Any text.
        body: HTML below the heading.
        footer: A sentence, as HTML.
    """
    shown = text(title)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<title>{shown}</title>
<style>{STYLE}</style>
</head>
<body>
<main>
<h1>{shown}</h1>
{body}
<footer>Made by hyperfact {escape(__version__)}. {footer}</footer>
</main>
</body>
</html>
"""


def text(value: str) -> str:
    """Any text as harmless HTML: escaped, cut, its writing direction kept to itself."""
    cut = value if len(value) <= _LONGEST else value[: _LONGEST - 1] + "…"
    plain = "".join(c if c.isprintable() or c == " " else "\N{REPLACEMENT CHARACTER}" for c in cut)
    return escape(plain, quote=True)

"""Names are data: what a terminal would obey is shown instead.

Apart from the commands, because `logging` keeps the formatter until the interpreter has gone.
"""

import logging
import re

#: C0 and C1 but for newline and tab, other ends of lines, and what turns the reading order.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    """The text with every control character as JSON writes it."""
    return _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def in_line(text: object) -> str:
    """The same with newlines and tabs too: a name is no line of ours."""
    return visible(str(text)).replace("\n", "\\n").replace("\t", "\\t")


class VisibleFormatter(logging.Formatter):
    """The message alone, fit for a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        """Names in it may hold anything."""
        return in_line(super().format(record))

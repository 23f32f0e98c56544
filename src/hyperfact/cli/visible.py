"""Names are data: what a terminal would obey is shown instead.

Apart from the commands, because `logging` keeps the formatter until the interpreter has gone.
"""

import logging
import re

#: C0 and C1 but for newline and tab, and what turns the reading order.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    """The text with every control character as JSON writes it."""
    return _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


class VisibleFormatter(logging.Formatter):
    """The message alone, fit for a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        """Names in it may hold anything."""
        return visible(super().format(record))

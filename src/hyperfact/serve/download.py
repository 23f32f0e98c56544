"""Answers as CSV that a spreadsheet shows and does not run."""

import csv
import io

from hyperfact.serve.asking import State
from hyperfact.serve.opened import Served

_COLUMNS = ("rank", "answer", "label", "probability", "score", "known_in")
_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def harmless(cell: str) -> str:
    """A text that no spreadsheet takes for a formula; an apostrophe marks one that it would."""
    return f"'{cell}" if cell.lstrip(" \u00a0").startswith(_STARTS) else cell


def answers_csv(served: Served, state: State) -> bytes:
    """The answers of the state's question, one a line."""
    with served.lock:
        found = served.predictor.answer([state.question], state.request)[0]
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(_COLUMNS)
    for a in found:
        numbers = (f"{a.probability:.6f}", f"{a.score:.6f}")
        names = (harmless(a.name), harmless(a.label))
        writer.writerow((a.rank, *names, *numbers, " ".join(a.where)))
    return ("\ufeff" + text.getvalue()).encode("utf-8", "replace")


def file_name(model: str) -> str:
    """A name for the file that no system trips over."""
    kept = "".join(c if c.isascii() and c.isalnum() else "-" for c in model[:60])
    return f"answers-{kept or 'model'}.csv"

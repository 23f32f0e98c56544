"""A small table as text of a document: CSV, Markdown or LaTeX, by the ending of its file."""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from hyperfact.errors import UserError

Rows = Sequence[Sequence[str]]
_LATEX = {c: f"\\{c}" for c in "&%$#_{}"} | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}"}
_LATEX |= {"^": r"\textasciicircum{}"}


def table_text(path: Path, head: Sequence[str], rows: Rows) -> str:
    """The table in the form that the ending of the file names.

    Raises:
        UserError: Another ending.
    """
    if path.suffix not in FORMS:
        raise UserError(f"{path}: a table is one of {', '.join(FORMS)}")
    return FORMS[path.suffix](head, rows)


def _csv(head: Sequence[str], rows: Rows) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([head, *rows])
    return text.getvalue()


def _markdown(head: Sequence[str], rows: Rows) -> str:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(c.replace("|", "\\|").replace("\n", " ") for c in cells) + " |"

    return "\n".join(map(line, [head, ["---"] * len(head), *rows])) + "\n"


def _latex(head: Sequence[str], rows: Rows) -> str:
    def line(cells: Sequence[str]) -> str:
        return " & ".join("".join(_LATEX.get(c, c) for c in cell) for cell in cells) + r" \\"

    spec = "l" + "r" * (len(head) - 1)
    body = [line(head), r"\midrule", *map(line, rows)]
    lines = [rf"\begin{{tabular}}{{{spec}}}", r"\toprule", *body, r"\bottomrule", r"\end{tabular}"]
    return "\n".join(lines) + "\n"


#: Every ending of a table's file. Adding one: a function above, and a line here.
FORMS: Mapping[str, Callable[[Sequence[str], Rows], str]] = {
    ".csv": _csv,
    ".md": _markdown,
    ".tex": _latex,
}

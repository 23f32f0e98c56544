"""Tables in memory: pandas, polars, Arrow, or a list of dicts; none is imported unasked.

In a table of facts a row is a fact; a cell that is None, NaN or empty is no qualifier, a list in a
cell is several.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from hyperfact.errors import DataError, MissingExtraError, UnknownNameError
from hyperfact.graph.facts import Fact

TRIPLE = ("subject", "relation", "object")
_MAKERS = {
    "pandas": ("pandas", "DataFrame"),
    "polars": ("polars", "DataFrame"),
    "arrow": ("pyarrow", "table"),
}
_Cells = Mapping[str, Sequence[Any]]  # column -> a value for each row


def frame_facts(
    frame: Any, triple: Sequence[str], qualifiers: Sequence[str] | Mapping[str, str] | None
) -> Iterator[Fact]:
    """The facts of a frame.

    Args:
        frame: a DataFrame of pandas or polars, an Arrow table, a list of dicts.
        triple: the columns of subject, relation and object; `:text` is the same in every row.
        qualifiers: their columns, or attribute to column; all other columns if None.
    """
    cells = _cells(frame)
    rows = len(next(iter(cells.values()), []))
    s, r, o = (_column(cells, name, rows) for name in triple)
    if qualifiers is None:
        qualifiers = [name for name in cells if name not in triple]
    named = qualifiers if isinstance(qualifiers, Mapping) else {name: name for name in qualifiers}
    columns = {attribute: _column(cells, name, rows) for attribute, name in named.items()}
    for i in range(rows):
        pairs = [(a, value) for a, column in columns.items() for value in _texts(column[i])]
        parts = [_texts(column[i]) for column in (s, r, o)]
        if any(len(part) != 1 for part in parts):
            raise DataError(f"row {i} of the frame: subject, relation and object must be one each")
        yield Fact(parts[0][0], parts[1][0], parts[2][0], tuple(pairs))


def make_frame(columns: Mapping[str, Any], kind: str | None = None) -> Any:
    """A table with these columns.

    Args:
        columns: Lists or arrays of equal length, by name.
        kind: `pandas`, `polars`, `arrow` or `rows`; if None, pandas or polars, as installed.
    """
    if kind is None:
        kind = next((name for name in ("pandas", "polars") if find_spec(name)), "pandas")
    return _maker(kind)(columns)


def facts_frame(facts: Sequence[Fact], kind: str | None) -> Any:
    """These facts with a column for each attribute: a list where a fact has several values."""
    counts: dict[str, int] = {}
    for fact in facts:
        names = [name for name, _ in fact.qualifiers]
        counts.update((name, max(names.count(name), counts.get(name, 0))) for name in names)
    taken = [name for name in counts if name in TRIPLE]
    if taken:
        raise DataError(f"the attribute {taken[0]!r} has the name of another column")
    cells: dict[str, list[Any]] = {n: [getattr(fact, n) for fact in facts] for n in TRIPLE}
    for name, most in counts.items():
        values = [[v for a, v in fact.qualifiers if a == name] for fact in facts]
        cells[name] = values if most > 1 else [found[0] if found else None for found in values]
    return make_frame(cells, kind)


def _maker(kind: str) -> Callable[[Any], Any]:
    if kind == "rows":
        return _rows
    if kind not in _MAKERS:
        raise UnknownNameError("kind of frame", kind, [*_MAKERS, "rows"])
    package, name = _MAKERS[kind]
    try:
        maker: Callable[[Any], Any] = getattr(import_module(package), name)
    except ImportError:
        raise MissingExtraError(package, "frames", f"a frame of {package}") from None
    return maker


def _rows(cells: _Cells) -> list[dict[str, Any]]:
    columns = map(_values, cells.values())
    return [dict(zip(cells, row, strict=True)) for row in zip(*columns, strict=True)]


def _cells(frame: Any) -> _Cells:
    """The columns of a frame as lists."""
    if isinstance(frame, Sequence) and all(isinstance(row, Mapping) for row in frame):
        keys = dict.fromkeys(key for row in frame for key in row)
        return {str(key): [row.get(key) for row in frame] for key in keys}
    if hasattr(frame, "__arrow_c_stream__") and not hasattr(frame, "__getitem__"):
        frame = _maker("polars")(frame)  # which reads whatever speaks Arrow
    names = getattr(frame, "column_names", getattr(frame, "columns", None))
    if names is None:
        raise DataError(
            f"a {type(frame).__name__} is no frame: expected pandas, polars, Arrow or dicts"
        )
    return {str(name): _values(frame[name]) for name in names}


def _values(column: Any) -> list[Any]:
    for method in ("to_pylist", "to_list", "tolist"):  # of Arrow, polars and pandas, numpy
        if hasattr(column, method):
            return list(getattr(column, method)())
    return list(column)


def _column(cells: _Cells, name: str, rows: int) -> Sequence[Any]:
    if name in cells:
        return cells[name]
    if name.startswith(":") and len(name) > 1:
        return [name[1:]] * rows
    raise UnknownNameError("column", name, cells)


def _texts(value: Any) -> list[str]:
    """The names in a cell."""
    if isinstance(value, str):
        return [value] if value else []
    if isinstance(value, list | tuple) or hasattr(value, "tolist"):
        return [text for one in list(value) for text in _texts(one)]
    if value is None or str(value) in {"nan", "NaT", "<NA>"}:
        return []
    if isinstance(value, float) and value.is_integer():  # numbers turn to floats beside a gap
        return [str(int(value))]
    return [str(value)]

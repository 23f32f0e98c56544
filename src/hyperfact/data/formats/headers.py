"""What the columns of a table mean: by known headers, or as someone says it."""

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hyperfact.errors import UnknownNameError, UserError
from hyperfact.system.source import Fault

ROLES = ("subject", "relation", "object")
_KGX = ("subject", "predicate", "object")
_NEO4J = re.compile(r"(?P<name>[^:]*):(?P<kind>[A-Za-z_]+)(?P<list>\[\])?(?:[({].*)?", re.DOTALL)
_EDGE_NAME = "id"  # of a KGX edge: every row has its own, so it says nothing
EXAMPLE = '--columns "subject=…, relation=…, object=…" (a column, or :a constant)'


@dataclass(frozen=True)
class Cell:
    """Where a value stands: in a column, or the same in every row."""

    column: int | None = None
    constant: str = ""
    separator: str = ""  # of the members, if a cell may hold a list

    def text(self, row: Sequence[str]) -> str:
        """The value of this row; empty if it has none."""
        return self.constant if self.column is None else row[self.column]

    def texts(self, row: Sequence[str]) -> list[str]:
        """The values of this row that are not empty."""
        text = self.text(row)
        return [one for one in (text.split(self.separator) if self.separator else [text]) if one]


@dataclass(frozen=True)
class Layout:
    """Which cells of a row are subject, relation, object and qualifiers."""

    header: Sequence[str]
    triple: tuple[Cell, Cell, Cell]
    qualifiers: tuple[tuple[str, Cell], ...]  # attribute, value

    @classmethod
    def of(cls, header: Sequence[str], asked: Mapping[str, str]) -> "Layout":
        """As someone asks: attributes to columns; without attributes, all other columns."""
        cells = {role: _cell(header, column) for role, column in asked.items()}
        missing = [role for role in ROLES if role not in cells]
        if missing:
            raise Fault(f"no column is named for the {missing[0]}; {_have(header)}")
        triple = cells.pop(ROLES[0]), cells.pop(ROLES[1]), cells.pop(ROLES[2])
        return cls(header, triple, tuple(cells.items()) or _others(header, triple))

    def __str__(self) -> str:
        pairs = [*zip(ROLES, self.triple, strict=True), *self.qualifiers]
        said = ", ".join(f"{role} = {self._name(cell)}" for role, cell in pairs)
        read = {cell.column for _, cell in pairs}
        rest = [name for i, name in enumerate(self.header) if i not in read]
        return f"{said}; left out: {', '.join(rest)}" if rest else said

    def _name(self, cell: Cell) -> str:
        return f":{cell.constant}" if cell.column is None else self.header[cell.column]


def asked_columns(columns: str | Mapping[str, str]) -> dict[str, str]:
    """Pairs `attribute=column` by commas, or a mapping; a pair with a comma stands in quotes."""
    if not isinstance(columns, str):
        return dict(columns)
    try:
        pairs = next(csv.reader([columns], skipinitialspace=True, strict=True), [])
    except csv.Error as error:
        raise UserError(f"the columns {columns!r} cannot be read: {error}") from None
    found: dict[str, str] = {}
    for pair in pairs:
        name, equals, column = (part.strip() for part in pair.partition("="))
        if not (name and equals and column):
            raise UserError(f"expected attribute=column, got {pair!r}; as in {EXAMPLE}")
        if name in found:
            raise UserError(f"the columns name {name!r} twice")
        found[name] = column
    return found


def names_its_columns(header: Sequence[str]) -> bool:
    """Whether the header says by itself what is subject, relation and object."""
    names = _folded(header)
    return any(all(role in names for role in roles) for roles in (ROLES, _KGX)) or (
        _neo4j_places(header) is not None
    )


def known_layout(header: Sequence[str]) -> Layout:
    """What the columns of a known header mean."""
    folded = _folded(header)
    own = tuple(folded[:3]) == ROLES  # then a column `predicate` behind them is an attribute
    for roles in (ROLES, _KGX) if own else (_KGX, ROLES):
        if all(role in folded for role in roles):
            s, r, o = (Cell(folded.index(role)) for role in roles)
            return Layout(header, (s, r, o), _others(header, (s, r, o), kgx=roles is _KGX))
    if _neo4j_places(header) is not None:
        return _neo4j(header)
    raise Fault(f"the header names no subject, relation and object; {_have(header)}")


def _neo4j(header: Sequence[str]) -> Layout:
    """Relationships as `neo4j-admin import` reads them: `:START_ID,:END_ID,:TYPE,since:int,…`."""
    s, r, o = (Cell(place) for place in _neo4j_places(header) or ())
    qualifiers = []
    for i, name in enumerate(header):
        match = _NEO4J.fullmatch(name)
        if i not in {s.column, r.column, o.column} and not (match and match["kind"] == "IGNORE"):
            attribute = match["name"] if match else name
            qualifiers.append(
                (attribute, Cell(i, separator=";" if match and match["list"] else ""))
            )
    return Layout(header, (s, r, o), tuple(qualifiers))


def _neo4j_places(header: Sequence[str]) -> tuple[int, int, int] | None:
    """Where start, type and end stand."""
    matches = [_NEO4J.fullmatch(name.strip()) for name in header]
    kinds = [match["kind"] if match else "" for match in matches]
    wanted = ("START_ID", "TYPE", "END_ID")
    if not all(kind in kinds for kind in wanted):
        return None
    start, kind, end = (kinds.index(kind) for kind in wanted)
    return start, kind, end


def _others(
    header: Sequence[str], triple: Sequence[Cell], *, kgx: bool = False
) -> tuple[tuple[str, Cell], ...]:
    """Every further column as a qualifier of its own name; KGX has lists and names of edges."""
    taken = {cell.column for cell in triple}
    cells = {i: Cell(i, separator="|" if kgx else "") for i in range(len(header)) if i not in taken}
    if any(not header[i] for i in cells):
        raise Fault("a column has no name in the header")
    return tuple((header[i], c) for i, c in cells.items() if not kgx or header[i] != _EDGE_NAME)


def _cell(header: Sequence[str], column: str) -> Cell:
    names = [name.strip() for name in header]
    if column in names:
        return Cell(names.index(column))
    if column.startswith(":") and len(column) > 1:
        return Cell(constant=column[1:].strip())
    raise Fault(str(UnknownNameError("column", column, names)))


def _folded(header: Sequence[str]) -> list[str]:
    return [name.strip().casefold() for name in header]


def _have(header: Sequence[str]) -> str:
    return f"the columns are {', '.join(header)[:300]}; name them with {EXAMPLE}"

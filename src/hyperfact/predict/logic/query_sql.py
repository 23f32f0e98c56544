"""A query as SQL over the tables facts(fact, s, r, o), pairs(fact, a, v) and entities(e).

Only ids stand in the text, so nothing that a person wrote becomes SQL.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hyperfact.predict.logic.program import ASKED, All, Deny, Leaf, Node, Program, Some


@dataclass(frozen=True)
class Table:
    """A SELECT whose columns are the variables of a formula, each choice once."""

    sql: str
    columns: tuple[int, ...]  # rising; without any it has a row if the formula is true


def ways_sql(program: Program) -> Table:
    """Every choice of the asked variable, and of those that are bound beside it."""
    root = program.form.root
    inside = root.bound if isinstance(root, All) else ()
    writer = _Writer(program)
    found = writer.every(root.parts, ()) if isinstance(root, All) else writer.table(root)
    return writer.extended(found, (ASKED, *inside))


class _Writer:
    """Writes the formulas of one query."""

    def __init__(self, program: Program) -> None:
        self.program, self.variables = program, program.form.variables

    def table(self, node: Node) -> Table:
        if isinstance(node, Leaf):
            return self.leaf(node)
        if isinstance(node, Some):
            parts = [self.table(part) for part in node.parts]
            wanted = sorted({column for part in parts for column in part.columns})
            same = [self.extended(part, wanted) for part in parts]
            return Table(" UNION ".join(part.sql for part in same), tuple(wanted))
        if isinstance(node, Deny):
            return self.every((node,), ())
        return self.every(node.parts, node.bound)

    def leaf(self, leaf: Leaf) -> Table:
        """Facts that agree; different qualifiers are different ones of the fact."""
        relations = [self.program.relations[r] for r in leaf.relations]
        pairs = range(len(relations) - 1)
        sources = ["facts f", *(f"pairs q{i}" for i in pairs)]
        where = [f"f.r = {relations[0]}"]
        where += [f"q{i}.fact = f.fact AND q{i}.a = {relations[i + 1]}" for i in pairs]
        where += [
            f"q{i}.v <> q{j}.v"
            for j in pairs
            for i in range(j)
            if relations[i + 1] == relations[j + 1]
        ]
        places: dict[int, str] = {}
        fields = ["f.s", "f.o", *(f"q{i}.v" for i in pairs)]
        for place, column in zip(fields, leaf.slots, strict=True):
            if column >= self.variables:
                where.append(f"{place} = {self.program.entities[column - self.variables]}")
            elif column in places:
                where.append(f"{place} = {places[column]}")
            else:
                places[column] = place
        shown = ", ".join(f"{places[c]} AS v{c}" for c in sorted(places)) or "1 AS t"
        text = f"SELECT DISTINCT {shown} FROM {', '.join(sources)} WHERE {' AND '.join(where)}"
        return Table(text, tuple(sorted(places)))

    def every(self, parts: Sequence[Node], bound: Sequence[int]) -> Table:
        """Parts joined, those that are denied left out."""
        said = [self.table(part) for part in parts if not isinstance(part, Deny)]
        denied = [self.table(part.part) for part in parts if isinstance(part, Deny)]
        wanted = sorted({c for part in (*said, *denied) for c in part.columns})
        base = self.extended(self.joined(said), wanted)
        conditions = [f"EXISTS ({part.sql})" for part in said if not part.columns]
        conditions += [self.absent(part) for part in denied]
        kept = [column for column in wanted if column not in bound]
        shown = ", ".join(f"b.v{column}" for column in kept) or "1 AS t"
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        return Table(f"SELECT DISTINCT {shown} FROM ({base.sql}) b{where}", tuple(kept))

    def joined(self, parts: Iterable[Table]) -> Table:
        """The natural join of tables that have columns."""
        text, columns = "", set[int]()
        for number, part in enumerate(part for part in parts if part.columns):
            shared = ", ".join(f"v{c}" for c in part.columns if c in columns)
            if not text:
                text = f"({part.sql}) p0"
            else:
                how = f"JOIN ({part.sql}) p{number} USING ({shared})"
                text += f" {how}" if shared else f" CROSS JOIN ({part.sql}) p{number}"
            columns |= set(part.columns)
        shown = ", ".join(f"v{c}" for c in sorted(columns))
        return (
            Table(f"SELECT {shown} FROM {text}", tuple(sorted(columns))) if text else Table("", ())
        )

    def extended(self, part: Table, wanted: Sequence[int]) -> Table:
        """The same with everybody for the variables that it says nothing of."""
        missing = [column for column in wanted if column not in part.columns]
        if not missing and part.sql:
            return part
        sources = [f"({part.sql}) x"] if part.sql else []
        sources += [f"(SELECT e AS v{column} FROM entities) e{column}" for column in missing]
        shown = ", ".join(f"v{column}" for column in sorted({*part.columns, *missing})) or "1 AS t"
        text = f"SELECT {shown} FROM {', '.join(sources)}" if sources else "SELECT 1 AS t"
        return Table(text, tuple(sorted({*part.columns, *missing})))

    def absent(self, part: Table) -> str:
        same = " AND ".join(f"n.v{c} = b.v{c}" for c in part.columns) or "true"
        return f"NOT EXISTS (SELECT 1 FROM ({part.sql}) n WHERE {same})"

"""Roles joined by `/`, then entities by tab: `P69_h/P69_t/P812 Q1 Q2 Q3` (HyCubE's WikiPeople)."""

from collections.abc import Iterator, Sequence

from hyperfact.data.builder import FactBuilder
from hyperfact.data.formats.format import Format, labelled_rows, line_writer, plain_names
from hyperfact.graph.hkg import HKG
from hyperfact.system.source import Fault, Source, each_line


def primary_places(roles: Sequence[str]) -> tuple[int, int]:
    """Where `r_h` and `r_t` stand; the first two roles win, otherwise only one pair may fit."""
    if len(roles) >= 2 and roles[0][-2:] == "_h" and roles[1] == roles[0][:-2] + "_t":
        return 0, 1
    pairs = [
        (i, roles.index(role[:-2] + "_t"))
        for i, role in enumerate(roles)
        if role.endswith("_h") and role[:-2] + "_t" in roles
    ]
    if len(pairs) != 1:
        raise Fault(f"expected one pair of roles r_h and r_t, found {len(pairs)}")
    return pairs[0]


def _read(source: Source, builder: FactBuilder) -> None:
    def handle(line: str) -> None:
        first, *entities = line.split("\t")
        roles = first.split("/")
        if len(roles) != len(entities):
            raise Fault(f"{len(roles)} roles but {len(entities)} entities")
        if "" in entities or "" in roles:
            raise Fault("a role or an entity is empty")
        head, tail = primary_places(roles)
        rest = [i for i in range(len(roles)) if i not in (head, tail)]
        builder.add(
            entities[head],
            roles[head][:-2],
            entities[tail],
            [roles[i] for i in rest],
            [entities[i] for i in rest],
        )

    each_line(source, handle)


def _lines(graph: HKG) -> Iterator[str]:
    entities = plain_names(graph.entities, forbidden="\t\n", title="roles")
    relations = plain_names(graph.relations, forbidden="\t\n/", title="roles")
    for s, r, o, pairs in labelled_rows(graph, entities, relations):
        roles = "/".join([f"{r}_h", f"{r}_t", *(a for a, _ in pairs)])
        yield "\t".join([roles, s, o, *(v for _, v in pairs)])


def _recognises(source: Source) -> bool:
    rows = [line.split("\t") for line in source.sample[:50]]
    return bool(rows) and all(
        len(row) >= 3 and row[0].count("/") == len(row) - 2 and "_h" in row[0] for row in rows
    )


ROLES = Format(
    "roles",
    "tab: roles joined by '/', then entities (HyCubE's WikiPeople)",
    ".txt",
    _recognises,
    _read,
    line_writer(_lines),
)

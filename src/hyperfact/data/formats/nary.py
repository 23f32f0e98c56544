"""N-ary tables: `relation e1 e2 …` by tab or space (HypE, RAM, S2S), or with an instance column.

Converted as in the paper's appendix: the first two entities are subject and object, `r` becomes the
derived relation `r_so`, the further entities are values of the derived attributes `r_1`, `r_2` ….
"""

import re
from collections.abc import Iterator

from hyperfact.data.builder import FactBuilder
from hyperfact.data.formats.format import Format, labelled_rows, line_writer, plain_names
from hyperfact.errors import NotWritableError
from hyperfact.graph.facts import Derived, Fact
from hyperfact.graph.hkg import HKG
from hyperfact.system.source import Fault, Source, each_line

_INSTANCE = re.compile(r"instance\d+")


def split_relation(fields: list[str], builder: FactBuilder) -> None:
    """Add the n-ary fact `relation, e1, e2, …` by its derived names."""
    if len(fields) < 3:
        raise Fault(f"expected a relation and at least two entities, got {len(fields)} field(s)")
    if "" in fields:
        raise Fault(f"field {fields.index('') + 1} is empty")
    base, places = fields[0], len(fields) - 1
    names = builder.derived.get(base)
    if names is None:
        further = [Derived.attribute(base, i) for i in range(1, places - 1)]
        names = builder.derived[base] = (Derived.primary(base), further, builder.place)
    primary, further, where = names
    if len(further) != places - 2:
        raise Fault(
            f"relation {base!r} has {places} places here and {len(further) + 2} at {where}; "
            "a shifted column looks like this"
        )
    builder.add(fields[1], primary, fields[2], further, fields[3:])


def _read(source: Source, builder: FactBuilder) -> None:
    separator = _separator(source)
    builder.locate(source.path)
    each_line(source, lambda line: split_relation(line.split(separator), builder))


def _read_instance(source: Source, builder: FactBuilder) -> None:
    separator = _separator(source)
    builder.locate(source.path)

    def handle(line: str) -> None:
        instance, *fields = line.split(separator)
        if not _INSTANCE.fullmatch(instance):
            raise Fault(f"expected 'instanceN' in the first column, got {instance!r}")
        split_relation(fields, builder)

    each_line(source, handle)


def _separator(source: Source) -> str:
    return "\t" if not source.sample or "\t" in source.sample[0] else " "


def _lines(graph: HKG) -> Iterator[str]:
    entities = plain_names(graph.entities, forbidden="\t\n", title="nary")
    relations = plain_names(graph.relations, forbidden="\t\n", title="nary")
    for fields in joined_rows(graph, entities, relations):
        yield "\t".join(fields)


def _instance_lines(graph: HKG) -> Iterator[str]:
    return (f"instance{i}\t{line}" for i, line in enumerate(_lines(graph)))


def joined_rows(graph: HKG, entities: list[str], relations: list[str]) -> Iterator[list[str]]:
    """Each fact as relation and entities in the order of their places."""
    arity: dict[str, int] = {}
    for s, r, o, pairs in labelled_rows(graph, entities, relations):
        base, _, role = r.rpartition("_")
        places = dict(pairs)
        order = [f"{base}_{i}" for i in range(1, len(pairs) + 1)]
        if not base or role != "so" or len(places) != len(pairs) or set(order) != set(places):
            raise NotWritableError(
                f"the fact {Fact(s, r, o, tuple(pairs))} does not come from an n-ary relation: "
                "its relation must be r_so and its attributes r_1, r_2 …; choose another format"
            )
        if arity.setdefault(base, len(pairs)) != len(pairs):
            raise NotWritableError(f"the relation {base!r} would have facts of different arity")
        yield [base, s, o, *(places[a] for a in order)]


def _recognises(source: Source) -> bool:
    """A few relations first, then entities; one relation always has one arity."""
    rows = [line.split(_separator(source)) for line in source.sample]
    if not rows or any(len(row) < 3 for row in rows[:20]):
        return False
    arity: dict[str, int] = {}
    if any(arity.setdefault(row[0], len(row)) != len(row) for row in rows[:-1]):
        return False
    first, second = ({row[i] for row in rows if len(row) > 2} for i in (0, 1))
    return len(first) < len(second) or any(len(row) % 2 == 0 for row in rows)


def _recognises_instance(source: Source) -> bool:
    rows = [line.split(_separator(source)) for line in source.sample[:50]]
    return bool(rows) and all(_INSTANCE.fullmatch(row[0]) and len(row) >= 2 for row in rows)


NARY = Format(
    "nary",
    "tab or space: relation e1 e2 … (HypE, RAM, S2S)",
    ".txt",
    _recognises,
    _read,
    line_writer(_lines),
)
NARY_INSTANCE = Format(
    "nary-instance",
    "tab: instanceN relation e1 e2 … (test files of HypE)",
    ".txt",
    _recognises_instance,
    _read_instance,
    line_writer(_instance_lines),
)

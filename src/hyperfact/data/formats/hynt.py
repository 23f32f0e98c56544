"""HyNT: a line with the number of facts, then `s r o a1 v1 …` by tab, with typed literals."""

from collections.abc import Callable, Iterator

from hyperfact.data.builder import FactBuilder
from hyperfact.data.formats.format import Format, line_writer
from hyperfact.data.formats.separated import TAB, tab_lines, tab_reader
from hyperfact.errors import FormatError
from hyperfact.graph.hkg import HKG
from hyperfact.system.source import Source

_read_facts: Callable[[Source, FactBuilder], None] = tab_reader(skip=1)


def _read(source: Source, builder: FactBuilder) -> None:
    first = source.sample[0] if source.sample else ""
    if not first.isascii() or not first.isdecimal() or len(first) > 18:
        raise FormatError(source.path, 1, f"expected the number of facts, got {first[:80]!r}")
    before = builder.count
    _read_facts(source, builder)
    found = builder.count - before
    if found != int(first):
        builder.warn(f"{source.path}: line 1 announces {int(first):,} facts, {found:,} follow")


def _lines(graph: HKG) -> Iterator[str]:
    yield str(len(graph))
    yield from tab_lines(graph)


def _recognises(source: Source) -> bool:
    head, *rest = source.sample or [""]
    return head.isascii() and head.isdecimal() and all(row.count("\t") >= 2 for row in rest[:50])


HYNT = Format(
    "hynt",
    "HyNT: count line, then tab with typed literals",
    TAB.suffix,
    _recognises,
    _read,
    line_writer(_lines),
)

"""`s r o a1 v1 a2 v2 …` on a line, by comma (StarE) or by tab; a plain triple is the short case."""

from collections.abc import Callable, Iterator

from hyperfact.data.builder import FactBuilder
from hyperfact.data.formats.format import Format, labelled_rows, line_writer, plain_names
from hyperfact.graph.hkg import HKG
from hyperfact.system.source import Fault, Source, each_line


def _reader(separator: str, *, skip: int = 0) -> Callable[[Source, FactBuilder], None]:
    def read(source: Source, builder: FactBuilder) -> None:
        add = builder.add

        def handle(line: str) -> None:
            fields = line.split(separator)
            if len(fields) < 3 or len(fields) % 2 == 0:
                raise Fault(f"expected an odd number of fields (s r o a1 v1 …), got {len(fields)}")
            if "" in fields:
                raise Fault(f"field {fields.index('') + 1} is empty")
            add(fields[0], fields[1], fields[2], fields[3::2], fields[4::2])

        each_line(source, handle, skip=skip)

    return read


def _lines(separator: str, title: str) -> Callable[[HKG], Iterator[str]]:
    def lines(graph: HKG) -> Iterator[str]:
        entities = plain_names(graph.entities, forbidden=separator + "\n", title=title)
        relations = plain_names(graph.relations, forbidden=separator + "\n", title=title)
        for s, r, o, pairs in labelled_rows(graph, entities, relations):
            yield separator.join([s, r, o, *(text for pair in pairs for text in pair)])

    return lines


def tab_reader(*, skip: int) -> Callable[[Source, FactBuilder], None]:
    """A reader of `s r o a1 v1 …` by tab that passes over the first lines."""
    return _reader("\t", skip=skip)


tab_lines = _lines("\t", "tab")


def _recognises_comma(source: Source) -> bool:
    rows = [line.split(",") for line in source.sample]
    return bool(rows) and all(len(row) >= 3 and len(row) % 2 for row in rows[:20])


def _recognises_tab(source: Source) -> bool:
    """Fields as in a triple file: the second column repeats more than the first."""
    rows = [line.split("\t") for line in source.sample]
    if not rows or any(len(row) < 3 or len(row) % 2 == 0 for row in rows):
        return False
    first, second = ({row[i] for row in rows} for i in (0, 1))
    return len(second) < len(first) or (len(rows) < 3 and len(second) <= len(first))


STARE = Format(
    "stare",
    "comma: s,r,o,a1,v1,… (StarE, WD50K)",
    ".txt",
    _recognises_comma,
    _reader(","),
    line_writer(_lines(",", "stare")),
)
TAB = Format(
    "tab",
    "tab: s r o a1 v1 …; plain triples",
    ".txt",
    _recognises_tab,
    _reader("\t"),
    line_writer(tab_lines),
)

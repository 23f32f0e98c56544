"""N-ary tables of integers, with `entities.txt` and `relations.txt` beside them (G-MPNN)."""

from pathlib import Path

from hyperfact.data.builder import FactBuilder
from hyperfact.data.formats.format import Format, plain_names
from hyperfact.data.formats.nary import joined_rows, split_relation
from hyperfact.errors import FormatError, NotWritableError
from hyperfact.graph.hkg import HKG
from hyperfact.system.source import Fault, Source, each_line
from hyperfact.system.writing import write_lines

ENTITIES, RELATIONS = "entities.txt", "relations.txt"


def _read(source: Source, builder: FactBuilder) -> None:
    folder = source.path.parent
    entities, relations = _names(folder / ENTITIES), _names(folder / RELATIONS)
    builder.locate(source.path)

    def handle(line: str) -> None:
        relation, *ids = line.split("\t")
        try:
            split_relation([relations[relation], *(entities[i] for i in ids)], builder)
        except KeyError as error:
            raise Fault(f"no name has the id {error.args[0]!r}") from None

    each_line(source, handle)


def _names(path: Path) -> dict[str, str]:
    """Id to name. Different ids stay different names: a repeated name gets its id behind it."""
    if not path.is_file():
        raise FormatError(path, None, "missing; integer facts need the names of their ids")
    names: dict[str, str] = {}

    def handle(line: str) -> None:
        number, tab, name = line.partition("\t")
        if not tab or not number.isdecimal():
            raise Fault("expected an id, a tab and a name")
        if number in names:
            raise Fault(f"the id {number} stands twice")
        names[number] = name

    each_line(Source(path), handle)
    seen: dict[str, str] = {}
    for number, name in names.items():
        if not name or name in seen:
            names[number] = f"{name} #{number}".lstrip()
        seen.setdefault(names[number], number)
    if len(set(names.values())) != len(names):
        raise FormatError(path, None, "names repeat, even with their ids behind them")
    return names


def _write(graph: HKG, path: Path) -> None:
    entities = plain_names(graph.entities, forbidden="\t\n", title="nary-int")
    relations = plain_names(graph.relations, forbidden="\t\n", title="nary-int")
    bases = sorted({relations[r].rpartition("_")[0] for r in graph.columns.relation.tolist()})
    all_bases = sorted({name.rpartition("_")[0] for name in relations if name.endswith("_so")})
    if not set(bases) <= set(all_bases):
        raise NotWritableError("nary-int holds n-ary relations only; choose another format")
    number = {name: str(i) for i, name in enumerate(all_bases)}
    ids = list(map(str, range(len(entities))))
    rows = joined_rows(graph, ids, relations)
    write_lines(path, ("\t".join([number[base], *row]) for base, *row in rows))
    for name, names in ((ENTITIES, entities), (RELATIONS, all_bases)):
        lines = (f"{i}\t{text}" for i, text in enumerate(names))
        write_lines(path.parent / name, lines)


def _recognises(source: Source) -> bool:
    folder = source.path.parent
    if not (folder / ENTITIES).is_file() or not (folder / RELATIONS).is_file():
        return False
    rows = [line.split("\t") for line in source.sample[:50]]
    return bool(rows) and all(len(r) >= 3 and all(x.isdecimal() for x in r) for r in rows)


NARY_INT = Format(
    "nary-int",
    "tab: integers, names in entities.txt and relations.txt (G-MPNN, HC-MPNN)",
    ".txt",
    _recognises,
    _read,
    _write,
    shared_ids=True,
)

"""The JSON layouts of the field, one fact a line: NaLP, GRAN (also HAHE) and HINGE."""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from hyperfact.data.builder import FactBuilder
from hyperfact.data.formats.format import Format, labelled_rows, line_writer, plain_names
from hyperfact.data.formats.json_rows import each_object, sample_objects, text_of
from hyperfact.data.formats.roles import primary_places
from hyperfact.errors import NotWritableError
from hyperfact.graph.hkg import HKG
from hyperfact.system.source import Fault, Source

_COUNT = "N"
_Parts = tuple[str, str, str, list[tuple[str, Any]]]  # subject, relation, object, other keys
_Row = dict[str, Any]


def _reader(primary: Callable[[_Row], _Parts]) -> Callable[[Source, FactBuilder], None]:
    def read(source: Source, builder: FactBuilder) -> None:
        def handle(row: _Row) -> None:
            subject, relation, obj, rest = primary(row)
            attributes, values = [], []
            for key, value in rest:
                for one in value if isinstance(value, list) else [value]:
                    attributes.append(key)
                    values.append(text_of(one, f"the value of {key!r}"))
            _check_count(row, 2 + len(values))
            builder.add(subject, relation, obj, attributes, values)

        each_object(source, handle)

    return read


def _check_count(row: _Row, found: int) -> None:
    announced = row.get(_COUNT)
    if isinstance(announced, bool) or not isinstance(announced, int):
        raise Fault(f"expected the number of entities under {_COUNT!r}, got {announced!r}")
    if announced != found:
        raise Fault(f"{_COUNT!r} announces {announced} entities, the fact has {found}")


def _nalp(row: _Row) -> _Parts:
    keys = [key for key in row if key != _COUNT]
    head, tail = primary_places(keys)
    subject, obj = (text_of(row[keys[i]], f"{keys[i]!r}") for i in (head, tail))
    rest = [(key, row[key]) for i, key in enumerate(keys) if i not in (head, tail)]
    return subject, keys[head][:-2], obj, rest


def _gran(row: _Row) -> _Parts:
    names = ("subject", "relation", "object")
    for name in names:
        if name not in row:
            raise Fault(f"the key {name!r} is missing")
    subject, relation, obj = (text_of(row[name], name) for name in names)
    return subject, relation, obj, [(k, v) for k, v in row.items() if k not in (*names, _COUNT)]


def _hinge(row: _Row) -> _Parts:
    """The first key is the primary relation; its value lists subject and object."""
    (relation, pair), *rest = [(k, v) for k, v in row.items() if k != _COUNT] or [("", None)]
    if not isinstance(pair, list) or len(pair) != 2:
        raise Fault("expected the primary relation first, with a list of subject and object")
    subject, obj = (text_of(one, f"an entity of {relation!r}") for one in pair)
    return subject, relation, obj, rest


def _lines(title: str, primary: Callable[[str, str, str], _Row]) -> Callable[[HKG], Iterator[str]]:
    def lines(graph: HKG) -> Iterator[str]:
        entities = plain_names(graph.entities, forbidden="", title=title)
        relations = plain_names(graph.relations, forbidden="", title=title)
        for s, r, o, pairs in labelled_rows(graph, entities, relations):
            row = primary(s, r, o)
            _refuse_taken(r, {_COUNT} & row.keys(), title, r)
            taken = {*row, _COUNT}
            row[_COUNT] = 2 + len(pairs)
            for key, value in pairs:
                _refuse_taken(key, taken & {key}, title, r)
                row.setdefault(key, []).append(value)
            yield json.dumps(row, ensure_ascii=False)

    return lines


def _refuse_taken(name: str, clash: set[str], title: str, relation: str) -> None:
    """A key that says something else already would be read back as that."""
    if clash:
        raise NotWritableError(
            f"{title} cannot hold the name {name!r} in a fact of {relation!r}: "
            "the key is taken; jsonl and parquet hold every fact"
        )


def _has(keys: Sequence[str]) -> Callable[[Source], bool]:
    def recognises(source: Source) -> bool:
        rows = sample_objects(source)
        return bool(rows) and all(all(key in row for key in keys) for row in rows)

    return recognises


def _recognises_nalp(source: Source) -> bool:
    rows = sample_objects(source)
    return bool(rows) and all(
        _COUNT in row and any(k.endswith("_h") and k[:-2] + "_t" in row for k in row)
        for row in rows
    )


def _recognises_hinge(source: Source) -> bool:
    rows = sample_objects(source)
    firsts = [next((v for k, v in row.items() if k != _COUNT), None) for row in rows]
    return (
        bool(rows)
        and all(_COUNT in row for row in rows)
        and all(isinstance(value, list) and len(value) == 2 for value in firsts)
    )


def _format(
    name: str,
    title: str,
    recognises: Callable[[Source], bool],
    read: Callable[[_Row], _Parts],
    write: Callable[[str, str, str], _Row],
) -> Format:
    lines = line_writer(_lines(name, write))
    return Format(name, title, ".json", recognises, _reader(read), lines)


NALP = _format(
    "nalp",
    "JSON lines with r_h, r_t, lists and N (NaLP, WikiPeople)",
    _recognises_nalp,
    _nalp,
    lambda s, r, o: {f"{r}_h": s, f"{r}_t": o},
)
GRAN = _format(
    "gran",
    "JSON lines with subject, relation, object, lists and N (GRAN, HAHE)",
    _has(["N", "relation", "subject", "object"]),
    _gran,
    lambda s, r, o: {"relation": r, "subject": s, "object": o},
)
HINGE = _format(
    "hinge",
    "JSON lines with the primary relation first and N (HINGE)",
    _recognises_hinge,
    _hinge,
    lambda s, r, o: {r: [s, o]},
)

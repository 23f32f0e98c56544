"""hyperfact's own JSON lines: every name of every fact, exactly.

`{"subject": "Hank Aaron", "relation": "played for", "object": "Milwaukee Braves",
"qualifiers": [["position", "OF"]]}`. A literal is `{"literal": "+7.07"}`, a relation derived from
an n-ary one is `{"derived": "r_so"}`. Qualifiers are also read as `{"position": "OF"}`.
"""

import json
from collections.abc import Iterator
from typing import Any

from hyperfact.data.builder import FactBuilder
from hyperfact.data.formats.format import Format, line_writer
from hyperfact.data.formats.json_rows import each_object, sample_objects, text_of
from hyperfact.errors import NotWritableError
from hyperfact.graph.facts import Derived, Literal
from hyperfact.graph.hkg import HKG
from hyperfact.system.source import Fault, Source

_KEYS = ("subject", "relation", "object")
_QUALIFIERS = "qualifiers"


def _read(source: Source, builder: FactBuilder) -> None:
    def handle(row: dict[str, Any]) -> None:
        extra = row.keys() - {*_KEYS, _QUALIFIERS}
        missing = [key for key in _KEYS if key not in row]
        if missing or extra:
            reason = f"{missing[0]!r} is missing" if missing else f"{min(extra)!r} is unknown"
            raise Fault(f"the key {reason}")
        pairs = _pairs(row.get(_QUALIFIERS, []))
        builder.add(
            _entity(row["subject"]),
            _relation(row["relation"]),
            _entity(row["object"]),
            [_relation(a) for a, _ in pairs],
            [_entity(v) for _, v in pairs],
        )

    each_object(source, handle)


def _pairs(found: object) -> list[tuple[object, object]]:
    """Attributes and values; of an object each value of an attribute makes a pair."""
    if isinstance(found, dict):
        several = ((a, v if isinstance(v, list) else [v]) for a, v in found.items())
        return [(attribute, value) for attribute, values in several for value in values]
    if isinstance(found, list) and all(isinstance(p, list) and len(p) == 2 for p in found):
        return [(attribute, value) for attribute, value in found]
    raise Fault(
        "the qualifiers must be a list of [attribute, value] pairs, or an object of attributes "
        "with their values"
    )


def _entity(value: object) -> str:
    if isinstance(value, dict) and value.keys() == {"literal"}:
        return Literal(text_of(value["literal"], "a literal"))
    return text_of(value, "an entity")


def _relation(value: object) -> str:
    if isinstance(value, dict) and value.keys() == {"derived"}:
        return Derived(text_of(value["derived"], "a derived relation"))
    return text_of(value, "a relation")


def _lines(graph: HKG) -> Iterator[str]:
    e, r = _encoded(graph.entities), _encoded(graph.relations)
    c = graph.columns
    ends = c.offsets.tolist()
    attributes, values = c.attributes.tolist(), c.values.tolist()
    rows = zip(c.subject.tolist(), c.relation.tolist(), c.object.tolist(), strict=True)
    for i, (s, p, o) in enumerate(rows):
        line = f'{{"subject": {e[s]}, "relation": {r[p]}, "object": {e[o]}'
        places = range(ends[i], ends[i + 1])
        if places:
            pairs = ", ".join(f"[{r[attributes[k]]}, {e[values[k]]}]" for k in places)
            line += f', "{_QUALIFIERS}": [{pairs}]'
        yield line + "}"


def _encoded(names: Iterator[str] | Any) -> list[str]:
    """Each name as JSON."""
    texts = []
    for name in names:
        if any("\ud800" <= char <= "\udfff" for char in name):
            raise NotWritableError(f"the name {str(name)!r} holds half of a surrogate pair")
        text = json.dumps(str.__str__(name), ensure_ascii=False)
        if isinstance(name, Literal):
            text = f'{{"literal": {text}}}'
        elif isinstance(name, Derived):
            text = f'{{"derived": {text}}}'
        texts.append(text)
    return texts


def _recognises(source: Source) -> bool:
    rows = sample_objects(source)
    return bool(rows) and all(
        all(key in row for key in _KEYS) and row.keys() <= {*_KEYS, _QUALIFIERS} for row in rows
    )


JSONL = Format(
    "jsonl",
    "hyperfact's JSON lines: every name and kind, exactly",
    ".jsonl",
    _recognises,
    _read,
    line_writer(_lines),
    typed=True,
)

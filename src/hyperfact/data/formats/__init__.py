"""Every file format that hyperfact reads and writes, in the order in which they are recognised.

Order: format, headers, json_rows, rdf_facts, json_document, nary, own, parquet, quick_json,
rdf_stream, roles, separated, header_table, wikidata_values, wikidata_statements, hif, hynt,
keyed_json, kgtk_values, nary_int, rdf_lines, wikidata, kgtk, rdf.
"""

from collections.abc import Collection, Mapping, Sequence

from hyperfact.data.formats.format import Format
from hyperfact.data.formats.header_table import TABLE, header_in_doubt, with_columns
from hyperfact.data.formats.hif import HIF
from hyperfact.data.formats.hynt import HYNT
from hyperfact.data.formats.json_rows import json_fault
from hyperfact.data.formats.keyed_json import GRAN, HINGE, NALP
from hyperfact.data.formats.kgtk import KGTK
from hyperfact.data.formats.nary import NARY, NARY_INSTANCE
from hyperfact.data.formats.nary_int import NARY_INT
from hyperfact.data.formats.own import JSONL
from hyperfact.data.formats.parquet import PARQUET
from hyperfact.data.formats.rdf import NQUADS, NTRIPLES, TRIG, TURTLE
from hyperfact.data.formats.roles import ROLES
from hyperfact.data.formats.separated import STARE, TAB
from hyperfact.data.formats.wikidata import WIKIDATA
from hyperfact.errors import FormatError, UnknownNameError
from hyperfact.system.source import Source

#: Every format a command may name. Adding one: a file beside this one, and a line here; the first
#: format that recognises a file reads it, so the stricter ones come first.
FORMATS: Mapping[str, Format] = {
    format.name: format
    for format in (
        PARQUET,
        JSONL,
        GRAN,
        NALP,
        HINGE,
        WIKIDATA,
        HIF,
        NQUADS,
        NTRIPLES,
        TRIG,
        TURTLE,
        KGTK,
        HYNT,
        ROLES,
        NARY_INSTANCE,
        NARY_INT,
        TABLE,
        NARY,
        TAB,
        STARE,
    )
}

#: Bare fields, which other files may look like; so the reading says what it took them for.
GUESSED = ("nary", "tab", "stare")
_JSON = ("jsonl", "gran", "nalp", "hinge", "wikidata", "hif")
_RDF = ("ntriples", "nquads", "turtle", "trig")
_MEANT = {  # by how a file begins, or what its first line holds
    **dict.fromkeys(('{"', "[{"), _JSON),
    **dict.fromkeys(("<", "_:", "@", "PREFIX", "BASE"), _RDF),
    "\t": ("table", "tab", "nary", "kgtk", "hynt", "roles", "nary-int"),
    ",": ("table", "stare"),
    ";": ("table",),
    " ": ("nary", "nary-instance"),
}


def find_format(name: str) -> Format:
    """The format of this name."""
    if name not in FORMATS:
        raise UnknownNameError("format", name, FORMATS)
    return FORMATS[name]


def recognise(source: Source, *, like: Collection[str] = ()) -> Format:
    """The format of a file, by its content.

    Args:
        source: the file.
        like: formats of other files of the dataset; one of them settles a doubt.
    """
    if not source.head:
        raise FormatError(source.path, None, "the file is empty; name its format with --format")
    found = next((format for format in FORMATS.values() if format.recognises(source)), None)
    if found is not None and found.name not in GUESSED:
        return found
    header = None if could_be(source) is _JSON else header_in_doubt(source)
    if header is not None and (found is None or found.name not in like):
        raise FormatError(source.path, 1, _doubt(header, found))
    if found is None or could_be(source) is _JSON:  # JSON that is broken is no line of bare fields
        raise FormatError(source.path, *_unknown(source))
    return found


def _unknown(source: Source) -> tuple[int, str]:
    """Where and why no format takes a file: broken JSON, or one that is like none of them."""
    names = could_be(source)
    fault = json_fault(source) if names is _JSON else None
    reason = f"the format is not recognised; name it with --format ({', '.join(names)})"
    return fault or (1, reason)


def could_be(source: Source) -> Sequence[str]:
    """The formats that a file may be meant to have."""
    line = source.sample[0] if source.sample else ""
    begins = (names for mark, names in _MEANT.items() if mark.strip() and line.startswith(mark))
    holds = (names for mark, names in _MEANT.items() if mark in "\t,; " and mark in line)
    return next(begins, None) or next(holds, None) or list(FORMATS)


def _doubt(header: Sequence[str], found: Format | None) -> str:
    subject, obj = header[:2]
    table = (
        f"a table with the header {', '.join(header)[:200]} (name its "
        f'columns: --columns "subject={subject}, relation=:…, object={obj}")'
    )
    if found is None:
        return f"this looks like {table}"
    name = found.name
    return f"this may be {table} or {name}, {found.title} (then: --format {name})"


__all__ = ["FORMATS", "GUESSED", "Format", "could_be", "find_format", "recognise", "with_columns"]

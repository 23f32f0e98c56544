"""Every file format that hyperfact reads and writes, in the order in which they are recognised.

Order: format, json_rows, literal_forms, rdf_facts, json_document, nary, own, parquet, rdf_stream,
roles, separated, wikidata_values, hif, hynt, keyed_json, kgtk_values, nary_int, rdf_lines,
wikidata, kgtk, rdf.
"""

from collections.abc import Mapping

from hyperfact.data.formats.format import Format
from hyperfact.data.formats.hif import HIF
from hyperfact.data.formats.hynt import HYNT
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
        NARY,
        TAB,
        STARE,
    )
}


def find_format(name: str) -> Format:
    """The format of this name."""
    if name not in FORMATS:
        raise UnknownNameError("format", name, FORMATS)
    return FORMATS[name]


def recognise(source: Source) -> Format:
    """The format of a file, by its content."""
    if not source.head:
        raise FormatError(source.path, None, "the file is empty; name its format with --format")
    for format in FORMATS.values():
        if format.recognises(source):
            return format
    raise FormatError(
        source.path,
        1,
        f"the format is not recognised; name it with --format ({', '.join(FORMATS)})",
    )


__all__ = ["FORMATS", "Format", "find_format", "recognise"]

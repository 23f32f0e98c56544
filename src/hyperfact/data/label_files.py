"""Files of labels: two columns (id, label) as TSV or CSV, or JSON; and where a dataset has one.

    labels.tsv         beside the splits of a folder; also entity_labels.csv, entity2label.txt …
    facts.labels.tsv   beside the file facts.jsonl

A row `@prefix ex:` gives a namespace instead of a label. A header is not needed.
"""

import csv
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from hyperfact.errors import FormatError
from hyperfact.graph.label_texts import LabelTexts
from hyperfact.graph.literal_forms import form_of
from hyperfact.system.source import Source

FILE = "labels.tsv"
_PREFIX = re.compile(r"@prefix\s+([^:\s]*):?")
_HEAD = re.compile(r"\??(?:id|name|entity|relation|item|property|iri|uri|qid|pid|key)", re.I)
_LABELS = re.compile(r"\??(?:label|labels|text|title|name|\w*label)", re.I)
_NAMED_SO = re.compile(r"(?:^|[^a-z])labels?(?:[^a-z]|$)|(?:2|to)labels?(?:[^a-z]|$)")
_ENDINGS = {".tsv", ".csv", ".txt", ".json", ".jsonl"}

Rows = Iterator[tuple[int, list[str]]]


def read_labels(path: str | Path) -> LabelTexts:
    """The labels of a file.

    Raises:
        FormatError: A line that holds no id and label.
    """
    source = Source(Path(path))
    begin = source.head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    if source.suffix in {".json", ".jsonl"} or begin in {b"{", b"["}:
        return _collect(source.path, _json_rows(source))
    if source.suffix == ".tsv" or "\t" in "".join(source.sample[:1]):
        return _collect(source.path, _tsv_rows(source.lines()))
    return _collect(source.path, _csv_rows(source))


def parse_labels(path: Path, text: str) -> LabelTexts:
    """The labels of what `label_lines` wrote."""
    return _collect(path, _tsv_rows(enumerate(text.split("\n"), start=1)))


def label_lines(labels: LabelTexts) -> Iterator[str]:
    """What `parse_labels` reads back to these labels."""
    rows = [(f"@prefix {prefix}:", namespace) for prefix, namespace in labels.prefixes.items()]
    for name, label in [*rows, *labels.texts.items()]:
        yield f"{_quoted(name)}\t{_quoted(label)}"


def labels_beside(path: Path, taken: Iterable[Path] = ()) -> list[Path]:
    """The files of labels of a dataset: in its folder, or beside its one file."""
    if not path.is_dir():
        own = beside(path)
        return [own] if own.is_file() else []
    others = {file.resolve() for file in taken}
    return sorted(
        file
        for file in path.iterdir()
        if _NAMED_SO.search(file.name.lower())
        and Source(file).suffix in _ENDINGS
        and not file.name.startswith(".")
        and file.is_file()
        and file.resolve() not in others
    )


def beside(path: Path) -> Path:
    """Where the labels of one file of facts lie."""
    return path.with_name(f"{path.name.partition('.')[0]}.{FILE}")


def _collect(path: Path, rows: Rows) -> LabelTexts:
    """Names with labels, and prefixes."""
    labels: list[tuple[str, str]] = []
    prefixes: dict[str, str] = {}
    columns: tuple[int, int] | None = None
    for number, cells in rows:
        if columns is None:
            columns = _header(cells)
            if columns is not None:
                continue
            columns = (0, 1)
        if len(cells) <= max(columns):
            raise FormatError(path, number, f"expected an id and a label, got {len(cells)} column")
        name, label = (_unquoted(cells[column]) for column in columns)
        match = _PREFIX.fullmatch(name)
        if match is not None:
            prefixes[match[1]] = label
        elif name:
            labels.append((name, label))
    return LabelTexts.of(labels, prefixes)


def _header(cells: list[str]) -> tuple[int, int] | None:
    """The columns of id and label, if these cells are a header."""
    words = [cell.strip().strip('"') for cell in cells]
    if not words or not _HEAD.fullmatch(words[0]):
        return None
    found = [i for i, word in enumerate(words) if i and _LABELS.fullmatch(word)]
    return (0, found[0]) if found else None


def _tsv_rows(lines: Iterable[tuple[int, str]]) -> Rows:
    return ((number, line.split("\t")) for number, line in lines if line.strip())


def _csv_rows(source: Source) -> Rows:
    first = "".join(source.sample[:1])
    mark = ";" if first.count(";") > first.count(",") else ","
    reader = csv.reader((f"{line}\n" for _, line in source.lines()), delimiter=mark)
    try:
        for row in reader:
            if row:
                yield reader.line_num, row
    except csv.Error as error:
        raise FormatError(source.path, reader.line_num, str(error)) from error


def _json_rows(source: Source) -> Rows:
    """One object of id to label, a list of rows, or a row on each line."""
    try:
        document = json.loads(source.text())
    except RecursionError:
        raise FormatError(source.path, None, "nested too deeply") from None
    except ValueError:
        document = None
    if isinstance(document, dict) and not _is_row(document):
        yield from ((1, [name, _label(label)]) for name, label in document.items())
    elif isinstance(document, list) and not _is_pair(document):
        yield from ((1, _row(source.path, None, value)) for value in document)
    else:
        for number, line in source.lines():
            if line.strip():
                yield number, _row(source.path, number, _parsed(source.path, number, line))


def _parsed(path: Path, number: int, line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise FormatError(path, number, f"not JSON: {error}") from None


def _is_row(value: dict[str, Any]) -> bool:
    return "label" in value and any(key in value for key in ("id", "name"))


def _is_pair(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(isinstance(v, str) for v in value)


def _row(path: Path, number: int | None, value: Any) -> list[str]:
    """`{"id": …, "label": …}`, `{id: label}` or `[id, label]`."""
    if isinstance(value, dict) and _is_row(value):
        return [str(value.get("id", value.get("name"))), _label(value["label"])]
    if isinstance(value, dict) and len(value) == 1:
        name, label = next(iter(value.items()))
        return [name, _label(label)]
    if _is_pair(value):
        return list(value)
    raise FormatError(path, number, 'expected {"id": …, "label": …}, {id: label} or [id, label]')


def _label(value: Any) -> str:
    """A label as a text, or by language as Wikidata has it."""
    while isinstance(value, dict):
        value = value.get("en", value.get("value", next(iter(value.values()), "")))
    return value if isinstance(value, str) else ""


def _quoted(cell: str) -> str:
    """A cell that TSV would misread is quoted as in JSON."""
    plain = cell.isprintable() and not cell.startswith(('"', "<")) and cell == cell.strip()
    return cell if plain and cell else json.dumps(cell)


def _unquoted(cell: str) -> str:
    """A cell as written here, or as services write terms: `<iri>`, `"label"@en`."""
    text = cell.strip()
    if text.startswith("<") and text.endswith(">"):
        return text[1:-1]
    if not (text.startswith('"') and len(text) > 1):
        return text
    try:
        value = json.loads(text)
    except ValueError:
        form = form_of(text)
        return text if form is None else form.text
    return value if isinstance(value, str) else text

"""Questions from a file, answers into a file: CSV, JSON lines or Parquet, a chunk at a time.

A source has a column, or a key, `question` (a line of JSON may also be just the question). CSV and
Parquet get one row for each answer, JSON lines one line for each question. A question that cannot
be read or names something unknown gets an `error` instead, and the others are answered.
"""

import csv
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from hyperfact.errors import FormatError, StorageError, UnknownNameError, UserError
from hyperfact.graph.labels import Kind
from hyperfact.predict.answers import Answers, Request
from hyperfact.predict.predictor import Predictor
from hyperfact.predict.questions import AnyQuestion, ResolvedQuestion, read_any
from hyperfact.system.tables import database
from hyperfact.system.writing import staged_file

_CHUNK = 8192
_HINTS = 20  # unknown names for which the nearest one is searched: it takes long among many
_COLUMNS = {
    "row": "BIGINT",
    "question": "VARCHAR",
    "rank": "BIGINT",
    "answer": "VARCHAR",
    "label": "VARCHAR",
    "fact": "VARCHAR",
    "score": "DOUBLE",
    "probability": "DOUBLE",
    "known": "VARCHAR",
    "error": "VARCHAR",
}


@dataclass(frozen=True)
class BatchReport:
    """What a batch did."""

    questions: int
    failed: int


@dataclass(frozen=True)
class Row:
    """One question of the source, counted from 1, with its answers or what is wrong with it."""

    number: int
    question: str
    answers: Answers | None
    error: str | None


def answer_file(
    predictor: Predictor, source: Path, target: Path, *, request: Request | None = None
) -> BatchReport:
    """Answer every question of a file.

    Args:
        predictor: Of a run.
        source: A `.csv`, `.jsonl` or `.parquet` file.
        target: Likewise; it appears whole or not at all.
        request: How many answers, and what to do with known ones.
    """
    read, write = _by_suffix(_READERS, source), _by_suffix(_WRITERS, target)
    if not source.is_file():
        raise UserError(f"{source}: no such file")
    counts = {"questions": 0, "failed": 0}

    def rows() -> Iterator[Row]:
        for row in _answered(predictor, read(source), request or Request()):
            counts["questions"] += 1
            counts["failed"] += row.error is not None
            yield row

    with staged_file(target) as stage:
        write(stage, rows())
    return BatchReport(**counts)


def _by_suffix(table: Mapping[str, Any], path: Path) -> Any:
    if path.suffix.lower() not in table:
        raise UnknownNameError("kind of file", path.suffix or path.name, table)
    return table[path.suffix.lower()]


def _answered(predictor: Predictor, texts: Iterator[str], request: Request) -> Iterator[Row]:
    hints, number = _HINTS, 0
    while some := list(islice(texts, _CHUNK)):
        read: list[ResolvedQuestion | str] = []
        for text in some:
            read.append(_resolve(predictor, text, hint=hints > 0))
            hints -= isinstance(read[-1], str)
        answers = iter(predictor.answer([q for q in read if not isinstance(q, str)], request))
        for text, question in zip(some, read, strict=True):
            number += 1
            if isinstance(question, str):
                yield Row(number, text, None, question)
            else:
                yield Row(number, text, next(answers), None)


def _resolve(predictor: Predictor, text: str, *, hint: bool) -> ResolvedQuestion | str:
    """A question that can be asked, or what is wrong with it."""
    try:
        question = read_any(text)
        if not hint:
            _refuse_unknown(predictor, question)
        return predictor.resolve(question)
    except UserError as error:
        return str(error)


def _refuse_unknown(predictor: Predictor, question: AnyQuestion) -> None:
    values, attributes = [v for _, v in question.qualifiers], [a for a, _ in question.qualifiers]
    asked: dict[Kind, list[str | None]] = {
        "entity": [question.subject, question.object, *values],
        "relation": [question.relation, *attributes],
    }
    for kind, names in asked.items():
        for name in names:
            if name is not None and predictor.labels.find(name, kind) is None:
                raise UserError(f"unknown {kind} {name!r}")


# -- files ----------------------------------------------------------------------------------------


def _read_csv(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        try:
            if "question" not in (reader.fieldnames or ()):
                raise FormatError(path, 1, "the header has no column 'question'")
            for row in reader:
                yield row["question"] or ""
        except (csv.Error, UnicodeDecodeError) as error:
            raise FormatError(path, reader.line_num, str(error)) from error


def _read_lines(path: Path) -> Iterator[str]:
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            value: Any = None
            with suppress(ValueError, RecursionError):
                value = json.loads(line)
            text = value.get("question") if isinstance(value, dict) else value
            if not isinstance(text, str):
                raise FormatError(path, number, "expected a text, or an object with 'question'")
            yield text


def _read_parquet(path: Path) -> Iterator[str]:
    with database(
        lambda why: FormatError(path, None, f"not a usable Parquet file ({why})"), threads=1
    ) as db:
        db.execute("SELECT question FROM read_parquet($1)", [str(path)])
        while rows := db.fetchmany(_CHUNK):
            yield from ("" if question is None else str(question) for (question,) in rows)


def _flat(row: Row) -> Iterator[dict[str, Any]]:
    """One dict for each answer; one for a question without any."""
    head = {"row": row.number, "question": row.question}
    if not row.answers:
        yield {**dict.fromkeys(_COLUMNS), **head, "error": row.error}
        return
    for answer in row.answers:
        yield {
            **head,
            "rank": answer.rank,
            "answer": str(answer.name),
            "label": answer.label,
            "fact": str(row.answers.question.answered(answer.name)),
            "score": answer.score,
            "probability": answer.probability,
            "known": " ".join(answer.where),
            "error": None,
        }


def _write_csv(path: Path, rows: Iterator[Row]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(_COLUMNS), lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerows(_flat(row))


def _write_lines(path: Path, rows: Iterator[Row]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for row in rows:
            if row.answers is None:
                value = {"question": row.question, "error": row.error}
            else:
                value = {**row.answers.as_dict(), "question": row.question}
            file.write(json.dumps({"row": row.number, **value}, default=float) + "\n")


def _write_parquet(path: Path, rows: Iterator[Row]) -> None:
    """Lines first, for a Parquet file cannot grow; the folder is temporary."""
    lines = path.with_suffix(".lines")
    with lines.open("w", encoding="utf-8", newline="\n") as file:
        for row in rows:
            file.writelines(json.dumps(flat) + "\n" for flat in _flat(row))
    kinds = ", ".join(f"{name}: '{kind}'" for name, kind in _COLUMNS.items())
    names = [str(p).replace("'", "''") for p in (lines, path)]
    with database(lambda why: StorageError(f"{path}: cannot be written ({why})"), threads=1) as db:
        db.execute(
            f"COPY (SELECT * FROM read_json('{names[0]}', format='newline_delimited', "
            f"columns={{{kinds}}})) TO '{names[1]}' (FORMAT parquet, COMPRESSION zstd)"
        )
    lines.unlink()


_READERS: Mapping[str, Callable[[Path], Iterator[str]]] = {
    ".csv": _read_csv,
    ".jsonl": _read_lines,
    ".parquet": _read_parquet,
}
_WRITERS: Mapping[str, Callable[[Path, Iterator[Row]], None]] = {
    ".csv": _write_csv,
    ".jsonl": _write_lines,
    ".parquet": _write_parquet,
}

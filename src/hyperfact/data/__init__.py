"""Files to facts and back: `load` a dataset by name or path, `write` one in any format.

Order: audit, benchmarks, builder, bundle, label_files, layouts, manifest, split, stats, formats,
parted, part_rows.
"""

import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hyperfact.data.benchmarks import BENCHMARKS, locate
from hyperfact.data.builder import LITERAL_POLICIES, FactBuilder, ReadReport
from hyperfact.data.bundle import BUNDLED, bundled_files
from hyperfact.data.formats import FORMATS, GUESSED, Format, find_format, recognise, with_columns
from hyperfact.data.formats.headers import ROLES, asked_columns
from hyperfact.data.label_files import FILE as LABELS
from hyperfact.data.label_files import beside, label_lines, labels_beside, read_labels
from hyperfact.data.layouts import all_files, split_files, split_names, unread_files
from hyperfact.data.manifest import is_parted, read_manifest
from hyperfact.data.parted import NAME as PARTS
from hyperfact.data.parted import read_parted, write_parted
from hyperfact.data.split import ensure_splits
from hyperfact.errors import DataError, FormatError, UnknownNameError, UserError
from hyperfact.graph.hkg import HKG, Splits
from hyperfact.graph.label_texts import LabelTexts
from hyperfact.system.source import Fault, Source
from hyperfact.system.writing import is_special, staged, write_lines

logger = logging.getLogger("hyperfact")


def load(
    source: Any,
    *,
    data_dir: str | Path | None = None,
    format: str | None = None,
    literals: str = "keep",
    columns: str | Mapping[str, str] | None = None,
    split: bool = False,
) -> Splits:
    """Load a dataset: a bundled or benchmark name, a file, or a folder with train/valid/test files.

    Args:
        source: name or path; or a table in memory, see `HKG.from_frame`.
        data_dir: where benchmarks lie; else `HYPERFACT_DATA`, else the cache.
        format: a name of `FORMATS`; recognised by content if not given.
        literals: `keep` them as entities of their own kind, `drop` them (counted), or `error`.
        columns: of a table, as `"subject=person, relation=:worked at, object=company"` or a
            mapping; further pairs `attribute=column` are the qualifiers, without them all others.
        split: part facts at random where none are kept for valid and test.

    Examples:
        >>> load("baseball").train[0].relation
        'all-star with'
    """
    if isinstance(source, str | Path):
        found, report = read(
            source, data_dir=data_dir, format=format, literals=literals, columns=columns
        )
        for line in report.guesses:
            logger.info("%s", line)
        for line in notes(report):
            logger.warning("%s: %s", found.name, line)
    else:
        found = Splits({"train": _from_frame(source, columns or {})}, "frame")
    return ensure_splits(found)[0] if split else found


def _from_frame(frame: Any, columns: str | Mapping[str, str]) -> HKG:
    """The facts of a table in memory, with columns as they are named for one in a file."""
    asked = asked_columns(columns)
    triple = {role: asked.pop(role, role) for role in ROLES}
    return HKG.from_frame(frame, **triple, qualifiers=asked or None)


def read(
    source: str | Path,
    *,
    data_dir: str | Path | None = None,
    format: str | None = None,
    literals: str = "keep",
    columns: str | Mapping[str, str] | None = None,
) -> tuple[Splits, ReadReport]:
    """`load`, with a report of what was dropped and noticed."""
    if literals not in LITERAL_POLICIES:
        raise UnknownNameError("policy for literals", literals, LITERAL_POLICIES)
    if is_parted(source):
        if format not in {None, PARTS} or columns:
            raise UserError(f"{source}: a dataset in parts; it has no other format or columns")
        found, report = read_parted(Path(source), literals=literals)
        return found.with_labels(folder_labels(source)), report
    name, files, known = find_files(source, data_dir)
    chosen = _named_format(format, columns) or known
    builder = FactBuilder(literals=literals)
    builder.guesses.extend(_asides(source, files))
    for split, path in files.items():
        file = Source(path)
        reader = chosen or recognise(file, like=builder.formats)
        builder.begin(split, typed=reader.typed)
        builder.formats.append(reader.name)
        if chosen is None and reader.name in GUESSED:
            builder.tell(f"read {path} as {reader.name}, {reader.title}")
        try:
            reader.read(file, builder)
        except Fault as fault:  # of a format without lines
            raise FormatError(path, None, str(fault)) from None
    beside = _labels_beside(source, files, builder)
    splits, report = builder.finish(name)
    return splits.with_labels(beside), report


def _labels_beside(
    source: str | Path, files: Mapping[str, Path], builder: FactBuilder
) -> LabelTexts:
    """What files beside those of the facts call the names; one that is no such file is named."""
    found = LabelTexts()
    where = Path(source) if is_local(source) else next(iter(files.values())).parent
    for path in labels_beside(where, files.values()):
        try:
            found = found.over(read_labels(path))
        except FormatError as error:
            builder.tell(f"not read as labels: {error}")
    return found


def folder_labels(folder: str | Path) -> LabelTexts:
    """What the files of labels of a dataset in parts call its names."""
    return _labels_beside(folder, {}, FactBuilder())


def _named_format(format: str | None, columns: str | Mapping[str, str] | None) -> Format | None:
    """The format that was asked for, if any; columns ask for a table."""
    if not columns:
        return find_format(format) if format is not None else None
    if format not in {None, "table"}:
        raise UserError(f"columns are of a table, and not of the format {format!r}")
    return with_columns(columns)


def notes(report: ReadReport) -> list[str]:
    """What a person should know about a reading, a sentence each."""
    lines = list(report.warnings)
    if report.dropped_facts or report.dropped_qualifiers:
        lines.append(
            f"dropped {report.dropped_facts:,} facts and {report.dropped_qualifiers:,} qualifiers "
            "that hold a literal"
        )
    if report.repeated_facts:
        lines.append(f"{report.repeated_facts:,} facts repeat an earlier one of their file")
    if report.repeated_qualifiers:
        lines.append(f"{report.repeated_qualifiers:,} qualifiers stand twice in their fact")
    return lines


def find_files(
    source: str | Path, data_dir: str | Path | None = None
) -> tuple[str, Mapping[str, Path], Format | None]:
    """The name of a dataset, its file for each split (or part), and its format where it is known.

    A folder of this name with facts in it goes before a dataset that the library knows.
    """
    text = str(source)
    if is_parted(source):
        manifest = read_manifest(Path(source), check=False)
        parts = {part.file: manifest.folder / part.file for part in manifest.parts}
        return manifest.name, parts, None
    if is_local(source):
        path = Path(source)
        if is_special(path):
            raise UserError(f"{text}: a pipe or a device; facts are read from files and folders")
        name = path.resolve().name if path.is_dir() else path.name.partition(".")[0]
        files: Mapping[str, Path] = all_files(path) if path.is_dir() else {"train": path}
        return name, files, None
    if text in BUNDLED:
        return text, bundled_files(text), FORMATS["jsonl"]
    if text in BENCHMARKS:
        row = BENCHMARKS[text]
        files = locate(row, data_dir)
        return text, files, FORMATS[row.format] if row.format else None
    if Path(source).is_dir():
        raise DataError(f"{text}: no file is named after train, valid or test")
    if "/" in text or Path(source).suffix:
        raise UserError(f"{text}: no such file or folder")
    raise UnknownNameError("dataset", text, [*BUNDLED, *BENCHMARKS])


def is_local(source: str | Path) -> bool:
    """Whether a dataset is a file, or a folder with a file for some split."""
    path = Path(source)
    if path.is_dir():
        return is_parted(path) or bool(split_names(path))
    return path.exists() and str(source) not in {*BUNDLED, *BENCHMARKS}


def absolute(source: str) -> str:
    """A dataset by a name that holds in every folder: its full path, if it is local."""
    return str(Path(source).resolve()) if source and is_local(source) else source


def _asides(source: str | Path, files: Mapping[str, Path]) -> Iterator[str]:
    """What a person may not expect of the files that were taken."""
    folder = Path(source)
    if not folder.is_dir() or not is_local(source):
        return
    if str(source) in {*BUNDLED, *BENCHMARKS}:
        yield f"{source} is the folder {folder.resolve()}, not the known dataset of this name"
    unread = unread_files(folder, files)
    if unread:
        yield f"{folder}: not read: {', '.join(unread)}"


def write(
    facts: HKG | Splits,
    target: str | Path,
    *,
    format: str | None = None,
) -> list[Path]:
    """Write one graph to a file, or a dataset to a folder; all of it or nothing.

    Returns the files. Facts that the format cannot hold exactly are refused.
    """
    path = Path(target)
    if format == PARTS:
        return _write_parts(facts, path)
    chosen = find_format(format) if format is not None else format_of_path(path)
    if isinstance(facts, HKG):
        folder, parts = path.parent, {path.name: facts}
    elif len(facts) == 1 and path.suffix:
        folder, parts = path.parent, {path.name: next(iter(facts.values()))}
    else:
        if path.suffix == chosen.suffix and not path.is_dir():
            raise UserError(
                f"{path}: {facts.name} has the splits {', '.join(facts)}: a folder for them is "
                f"named without {chosen.suffix}; a file holds one of them (--split)"
            )
        folder, parts = path, {f"{s}{chosen.suffix}": part for s, part in facts.items()}
    with staged(folder) as stage:
        for name, part in parts.items():
            chosen.write(part if chosen.shared_ids else part.compact(), stage / name)
        if isinstance(facts, Splits) and facts.label_texts:
            name = beside(path).name if path.name in parts else LABELS
            write_lines(stage / name, label_lines(facts.label_texts))
        names = sorted(p.name for p in stage.iterdir())
    return [folder / name for name in names]


def _write_parts(facts: HKG | Splits, folder: Path) -> list[Path]:
    """A dataset in parts; ids stay, so that names without facts do too."""
    splits = Splits({"train": facts}) if isinstance(facts, HKG) else facts
    if folder.is_file():
        raise UserError(f"{folder}: a dataset in parts is a folder, and this is a file")
    with staged(folder) as stage:
        write_parted(splits, stage)
        if splits.label_texts:
            write_lines(stage / LABELS, label_lines(splits.label_texts))
        names = sorted(p.name for p in stage.iterdir())
    return [folder / name for name in names]


def format_of_path(path: Path) -> Format:
    """The format that the ending of a path means; ours if it has none."""
    suffix = Source(path).suffix
    if not suffix:
        return FORMATS["jsonl"]
    if suffix == ".tsv":
        return FORMATS["table"]
    fitting = [format for format in FORMATS.values() if format.suffix == suffix]
    if len(fitting) == 1:
        return fitting[0]
    names = ", ".join(format.name for format in fitting or FORMATS.values())
    several = "several formats end" if fitting else "no format ends"
    raise UserError(f"{path}: {several} in {suffix!r}; name one with --to ({names})")


__all__ = [
    "FormatError",
    "absolute",
    "find_files",
    "folder_labels",
    "is_local",
    "load",
    "notes",
    "read",
    "split_files",
    "write",
]

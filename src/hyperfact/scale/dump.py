"""A Wikidata dump to a dataset in parts: streamed, by several processes, restartable.

This process decompresses and cuts the JSON into blocks of whole lines; workers parse them and leave
facts by name in a spool folder beside the target. A block that lies there is not parsed again, so
that the same command goes on after whatever ended it.
"""

import json
from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Protocol

from hyperfact.data.formats.quick_json import read_json
from hyperfact.data.formats.wikidata_statements import Choice, Statements
from hyperfact.data.label_files import label_lines
from hyperfact.errors import DataError, FormatError, StorageError
from hyperfact.graph.facts import Literal
from hyperfact.graph.label_texts import LabelCollector
from hyperfact.scale.spool import Block
from hyperfact.system.reading import parse_json, read_inside
from hyperfact.system.source import Fault, Source
from hyperfact.system.writing import staged, write_lines, write_texts

BLOCK = 16 * 2**20  # bytes of JSON
_ABOUT, _LIMIT = "dump.json", 2**20
_BRACKETS = (b"", b"[", b"]")


@dataclass
class Progress:
    """How far the reading of a dump is."""

    position: int = 0  # bytes of JSON
    lines: int = 0
    skipped: int = 0  # bytes that were parsed by an earlier run
    facts: int = 0
    left_out: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class Work:
    """One block for a worker."""

    number: int
    line: int  # lines before it
    text: bytes
    choice: Choice
    literals: str
    spool: str


def parse_block(work: Work) -> dict[str, Any]:
    """Parse a block and leave its facts, labels and counts in the spool folder.

    Returns what was counted; `line` and `fault` where the block is wrong.
    """
    block, labels = Block(), LabelCollector()
    dropped = Counter[str]()
    statements = Statements(_adder(block, work.literals, dropped), labels, work.choice)
    line = work.line
    try:
        for raw in work.text.split(b"\n"):
            line += 1
            text = raw.strip(b" \t\r")
            if text in _BRACKETS:
                continue
            value = read_json(text.removesuffix(b","))
            for entity in value if isinstance(value, list) else [value]:
                statements.entity(entity)
    except Fault as fault:
        return {"line": line, "fault": str(fault)}
    except UnicodeDecodeError:
        return {"line": line, "fault": "not UTF-8"}
    spool = Path(work.spool)
    block.write(spool, work.number)
    write_texts(spool, {f"labels-{work.number:08}.tsv": _labels(labels)})
    counted = {"facts": len(block.facts), "left_out": {**statements.left_out, **dropped}}
    write_texts(spool, {f"block-{work.number:08}.json": json.dumps(counted)})
    return counted


def _adder(block: Block, literals: str, dropped: Counter[str]) -> Callable[..., None]:
    """Adds facts to a block, with the policy for literals."""
    if literals == "keep":
        return block.add

    def add(
        subject: str, relation: str, obj: str, attributes: list[str], values: list[str]
    ) -> None:
        kept = [(a, v) for a, v in zip(attributes, values, strict=True) if type(v) is not Literal]
        if literals == "error" and (type(obj) is Literal or len(kept) < len(values)):
            raise Fault("a literal (allow it by --literals keep or drop)")
        dropped["literal qualifier"] += len(values) - len(kept)
        if type(obj) is Literal:
            dropped["literal"] += 1
        else:
            block.add(subject, relation, obj, [a for a, _ in kept], [v for _, v in kept])

    return add


def _labels(labels: LabelCollector) -> str:
    return "".join(f"{line}\n" for line in label_lines(labels.all()))


def read_dump(
    source: Source,
    spool: Path,
    choice: Choice,
    *,
    workers: int = 1,
    literals: str = "keep",
    tell: Callable[[Progress], None],
) -> Progress:
    """Leave all facts of a dump in the spool folder, beginning where an earlier run ended.

    Raises:
        FormatError: A line that is no entity, or a dump that is cut off.
        DataError: The folder holds the blocks of another reading.
        StorageError: A worker was killed.
    """
    _claim(source.path, spool, choice, literals)
    progress = Progress()
    waiting: deque[_Result] = deque()
    with _parser(workers, source.path) as parse:
        for number, (text, lines) in enumerate(_blocks(source)):
            found = _taken_up(spool, number)
            progress.skipped += len(text) if found else 0
            work = Work(number, progress.lines, text, choice, literals, str(spool))
            waiting.append(found or parse(work))
            progress.position, progress.lines = progress.position + len(text), lines
            if len(waiting) > 2 * workers:
                _count(source, progress, waiting.popleft().result(), tell)
        for result in waiting:
            _count(source, progress, result.result(), tell)
    return progress


class _Result(Protocol):
    def result(self) -> dict[str, Any]: ...


@dataclass(frozen=True)
class _Ready:
    """A block that is parsed already."""

    counts: dict[str, Any]

    def result(self) -> dict[str, Any]:
        """What was counted."""
        return self.counts


def _taken_up(spool: Path, number: int) -> _Ready | None:
    """What an earlier run counted in a block, if it came so far."""
    path = spool / f"block-{number:08}.json"
    if not path.is_file():
        return None
    return _Ready(parse_json(path, read_inside(spool, path.name, limit=_LIMIT)))


@contextmanager
def _parser(workers: int, path: Path) -> Iterator[Callable[[Work], _Result]]:
    """Parses blocks, here or in several processes; a lost process is one clear line."""
    if workers == 1:
        yield lambda work: _Ready(parse_block(work))
        return
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"))
    try:
        yield lambda work: pool.submit(parse_block, work)
    except BrokenProcessPool as error:
        raise StorageError(
            f"{path}: a worker was killed; the same command goes on from there"
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)


def _count(
    source: Source, progress: Progress, counts: dict[str, Any], tell: Callable[[Progress], None]
) -> None:
    if "fault" in counts:
        raise FormatError(source.path, counts["line"], counts["fault"])
    progress.facts += counts["facts"]
    progress.left_out.update(counts["left_out"])
    tell(progress)


def _blocks(source: Source) -> Iterator[tuple[bytes, int]]:
    """Whole lines of the decompressed file, and how many there are up to their end."""
    rest, lines, opened, last = b"", 0, False, b""
    try:
        with source.open() as stream:
            while chunk := stream.read(BLOCK):
                rest += chunk
                cut = rest.rfind(b"\n") + 1
                if not cut:
                    continue
                text, rest = rest[:cut], rest[cut:]
                if not lines:
                    text = text.removeprefix(b"\xef\xbb\xbf")
                    opened = text[:64].lstrip().split(b"\n")[0].strip() == b"["
                lines += text.count(b"\n")
                last = text[-64:].rstrip().rpartition(b"\n")[2]
                yield text, lines
    except (EOFError, OSError) as error:
        raise FormatError(
            source.path, lines + 1, f"the file cannot be read to its end ({error})"
        ) from error
    if rest:
        last = rest[-64:].rstrip().rpartition(b"\n")[2]
        yield rest, lines + 1
    if opened and last.strip() != b"]":
        raise FormatError(source.path, lines, "the file is cut off: its bracket is not closed")


def _claim(path: Path, spool: Path, choice: Choice, literals: str) -> None:
    """Refuse a folder with the blocks of another file, or of other filters."""
    about = {
        "source": path.name,
        "bytes": path.stat().st_size if path.is_file() else 0,
        "block": BLOCK,
        "literals": literals,
        **{k: list(v) if isinstance(v, tuple) else v for k, v in asdict(choice).items()},
    }
    file = spool / _ABOUT
    if file.is_file():
        if parse_json(file, read_inside(spool, _ABOUT, limit=_LIMIT)) != about:
            raise DataError(
                f"{spool}: holds a part of another reading (other file or filters); remove it"
            )
        return
    write_texts(spool, {_ABOUT: json.dumps(about)})


def write_labels(spool: Path, stage: Path, name: str) -> None:
    """The labels of all blocks in one file, if there are any."""
    files = sorted(spool.glob("labels-*.tsv"))
    if any(file.stat().st_size for file in files):
        lines = (line for file in files for _, line in Source(file).lines() if line)
        with staged(stage) as folder:
            write_lines(folder / name, lines)

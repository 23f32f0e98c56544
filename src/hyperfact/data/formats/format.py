"""What a file format is: how to recognise, read and write it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from hyperfact.data.builder import FactBuilder, typed_text
from hyperfact.errors import NotWritableError
from hyperfact.graph.facts import Literal
from hyperfact.graph.hkg import HKG
from hyperfact.system.source import Source
from hyperfact.system.writing import write_lines


@dataclass(frozen=True)
class Format:
    """A file format; every function gets what it needs, so that a format is one table row."""

    name: str
    title: str  # for people: one line
    suffix: str  # of the files it writes
    recognises: Callable[[Source], bool]
    read: Callable[[Source, FactBuilder], None]
    write: Callable[[HKG, Path], None]
    typed: bool = False  # the file itself says which names are literals
    shared_ids: bool = False  # writes the ids of the whole vocabulary beside each split

    def __repr__(self) -> str:
        return f"Format({self.name}: {self.title})"


def line_writer(lines: Callable[[HKG], Iterator[str]]) -> Callable[[HKG, Path], None]:
    """A writer that writes lines."""

    def write(graph: HKG, path: Path) -> None:
        write_lines(path, lines(graph))

    return write


def plain_names(names: Sequence[str], *, forbidden: str, title: str) -> list[str]:
    """Names as an untyped text file holds them; one that would be read differently is refused.

    Args:
        names: of entities or relations.
        forbidden: characters that this format cannot hold; the empty string if it holds any.
        title: of the format, for the message.
    """
    bad = set(forbidden)
    texts = [str.__str__(name) for name in names]
    for name, text in zip(names, texts, strict=True):
        reason = _misread(name, text, bad)
        if reason is not None:
            raise NotWritableError(
                f"the name {text!r} {reason}, which {title} cannot hold; "
                "jsonl and parquet hold every name"
            )
    return texts


def _misread(name: str, text: str, bad: set[str]) -> str | None:
    if bad and not text:
        return "is empty"
    if bad and not bad.isdisjoint(text):
        return f"holds {sorted(bad.intersection(text))[0]!r}"
    if bad and (text.endswith("\r") or text.startswith("\ufeff")):
        return "begins with a byte order mark or ends with a carriage return"
    if any("\ud800" <= c <= "\udfff" for c in text):
        return "holds half of a surrogate pair"
    if isinstance(name, Literal) and not isinstance(typed_text(text), Literal):
        return "is a literal that does not look like one"
    if not isinstance(name, Literal) and isinstance(typed_text(text), Literal):
        return "looks like a literal and is none"
    return None


def labelled_rows(
    graph: HKG, entities: Sequence[str], relations: Sequence[str]
) -> Iterator[tuple[str, str, str, list[tuple[str, str]]]]:
    """Every fact by the given texts of its names: subject, relation, object, qualifiers."""
    c = graph.columns
    ends = c.offsets.tolist()
    pairs = list(
        zip(
            [relations[a] for a in c.attributes.tolist()],
            [entities[v] for v in c.values.tolist()],
            strict=True,
        )
    )
    rows = zip(c.subject.tolist(), c.relation.tolist(), c.object.tolist(), strict=True)
    for i, (s, r, o) in enumerate(rows):
        yield entities[s], relations[r], entities[o], pairs[ends[i] : ends[i + 1]]

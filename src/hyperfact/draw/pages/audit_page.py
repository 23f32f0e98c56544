"""The audit as one HTML page: no script, no network, every name escaped."""

from collections.abc import Iterator
from dataclasses import dataclass

from hyperfact.data.audit.findings import Audit, Finding
from hyperfact.data.audit.kinds import INFO, LEAK, OK, WARNING
from hyperfact.data.stats import SplitStats, Stats
from hyperfact.draw.pages.environment import render

_ARITIES = 7  # rows of the arity chart; longer facts share the last one
_OVERLAPS = (
    "facts-in-two-splits",
    "primary-in-train",
    "primary-in-train-or-valid",
    "facts-with-unseen-entity",
    "told-by-another-relation",
)
_WORDS = {LEAK: "leak", WARNING: "warning", INFO: "note", OK: "passed check"}
_HEADINGS = {
    LEAK: ("Leaks", "A result on valid or test looks better than it is."),
    WARNING: ("Warnings", "Look at these before you compare results."),
    INFO: ("Notes", "Good to know; nothing has to be done."),
}


@dataclass(frozen=True)
class Section:
    """The findings of one severity, those of one kind together."""

    severity: str
    heading: str
    meaning: str
    kinds: list[list[Finding]]


@dataclass(frozen=True)
class ArityRow:
    """The share of an arity in each split."""

    label: str
    shares: list[tuple[str, float]]


def page(audit: Audit, stats: Stats) -> str:
    """A complete HTML document."""
    return render(
        "audit.html",
        heading=f"Audit of {audit.name}",
        audit=audit,
        stats=stats,
        counts=[(s, len(audit.with_severity(s)), word) for s, word in _WORDS.items()],
        overlaps=[finding for finding in audit.findings if finding.id in _OVERLAPS],
        arities=list(_arities(stats)),
        sections=list(_sections(audit)),
    )


def _arities(stats: Stats) -> Iterator[ArityRow]:
    arities = sorted({arity for split in stats.splits for arity in split.arities})
    for row, arity in enumerate(arities[:_ARITIES], start=1):
        last = row == _ARITIES < len(arities)
        shares = [(split.name, _share(split, arity, last=last)) for split in stats.splits]
        yield ArityRow(f"{arity}{'+' if last else ''}", shares)


def _share(split: SplitStats, arity: int, *, last: bool) -> float:
    count = sum(n for a, n in split.arities.items() if a == arity or (last and a > arity))
    return count / split.facts if split.facts else 0.0


def _sections(audit: Audit) -> Iterator[Section]:
    for severity, (heading, meaning) in _HEADINGS.items():
        kinds: dict[str, list[Finding]] = {}
        for finding in audit.with_severity(severity):
            kinds.setdefault(finding.id, []).append(finding)
        if kinds:
            yield Section(severity, heading, meaning, list(kinds.values()))

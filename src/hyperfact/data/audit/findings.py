"""What an audit says: findings by kind, place and number, and the audit that holds them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hyperfact.data.audit.kinds import INFO, LEAK, OK, SEVERITIES, WARNING, Kind


@dataclass(frozen=True)
class Finding:
    """What one check found in one place."""

    kind: Kind
    count: int
    of: int
    where: str = ""  # the split or splits; empty for the whole dataset
    examples: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()  # the examples as people read them, where that is not the same

    @property
    def shown(self) -> tuple[str, ...]:
        """The examples as people read them."""
        return self.labels or self.examples

    @property
    def id(self) -> str:
        """The id of its kind."""
        return self.kind.id

    @property
    def severity(self) -> str:
        """That of the kind, or `ok` if nothing was found."""
        return self.kind.severity if self.count else OK

    @property
    def share(self) -> float:
        """How much of everything that could have been found was."""
        return self.count / self.of if self.of else 0.0

    @property
    def sentence(self) -> str:
        """The finding for people."""
        if not self.count:
            return f"Not found: {self.kind.title}."
        return self.kind.sentence.format(
            count=f"{self.count:,}",
            of=f"{self.of:,}",
            share=percent(self.share),
            where=self.where or "the dataset",
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "id": self.id,
            "severity": self.severity,
            "where": self.where,
            "count": self.count,
            "of": self.of,
            "share": self.share,
            "sentence": self.sentence,
            "reason": self.kind.reason,
            "examples": list(self.examples),
            "labels": list(self.shown),
        }


@dataclass(frozen=True)
class Audit:
    """Everything that was checked in a dataset, in the order of the catalogue."""

    name: str
    sizes: Mapping[str, int]  # split -> facts
    findings: tuple[Finding, ...]

    def with_severity(self, severity: str) -> tuple[Finding, ...]:
        """The findings of this severity."""
        return tuple(f for f in self.findings if f.severity == severity)

    @property
    def leaks(self) -> tuple[Finding, ...]:
        """What makes a result on valid or test look better than it is."""
        return self.with_severity(LEAK)

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """What a person should look at before comparing results."""
        return self.with_severity(WARNING)

    @property
    def valid_is_test(self) -> bool:
        """Whether valid and test are one set, or nearly."""
        return any(f.id == "valid-is-test" for f in self.leaks)

    @property
    def verdict(self) -> str:
        """One line: how many findings of which severity."""
        words = {LEAK: "leak", WARNING: "warning", INFO: "note"}
        counts = {word: len(self.with_severity(severity)) for severity, word in words.items()}
        return ", ".join(f"{n or 'no'} {word}{'' if n == 1 else 's'}" for word, n in counts.items())

    @property
    def clear(self) -> tuple[str, ...]:
        """What was not found, in words; with the place where it was found in another one."""
        found = {f.id for f in self.findings if f.count}
        return tuple(
            dict.fromkeys(
                f"{f.kind.title} ({f.where})" if f.id in found else f.kind.title
                for f in self.with_severity(OK)
            )
        )

    def get(self, kind: str, where: str = "") -> Finding:
        """The finding of this kind and place; a KeyError if it was not checked."""
        for finding in self.findings:
            if finding.id == kind and finding.where == where:
                return finding
        raise KeyError((kind, where))

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "name": self.name,
            "sizes": dict(self.sizes),
            "verdict": self.verdict,
            **{s: len(self.with_severity(s)) for s in SEVERITIES},
            "findings": [f.as_dict() for f in self.findings],
        }


def percent(share: float) -> str:
    """A share for people; what is not nothing never reads as nothing."""
    if 0 < share < 0.0005:
        return "< 0.1 %"
    return f"{100 * share:.1f} %"

"""Everything that hyperfact raises on purpose, each with the exit code of the command line.

HyperfactError                    70  something that should not happen
├── UserError                      2  a wrong name, option or question
│   ├── UnknownNameError           2  a name that nothing has; says the nearest one
│   ├── FactSyntaxError            2  a fact or question that cannot be read
│   │   └── QuerySyntaxError       2  a query that cannot be read, with the place
│   ├── ConfigError                2  a wrong, unknown or unused setting
│   └── DataError                  2  data that is wrong or does not fit the request
│       ├── FormatError            2  a file that breaks its format: `file:line: reason`
│       └── NotWritableError       2  facts that a format cannot hold without loss
├── MissingExtraError              2  an optional package that is not installed
├── StorageError                   3  the disk or the network failed
├── CheckpointError                4  no usable checkpoint
└── NumericalError                 5  NaN or infinity where a number is needed
"""

from collections.abc import Iterable
from pathlib import Path

_SHOWN = 40  # characters of a text behind the place of an error
_LIKENESS = 60  # of 100, from which on one name may be meant by another


class HyperfactError(Exception):
    """The root; catch it to catch everything that hyperfact raises on purpose."""

    exit_code = 70


class UserError(HyperfactError):
    """A request that cannot be served as it stands."""

    exit_code = 2


class UnknownNameError(UserError):
    """A name that no member of a family has."""

    def __init__(
        self,
        kind: str,
        name: str,
        known: Iterable[str] = (),
        *,
        near: str | None = None,
        list_known: bool = True,
    ):
        names = sorted(known)
        near = nearest(name, names) if near is None else near
        text = f"unknown {kind} {name!r}"
        if near is not None:
            text += f"; did you mean {near!r}?"
        if list_known and names:
            text += f" (known: {', '.join(names)})"
        super().__init__(text)
        self.name, self.nearest = name, near


class FactSyntaxError(UserError):
    """A fact or question that does not follow `s | r | o | a = v`."""


class QuerySyntaxError(FactSyntaxError):
    """A query that cannot be read; knows the place where reading stopped."""

    def __init__(self, text: str, place: int, reason: str):
        rest = text[place : place + _SHOWN]
        cut = "…" if len(text) > place + _SHOWN else ""
        before = f", before {rest + cut!r}" if rest.strip() else ""
        super().__init__(f"character {place + 1} of the query{before}: {reason}")
        self.text, self.place, self.reason = text, place, reason


class ConfigError(UserError):
    """A wrong, unknown or unused setting."""


class DataError(UserError):
    """Data that is wrong, or that does not fit what is asked of it."""


class FormatError(DataError):
    """A file that breaks the rules of its format."""

    def __init__(self, path: Path | str, line: int | None, reason: str):
        where = f"{path}:{line}" if line is not None else f"{path}"
        super().__init__(f"{where}: {reason}")
        self.path, self.line, self.reason = Path(path), line, reason


class NotWritableError(DataError):
    """Facts that a format cannot hold without losing or changing something."""


class MissingExtraError(HyperfactError):
    """An optional package is needed and absent."""

    exit_code = 2

    def __init__(self, package: str, extra: str, purpose: str):
        super().__init__(f"{purpose} needs {package}: pip install 'hyperfact[{extra}]'")


class StorageError(HyperfactError):
    """The disk is full, a file cannot be written, a download failed."""

    exit_code = 3


class CheckpointError(HyperfactError):
    """A run directory without a checkpoint that can be used."""

    exit_code = 4


class NumericalError(HyperfactError):
    """A loss, gradient, weight or score that is not a finite number."""

    exit_code = 5


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that `name` was most likely meant to be, if any is near."""
    from rapidfuzz import fuzz, process  # only when something is wrong already

    names = list(known)
    folded = [other.casefold() for other in names]
    found = process.extractOne(name.casefold(), folded, scorer=fuzz.ratio, score_cutoff=_LIKENESS)
    return None if found is None else names[found[2]]

"""How hard a query is worked on, and what was left out."""

from collections.abc import Callable
from dataclasses import dataclass, field

from hyperfact.errors import UnknownNameError, UserError
from hyperfact.predict.logic.tnorms import TNORMS

BEAM = 64


@dataclass(frozen=True)
class Effort:
    """What an answer may cost, and in which logic it is found.

    Args:
        beam: How many candidates of a variable are tried with facts that are not known; None: all.
        logic: A name of `TNORMS`.
        is_over: Whether the time is spent; looked at between pieces of work.
        k: How many of the best answers must be right; None: all.
    """

    beam: int | None = BEAM
    logic: str = "product"
    is_over: Callable[[], bool] = lambda: False
    k: int | None = None

    def __post_init__(self) -> None:
        if self.logic not in TNORMS:
            raise UnknownNameError("logic", self.logic, TNORMS)
        if self.beam is not None and self.beam < 1:
            raise UserError(f"a beam holds at least one candidate, got {self.beam}")


@dataclass
class Cuts:
    """For each variable how many candidates were tried at least, of how many."""

    beams: dict[int, tuple[int, int]] = field(default_factory=dict)
    late: dict[int, tuple[int, int]] = field(default_factory=dict)

    def beam(self, column: int, tried: int, of: int) -> None:
        """A beam left candidates out."""
        self.beams[column] = max(self.beams.get(column, (0, 0)), (tried, of), key=lambda x: x[1])

    def time(self, column: int, tried: int, of: int) -> None:
        """The time was spent before all were tried."""
        self.late[column] = max(self.late.get(column, (0, 0)), (tried, of), key=lambda x: x[1])

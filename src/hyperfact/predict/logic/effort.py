"""How hard a query is worked on, and what was left out."""

from collections.abc import Callable
from dataclasses import dataclass, field

from hyperfact.errors import UnknownNameError, UserError
from hyperfact.predict.logic.tnorms import TNORMS
from hyperfact.system.clock import seconds

BEAM = 64


@dataclass(frozen=True)
class Effort:
    """What an answer may cost, and in which logic it is found.

    Args:
        beam: How many candidates of a variable are tried with facts that are not known; None: all.
        logic: A name of `TNORMS`.
        seconds: After which the search stops with what it has; None: never.
        k: How many of the best answers must be right; None: all.
    """

    beam: int | None = BEAM
    logic: str = "product"
    seconds: float | None = None
    k: int | None = None

    def __post_init__(self) -> None:
        if self.logic not in TNORMS:
            raise UnknownNameError("logic", self.logic, TNORMS)
        if self.beam is not None and self.beam < 1:
            raise UserError(f"a beam holds at least one candidate, got {self.beam}")

    def started(self) -> Callable[[], bool]:
        """Tells from now on whether the time is over."""
        if self.seconds is None:
            return lambda: False
        end = seconds() + self.seconds
        return lambda: seconds() > end


@dataclass
class Cuts:
    """What was left out."""

    beams: dict[int, tuple[int, int]] = field(default_factory=dict)  # variable: tried, of how many
    late: bool = False  # whether the time was over before everything was tried

    def beam(self, column: int, tried: int, of: int) -> None:
        """A beam left candidates out."""
        self.beams[column] = max(self.beams.get(column, (0, 0)), (tried, of), key=lambda x: x[1])

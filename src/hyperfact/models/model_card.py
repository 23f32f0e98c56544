"""Card: what is said of a model wherever models are listed."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Card:
    """Where a model comes from, what it costs and what it can do."""

    title: str  # as its authors write it
    year: int
    reference: str  # authors, title, venue
    cost: str  # of one score, or of one pass over the graph
    qualifiers: str  # what it does with them
    is_expressive: bool | None = None  # whether any set of facts can be told apart; None: not known

"""The order in which variables are chosen: what hangs on one, and what joins it to the rest."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from torch import Tensor

from hyperfact.predict.logic.program import Leaf, Node, columns, leaves
from hyperfact.predict.logic.query_rows import Rows


@dataclass(frozen=True)
class Step:
    """A variable to choose: what hangs on it, and what joins it to the rest."""

    variable: int
    bound: tuple[int, ...]  # the variables of the rest, this one included
    below: tuple[Node, ...]
    rest: tuple[Node, ...]
    truth: Tensor  # (rows, entities) by what hangs on it
    weights: Tensor  # (rows, entities)
    leaf: Leaf | None  # the rest, where it is one fact that known facts can be followed through


def is_link(leaf: Leaf, variable: int, root: int | None, rows: Rows, open_ones: set[int]) -> bool:
    """Whether the variable and the root are all that is open in a fact, once each."""
    inside = [c for c in leaf.slots if c in open_ones or (c == root and c not in rows.chosen)]
    wanted = [variable] if root is None else [variable, root]
    return sorted(inside) == sorted(wanted) and (root is None or leaf.column == root)


def below_of(
    parts: Sequence[Node], variable: int, root: int | None, chosen: frozenset[int]
) -> list[Node]:
    """The parts that say something of the variable alone, and of others that hang on it alone."""
    found = [
        part
        for part in parts
        if root not in columns(part) and all(leaf.column not in chosen for leaf in leaves(part))
    ]
    while True:
        outside = [part for part in parts if part not in found]
        shared = frozenset().union(*map(columns, outside)) if outside else frozenset()
        kept = [part for part in found if not (_variables(part, chosen) - {variable}) & shared]
        if len(kept) == len(found):
            return found
        found = kept


def _variables(part: Node, chosen: frozenset[int]) -> frozenset[int]:
    return columns(part) - chosen


def components(
    parts: Sequence[Node], bound: Sequence[int]
) -> Iterator[tuple[list[Node], list[int]]]:
    """Parts that share variables which are bound here, together; others by themselves."""
    left, mine = list(parts), frozenset(bound)
    while left:
        some, inside = [left.pop(0)], columns(parts[0]) & mine
        inside = columns(some[0]) & mine
        while more := [part for part in left if columns(part) & inside]:
            left = [part for part in left if part not in more]
            some += more
            inside = frozenset().union(*map(columns, some)) & mine
        yield some, sorted(inside)

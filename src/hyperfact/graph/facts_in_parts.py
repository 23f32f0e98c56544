"""Training facts of which memory holds a few at a time: how they are read, and what is known."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from hyperfact.graph.columns import Columns
from hyperfact.graph.hkg import HKG
from hyperfact.graph.ragged import Places

Ranges = Sequence[tuple[int, int]]  # rising: from, and up to but not with

BLOCKS = 64  # that memory holds at most


@dataclass(frozen=True, eq=False, repr=False)
class FactsInParts(HKG):
    """All training facts by number; as an HKG those that answer a question about other splits.

    Facts that share no question with a fact to be ranked filter nobody, so that these few are all
    that a ranking needs.
    """

    read: Callable[[Ranges], Columns] = field(kw_only=True)  # facts of ranges of numbers
    blocks: Places = field(kw_only=True)  # (blocks + 1,) numbers of facts that are read together
    slots: Places = field(kw_only=True)  # (blocks,) the slots of all facts of a block
    roles: tuple[Places, Places, Places] = field(kw_only=True)  # what a RoleIndex of all holds
    digest: str = field(kw_only=True)  # the fingerprint of all facts
    order: str = field(kw_only=True)  # a hash of all facts in their order

    @cached_property
    def fingerprint(self) -> str:
        """That of all facts."""
        return self.digest

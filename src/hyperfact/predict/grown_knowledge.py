"""What is known when facts were added: what was known before, and what they say."""

from functools import cached_property

import numpy as np

from hyperfact.graph.hkg import Splits
from hyperfact.graph.joining import ADDED, Joined
from hyperfact.graph.partial import AgreeingAnswers
from hyperfact.graph.ragged import Array
from hyperfact.graph.role_index import VALUE, RoleIndex, role_number
from hyperfact.predict.knowledge import Knowledge
from hyperfact.predict.likeness import Shapes
from hyperfact.predict.questions import QuestionIds


class GrownKnowledge(Knowledge):
    """Indexes of facts that were there stay; only the added ones are indexed.

    Args:
        earlier: What was known before.
        splits: All facts of now.
        joined: Those of the encoder's graph, and those that were added to it.
    """

    def __init__(self, earlier: Knowledge, splits: Splits, joined: Joined) -> None:
        super().__init__(splits, joined.graph, partial=earlier.partial)
        self.earlier, self.added = earlier, joined.added

    @cached_property
    def agreeing(self) -> dict[str, AgreeingAnswers]:
        """For each split who answers, whatever is left out."""
        return {**self.earlier.agreeing, ADDED: AgreeingAnswers.build(self.splits[ADDED])}

    @cached_property
    def shapes(self) -> Shapes:
        """Which relations stand with which attributes."""
        return self.earlier.shapes.with_more(self.added)

    def in_range(self, question: QuestionIds) -> Array:
        """Candidates that any of the facts show in the asked role."""
        if question.is_relation:
            return super().in_range(question)
        kind, relations = min(question.slot, VALUE), len(self.splits.relations)
        role = role_number(kind, question.ruling_relation, relations)
        return np.union1d(self.earlier.in_range(question), self._new_roles.entities_of(role))

    @cached_property
    def _new_roles(self) -> RoleIndex:
        return RoleIndex.of(self.added)

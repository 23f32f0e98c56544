"""The truth of single facts of a query, asked within the time that is given."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from hyperfact.graph.queries import BLANK_ID
from hyperfact.predict.logic.effort import Cuts, Effort
from hyperfact.predict.logic.program import Form, Leaf, Node
from hyperfact.predict.logic.query_rows import Rows
from hyperfact.predict.logic.tnorms import TNORMS
from hyperfact.predict.logic.truths import Truths
from hyperfact.predict.questions import QuestionIds

CELLS = 2**23  # truths that exist at once: 32 MB in float32
_REMEMBERED = 2**24  # truths that are kept for questions that come again


@dataclass
class FactTruth:
    """What is known and predicted of the facts of queries of one form.

    Args:
        truths: How true facts are.
        form: Of the queries.
        effort: How hard to try.
    """

    truths: Truths
    form: Form
    effort: Effort

    def __post_init__(self) -> None:
        self.cuts, self.norm = Cuts(), TNORMS[self.effort.logic]
        self._is_over = self.effort.started()
        self._memory: dict[tuple[QuestionIds, bool], Tensor] = {}

    def is_late(self) -> bool:
        """Whether the time is over; whoever asks leaves something out if it is."""
        if not self.cuts.late and self._is_over():
            self.cuts.late = True
        return self.cuts.late

    def ask(self, questions: Sequence[QuestionIds], rows: Rows) -> Tensor:
        """The truth of everybody, if there is time."""  # (questions, entities)
        if self.is_late():
            return torch.full((len(questions), self.truths.size), float(rows.denied))
        return self.truths.rows(questions, denied=rows.denied)

    def at(self, leaf: Leaf, rows: Rows) -> Tensor:  # (rows,)
        """The truth of whole facts; a question is asked once, and its truths are remembered."""
        questions, answers = rows.questions(leaf), rows.values[:, leaf.column].tolist()
        keys = [(question, rows.denied) for question in questions]
        fresh = list(dict.fromkeys(key[0] for key in keys if key not in self._memory))
        if (len(self._memory) + len(fresh)) * self.truths.size > _REMEMBERED:
            return self._at_once(questions, answers, rows)
        for some in pieces(fresh, self.truths.size):
            found = self.ask(some, rows)
            self._memory |= {(q, rows.denied): row for q, row in zip(some, found, strict=True)}
        pairs = zip(keys, answers, strict=True)
        return torch.tensor([float(self._memory[key][answer]) for key, answer in pairs])

    def _at_once(
        self, questions: Sequence[QuestionIds], answers: Sequence[int], rows: Rows
    ) -> Tensor:  # (rows,)
        """The same without remembering anything."""
        found: list[float] = []
        for some in pieces(questions, self.truths.size):
            truths = self.ask(some, rows)
            mine = torch.tensor(answers[len(found) : len(found) + len(some)])
            found += truths.gather(1, mine[:, None])[:, 0].tolist()
        return torch.tensor(found)

    def allowed(self, leaf: Leaf, root: int | None, rows: Rows) -> Tensor:  # (rows,)
        """1 where every chosen entity has been seen in its slot, and no pair stands twice."""
        found = torch.ones(len(rows))
        for slot, column in enumerate(leaf.slots):
            if column == root or column >= self.form.variables or slot == leaf.asked:
                continue
            found *= self._seen(leaf, slot, rows, rows.values[:, column])
        values = rows.values[:, leaf.slots[2:]]
        kinds = rows.relations[:, leaf.relations[1:]]
        for j in range(1, values.shape[1]):
            same = (values[:, :j] == values[:, j : j + 1]) & (kinds[:, :j] == kinds[:, j : j + 1])
            found *= 1.0 - (same & (values[:, :j] != BLANK_ID)).any(dim=1).float()
        return found

    def _seen(self, leaf: Leaf, slot: int, rows: Rows, ids: Tensor) -> Tensor:  # (rows,)
        kinds = rows.relations[:, leaf.relations[max(0, slot - 1)]]
        found = torch.ones(len(rows))
        for relation in sorted(set(kinds.tolist())):
            weights = self.truths.weights(slot, relation)
            if weights is not None:
                here = kinds == relation
                found[here] = (weights[ids[here]] > 0).float()
        return found

    def weights(self, parts: Sequence[Node], variable: int, rows: Rows) -> Tensor:
        """How often each candidate stands where it must stand; 0: never."""  # (rows, entities)
        found = torch.ones(len(rows), self.truths.size)
        for leaf in (part for part in parts if isinstance(part, Leaf)):
            for slot, column in enumerate(leaf.slots):
                if column != variable or slot == leaf.asked:
                    continue
                kinds = rows.relations[:, leaf.relations[max(0, slot - 1)]]
                for relation in sorted(set(kinds.tolist())):
                    weights = self.truths.weights(slot, relation)
                    if weights is not None:
                        found[kinds == relation] = found[kinds == relation].minimum(weights)
        return found


def pieces(questions: Sequence[QuestionIds], size: int) -> Iterator[Sequence[QuestionIds]]:
    """Questions in pieces whose truths fit into memory."""
    each = max(1, CELLS // max(1, size))
    for start in range(0, len(questions), each):
        yield questions[start : start + each]

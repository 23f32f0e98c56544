"""The best candidates of a linear decoder by an index: some of many, without scoring everybody.

Scores are q · t_e + b_e. With one more coordinate that makes all rows [t_e, b_e, rest] equally
long, the largest product is the smallest angle, which an HNSW index of usearch finds. What it finds
is scored exactly; what it misses is missed, so recall is measured.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hyperfact.errors import MissingExtraError, UserError
from hyperfact.graph.ragged import Array
from hyperfact.predict.questions import QuestionIds, batch_of
from hyperfact.predict.scoring import Scorer, top

WIDTH = 256  # candidates that the index is asked for
MEASURED = 200  # questions that recall is measured on
_NONE = float("-inf")


@dataclass(frozen=True)
class Near:
    """An index over the candidates of a scorer.

    Raises:
        UserError: The decoder is not linear in the candidate, or counts are added to its scores.
        MissingExtraError: usearch is not installed.
    """

    scorer: Scorer

    def __post_init__(self) -> None:
        facts, slots = batch_of([QuestionIds((-1, 0), (0,))])
        none = slice(0, 0)
        form = self.scorer.decoder.linear_form(facts, slots, self.scorer.z, candidates=none)
        if form is None or self.scorer.evidence is not None:
            name = type(self.scorer.decoder).__name__
            why = "counts are added to its scores" if form is not None else "it is not linear"
            raise UserError(f"{name} has no approximate answers: {why}; ask without --approximate")
        self.index  # noqa: B018 - made now, so that no question waits for it

    @cached_property
    def index(self) -> Any:
        """The rows of all candidates."""
        try:
            usearch: Any = import_module("usearch.index")
        except ImportError as error:
            raise MissingExtraError("usearch", "search", "approximate answers") from error
        rows = self._rows()
        index = usearch.Index(ndim=rows.shape[1], metric="cos", dtype="f32", expansion_search=WIDTH)
        index.add(np.arange(len(rows), dtype=np.uint64), rows)
        return index

    def _rows(self) -> Array:  # (entities, dim + 2)
        table, bias = self.scorer.table
        count = self.scorer.decoder.num_entities
        rows = table[:count].float().cpu()
        added = rows.new_zeros(count) if bias is None else bias[:count].float().cpu()
        rows = torch.cat([rows, added[:, None]], dim=1)
        length = rows.square().sum(dim=1)
        rest = (length.max() - length).clamp(min=0).sqrt()
        found: Array = torch.cat([rows, rest[:, None]], dim=1).numpy()
        return found

    def candidates(self, questions: Sequence[QuestionIds], width: int = WIDTH) -> Tensor:
        """The ids that the index finds best, some of which may not exist (-1)."""  # (rows, width)
        facts, slots = batch_of(questions)
        decoder, z = self.scorer.decoder, self.scorer.z
        with torch.no_grad():
            form = decoder.linear_form(facts, slots, z, candidates=slice(0, 0))
            assert form is not None, "checked when the index was made"
            queries = form.queries.float()
            ends = queries.new_ones(len(queries), 1), queries.new_zeros(len(queries), 1)
            asked = torch.cat([queries, *ends], dim=1).cpu().numpy()
        width = min(width, decoder.num_entities)
        found = np.full((len(asked), width), -1, dtype=np.int64)
        for row, vector in enumerate(asked):
            keys = np.asarray(self.index.search(vector, width).keys, dtype=np.int64)
            found[row, : len(keys)] = keys
        return torch.from_numpy(found)

    def scores(self, questions: Sequence[QuestionIds], width: int = WIDTH) -> Tensor:
        """Exact scores of what was found, minus infinity for all others."""  # (rows, entities)
        found = self.candidates(questions, width)
        rows = torch.full((len(questions), self.scorer.decoder.num_entities), _NONE)
        for row, (question, ids) in enumerate(zip(questions, found, strict=True)):
            kept = ids[ids >= 0]
            rows[row, kept] = self.scorer.among([question], kept)[0].float().cpu()
        return rows

    def recall(self, questions: Sequence[QuestionIds], k: int = 10) -> float:
        """The share of the k best entities of these questions that the index finds."""
        if not questions:
            return 1.0
        hits = total = 0
        for question in questions:
            exact = top(self.scorer.entities([question]), k)[0][0]
            found = top(self.scores([question]), k)[0][0]
            hits += len(set(exact.tolist()) & set(found.tolist()))
            total += len(exact)
        return hits / total

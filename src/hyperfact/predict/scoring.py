"""Scores of every candidate for the blank of a question, from representations made once."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor
from torch.nn import functional

from hyperfact.graph.batches import FactBatch
from hyperfact.graph.queries import BLANK_ID
from hyperfact.models.decoders.decoder import Decoder
from hyperfact.models.evidence import Evidence
from hyperfact.models.representations import Representations
from hyperfact.models.transeq import Precision
from hyperfact.predict.questions import QuestionIds, batch_of

_BLOCK = 192  # rows of a table of products, as in `even_products`
_EVEN = 4  # fewer queries at once are multiplied in another order, and get other bits
_CELLS = 2**22  # scores of a question for a relation that exist at once


@dataclass(frozen=True)
class Scorer:
    """A decoder with the vectors it reads; the encoder has served and is gone."""

    decoder: Decoder
    z: Representations
    precision: Precision
    evidence: Evidence | None = None

    @property
    def fills_values(self) -> bool:
        """Whether values of qualifiers can be asked for, not subjects and objects alone."""
        return self.decoder.fills_values(self.decoder.settings)

    def entities(self, questions: Sequence[QuestionIds]) -> Tensor:  # (questions, entities)
        """The score of each entity in the asked slot of each question."""
        facts, slots = batch_of(questions)
        return self.batch(facts, slots)

    def estimates(self, questions: Sequence[QuestionIds]) -> Tensor:  # (questions,)
        """The number in the blank of each question, 0 to 1 on the scale of its role."""
        with torch.no_grad(), self._products():
            return self.decoder.estimate(*batch_of(questions), self.z).float()

    def among(self, questions: Sequence[QuestionIds], ids: Tensor) -> Tensor:  # (questions, ids)
        """The score of some entities only, the same ones for every question."""
        facts, slots = batch_of(questions)
        with torch.no_grad(), self._products():
            none = slice(0, 0)
            form = self.decoder.linear_form(facts, slots, self.z, candidates=none)
            if form is None or self.evidence is not None:
                return self.batch(facts, slots)[:, ids]
            table, bias = self.table
            scores = form.queries @ table[ids].T
            scores = scores if bias is None else scores + bias[ids]
            scores = scores if form.constant is None else scores + form.constant[:, None]
        return scores.to(self.z.entities.dtype)

    def batch(self, facts: FactBatch, slots: Tensor) -> Tensor:  # (batch, entities)
        """The same for a batch; ids beyond the entities may stand in known slots."""
        count = self.decoder.num_entities
        facts, slots = facts.to(self.z.device), slots.to(self.z.device)
        with torch.no_grad(), self._products():
            none = slice(0, 0)
            form = self.decoder.linear_form(facts, slots, self.z, candidates=none)
            if form is None:
                all_of_them = slice(0, count)
                scores = self.decoder.score_slot(facts, slots, self.z, candidates=all_of_them)
            else:
                table, bias = self.table
                even = functional.pad(form.queries, (0, 0, 0, -len(slots) % _EVEN))
                scores = (even @ table.T)[: len(slots), :count]
                scores = scores if bias is None else scores + bias
                scores = scores if form.constant is None else scores + form.constant[:, None]
            scores = scores.to(self.z.entities.dtype)
            if self.evidence is not None:
                scores = scores + self.evidence.scores(facts, slots)
        return scores

    def prepare(self) -> None:
        """Make now what the first question would wait for."""
        facts, slots = batch_of([QuestionIds((BLANK_ID, 0), (0,))])
        self.batch(facts, slots)

    @cached_property
    def table(self) -> tuple[Tensor, Tensor | None]:
        """What every query of a linear form is multiplied with, made once.

        It is filled up with zeros as `even_products` does, so that scores keep their bits.
        """
        facts, slots = batch_of([QuestionIds((BLANK_ID, 0), (0,))])
        facts, slots = facts.to(self.z.device), slots.to(self.z.device)
        every = slice(0, self.decoder.num_entities)
        form = self.decoder.linear_form(facts, slots, self.z, candidates=every)
        assert form is not None, "the decoder has a linear form"
        table = functional.pad(form.table.detach(), (0, 0, 0, -len(form.table) % _BLOCK))
        if self.precision == "bfloat16":
            table = table.bfloat16()
        return table, None if form.bias is None else form.bias.detach()

    def relations(self, question: QuestionIds, prior: Tensor) -> Tensor:  # (relations,)
        """Bayes' rule: log P(e | rest, r) + log P(r), where e is the entity that r brings in.

        Scores of facts with different relations do not share a scale, for training compares
        entities only; probabilities of the entity among all entities do.

        Args:
            question: With a relation or attribute blank.
            prior: log P(r), from the training facts.  # (relations,)
        """
        count, width = len(prior), max(1, _CELLS // self.decoder.num_entities)
        facts, slots = batch_of([question])
        entity = question.entities[question.slot]
        parts = []
        for start in range(0, count, width):
            tried = torch.arange(start, min(start + width, count))
            relations = facts.relations.repeat(len(tried), 1)
            relations[:, question.place] = tried
            several = FactBatch(
                facts.entities.repeat(len(tried), 1), relations, facts.mask.repeat(len(tried), 1)
            )
            scores = self.batch(several, slots.repeat(len(tried)))  # (tried, entities)
            parts.append(scores[:, entity] - scores.logsumexp(dim=1))
        return torch.cat(parts) + prior.to(parts[0].dtype)

    def with_means(self) -> "Scorer":
        """The same, with one more row in each table: the mean of all others."""
        return replace(self, z=self.z.with_means())

    def _products(self) -> AbstractContextManager[object]:
        """As in training: matrix products in bfloat16 where asked for."""
        if self.precision != "bfloat16":
            return nullcontext()
        return torch.autocast(self.z.entities.device.type, dtype=torch.bfloat16)


def top(scores: Tensor, k: int) -> tuple[Tensor, Tensor]:  # (rows, k), (rows, k)
    """The k best columns of each row and their scores; of equal scores the first column wins."""
    wide = min(k + 1, scores.shape[1])
    values, columns = torch.topk(scores, wide, dim=1)
    k = min(k, wide)
    tied = (values[:, 1:] == values[:, :-1]).any(dim=1)
    for row in torch.nonzero(tied)[:, 0].tolist():
        edge = values[row, k - 1]
        near = torch.nonzero(scores[row] >= edge)[:, 0]  # rising ids, so a stable sort keeps them
        order = torch.sort(scores[row, near], descending=True, stable=True)[1][:k]
        columns[row, :k] = near[order]
        values[row, :k] = scores[row, near[order]]
    return columns[:, :k], values[:, :k]

"""What every model promises about its scores: changes that must not matter do not."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import torch
from safetensors.torch import load, save
from torch import Tensor

from hyperfact.evaluation.evaluator import evaluate, evaluating
from hyperfact.evaluation.ranking import Limits
from hyperfact.graph.batches import FactBatch
from hyperfact.graph.hkg import HKG
from hyperfact.graph.queries import KnownAnswers, Queries
from hyperfact.graph.ragged import Array
from hyperfact.models.decoders.decoder import put
from hyperfact.models.representations import Representations
from hyperfact.models.transeq import TransEQ

Make = Callable[[HKG], TransEQ]
_NEAR = 1e-5  # relative, C3


@dataclass(frozen=True)
class Case:
    """A model with the facts it was made for, and all questions about them in one batch."""

    make: Make  # the same weights at each call
    graph: HKG

    @property
    def model(self) -> TransEQ:
        """A new model."""
        return self.make(self.graph)

    @property
    def known(self) -> KnownAnswers:
        """Known answers of the graph itself."""
        return KnownAnswers.build(self.graph)

    def questions(self, rows: Array | None = None) -> tuple[FactBatch, Tensor]:
        """Every slot of every fact (of these rows)."""
        queries = Queries.of(self.graph, rows)
        return FactBatch.of(self.graph, queries.fact), torch.from_numpy(queries.slot).long()

    def ranks(self, model: TransEQ, limits: Limits | None = None) -> list[list[int]]:
        """Greater and equal rivals of each query."""
        found = evaluate(model, self.graph, self.known, limits=limits).ranks
        return [found.greater.tolist(), found.equal.tolist()]


def scores_of(
    model: TransEQ, facts: FactBatch, slots: Tensor, z: Representations | None = None
) -> Tensor:  # (batch, entities)
    """Scores in evaluation mode."""
    with evaluating(model):
        return model.decoder.score_slot(facts, slots, z or model.encode())


def near(one: Tensor, other: Tensor, tolerance: float = 1e-9) -> bool:
    """Whether two tensors agree, relative to the larger one's size."""
    scale = max(1.0, float(one.abs().max()), float(other.abs().max()))
    return one.shape == other.shape and float((one - other).abs().max()) <= tolerance * scale


def _shape(case: Case) -> bool:
    scores = scores_of(case.model, *case.questions())
    return scores.shape == (int(case.graph.arity.sum()), len(case.graph.entities))


def _dtype(case: Case) -> bool:
    model = case.model
    return scores_of(model, *case.questions()).dtype == next(model.parameters()).dtype


def _finite(case: Case) -> bool:
    return bool(scores_of(case.model, *case.questions()).isfinite().all())


def _no_vector_for_mediators(case: Case) -> bool:
    z = case.model.encode()
    sizes = (len(z.entities), len(z.relations))
    return sizes == (len(case.graph.entities), len(case.graph.relations))


def _same_seed(case: Case) -> bool:
    one, two = case.model.state_dict(), case.model.state_dict()
    return list(one) == list(two) and all(torch.equal(one[n], two[n]) for n in one)


def _save_and_load(case: Case) -> bool:
    model, other = case.model, case.model
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.01)
    other.load_state_dict(load(save({n: t.clone() for n, t in model.state_dict().items()})))
    questions = case.questions()
    return torch.equal(scores_of(model, *questions), scores_of(other, *questions))


def _no_dropout(case: Case) -> bool:
    model, questions = case.model, case.questions()
    return torch.equal(scores_of(model, *questions), scores_of(model, *questions))


def _alone(case: Case) -> bool:
    model, (facts, slots) = case.model, case.questions()
    together = scores_of(model, facts, slots)
    rows = ([i] for i in range(len(facts)))
    return all(near(together[r], scores_of(model, take(facts, r), slots[r])) for r in rows)


def _row_order(case: Case) -> bool:
    model, (facts, slots) = case.model, case.questions()
    order = list(range(len(facts)))[::-1]
    turned = scores_of(model, take(facts, order), slots[order])
    return near(scores_of(model, facts, slots)[order], turned)


def _qualifier_order(case: Case) -> bool:
    if case.model.decoder.is_ordered:
        return True
    row = int(case.graph.arity.argmax())
    facts, arity = FactBatch.of(case.graph, np.array([row])), int(case.graph.arity[row])
    order = [0, 1, *range(2, arity)[::-1]]
    relations = [0, *(i - 1 for i in order[2:])]
    turned = replace(
        facts, entities=facts.entities[:, order], relations=facts.relations[:, relations]
    )
    model = case.model
    pairs = ((slot, order.index(slot)) for slot in range(arity))
    return all(
        near(
            scores_of(model, facts, torch.tensor([one])),
            scores_of(model, turned, torch.tensor([two])),
        )
        for one, two in pairs
    )


def _padding(case: Case) -> bool:
    model, (facts, slots) = case.model, case.questions()
    ids = len(case.graph.entities) - 1, len(case.graph.relations) - 1, False
    sides = zip((facts.entities, facts.relations, facts.mask), ids, strict=True)
    wide = FactBatch(*(torch.nn.functional.pad(t, (0, 2), value=v) for t, v in sides))
    return near(scores_of(model, facts, slots), scores_of(model, wide, slots))


def _answer_unread(case: Case) -> bool:
    model, (facts, slots) = case.model, case.questions()
    other = put(facts, slots, len(case.graph.entities) - 1)
    return torch.equal(scores_of(model, facts, slots), scores_of(model, other, slots))


def _one_path(case: Case) -> bool:
    model, (facts, slots) = case.model, case.questions()
    with evaluating(model):
        z = model.encode()
        pointwise = model.decoder.score(facts, slots, z)
        answers = facts.entities.gather(1, slots[:, None])
        matrix = model.decoder.score_slot(facts, slots, z).gather(1, answers)[:, 0]
    return near(pointwise, matrix, _NEAR)


def _pieces(case: Case) -> bool:
    model, (facts, slots) = case.model, case.questions()
    with evaluating(model):
        z = model.encode()
        parts = [
            model.decoder.score_slot(facts, slots, z, candidates=slice(i, i + 2))
            for i in range(0, len(case.graph.entities), 2)
        ]
    return near(torch.cat(parts, dim=1), scores_of(model, facts, slots, z))


def _equal_vectors_tie(case: Case) -> bool:
    model = case.model
    if model.decoder.reads_facts:  # which tell entities apart whatever their vectors are
        return True
    with evaluating(model):
        z = model.encode()
    copy = torch.zeros(len(z.entities), dtype=torch.long)
    _reorder_entity_parameters(model, copy)
    same = z.rows(copy)
    scores = scores_of(model, *case.questions(), same)
    return bool((scores == scores[:, :1]).all())


def _renaming(case: Case) -> bool:
    model, (facts, slots) = case.model, case.questions()
    with evaluating(model):
        z = model.encode()
    before = scores_of(model, facts, slots, z)
    order = torch.randperm(len(z.entities), generator=torch.Generator().manual_seed(3))
    new = torch.empty_like(order)
    new[order] = torch.arange(len(order))
    _reorder_entity_parameters(model, order)
    renamed = replace(facts, entities=new[facts.entities])
    moved = z.rows(order)
    return near(before[:, order], scores_of(model, renamed, slots, moved))


def _reorder_entity_parameters(model: TransEQ, order: Tensor) -> None:
    """Parameters of the decoder that belong to single entities follow them."""
    for name, parameter in model.decoder.named_parameters():
        if "entity" in name and len(parameter) == len(order):
            parameter.data = parameter.data[order]


def take(facts: FactBatch, rows: list[int]) -> FactBatch:
    """These facts only, as wide as before."""
    return FactBatch(facts.entities[rows], facts.relations[rows], facts.mask[rows])


#: Promises about scores. Adding one: a function above, and a line here.
SCORES: Mapping[str, Callable[[Case], bool]] = {
    "scores have a row for each query and a column for each entity": _shape,
    "scores have the dtype of the weights": _dtype,
    "scores are finite": _finite,
    "entities and relations have vectors, mediators have none": _no_vector_for_mediators,
    "the same seed gives the same weights": _same_seed,
    "saving and loading keep every score": _save_and_load,
    "nothing is dropped while ranking": _no_dropout,
    "a query scores alone as it scores among others": _alone,
    "the order of queries does not matter": _row_order,
    "the order of qualifiers does not matter": _qualifier_order,
    "padding does not matter": _padding,
    "what stands in the asked slot does not matter": _answer_unread,
    "the score of a fact is that of its answer in the matrix": _one_path,
    "candidates can be scored in pieces": _pieces,
    "entities with equal vectors have equal scores": _equal_vectors_tie,
    "renaming entities permutes the scores": _renaming,
}

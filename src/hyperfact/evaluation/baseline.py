"""The baseline that every model must beat: whoever stands most often in the asked role."""

import torch
from torch import Tensor

from hyperfact.evaluation.ranking import Scorer
from hyperfact.graph.batches import FactBatch
from hyperfact.graph.hkg import HKG
from hyperfact.graph.role_index import VALUE, RoleIndex, role_number

NAME = "most frequent in this role"


def most_frequent(train: HKG) -> Scorer:
    """Scores by counting: how often training facts show a candidate in the asked role."""
    index, relations, size = RoleIndex.of(train), len(train.relations), len(train.entities)
    counts = torch.from_numpy(index.counts).float()

    def score(facts: FactBatch, slots: Tensor, candidates: slice) -> Tensor:
        place = (slots - 1).clamp(min=0)  # of the attribute of a value; else of the relation
        relation = facts.relations.gather(1, place[:, None])[:, 0]
        role = role_number(slots.clamp(max=VALUE), relation, relations)
        scores = torch.zeros(len(facts), size)
        for row, number in enumerate(role.tolist()):
            start, stop = index.offsets[number], index.offsets[number + 1]
            scores[row, index.entities[start:stop]] = counts[start:stop]
        return scores[:, candidates]

    return score

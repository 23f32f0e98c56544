"""Ensemble: models of the same facts that answer as one.

p(e | q) ~ prod_m p_m(e | q)^w_m,    p_m = softmax(score_m / T_m) over all entities

The logarithm of that product is a weighted sum of scores, up to what is the same for all entities:
an answer must be likely to every member. (The mean of probabilities ranks worse: a member that is
sure of a wrong answer is then not overruled.) A model like any other: its encoder gives the vectors
of all members, its decoder asks each member with its own. Sums are in float64, so that one member
alone keeps its ranks.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from hyperfact.config import Section
from hyperfact.graph.batches import FactBatch
from hyperfact.graph.hkg import HKG
from hyperfact.graph.kg import KG
from hyperfact.graph.ragged import Array
from hyperfact.models.decoders.decoder import ALL, Decoder
from hyperfact.models.encoders.encoder import Encoder
from hyperfact.models.evidence import Evidence
from hyperfact.models.graph_pass import GraphPass
from hyperfact.models.representations import Representations
from hyperfact.models.transeq import TransEQ


@dataclass(frozen=True)
class Joint(Representations):
    """Representations of several models of the same names; the tables are those side by side."""

    members: tuple[Representations, ...] = ()

    @classmethod
    def join(cls, members: Sequence[Representations]) -> "Joint":
        """Each table divided by its scale, so that none drowns the others where they are looked at.

        Scores come from the members' own tables.
        """
        entities, relations = (
            torch.cat([table.double() / table.double().std() for table in tables], dim=1)
            for tables in zip(*((z.entities, z.relations) for z in members), strict=True)
        )
        return cls(entities, relations, members=tuple(members))

    def rows(self, order: Tensor) -> "Joint":
        """The same with other entities: those of these rows."""
        return Joint.join([z.rows(order) for z in self.members])

    def with_means(self) -> "Joint":
        """The same, with one more row in each table: the mean of all others."""
        return Joint.join([z.with_means() for z in self.members])


class Pool(Decoder):
    """score(q, e) = sum_m w_m / T_m score_m(q, e).

    Args:
        decoders: Of the members.
        weights: w, positive.  # (members,)
        temperatures: T, which make a probability of a member's scores.  # (members,)
        evidence: Counts that a member adds to its scores, or None for each.
    """

    Settings = Section

    def __init__(
        self,
        decoders: Sequence[Decoder],
        weights: Tensor,
        temperatures: Tensor,
        evidence: Sequence[Evidence | None],
    ) -> None:
        nn.Module.__init__(self)
        self.decoders, self.modules_ = tuple(decoders), nn.ModuleList(decoders)
        self.evidence = tuple(evidence)
        self.num_entities, self.dim = decoders[0].num_entities, sum(d.dim for d in decoders)
        self.scale, self.settings = 1.0, Section()
        self.weights, self.temperatures = weights.double(), temperatures.double()

    def score(
        self,
        facts: FactBatch,
        slots: Tensor,
        z: Representations,
        *,
        generator: torch.Generator | None = None,
    ) -> Tensor:  # (batch,)
        """What the members make of each fact."""

        def score(m: int, own: Representations) -> Tensor:
            found = self.decoders[m].score(facts, slots, own, generator=generator)
            counted = self.evidence[m]
            if counted is None:
                return found
            answers = facts.answers(slots)[:, None]
            return found + counted.scores(facts, slots).gather(1, answers)[:, 0]

        return self._pooled(z, score)

    def score_slot(
        self,
        facts: FactBatch,
        slots: Tensor,
        z: Representations,
        *,
        candidates: slice = ALL,
        generator: torch.Generator | None = None,
    ) -> Tensor:  # (batch, candidates)
        """What they make of each candidate."""

        def score(m: int, own: Representations) -> Tensor:
            found = self.decoders[m].score_slot(
                facts, slots, own, candidates=candidates, generator=generator
            )
            counted = self.evidence[m]
            if counted is None:
                return found
            return found + counted.scores(facts, slots, candidates=candidates)

        return self._pooled(z, score)

    def _pooled(
        self, z: Representations, score: Callable[[int, Representations], Tensor]
    ) -> Tensor:
        assert isinstance(z, Joint), "a pool reads the vectors of its members"
        factors = (self.weights / self.temperatures).tolist()
        parts = enumerate(zip(factors, z.members, strict=True))
        return torch.stack([f * score(m, own).double() for m, (f, own) in parts]).sum(0)


class Members(Encoder):
    """The encoders of several models, one after the other."""

    Settings = Section

    def __init__(self, models: Sequence[TransEQ]) -> None:
        nn.Module.__init__(self)
        self.models, self.modules_ = tuple(models), nn.ModuleList(models)
        self.settings = Section()
        self.sees_graph = any(model.encoder.sees_graph for model in models)  # type: ignore[misc]

    def prepare(self, graph: KG | HKG, generator: torch.Generator) -> None:
        """Nothing: the members are made."""

    def encode(self, step: GraphPass) -> Joint:
        """Each member sees what its own graph keeps."""
        sizes = [model.num_items for model in self.models]
        keep = [None] * len(sizes) if step.keep is None else torch.split(step.keep, sizes)
        return Joint.join([m.encode(keep=k) for m, k in zip(self.models, keep, strict=True)])

    def keep_without(self, graph: KG | HKG, facts: Array) -> Tensor:  # (items of all members,) bool
        """What remains of each member's graph, one after the other."""
        del graph
        return torch.cat([model.keep_without(facts) for model in self.models])


class Ensemble(TransEQ):
    """Several models as one.

    Args:
        models: The members, of the same facts.
        weights: Of the members.  # (members,)
        temperatures: Of their scores.  # (members,)
    """

    def __init__(self, models: Sequence[TransEQ], weights: Tensor, temperatures: Tensor) -> None:
        nn.Module.__init__(self)
        self.encoded, self.precision = models[0].encoded, "float32"
        self.unseen = self.numbers = self.evidence = self.facts = None  # the members have their own
        self.shard = None
        self.members, self.encoder = tuple(models), Members(models)
        counted = [model.evidence for model in models]
        self.decoder = Pool([m.decoder for m in models], weights, temperatures, counted)

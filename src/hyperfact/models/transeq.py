"""TransEQ: encode the transformed facts, then score facts of any arity (section 4 of the paper).

G' = equivalent(G)                    the graph: plain edges, a mediator for each qualified fact,
                                      or the facts themselves where the encoder reads those
h_v, h_r = ENC(G')                    the encoder; mediators share part of their vectors
phi(s, r, o, {(a, v)})                the decoder, from the vectors of the fact
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import torch
from torch import Tensor, nn

from hyperfact.errors import UserError
from hyperfact.graph.batches import FactBatch
from hyperfact.graph.hkg import HKG
from hyperfact.graph.kg import KG
from hyperfact.graph.ragged import Array
from hyperfact.kernels.softmax import Targets
from hyperfact.models.decoders.decoder import ALL, Decoder, LinearForm
from hyperfact.models.deferred import Deferred
from hyperfact.models.encoders.encoder import Encoder
from hyperfact.models.evidence import Evidence
from hyperfact.models.graph_pass import GraphPass
from hyperfact.models.hypergraph import Hypergraph
from hyperfact.models.mediator_vectors import Mediators
from hyperfact.models.numbers import Numbers
from hyperfact.models.read_apart import read_apart
from hyperfact.models.representations import Representations
from hyperfact.models.shard import Shard
from hyperfact.models.unseen import Unseen

Precision = Literal["float32", "bfloat16", "float64"]


class TransEQ(nn.Module):
    """One graph, one encoder, one decoder.

    Args:
        graph: The transformed training facts, or the facts themselves, as the encoder reads.
        encoder: Made for this graph.
        decoder: Any.
        precision: Of weights and products; bfloat16 concerns products alone.
        unseen: Who stands for entities without a training fact; None: they keep their own vectors,
            which have only ever been negatives.
        numbers: Which entities are numbers, if the decoder reads them as such.
        evidence: Counts that are added to every score; None: the decoder alone.
        facts: What the decoder reads beside vectors, if it does.
    """

    def __init__(
        self,
        graph: KG | HKG,
        *,
        encoder: Encoder,
        decoder: Decoder,
        precision: Precision = "float32",
        unseen: Unseen | None = None,
        numbers: Numbers | None = None,
        evidence: Evidence | None = None,
        facts: Hypergraph | None = None,
    ) -> None:
        super().__init__()
        self.encoded, self.precision = graph, precision
        self.unseen, self.numbers, self.facts = unseen, numbers, facts
        self.encoder, self.decoder, self.evidence = encoder, decoder, evidence
        self.shard: Shard | None = None  # of which the encoder's tables hold the rows
        self.sample: tuple[int, ...] = ()  # neighbours heard while training; empty: all
        self.to(torch.float64 if precision == "float64" else torch.float32)

    @property
    def graph(self) -> KG:
        """The transformed training facts.

        Raises:
            UserError: The encoder reads the facts themselves, which nothing transforms.
        """
        if isinstance(self.encoded, HKG):
            raise UserError("there is no transformed graph: the encoder reads the facts themselves")
        return self.encoded

    @property
    def device(self) -> torch.device:
        """Where it computes."""
        return next(self.parameters()).device

    def encode(
        self, *, keep: Tensor | None = None, generator: torch.Generator | None = None
    ) -> Representations:
        """Vectors of entities and relations; mediators have served and are gone.

        Args:
            keep: Which items exist, as `keep_without` has them; None: all.  # (items,) bool
            generator: Source of what a step of training draws; None: nothing is drawn.
        """
        keep, facts = self._parts(keep)
        shard = self.shard if self.encoder.computes_own else None
        step = GraphPass(keep, generator, self.coordinates(generator), shard)
        with self.products():
            z = self._own_rows(self.encoder(step))
        if self.unseen is None:
            return replace(z, numbers=self.numbers, facts=facts)
        rows, training = z.entities, self.training
        entities, stand_ins = self.unseen.introduce(rows, training=training, shard=self.shard)
        return Representations(entities, z.relations, stand_ins, self.numbers, facts)

    def coordinates(self, generator: torch.Generator | None) -> Tensor | None:  # (kept,)
        """Those that the decoder wants in a step of training; None: all."""
        wanted = self.decoder.coordinates(generator)
        return None if wanted is None else wanted.to(self.device)

    def _parts(self, keep: Tensor | None) -> tuple[Tensor | None, Hypergraph | None]:
        """What the encoder keeps of its graph, and the facts that the decoder still reads."""
        if self.facts is None or keep is None:
            return keep, self.facts
        of_graph, of_facts = torch.split(keep, [len(self.encoded), len(self.facts)])
        return of_graph, self.facts.kept(of_facts)

    def divide(self, shard: Shard) -> None:
        """Keep of the large tables the rows of a shard; the others have the rest."""
        for name, owner, table in self._divided():
            owner.shard = shard
            rows = table.detach()[shard.rows(len(table))].clone()
            setattr(owner, name.rpartition(".")[2], nn.Parameter(rows))
        self.shard = shard

    def gather(self) -> None:
        """Have all rows again; every shard calls it."""
        shard, counts = self.shard, self._counts()
        if shard is None:
            return
        with torch.no_grad():
            for name, owner, table in self._divided():
                rows = shard.whole(table.detach(), counts[name]).clone()
                owner.shard = None
                setattr(owner, name.rpartition(".")[2], nn.Parameter(rows))
        self.shard = None

    @property
    def divided(self) -> dict[str, int]:
        """The names of divided parameters, each with the rows that it has in all shards."""
        return {} if self.shard is None else {f"encoder.{n}": c for n, c in self._counts().items()}

    def _divided(self) -> Iterator[tuple[str, Any, Tensor]]:
        """Name, owner and table of each that is divided."""
        for name in self.encoder.divided:
            owner = self.encoder.get_submodule(name.rpartition(".")[0])
            yield name, owner, getattr(owner, name.rpartition(".")[2])

    def _counts(self) -> dict[str, int]:
        graph = self.encoded
        own = 0 if isinstance(graph, HKG) else graph.num_mediators
        others, names = len(graph.entities), self.encoder.divided
        return {name: own if name.endswith("mediators.own") else others for name in names}

    def _own_rows(self, z: Representations) -> Representations:
        """Those of the shard, of an encoder that computes all."""
        count = len(self.encoded.entities)
        if self.shard is None or len(z.entities) < count:
            return z
        return Representations(z.entities[self.shard.rows(count)], z.relations)

    def reading(
        self, facts: FactBatch, z: Representations, *more: Tensor
    ) -> tuple[Representations, FactBatch, tuple[Tensor, ...]]:
        """Representations and facts as decoders read them: numbered alike, on one device.

        Args:
            facts: To be scored.
            z: Of all entities, or of those of the shard.
            more: Further entities, as ids.
        """
        facts, more = facts.to(z.device), tuple(ids.to(z.device) for ids in more)
        if isinstance(z, Deferred):
            return z.named(facts, *more)
        if self.shard is None:
            return z, facts, more
        return z.with_rows_for(facts, self.shard, len(self.encoded.entities), *more)

    @property
    def own_candidates(self) -> slice:
        """The entities that are scored here, as rows of what decoders read."""
        if self.shard is None:
            return ALL
        own = self.shard.rows(len(self.encoded.entities))
        return slice(0, own.stop - own.start)

    def withhold(self, facts: FactBatch, generator: torch.Generator | None) -> FactBatch:
        """Facts as training asks about them: of some entities only the role is given."""
        return facts if self.unseen is None else self.unseen.withhold(facts, generator)

    def score_slot(
        self,
        facts: FactBatch,
        slots: Tensor,
        z: Representations,
        *,
        candidates: slice = ALL,
        answers: Targets | None = None,
        generator: torch.Generator | None = None,
    ) -> Tensor:  # (batch, candidates)
        """Scores of every candidate in the asked slot of each fact, in the weights' dtype.

        Args:
            facts: The questions.
            slots: The asked slot of each.  # (batch,)
            z: Vectors of entities and relations.
            candidates: Entities to score.
            answers: While training, those whose own facts are no evidence for them.
            generator: Source of dropout; None: no dropout.
        """
        with self.products():
            scores = self.decoder.score_slot(
                facts, slots, z, candidates=candidates, generator=generator
            )
        scores = scores.to(z.entities.dtype)
        if self.evidence is None:
            return scores
        here, facts = self._counted(candidates), z.by_name(facts)
        count = partial(self.evidence.scores, answers=answers, generator=generator)
        return scores + count(facts, slots, candidates=here)

    def score_candidates(
        self,
        facts: FactBatch,
        slots: Tensor,
        z: Representations,
        *,
        candidates: Tensor,
        generator: torch.Generator | None = None,
    ) -> Tensor:  # (batch, k)
        """Scores of a training fact's own candidates, the first being its answer."""
        scores = self.decoder.score_candidates(
            facts, slots, z, candidates=candidates, generator=generator
        )
        if self.evidence is None:
            return scores
        ids = candidates if z.ids is None else z.ids[candidates]
        answers = Targets.one_each(ids[:, 0])
        count = partial(self.evidence.scores, answers=answers, generator=generator)
        return scores + count(z.by_name(facts), slots).gather(1, ids)

    def _counted(self, candidates: slice) -> slice:
        """Candidates by their ids, of which a shard knows its own."""
        return candidates if self.shard is None else self.shard.rows(len(self.encoded.entities))

    def linear_form(
        self,
        facts: FactBatch,
        slots: Tensor,
        z: Representations,
        *,
        answers: Targets | None = None,
        candidates: slice = ALL,
        generator: torch.Generator | None = None,
    ) -> LinearForm | None:
        """Vectors whose products are the scores, if the decoder has such; as in `score_slot`."""
        read = partial(self.decoder.linear_form, z=z, candidates=candidates, generator=generator)
        with self.products():
            form = read_apart(read, facts, slots, self.shard if self.decoder.reads_apart else None)
        if form is None or self.evidence is None:
            return form
        here, facts = self._counted(candidates), z.by_name(facts)
        count = partial(self.evidence.added, answers=answers, generator=generator)
        return form._replace(added=count(facts, slots, candidates=here))

    def keep_without(self, facts: Array) -> Tensor:  # (items,) bool
        """What is still seen when these facts are not known; shared edges stay.

        Items of the encoder's graph, then facts where the decoder reads them.
        """
        keep = self.encoder.keep_without(self.encoded, facts)
        if self.facts is None:
            return keep
        of_facts = torch.ones(len(self.facts), dtype=torch.bool)
        return torch.cat([keep, of_facts.index_fill(0, torch.from_numpy(facts), value=False)])

    @property
    def num_items(self) -> int:
        """What `keep_without` speaks of."""
        return len(self.encoded) + (0 if self.facts is None else len(self.facts))

    def mediators(self) -> Mediators | None:
        """The mediators of the graph; None where there are none, or none with vectors."""
        graph, nodes = self.encoded, getattr(self.encoder, "nodes", None)
        if nodes is None or isinstance(graph, HKG) or not graph.num_mediators:
            return None
        with torch.no_grad():
            return Mediators(nodes.mediators(), graph.mediator_fact, graph.mediator_relation)

    def products(self) -> AbstractContextManager[object]:
        """Matrix products in bfloat16 where asked for; sums stay in float32."""
        if self.precision != "bfloat16":
            return nullcontext()
        return torch.autocast(self.device.type, dtype=torch.bfloat16)

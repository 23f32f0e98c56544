"""TransEQ: one graph, one encoder, one decoder."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn

from hyperfact.batches import FactBatch
from hyperfact.decoders.base import ALL, Decoder, LinearForm
from hyperfact.encoders.base import Encoder
from hyperfact.kg import KG, Representations
from hyperfact.ragged import Array

Precision = Literal["float32", "bfloat16", "float64"]


class TransEQ(nn.Module):
    """The paper's model: encode the transformed training facts, then score facts of any arity.

    Args:
        graph: The transformed training facts.
        encoder: Made for this graph.
        decoder: Any.
        precision: Of weights and products; bfloat16 concerns products alone.
        unseen: What stands for entities without a training fact once training is over. Their own
            vector has only ever been a negative; as a factor of a product it is noise that spoils
            what the other slots say. The mean of the other entities is neutral.
    """

    def __init__(
        self,
        graph: KG,
        *,
        encoder: Encoder,
        decoder: Decoder,
        precision: Precision = "float32",
        unseen: Literal["mean", "own"] = "own",
    ) -> None:
        super().__init__()
        self.graph, self.precision, self.unseen = graph, precision, unseen
        named = np.zeros(graph.num_nodes, dtype=bool)
        named[graph.source] = named[graph.target] = True
        self.seen: Tensor
        seen = torch.from_numpy(named[: graph.num_entities])
        self.register_buffer("seen", seen, persistent=False)
        self.encoder, self.decoder = encoder, decoder
        self.to(torch.float64 if precision == "float64" else torch.float32)

    def encode(
        self, *, keep: Tensor | None = None, generator: torch.Generator | None = None
    ) -> Representations:
        """Vectors of entities and relations; mediators have served and are gone."""
        with self._products():
            z: Representations = self.encoder(keep=keep, generator=generator)
        if self.training or self.unseen == "own" or bool(self.seen.all() or not self.seen.any()):
            return z
        mean = z.entities[self.seen].mean(dim=0)  # (dim,)
        return replace(z, entities=torch.where(self.seen[:, None], z.entities, mean))

    def score_slot(
        self,
        facts: FactBatch,
        slots: Tensor,
        z: Representations,
        *,
        candidates: slice = ALL,
        generator: torch.Generator | None = None,
    ) -> Tensor:  # (batch, candidates)
        """Scores of every candidate in the asked slot of each fact, in the weights' dtype."""
        with self._products():
            scores = self.decoder.score_slot(
                facts, slots, z, candidates=candidates, generator=generator
            )
        return scores.to(z.entities.dtype)

    def linear_form(
        self,
        facts: FactBatch,
        slots: Tensor,
        z: Representations,
        *,
        generator: torch.Generator | None = None,
    ) -> LinearForm | None:
        """Vectors whose products are the scores, if the decoder has such."""
        with self._products():
            return self.decoder.linear_form(facts, slots, z, generator=generator)

    def keep_without(self, facts: Array) -> Tensor:  # (edges,) bool
        """Edges that remain when these facts are not known; shared edges stay."""
        keep = np.ones(len(self.graph), dtype=bool)
        keep[self.graph.edges_only_of(facts)] = False
        return torch.from_numpy(keep)

    def _products(self) -> AbstractContextManager[object]:
        """Matrix products in bfloat16 where asked for; sums stay in float32."""
        if self.precision != "bfloat16":
            return nullcontext()
        device = next(self.parameters()).device.type
        return torch.autocast(device, dtype=torch.bfloat16)

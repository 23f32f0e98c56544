"""TransEQ: one graph, one encoder, one decoder."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn

from hyperfact.graph.batches import FactBatch
from hyperfact.graph.kg import KG, Representations
from hyperfact.graph.ragged import Array
from hyperfact.models.decoders.decoder import ALL, Decoder, LinearForm
from hyperfact.models.encoders.encoder import Encoder
from hyperfact.models.unseen import Roles

Precision = Literal["float32", "bfloat16", "float64"]


class TransEQ(nn.Module):
    """The paper's model: encode the transformed training facts, then score facts of any arity.

    Args:
        graph: The transformed training facts.
        encoder: Made for this graph.
        decoder: Any.
        precision: Of weights and products; bfloat16 concerns products alone.
        roles: Of the training facts: entities without a fact get stand-ins once training is over.
            None: they keep their own vectors, which have only ever been negatives.
        by_role: A stand-in for each role, or the mean of all entities for every slot.
        strangers: The share of known entities for which training puts the stand-in of their role,
            so that it learns what little a role says.
    """

    def __init__(
        self,
        graph: KG,
        *,
        encoder: Encoder,
        decoder: Decoder,
        precision: Precision = "float32",
        roles: Roles | None = None,
        by_role: bool = True,
        strangers: float = 0.0,
    ) -> None:
        super().__init__()
        self.graph, self.precision = graph, precision
        self.roles, self.by_role, self.strangers = roles, by_role, strangers
        self.encoder, self.decoder = encoder, decoder
        self.to(torch.float64 if precision == "float64" else torch.float32)

    def encode(
        self,
        *,
        keep: Tensor | None = None,
        generator: torch.Generator | None = None,
        coordinates: Tensor | None = None,
    ) -> Representations:
        """Vectors of entities and relations; mediators have served and are gone.

        Args:
            keep: Which edges exist; None: all.  # (edges,) bool
            generator: Source of dropout; None: no dropout.
            coordinates: Which are wanted; None: all.  # (kept,)
        """
        with self._products():
            z: Representations = self.encoder(
                keep=keep, generator=generator, coordinates=coordinates
            )
        if self.roles is None:
            return z
        if self.training:
            return self.roles.introduce(z) if self.strangers else z
        z = self.roles.complete(z)
        return z if self.by_role else replace(z, stand_ins=None)

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

    def estranged(self, facts: FactBatch, generator: torch.Generator | None) -> FactBatch:
        """The same facts, some of their entities taken for strangers; None: nobody."""
        if not self.strangers or generator is None:
            return facts
        drawn = torch.rand(facts.entities.shape, generator=generator)
        return replace(facts, strangers=drawn < self.strangers)

    def keep_without(self, facts: Array) -> Tensor:  # (edges,) bool
        """Edges that remain when these facts are not known; shared edges stay."""
        keep = np.ones(len(self.graph), dtype=bool)
        keep[self.graph.edges_only_of(facts)] = False
        return torch.from_numpy(keep)

    def mediators(self) -> Tensor | None:  # (mediators, dim)
        """The vectors that enter the encoder for mediators; None where it has none."""
        nodes = getattr(self.encoder, "nodes", None)
        if nodes is None or not self.graph.num_mediators:
            return None
        with torch.no_grad():
            vectors: Tensor = nodes.mediators()
        return vectors

    def _products(self) -> AbstractContextManager[object]:
        """Matrix products in bfloat16 where asked for; sums stay in float32."""
        if self.precision != "bfloat16":
            return nullcontext()
        device = next(self.parameters()).device.type
        return torch.autocast(device, dtype=torch.bfloat16)

"""NeuInfer: is the triple valid, and is each qualifier compatible with it (ACL 2020)."""

from typing import NamedTuple

import torch
from pydantic import Field
from torch import Tensor, nn

from hyperfact.config import Section
from hyperfact.graph.batches import FactBatch
from hyperfact.graph.role_index import VALUE
from hyperfact.models.decoders.kindwise import Kindwise, asked_part
from hyperfact.models.model_card import Card
from hyperfact.models.noise import dropout
from hyperfact.models.representations import Representations, rows_of

_NONE = float("inf")  # what a qualifier that does not exist brings to a minimum


class NeuInferSettings(Section):
    """Options of `neuinfer`."""

    validity: int = Field(default=150, ge=1, description="units that judge the triple")
    compatibility: int = Field(default=1000, ge=1, description="units that judge qualifiers")
    share: float = Field(
        default=0.3, gt=0.0, lt=1.0, description="of validity in the score of a qualified fact"
    )
    dropout: float = Field(
        default=0.1, ge=0.0, lt=1.0, description="on the vectors of the known part"
    )


class Known(NamedTuple):
    """What a question brings to both networks, before ReLU."""

    triple: Tensor  # (batch, validity) without who is asked
    fixed: Tensor  # (batch, compatibility) of the other qualifiers, where a value is asked
    open: Tensor  # (batch, compatibility) without who is asked
    shares: Tensor  # (batch, 2) of validity and compatibility


class NeuInfer(Kindwise):
    """phi(x) = w val + (1 - w) comp, or val where there is no qualifier.

    val = u · ReLU(V [s; r; o] + b), comp = u' · min_i ReLU(W [s; r; o; a_i; v_i] + b'). The minimum
    is taken before s, r and o are added, which is the same: ReLU keeps the order and the sum is
    that of every qualifier.

    The published model mixes the probabilities sigmoid(val) and sigmoid(comp); for a softmax over
    candidates the logits are mixed. Its second layer of V, for one dataset, and its last biases,
    which change no rank, are left out; dropout is new.
    """

    Settings = NeuInferSettings
    settings: NeuInferSettings
    negatives = 50
    card = Card(
        title="NeuInfer",
        year=2020,
        reference="Guan, Jin, Guo, Wang, Cheng: NeuInfer: knowledge inference on n-ary facts, "
        "ACL 2020",
        cost="O(m G d) for G units, O(G d) for each candidate",
        qualifiers="each is judged together with the triple; the weakest counts",
    )

    def prepare(self, generator: torch.Generator) -> None:
        """Maps V and W by rows, their biases, and the two last linear units."""
        valid, compatible = self.settings.validity, self.settings.compatibility
        self.valid_maps = self._normal((3, self.dim, valid), self.dim**-0.5, generator)
        self.maps = self._normal((5, self.dim, compatible), self.dim**-0.5, generator)
        self.valid_bias = nn.Parameter(torch.zeros(valid))
        self.bias = nn.Parameter(torch.zeros(compatible))
        self.valid_weight = self._normal((valid,), 2 * valid**-0.5, generator)
        self.weight = self._normal((compatible,), 2 * compatible**-0.5, generator)

    @property
    def width(self) -> int:
        """Units of both networks."""
        return self.settings.validity + self.settings.compatibility

    def known(
        self, facts: FactBatch, slots: Tensor, z: Representations, generator: torch.Generator | None
    ) -> Known:
        """Sums over all rows but the asked one, and the weakest of the qualifiers."""
        p, known = self.settings.dropout, facts.known(slots)
        e = dropout(z.vectors(facts, slots), p, generator) / self.scale
        r = dropout(rows_of(z.relations, facts.relations), p, generator) / self.scale
        given = torch.where(known[:, :, None], e, 0.0)
        rows = torch.stack([given[:, 0], r[:, 0], given[:, 1]])  # (3, batch, dim)
        triple = torch.bmm(rows, self.valid_maps).sum(dim=0) + self.valid_bias
        base = torch.bmm(rows, self.maps[:3]).sum(dim=0) + self.bias
        pairs = r[:, 1:] @ self.maps[3] + given[:, 2:] @ self.maps[4]  # (batch, qualifiers, G)
        none = torch.full_like(base[:, None], _NONE)
        rest = torch.cat([torch.where(known[:, 2:, None], pairs, _NONE), none], dim=1).amin(dim=1)
        own = asked_part(torch.cat([pairs, none], dim=1), slots)
        asked_value = (slots >= VALUE)[:, None]
        qualified = facts.mask[:, 2:].any(dim=1, keepdim=True)  # (batch, 1)
        comp = (1 - self.settings.share) * qualified.to(base.dtype)
        ours = torch.where(asked_value, own, rest)
        return Known(
            triple,
            base + rest,
            base + torch.where(qualified, ours, 0.0),
            torch.cat([1 - comp, comp], dim=1),
        )

    def candidates(self, kind: int, known: Known, entities: Tensor) -> Tensor:  # (…, k, width)
        """What they add to the units: of compatibility, and of validity."""
        del known
        row = (0, 2, 4)[kind]
        maps = [self.maps[row]] if kind == VALUE else [self.maps[row], self.valid_maps[row]]
        return (entities / self.scale) @ torch.cat(maps, dim=1)

    def judge(self, kind: int, known: Known, candidates: Tensor) -> Tensor:  # (batch, k)
        """Validity and compatibility by their shares."""
        size = self.settings.compatibility
        units, triple = known.open[:, None] + candidates[..., :size], known.triple[:, None]
        if kind == VALUE:
            units = torch.minimum(units, known.fixed[:, None])
        else:
            triple = triple + candidates[..., size:]
        valid = _unit(triple, self.valid_weight)  # (batch, k or 1)
        return known.shares[:, :1] * valid + known.shares[:, 1:] * _unit(units, self.weight)

    def _normal(
        self, shape: tuple[int, ...], spread: float, generator: torch.Generator
    ) -> nn.Parameter:
        return nn.Parameter(torch.empty(shape).normal_(0.0, spread, generator=generator))


def _unit(sums: Tensor, weight: Tensor) -> Tensor:  # (batch, k)
    """The last linear unit."""
    return (torch.relu(sums).flatten(0, 1) @ weight).view(sums.shape[:2])

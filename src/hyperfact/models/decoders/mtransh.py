"""m-TransH: a weighted sum of projected entities and a translation must vanish (IJCAI 2016)."""

import math
from typing import Any, Literal, NamedTuple

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from hyperfact.config import Section
from hyperfact.graph.batches import FactBatch
from hyperfact.models.decoders.decoder import (
    ALL,
    Decoder,
    even_products,
    pool,
)
from hyperfact.models.model_card import Card
from hyperfact.models.noise import dropout
from hyperfact.models.representations import Representations, rows_of


class MTransHSettings(Section):
    """Options of `mtransh`."""

    pooling: Literal["mean", "sum"] = Field(
        default="mean", description="varphi over the primary relation and the attributes"
    )
    dropout: float = Field(
        default=0.1, ge=0.0, lt=1.0, description="on the vectors of the known part"
    )


class _AddSquares(torch.autograd.Function):
    """x + y², with one product for the gradient where autograd takes two and their sum."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor) -> Tensor:
        ctx.save_for_backward(y)
        return torch.addcmul(x, y, y)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor, Tensor]:
        return slope, (slope * ctx.saved_tensors[0]).mul_(2)


class Known(NamedTuple):
    """What a question says: u = t + sum of the known slots, and how the missing one enters."""

    sum: Tensor  # (batch, dim)
    normal: Tensor  # (batch, dim) of unit length
    weight: Tensor  # (batch,) c of the asked slot


class MTransH(Decoder):
    """phi(x) = -tau D², D = || t + sum_p c_p P e_p ||, P e = e - (e · nu) nu.

    t and nu are linear in varphi(h_r, h_a1, …), nu of unit length. The weight c of a slot depends
    on its role: on h_r for subject (about 1) and object (about -1), on h_a for a value. Entities
    are scaled to about unit length; the temperature tau is learned.
    """

    Settings = MTransHSettings
    settings: MTransHSettings
    card = Card(
        title="m-TransH",
        year=2016,
        reference="Wen, Li, Mao, Chen, Zhang: On the representation and embedding of knowledge "
        "bases beyond binary relations, IJCAI 2016",
        cost="O(m d + d²), two matrix products for all candidates",
        qualifiers="a term of the weighted sum for each value, its weight by the attribute",
        is_expressive=False,
    )

    def prepare(self, generator: torch.Generator) -> None:
        """Maps to translation, normal and weights of roles."""
        dim = self.dim
        self.translation, self.normal = (
            nn.Parameter(
                torch.empty(dim, dim).normal_(0.0, 1.0 / math.sqrt(dim), generator=generator)
            )
            for _ in range(2)
        )
        roles = torch.empty(dim, 3).normal_(0.0, 0.1 / math.sqrt(dim), generator=generator)
        self.roles = nn.Parameter(roles)
        self.role_bias = nn.Parameter(torch.tensor([1.0, -1.0, 0.5]))
        self.log_temperature = nn.Parameter(torch.tensor(math.sqrt(dim) / 2).log())

    def score(
        self,
        facts: FactBatch,
        slots: Tensor,
        z: Representations,
        *,
        generator: torch.Generator | None = None,
    ) -> Tensor:  # (batch,)
        """-tau times the squared distance."""
        known = self._known(facts, slots, z, generator)
        answers = rows_of(z.entities, facts.answers(slots))
        e = answers / self._unit  # (batch, dim)
        projected = e - (e * known.normal).sum(dim=1, keepdim=True) * known.normal
        distance = known.sum + known.weight[:, None] * projected
        return -self.log_temperature.exp() * distance.square().sum(dim=1)

    def score_slot(
        self,
        facts: FactBatch,
        slots: Tensor,
        z: Representations,
        *,
        candidates: slice = ALL,
        generator: torch.Generator | None = None,
    ) -> Tensor:  # (batch, candidates)
        """D² = ||u||² + 2 c (P u) · e + c² (||e||² - (nu · e)²): two matrix products.

        All but the last term is linear in e, ||e||² and 1.
        """
        u, normal, c = self._known(facts, slots, z, generator)
        table = z.entities[candidates] / self._unit
        flat = u - (u * normal).sum(dim=1, keepdim=True) * normal
        tau, c = self.log_temperature.exp(), c[:, None]
        lengths = table.square().sum(dim=1, keepdim=True)
        columns = torch.cat([table, lengths, torch.ones_like(lengths)], dim=1)
        rest = torch.cat([2 * c * flat, c.square(), u.square().sum(dim=1, keepdim=True)], dim=1)
        along = even_products(tau.sqrt() * c * normal, table)  # (batch, candidates)
        scores: Tensor = _AddSquares.apply(even_products(-tau * rest, columns), along)  # type: ignore[no-untyped-call]
        return scores

    @property
    def _unit(self) -> float:
        return self.scale * math.sqrt(self.dim)

    def _known(
        self, facts: FactBatch, slots: Tensor, z: Representations, generator: torch.Generator | None
    ) -> Known:
        p = self.settings.dropout
        relation = dropout(pool(facts, z, self.settings.pooling), p, generator) / self._unit
        normal = functional.normalize(relation @ self.normal, dim=1)
        c = self._weights(facts, z)  # (batch, slots)
        e = dropout(z.vectors(facts, slots), p, generator) / self._unit
        weighted = torch.where(facts.known(slots), c, 0.0)[:, :, None] * e
        total = weighted.sum(dim=1)  # (batch, dim)
        flat = total - (total * normal).sum(dim=1, keepdim=True) * normal
        asked = c.gather(1, slots[:, None])[:, 0]
        return Known(relation @ self.translation + flat, normal, asked)

    def _weights(self, facts: FactBatch, z: Representations) -> Tensor:  # (batch, slots)
        """The weight c of each slot by its role; padded slots get what the mask removes later."""
        relations = rows_of(z.relations, facts.relations) / self.scale  # (batch, slots - 1, dim)
        linear = relations @ self.roles + self.role_bias  # (batch, slots - 1, 3)
        return torch.cat([linear[:, 0, :2], linear[:, 1:, 2]], dim=1)

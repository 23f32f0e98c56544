"""A decoder of one's own: every role has its map, every value is read through its attribute."""

import torch

from hyperfact.config import Section
from hyperfact.models.decoders.decoder import ALL, Decoder, LinearForm
from hyperfact.models.noise import dropout
from hyperfact.models.representations import rows_of


class Roles(Decoder):
    """phi(x) = <h_r, S h_s, O h_o, 1 + h_a1 * V h_v1, 1 + h_a2 * V h_v2, …>."""

    Settings = Section

    def prepare(self, generator):
        """Make the maps S, O and V."""
        noise = torch.randn(3, self.dim, self.dim, generator=generator) / self.dim**0.5
        self.maps = torch.nn.Parameter(torch.eye(self.dim) + 0.1 * noise)

    def score(self, facts, slots, z, *, generator=None):
        """The plausibility of each fact."""  # (batch,)
        known, constant = self._known(facts, slots, z, generator)
        return (known * rows_of(z.entities, facts.answers(slots))).sum(dim=1) + constant

    def linear_form(self, facts, slots, z, *, candidates=ALL, generator=None):
        """The same for every candidate, in one matrix product."""
        known, constant = self._known(facts, slots, z, generator)
        return LinearForm(known, z.entities[candidates], constant=constant)

    def _known(self, facts, slots, z, generator):
        role = torch.arange(facts.entities.shape[1]).clamp(max=2)  # subject, object, value …
        e = dropout(z.vectors(facts, slots) / self.scale, 0.2, generator)  # (batch, slots, dim)
        r, a = (rows_of(z.relations, facts.relations) / self.scale).tensor_split([1], dim=1)
        weights = torch.cat([r / self.dim**0.5, torch.ones_like(r), 0.3 * a], dim=1)
        factors = weights * torch.einsum("bsd,sde->bse", e, self.maps[role]) + (role == 2)[:, None]
        others = torch.where(facts.known(slots)[:, :, None], factors, 1.0).prod(dim=1)
        known = others * weights.take_along_dim(slots[:, None, None], dim=1)[:, 0] / self.scale
        query = torch.einsum("be,kde->bkd", known, self.maps)[torch.arange(len(slots)), role[slots]]
        return query, others.sum(dim=1) * (slots >= 2)

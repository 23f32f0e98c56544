"""S2S: vectors in segments, joined by a sparse core of signs that is searched for (WWW 2021)."""

from collections.abc import Mapping

import torch
from pydantic import Field
from torch import Tensor

from hyperfact.errors import ConfigError
from hyperfact.graph.batches import FactBatch
from hyperfact.models.decoders.asng import Signs
from hyperfact.models.decoders.decoder import (
    ALL,
    Decoder,
    LinearForm,
    ProductSettings,
    pool,
    product,
    units,
)
from hyperfact.models.model_card import Card
from hyperfact.models.noise import dropout
from hyperfact.models.representations import Representations, rows_of

_TEXT = "-0+"


class S2SSettings(ProductSettings):
    """Options of `s2s`."""

    segments: int = Field(default=4, ge=1, description="number K of segments; must divide d")
    core: str = Field(
        default="searched",
        description="searched, diagonal (m-DistMult), complex (ComplEx), or the signs as text: "
        "K³ + K² of - 0 +",
    )
    search_steps: int = Field(
        default=600, ge=0, description="steps of training that search the core (core = searched)"
    )

    def unused(self) -> Mapping[str, str]:
        """A core that is given is not searched."""
        return {} if self.core == "searched" else {"search_steps": "core = searched"}


class S2S(Decoder):
    """phi(x) = sum z[k, l, m] < q^k, h_s^l, h_o^m >, q^k = varphi^k prod_i sum_j y[k, j] h_vi^j.

    x^1, …, x^K are the segments of a vector, varphi pools relation and attributes, and the signs
    z and y are -1, 0 or 1. The published core has K^(n + 1) signs for facts of arity n, each arity
    its own, and code for one arity at a time; here the core of every arity is made of two small
    ones, z[k, l, m] y[k, j_1] y[k, j_2] …, so that any number of qualifiers has one and their order
    does not matter. Signs are divided by the root of how many count.

    The first steps of training search: each draws two cores from the chances of every sign, moves
    the chances towards the better one (by the cross-entropy of the batch's answers among each
    other), and trains the vectors with a third. Then the likeliest core stays. It begins at the
    diagonal. Published is a new training after the search, too: give its `signs` as `core`.
    """

    Settings = S2SSettings
    settings: S2SSettings
    card = Card(
        title="S2S",
        year=2021,
        reference="Di, Yao, Chen: Searching to sparse tensor decomposition for n-ary relational "
        "data, WWW 2021",
        cost="O(m K d + K² d), one matrix product for all candidates",
        qualifiers="a factor for each value; attributes are pooled with the relation, so that "
        "pairs do not bind",
        is_expressive=False,
    )
    core: Tensor  # (K³ + K²,) the signs z, then y
    searched: Tensor  # () steps of the search so far

    def prepare(self, generator: torch.Generator) -> None:
        """The first core, and the chances of others."""
        del generator
        count = self.settings.segments
        if self.dim % count:
            raise ConfigError(f"decoder.segments = {count} must divide training.dim = {self.dim}")
        name = "diagonal" if self.settings.core == "searched" else self.settings.core
        core = core_of(name, count)
        self.register_buffer("core", core.to(torch.int8))
        self.register_buffer("searched", torch.zeros((), dtype=torch.long))
        self.chances = Signs(core) if self.settings.core == "searched" else None

    @property
    def signs(self) -> str:
        """The core as text, for the setting `core`."""
        return "".join(_TEXT[sign + 1] for sign in self.core.tolist())

    def score(
        self,
        facts: FactBatch,
        slots: Tensor,
        z: Representations,
        *,
        generator: torch.Generator | None = None,
    ) -> Tensor:  # (batch,)
        """The query against the entity that stands in the asked slot."""
        query = self._query(facts, slots, z, self.core, generator)
        return (query * rows_of(z.entities, facts.answers(slots))).sum(dim=1)

    def score_candidates(
        self,
        facts: FactBatch,
        slots: Tensor,
        z: Representations,
        *,
        candidates: Tensor,
        generator: torch.Generator | None = None,
    ) -> Tensor:  # (batch, k)
        """The query against each fact's own candidates."""
        query = self._query(facts, slots, z, self._next_core(facts, slots, z, generator), generator)
        return (query[:, None] * rows_of(z.entities, candidates)).sum(dim=2)

    def linear_form(
        self,
        facts: FactBatch,
        slots: Tensor,
        z: Representations,
        *,
        candidates: slice = ALL,
        generator: torch.Generator | None = None,
    ) -> LinearForm:
        """The core acts on the query; entities stay as they are."""
        core = self._next_core(facts, slots, z, generator)
        return LinearForm(self._query(facts, slots, z, core, generator), z.entities[candidates])

    @torch.no_grad()
    def _next_core(
        self, facts: FactBatch, slots: Tensor, z: Representations, generator: torch.Generator | None
    ) -> Tensor:  # (K³ + K²,)
        """The core of this call; a step of training that searches learns and draws one."""
        is_over = int(self.searched) >= self.settings.search_steps
        if self.chances is None or is_over or generator is None or not self.training:
            return self.core
        answers = facts.answers(slots)
        table, target = rows_of(z.entities, answers), torch.arange(len(answers))
        tried = [self.chances.draw(generator) for _ in range(2)]
        losses = [
            float(torch.nn.functional.cross_entropy(query @ table.T, target.to(query.device)))
            for query in (self._query(facts, slots, z, core, None) for core in tried)
        ]
        if losses[0] != losses[1]:
            better, worse = tried if losses[0] < losses[1] else reversed(tried)
            self.chances.learn(better, worse)
        self.searched.add_(1)
        self.core.copy_(self.chances.likeliest())
        is_over = int(self.searched) >= self.settings.search_steps
        return self.core if is_over else self.chances.draw(generator)

    def _query(
        self,
        facts: FactBatch,
        slots: Tensor,
        z: Representations,
        core: Tensor,
        generator: torch.Generator | None,
    ) -> Tensor:  # (batch, dim)
        p, count = self.settings.dropout, self.settings.segments
        unit, constant = units(self, normalise=self.settings.normalise)
        primary, side = cores(core, count, z.entities.dtype)
        vectors = dropout(z.vectors(facts, slots) / unit, p, generator)
        vectors = vectors.reshape(*vectors.shape[:2], count, -1)  # (batch, slots, K, k)
        relation = dropout(pool(facts, z, self.settings.pooling) / constant, p, generator)
        first, second = vectors[:, 0], vectors[:, 1]
        values = torch.einsum("bvjc,ij->bvic", vectors[:, 2:], side)
        values = torch.where(facts.known(slots)[:, 2:, None, None], values, 1.0)
        pooled = relation.view(len(relation), 1, count, -1)  # (batch, 1, K, k)
        joined = product(torch.cat([pooled, values], dim=1))
        open_core = torch.einsum("ilm,bic->blmc", primary, joined)  # (batch, K, K, k)
        ends = torch.einsum("ilm,blmc->bic", primary, first[:, :, None] * second[:, None])
        answers = (
            (open_core * second[:, None]).sum(dim=2),
            (open_core * first[:, :, None]).sum(dim=1),
            torch.einsum("bic,ij->bjc", joined * ends, side),
        )
        role = slots[:, None, None]
        query = torch.where(role == 0, answers[0], torch.where(role == 1, answers[1], answers[2]))
        return dropout(query.flatten(1) / unit, self.settings.query_dropout, generator)


def cores(core: Tensor, count: int, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Z (K, K, K) and y (K, K) as numbers whose sums keep the size of what they add up."""
    primary, side = (part.to(dtype) for part in torch.split(core, [count**3, count**2]))
    primary, side = primary.view(count, count, count), side.view(count, count)
    size = (primary.abs().sum() / count).clamp(min=1.0).sqrt()
    return primary / size, side / side.abs().sum(dim=1, keepdim=True).clamp(min=1.0).sqrt()


def core_of(name: str, count: int) -> Tensor:  # (K³ + K²,)
    """The signs of a core that is named, or given as text.

    Raises:
        ConfigError: Another name, other signs, or not as many as there are segments for.
    """
    if name == "diagonal":
        primary = torch.tensor(
            [int(k == m == n) for k in range(count) for m in range(count) for n in range(count)]
        )
    elif name == "complex" and count % 2 == 0:
        primary = complex_signs(count)
    elif set(name) <= set(_TEXT) and len(name) == count**3 + count**2:
        return torch.tensor([_TEXT.index(sign) - 1 for sign in name])
    else:
        raise ConfigError(
            f"decoder.core = {name!r}: expected searched, diagonal, complex (with an even number "
            f"of segments) or {count**3 + count**2} signs - 0 + for {count} segments"
        )
    return torch.cat([primary, torch.eye(count, dtype=torch.long).flatten()])


def complex_signs(count: int) -> Tensor:  # (K³,)
    """Re(r s conj(o)), segments being real parts and imaginary ones by turns."""
    primary = torch.zeros(count, count, count, dtype=torch.long)
    for pair in range(0, count, 2):
        for k, m, n in ((0, 0, 0), (1, 0, 1), (0, 1, 1), (1, 1, 0)):
            primary[pair + k, pair + m, pair + n] = -1 if (k, m) == (1, 1) else 1
    return primary.flatten()

"""HCNet: messages through the facts of a graph, given the question (TMLR 2025)."""

from contextlib import AbstractContextManager, nullcontext

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from hyperfact.config import Section
from hyperfact.errors import ConfigError
from hyperfact.graph.batches import FactBatch
from hyperfact.kernels.listening import hear_others
from hyperfact.models.decoders.decoder import ALL, Decoder, score_of_answer
from hyperfact.models.decoders.reach import Reach
from hyperfact.models.model_card import Card
from hyperfact.models.noise import dropout
from hyperfact.models.representations import Representations, rows_of

_QUESTIONS = 32  # asked at once: their states exist side by side


class HCNetSettings(Section):
    """Options of `hcnet`."""

    layers: int = Field(default=3, ge=1, le=12, description="steps that messages go")
    dropout: float = Field(default=0.2, ge=0.0, lt=1.0, description="in each step, on what is new")


class HCNet(Decoder):
    """h_v^0 = sum over known slots j with e_j = v of (p_j + q); 0 for everybody else.

    m_v = sum over facts f of v of g_r * prod over the other members j of (a h_j + (1 - a) p_j)
    h_v' = h_v + ReLU(LN(W [m_v; h_v] + b))
    score(v) = MLP([h_v; q])

    q is the sum of the vector of the relation and of p of the asked role. Published is q of the
    relation alone, p_j by the number of the position and g_r free in each layer; here p belongs to
    the role (subject, object, or a map of the attribute's vector) and g is a map of the relation's
    vector, so that there is no largest arity and an encoder may give vectors of new relations.
    Products stay within 1e9, which only facts with dozens of members reach. Published are ten
    negatives with self-adversarial weights (`objective.adversarial`); one softmax over more of them
    is the default here.
    """

    Settings = HCNetSettings
    settings: HCNetSettings
    reads_facts = True
    negatives = 128
    card = Card(
        title="HCNet",
        year=2025,
        reference="Huang et al.: Link prediction with relational hypergraphs, TMLR 2025",
        cost="O(L (M d + V d²)) for each question, with M members of the facts near it",
        qualifiers="members like subject and object, each with a vector of its attribute",
    )

    def prepare(self, generator: torch.Generator) -> None:
        """Roles, layers and the readout."""
        dim = self.dim
        self.roles = nn.Parameter(torch.empty(2, dim).normal_(0.0, 1.0, generator=generator))
        self.attributes = _linear(dim, dim, generator, bias=False)
        self.layers = nn.ModuleList(
            Layer(dim, self.settings.dropout, generator) for _ in range(self.settings.layers)
        )
        self.hidden = _linear(2 * dim, 2 * dim, generator)
        self.output = _linear(2 * dim, 1, generator)

    score = score_of_answer

    def score_candidates(
        self,
        facts: FactBatch,
        slots: Tensor,
        z: Representations,
        *,
        candidates: Tensor,
        generator: torch.Generator | None = None,
    ) -> Tensor:  # (batch, k)
        """The readout of each question's own candidates."""
        parts = torch.split(torch.arange(len(facts), device=z.device), _QUESTIONS)
        with _in_full(z.device):
            found = [
                self._score(_take(facts, rows), slots[rows], z, candidates[rows], generator)
                for rows in parts
            ]
        return torch.cat(found) if found else z.relations.new_zeros(candidates.shape)

    def _score(
        self,
        facts: FactBatch,
        slots: Tensor,
        z: Representations,
        candidates: Tensor,
        generator: torch.Generator | None,
    ) -> Tensor:  # (batch, k)
        """The same for as many questions as are asked at once."""
        q, h, reach = self.states(facts, slots, z, candidates, generator)
        rows = reach.last.rows(np.arange(len(candidates))[:, None], candidates.cpu().numpy())
        return self._read(rows_of(h, torch.from_numpy(rows).to(h.device)), q[:, None])

    def score_slot(
        self,
        facts: FactBatch,
        slots: Tensor,
        z: Representations,
        *,
        candidates: slice = ALL,
        generator: torch.Generator | None = None,
    ) -> Tensor:  # (batch, candidates)
        """The readout of all."""
        ids = torch.arange(len(z.entities), device=z.device)[candidates].expand(len(facts), -1)
        return self.score_candidates(facts, slots, z, candidates=ids, generator=generator)

    def states(
        self,
        facts: FactBatch,
        slots: Tensor,
        z: Representations,
        candidates: Tensor,
        generator: torch.Generator | None,
    ) -> tuple[Tensor, Tensor, Reach]:
        """Q of each question, the last states, and whose each row of them is."""
        if z.facts is None:
            raise ConfigError("this decoder reads the facts of a graph, and was given none")
        relations = z.relations / self.scale
        roles = torch.cat([self.roles, self.attributes(relations)])  # (2 + relations, dim)
        of_slots, known = _roles(facts), facts.known(slots)
        asked = of_slots.gather(1, slots[:, None])[:, 0]
        q = rows_of(relations, facts.relations[:, 0]) + rows_of(roles, asked)
        who, place = known.nonzero(as_tuple=True)
        given = who.cpu().numpy(), facts.entities[who, place].cpu().numpy()
        reach = Reach.of(
            z.facts.neighbours(), given, candidates.cpu().numpy(), steps=len(self.layers)
        )
        first = rows_of(roles, of_slots[who, place]) + rows_of(q, who)
        h = q.new_zeros(len(reach.first), self.dim)
        rows = torch.from_numpy(reach.first.rows(*given)).to(h.device)
        h = h.index_add(0, rows, first)
        for step, layer in enumerate(self.layers):
            h = layer(h, relations, roles, reach=reach, step=step, generator=generator)
        return q, h, reach

    def _read(self, vectors: Tensor, q: Tensor) -> Tensor:  # (batch, k)
        """MLP([h; q]), the parts of its first matrix apart."""
        own, asked = torch.split(self.hidden.weight, self.dim, dim=1)
        inner = functional.relu(vectors @ own.T + (q @ asked.T + self.hidden.bias))
        scores: Tensor = self.output(inner)[..., 0]
        return scores


class Layer(nn.Module):
    """One step of messages."""

    def __init__(self, dim: int, dropout: float, generator: torch.Generator) -> None:
        super().__init__()
        self.dropout = dropout
        self.share = nn.Parameter(torch.tensor(0.5))  # a
        self.gate = _linear(dim, dim, generator, bias=False)
        self.update = _linear(2 * dim, dim, generator)
        self.norm = nn.LayerNorm(dim)

    def forward(
        self,
        h: Tensor,  # (rows, dim) after the step before
        relations: Tensor,  # (relations, dim)
        roles: Tensor,  # (roles, dim)
        *,
        reach: Reach,
        step: int,
        generator: torch.Generator | None,
    ) -> Tensor:  # (rows of the next state, dim)
        """States after this step."""
        before, after = reach.states[step : step + 2]
        heard = hear_others(
            self.share * h,
            self.gate(relations),
            (1.0 - self.share) * roles,
            around=reach.around,
            listeners=after.hearing(before),
        )
        own = torch.from_numpy(before.rows(after.question, after.node)).to(h.device)
        h = rows_of(h, own)
        update = dropout(self.update(torch.cat([heard, h], dim=1)), self.dropout, generator)
        return h + functional.relu(self.norm(update))


def _in_full(device: torch.device) -> AbstractContextManager[object]:
    """Products in the dtype of the weights: sums over many facts need the bits."""
    cuts = device.type in ("cpu", "cuda")  # where bfloat16 may have been asked for
    return torch.autocast(device.type, enabled=False) if cuts else nullcontext()


def _linear(
    inputs: int, outputs: int, generator: torch.Generator, *, bias: bool = True
) -> nn.Linear:
    layer = nn.Linear(inputs, outputs, bias=bias, device="meta").to_empty(device="cpu")
    nn.init.xavier_uniform_(layer.weight, generator=generator)
    if bias:
        nn.init.zeros_(layer.bias)
    return layer


def _roles(facts: FactBatch) -> Tensor:  # (batch, slots)
    """Subject, object, 2 + attribute."""
    first = torch.arange(2, device=facts.relations.device).expand(len(facts), 2)
    return torch.cat([first, 2 + facts.relations[:, 1:]], dim=1)


def _take(facts: FactBatch, rows: Tensor) -> FactBatch:
    return facts.each(lambda part: part[rows])

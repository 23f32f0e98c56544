"""Decoders that read a fact as tokens, against their formulas written out token by token."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from hyperfact.graph.batches import FactBatch
from hyperfact.graph.hkg import HKG
from hyperfact.graph.queries import Queries
from hyperfact.models.decoders import DECODERS
from hyperfact.models.decoders.attention import Block
from hyperfact.models.decoders.decoder import Decoder
from hyperfact.models.decoders.packing import Packing
from hyperfact.models.representations import Representations
from tests.support.models import SMALL, representations, toy

DIM, HEADS, SCALE = 8, 2, 0.3
WIDTH = DIM // HEADS
SUBJECT, OBJECT, VALUE, RELATION, ATTRIBUTE = range(5)
relu, gelu = torch.relu, torch.nn.functional.gelu
NAMES = ["gran", "hynt", "hytransformer", "stare_transformer", "transformer"]
Edge = Callable[[int, int], tuple[Tensor, Tensor]]


def decoder_of(name: str, graph: HKG, **settings: Any) -> Decoder:
    generator = torch.Generator().manual_seed(0)
    kind = DECODERS[name]
    decoder = kind(
        dim=DIM,
        num_entities=len(graph.entities),
        scale=SCALE,
        settings=kind.Settings(**(SMALL[name] | settings)),
        generator=generator,
    ).double()
    with torch.no_grad():  # biases start at 0 and norms at 1, which would hide mistakes
        for parameter in decoder.parameters():
            parameter.add_(0.2 * torch.randn(parameter.shape, generator=generator).double())
    return decoder


def none(_i: int, _j: int) -> tuple[Tensor, Tensor]:
    return torch.zeros(WIDTH).double(), torch.zeros(WIDTH).double()


def block(b: Any, tokens: list[Tensor], activation: Any, edge: Edge = none) -> list[Tensor]:
    """One block, head by head and token by token."""
    parts = [(b.qkv.weight @ x + b.qkv.bias).view(3, HEADS, WIDTH) for x in tokens]
    found = []
    for i, x in enumerate(tokens):
        heads = []
        for h in range(HEADS):
            q = parts[i][0, h]
            logits = [float(q @ (p[1, h] + edge(i, j)[0])) for j, p in enumerate(parts)]
            exps = [math.exp(s / math.sqrt(WIDTH)) for s in logits]
            values = [p[2, h] + edge(i, j)[1] for j, p in enumerate(parts)]
            mix = sum(w * v for w, v in zip(exps, values, strict=True))
            heads.append(torch.as_tensor(mix) / sum(exps))
        x = norm(b.norm_1, x + b.out.weight @ torch.cat(heads) + b.out.bias)
        inner = activation(b.inner.weight @ x + b.inner.bias)
        found.append(norm(b.norm_2, x + b.outer.weight @ inner + b.outer.bias))
    return found


def norm(layer: Any, x: Tensor) -> Any:
    centred = x - x.mean()
    return layer.weight * centred / torch.sqrt(centred.square().mean() + layer.eps) + layer.bias


def elements(graph: HKG, row: int, slot: int, z: Representations) -> Any:
    """Vectors of subject, object, relation and pairs; None in the asked slot."""
    c = graph.columns
    entities = [c.subject[row], c.object[row], *c.values[c.offsets[row] : c.offsets[row + 1]]]
    s, o, *values = (None if i == slot else z.entities[e] for i, e in enumerate(entities))
    attributes = [z.relations[a] for a in c.attributes[c.offsets[row] : c.offsets[row + 1]]]
    pairs = list(zip(attributes, values, strict=True))
    return s, o, z.relations[c.relation[row]], pairs, int(entities[slot])


def gran(d: Any, graph: HKG, row: int, slot: int, z: Representations) -> float:
    """Vertices in the order of the paper: r, s, o, attributes, values."""
    s, o, r, pairs, answer = elements(graph, row, slot, z)
    n = len(pairs)
    raw = [r, s, o, *(a for a, _ in pairs), *(v for _, v in pairs)]
    x = [norm(d.norm, d.hole if e is None else e) for e in raw]

    def edge(i: int, j: int) -> tuple[Tensor, Tensor]:
        i, j = sorted((i, j))
        label = 0
        if i == 0 and j in (1, 2):
            label = j
        elif i == 0 and 3 <= j < 3 + n:
            label = 3
        elif 3 <= i < 3 + n and j == i + n:
            label = 4
        if not label or d.settings.edges == "complete":
            return none(i, j)
        place = 0 if d.settings.edges == "homo" else label - 1
        return d.edge_keys[place], d.edge_values[place]

    for b in d.blocks:
        x = block(b, x, gelu, edge)
    hole = next(i for i, e in enumerate(raw) if e is None)
    y = norm(d.output_norm, gelu(d.output.weight @ x[hole] + d.output.bias))
    return float(y @ z.entities[answer] / SCALE / math.sqrt(DIM) + d.entity_bias[answer])


def hytransformer(d: Any, graph: HKG, row: int, slot: int, z: Representations) -> float:
    s, o, r, pairs, answer = elements(graph, row, slot, z)

    def entity(e: Tensor | None, role: int) -> Any:
        return (d.hole if e is None else norm(d.entity_norm, e)) + d.roles[role]

    x = [entity(s, SUBJECT), norm(d.relation_norm, r) + d.roles[RELATION], entity(o, OBJECT)]
    for a, v in pairs:
        attribute = norm(d.relation_norm, a)
        carried = attribute if getattr(d.settings, "bind", True) else 0.0
        x += [attribute + d.roles[ATTRIBUTE], entity(v, VALUE) + carried]
    for b in d.blocks:
        x = block(b, x, relu)
    hole = {0: 0, 1: 2}.get(slot, 4 + 2 * (slot - 2))
    query = d.output.weight @ x[hole] + d.output.bias
    return float(query @ norm(d.entity_norm, z.entities[answer])) / math.sqrt(DIM)


def transformer(d: Any, graph: HKG, row: int, slot: int, z: Representations) -> float:
    """The same, with a bias for each entity."""
    answer = elements(graph, row, slot, z)[-1]
    return hytransformer(d, graph, row, slot, z) + float(d.entity_bias[answer])


def stare_transformer(d: Any, graph: HKG, row: int, slot: int, z: Representations) -> float:
    s, o, r, pairs, answer = elements(graph, row, slot, z)
    asks = d.questions[slot] if slot < 2 else 0.0
    x = [r / SCALE + d.roles[RELATION] + asks]
    x += [s / SCALE + d.roles[SUBJECT]] if s is not None else []
    x += [o / SCALE + d.roles[OBJECT]] if o is not None else []
    for a, v in pairs:
        x.append(a / SCALE + d.roles[ATTRIBUTE] + (d.questions[2] if v is None else 0.0))
        x += [(v + a) / SCALE + d.roles[VALUE]] if v is not None else []
    for b in d.blocks:
        x = block(b, x, relu)
    mean = torch.stack(x).mean(0)
    query = d.output.weight @ mean + d.output.bias
    return float(query @ z.entities[answer]) / SCALE / math.sqrt(DIM)


def hynt(d: Any, graph: HKG, row: int, slot: int, z: Representations) -> float:
    s, o, r, pairs, answer = elements(graph, row, slot, z)
    s, o = (d.hole if e is None else e / SCALE for e in (s, o))
    pairs = [(a / SCALE, d.hole if v is None else v / SCALE) for a, v in pairs]
    parts = [d.triple.weight @ torch.cat([s, r / SCALE, o]) + d.triple.bias + d.kinds[0]]
    parts += [d.pair.weight @ torch.cat(p) + d.pair.bias + d.kinds[1] for p in pairs]
    for b in d.context:
        parts = block(b, parts, relu)
    if slot < 2:
        ends = [s + d.roles[SUBJECT], o + d.roles[OBJECT]]
        x, hole = [parts[0], *ends, r / SCALE + d.roles[RELATION]], 1 + slot
    else:
        a, v = pairs[slot - 2]
        x, hole = [parts[slot - 1], a + d.roles[ATTRIBUTE], v + d.roles[VALUE]], 2
    for b in d.prediction:
        x = block(b, x, relu)
    return float(x[hole] @ z.entities[answer] / SCALE / math.sqrt(DIM) + d.entity_bias[answer])


@pytest.mark.parametrize(
    ("formula", "settings"),
    [
        (gran, {"layers": 1}),
        (gran, {"layers": 3}),
        (gran, {"edges": "homo"}),
        (gran, {"edges": "complete"}),
        (hytransformer, {}),
        (hytransformer, {"bind": False, "layers": 1}),
        (transformer, {"layers": 1}),
        (transformer, {}),
        (stare_transformer, {}),
        (hynt, {}),
        (hynt, {"layers": 2}),
    ],
)
@torch.no_grad()
def test_formula(formula: Any, settings: dict[str, Any]) -> None:
    graph = toy()
    z = representations(len(graph.entities), len(graph.relations), DIM, scale=SCALE)
    decoder = decoder_of(formula.__name__, graph, **settings)
    queries = Queries.of(graph)
    slots = torch.from_numpy(queries.slot.astype(np.int64))
    scores = decoder.score(FactBatch.of(graph, queries.fact), slots, z)
    for number, (row, slot) in enumerate(zip(queries.fact, queries.slot, strict=True)):
        expected = formula(decoder, graph, int(row), int(slot), z)
        assert float(scores[number]) == pytest.approx(expected, abs=1e-9)


def facts_of(entities: list[list[int]], relations: list[list[int]]) -> FactBatch:
    held = torch.tensor(entities)
    return FactBatch(held, torch.tensor(relations), torch.ones_like(held, dtype=torch.bool))


@torch.no_grad()
def test_gran_knows_subject_from_object_by_edges_alone() -> None:
    graph = toy()
    z = representations(len(graph.entities), len(graph.relations), DIM, scale=SCALE)
    facts = facts_of([[0, 1], [1, 0]], [[0], [0]])
    slots = torch.tensor([0, 1])
    for edges, is_told in (("hete", True), ("homo", False), ("complete", False)):
        one, other = decoder_of("gran", graph, edges=edges).score_slot(facts, slots, z)
        assert torch.allclose(one, other) is not is_told


@torch.no_grad()
def test_without_binding_a_missing_value_does_not_say_whose_it_is() -> None:
    graph = toy()
    z = representations(len(graph.entities), len(graph.relations), DIM, scale=SCALE)
    facts = facts_of([[0, 1, 5, 3], [0, 1, 3, 5]], [[0, 1, 2], [0, 1, 2]])
    slots = torch.tensor([2, 3])
    for bind in (True, False):
        one, other = decoder_of("hytransformer", graph, bind=bind).score_slot(facts, slots, z)
        assert torch.allclose(one, other) is not bind


def test_tokens_and_candidates_of_a_step_lack_the_same_coordinates() -> None:
    """Without blocks' dropout, noise of tokens is that of the table; and it is drawn once."""
    graph = toy()
    z = representations(len(graph.entities), len(graph.relations), DIM, scale=SCALE)
    decoder: Any = decoder_of("hytransformer", graph, dropout=0.0, table_dropout=0.5)
    queries = Queries.of(graph)
    facts, slots = FactBatch.of(graph, queries.fact), torch.from_numpy(queries.slot).long()
    query, noise = decoder.ask(facts, slots, z, torch.Generator().manual_seed(1))
    assert set(noise.unique().tolist()) == {0.0, 2.0}
    thin = Representations(z.entities.clone(), z.relations)
    decoder.entity_norm = Thinned(decoder.entity_norm, z.entities, noise)
    again, nothing = decoder.ask(facts, slots, thin, None)
    assert nothing is None
    assert torch.allclose(query, again)


class Thinned(nn.Module):
    """The norm of entities, times the noise of the row that a vector comes from."""

    def __init__(self, inner: nn.Module, rows: Tensor, noise: Tensor) -> None:
        super().__init__()
        self.inner, self.rows, self.noise = inner, rows, noise

    def forward(self, vectors: Tensor) -> Any:
        which = (vectors[..., None, :] == self.rows).all(-1).float().argmax(-1)
        return self.inner(vectors) * self.noise[which]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("arity", [2, 3, 5, 9])
def test_scores_start_with_a_deviation_of_about_one(name: str, arity: int) -> None:
    dim, entities = 64, 400
    kind = DECODERS[name]
    generator = torch.Generator().manual_seed(1)
    options: dict[str, Any] = {"dim": dim, "num_entities": entities, "scale": SCALE}
    decoder = kind(**options, settings=kind.Settings(), generator=generator).double()
    z = representations(entities, 12, dim, scale=SCALE)
    facts = FactBatch(
        torch.randint(entities, (64, arity), generator=generator),
        torch.randint(12, (64, arity - 1), generator=generator),
        torch.ones(64, arity, dtype=torch.bool),
    )
    for slot in (0, arity - 1):
        scores = decoder.score_slot(facts, torch.full((64,), slot), z)
        assert 0.3 < float(scores.detach().std()) < 2.5


@torch.no_grad()
def test_one_token_of_a_block_is_that_of_all() -> None:
    """The cheap way through the last block is exact."""
    graph = toy()
    decoder: Any = decoder_of("gran", graph, layers=1)
    b: Block = decoder.blocks[0]
    present = torch.tensor([[True] * 5, [True] * 3 + [False] * 2, [True] * 5])
    packing = Packing.of(present)
    assert packing.sizes == [(1, 3), (2, 5)]
    x = packing.pack(torch.randn(3, 5, DIM, generator=torch.Generator().manual_seed(1)).double())
    columns = torch.tensor([1, 2, 0])  # as packed
    every = b.packed(x, packing, None, decoder._edges())
    one = b.at(columns, x, packing, None, decoder._edges())
    assert torch.allclose(one, every[packing.starts + columns], atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_no_questions_have_no_scores(name: str) -> None:
    graph = toy()
    z = representations(len(graph.entities), len(graph.relations), DIM, scale=SCALE)
    nothing = FactBatch.of(graph, np.arange(0))
    scores = decoder_of(name, graph).score_slot(nothing, torch.zeros(0, dtype=torch.long), z)
    assert scores.shape == (0, len(graph.entities))

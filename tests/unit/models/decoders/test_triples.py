"""Scorers of triples against their formulas in plain loops, over the edges of a fact."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from hyperfact.errors import ConfigError, UserError
from hyperfact.graph.batches import FactBatch
from hyperfact.graph.hkg import HKG
from hyperfact.graph.queries import Queries
from hyperfact.models.decoders import DECODERS
from hyperfact.models.decoders.decoder import Decoder
from hyperfact.models.decoders.triple_edges import Layout
from hyperfact.models.representations import Representations
from tests.support.models import representations, toy

DIM, SCALE = 16, 0.3
UNIT = SCALE * math.sqrt(DIM)
NAMES = ("complex", "conve", "distmult", "duale", "rotate", "transe", "transh", "tucker")
Formula = Callable[[Any, Tensor, Tensor, Tensor], Any]


def decoder_of(name: str, graph: HKG, **settings: Any) -> Any:
    generator = torch.Generator().manual_seed(0)
    kind = DECODERS[name]
    decoder = kind(
        dim=DIM,
        num_entities=len(graph.entities),
        scale=SCALE,
        settings=kind.Settings(**settings),
        generator=generator,
    )
    decoder = decoder.double().eval()
    with torch.no_grad():
        for parameter in decoder.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=generator).double())
        for buffer in decoder.buffers():
            if buffer.is_floating_point():  # running statistics
                buffer.add_(torch.rand(buffer.shape, generator=generator).double())
    return decoder


def vectors(graph: HKG) -> Representations:
    return representations(len(graph.entities), len(graph.relations), DIM, scale=SCALE)


def questions(graph: HKG) -> tuple[FactBatch, Tensor]:
    queries = Queries.of(graph)
    return FactBatch.of(graph, queries.fact), torch.from_numpy(queries.slot.astype(np.int64))


def edges_at(
    decoder: Decoder, facts: FactBatch, row: int, asked: int, z: Representations
) -> Iterator[tuple[int, int, Tensor]]:
    """Source slot, target slot and relation of each edge at the asked slot, in plain loops."""
    arity = int(facts.mask[row].sum())
    places = decoder.edges.places  # type: ignore[union-attr]
    for source in range(arity):
        for target in range(arity):
            if source == target or asked not in (source, target):
                continue
            if target == 1 and source == 0:
                yield source, target, z.relations[facts.relations[row, 0]]
            elif target >= 2:
                place = places[min(source, 2)]  # type: ignore[index]
                yield source, target, z.relations[facts.relations[row, target - 1]] + place


# -- formulas of one edge: head, relation, tail as they come --------------------------------------


def distmult(_: Any, h: Tensor, r: Tensor, t: Tensor) -> Any:
    return sum(float(h[k] * r[k] * t[k]) for k in range(DIM)) / (SCALE**3 * math.sqrt(DIM))


def numbers(x: Tensor) -> list[complex]:
    half = DIM // 2
    return [complex(float(x[k]), float(x[half + k])) for k in range(half)]


def complex_(_: Any, h: Tensor, r: Tensor, t: Tensor) -> Any:
    triples = zip(numbers(h), numbers(r), numbers(t), strict=True)
    total = sum((a * b * c.conjugate()).real for a, b, c in triples)
    return total / (SCALE**3 * math.sqrt(DIM))


def rotate(decoder: Any, h: Tensor, r: Tensor, t: Tensor) -> Any:
    triples = zip(numbers(h), numbers(r), numbers(t), strict=True)
    total = sum(abs(a * (b / abs(b)) - c) for a, b, c in triples)
    return -float(decoder.log_temperature.exp()) * total / UNIT


def transe(decoder: Any, h: Tensor, r: Tensor, t: Tensor) -> Any:
    norm = decoder.settings.norm
    total = sum(abs(float(h[k] + r[k] - t[k]) / UNIT) ** norm for k in range(DIM))
    return -float(decoder.log_temperature.exp()) * total


def transh(decoder: Any, h: Tensor, r: Tensor, t: Tensor) -> Any:
    h, r, t = h / UNIT, r / UNIT, t / UNIT
    w = r @ decoder.normal
    w = w / w.norm()
    move = r @ decoder.translation
    difference = (h - (w @ h) * w) + move - (t - (w @ t) * w)
    return -float(decoder.log_temperature.exp() * (difference**2).sum())


_SIGNS = {  # i j = k and so on: (row, column) -> (sign, unit)
    **{(0, n): (1, n) for n in range(4)},
    **{(n, 0): (1, n) for n in range(4)},
    **{(n, n): (-1, 0) for n in range(1, 4)},
    **{(1, 2): (1, 3), (2, 1): (-1, 3), (2, 3): (1, 1)},
    **{(3, 2): (-1, 1), (3, 1): (1, 2), (1, 3): (-1, 2)},
}


def hamilton(x: list[float], y: list[float]) -> list[float]:
    found = [0.0] * 4
    for (i, j), (sign, unit) in _SIGNS.items():
        found[unit] += sign * x[i] * y[j]
    return found


def duale(_: Any, h: Tensor, r: Tensor, t: Tensor) -> Any:
    width, total = DIM // 8, 0.0
    for k in range(width):
        (a, b), (c, d), (e, f) = (
            [[float(x[n * width + k]) / SCALE for n in range(i, i + 4)] for i in (0, 4)]
            for x in (h, r, t)
        )
        c = [x / math.hypot(*c) for x in c]
        along = sum(x * y for x, y in zip(c, d, strict=True))
        d = [y - along * x for x, y in zip(c, d, strict=True)]
        real = hamilton(a, c)
        dual = [x + y for x, y in zip(hamilton(a, d), hamilton(b, c), strict=True)]
        total += sum(x * y for x, y in zip(real + dual, e + f, strict=True))
    return total / math.sqrt(DIM)


FORMULAS: dict[str, Formula] = {
    "complex": complex_,
    "distmult": distmult,
    "duale": duale,
    "rotate": rotate,
    "transe": transe,
    "transh": transh,
}


@pytest.mark.parametrize(
    ("name", "settings"), [*((name, {}) for name in FORMULAS), ("transe", {"norm": 1})]
)
def test_a_fact_has_the_sum_of_its_edges_at_the_asked_slot(
    name: str, settings: dict[str, Any]
) -> None:
    graph = toy()
    decoder, z, (facts, slots) = (
        decoder_of(name, graph, **settings),
        vectors(graph),
        questions(graph),
    )
    with torch.no_grad():
        scores = decoder.score(facts, slots, z)
        for row, asked in enumerate(slots.tolist()):
            expected = sum(
                FORMULAS[name](
                    decoder,
                    z.entities[facts.entities[row, source]],
                    relation,
                    z.entities[facts.entities[row, target]],
                )
                for source, target, relation in edges_at(decoder, facts, row, asked, z)
            )
            assert float(scores[row]) == pytest.approx(expected, rel=1e-9, abs=1e-9)


# -- asked by inverse relations -------------------------------------------------------------------


def reciprocal(decoder: Any, asked: int, source: int, relation: Tensor) -> Tensor:
    return relation @ decoder.edges.inverse if asked == source else relation


def batch_norm(x: Tensor, norm: Any) -> Tensor:
    x = (x - norm.running_mean) / (norm.running_var + norm.eps).sqrt()
    return x if norm.weight is None else x * norm.weight + norm.bias


def tucker(decoder: Any, known: Tensor, r: Tensor) -> Tensor:
    known, r = batch_norm(known / SCALE, decoder.input_norm), r / SCALE
    r = r @ decoder.reduction
    hidden = [
        sum(
            float(r[i] * known[j] * decoder.core[i, j, k])
            for i in range(len(r))
            for j in range(DIM)
        )
        for k in range(DIM)
    ]
    return batch_norm(torch.tensor(hidden, dtype=torch.float64), decoder.hidden_norm)


def conve(decoder: Any, known: Tensor, r: Tensor) -> Tensor:
    image = torch.cat([known.view(4, 4), r.view(4, 4)]) / SCALE  # (8, 4)
    image = (image - decoder.input_norm.running_mean) / (
        decoder.input_norm.running_var + decoder.input_norm.eps
    ).sqrt()
    channels, _, size, _ = decoder.filters.shape
    features = torch.zeros(channels, 9 - size, 5 - size).double()
    for c in range(channels):
        for i in range(9 - size):
            for j in range(5 - size):
                part = image[i : i + size, j : j + size]
                features[c, i, j] = (part * decoder.filters[c, 0]).sum()
    features = batch_norm(features.flatten(1).T, decoder.feature_norm).T.relu()
    return batch_norm(features.flatten() @ decoder.projection, decoder.hidden_norm).relu()


NETWORKS = {"conve": (conve, {"channels": 3}), "tucker": (tucker, {"relation_dim": 5})}


@pytest.mark.parametrize("name", NETWORKS)
def test_a_fact_has_the_sum_of_its_networks(name: str) -> None:
    network, settings = NETWORKS[name]
    graph = toy()
    decoder, z, (facts, slots) = (
        decoder_of(name, graph, **settings),
        vectors(graph),
        questions(graph),
    )
    with torch.no_grad():
        scores = decoder.score(facts, slots, z)
        for row, asked in enumerate(slots.tolist()):
            query = torch.zeros(DIM).double()
            for source, target, relation in edges_at(decoder, facts, row, asked, z):
                known = facts.entities[row, target if asked == source else source]
                relation = reciprocal(decoder, asked, source, relation)
                query += network(decoder, z.entities[known], relation)
            answer = facts.entities[row, asked]
            expected = float(query @ z.entities[answer]) / UNIT
            if decoder.entity_bias is not None:
                expected += float(decoder.entity_bias[answer])
            assert float(scores[row]) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", ["complex", "distmult", "duale", "rotate", "transe", "transh"])
def test_with_inverses_a_source_is_asked_for_as_a_target(name: str) -> None:
    graph = toy()
    decoder, z = decoder_of(name, graph, reciprocal=True), vectors(graph)
    inverse = Representations(z.entities, z.relations @ decoder.edges.inverse)
    there = FactBatch(torch.tensor([[0, 1]]), torch.tensor([[0]]), torch.ones(1, 2, dtype=bool))  # type: ignore[call-overload]
    back = FactBatch(torch.tensor([[1, 0]]), there.relations, there.mask)
    one = decoder.score_slot(there, torch.tensor([0]), z)
    two = decoder.score_slot(back, torch.tensor([1]), inverse)
    assert torch.allclose(one, two, atol=1e-12)
    assert decoder.score_slot(there, torch.tensor([1]), z).shape == two.shape


def test_tucker_without_inverses_is_one_product() -> None:
    graph = toy()
    decoder = decoder_of("tucker", graph, reciprocal=False, batch_norm=False)
    z = vectors(graph)
    rows = np.flatnonzero(graph.arity == 2)
    facts = FactBatch.of(graph, rows)
    one, two = (decoder.score(facts, torch.full((len(rows),), slot), z) for slot in (0, 1))
    assert torch.allclose(one, two, atol=1e-12)
    with torch.no_grad():
        for row in range(len(rows)):
            s, o = (z.entities[e] / SCALE for e in facts.entities[row])
            r = z.relations[facts.relations[row, 0]] / SCALE
            expected = torch.einsum("i,j,k,ijk->", r, s, o, decoder.core) / math.sqrt(DIM)
            assert float(one[row]) == pytest.approx(float(expected), rel=1e-9)


def test_tucker_with_a_diagonal_core_is_distmult() -> None:
    graph = toy()
    decoder = decoder_of("tucker", graph, reciprocal=False, batch_norm=False)
    other, z, (facts, slots) = decoder_of("distmult", graph), vectors(graph), questions(graph)
    with torch.no_grad():
        decoder.core.zero_()
        decoder.core[range(DIM), range(DIM), range(DIM)] = 1.0
        decoder.edges.places.copy_(other.edges.places)
        one, two = (d.score_slot(facts, slots, z) for d in (decoder, other))
    assert torch.allclose(one, two, atol=1e-12)


def test_complex_with_real_numbers_is_distmult() -> None:
    graph = toy()
    one, two = (decoder_of(name, graph) for name in ("complex", "distmult"))
    z, (facts, slots) = vectors(graph), questions(graph)
    tables = [z.entities, z.relations, one.edges.places.data]
    for table in tables:
        table[:, DIM // 2 :] = 0.0
    two.edges.places.data = one.edges.places.data
    assert torch.allclose(one.score_slot(facts, slots, z), two.score_slot(facts, slots, z))


def test_only_distmult_takes_subject_and_object_for_each_other() -> None:
    graph = toy()
    z = vectors(graph)
    facts = FactBatch(
        torch.tensor([[0, 1], [1, 0]]),
        torch.zeros(2, 1, dtype=torch.long),
        torch.ones(2, 2, dtype=torch.bool),
    )
    for name in NAMES:
        one, two = decoder_of(name, graph).score(facts, torch.ones(2, dtype=torch.long), z)
        assert (abs(float((one - two).detach())) < 1e-9) == (name == "distmult"), name


def test_tucker_can_rank_any_facts() -> None:
    """Entities and relations as unit vectors, and the facts themselves as the core."""
    rng = np.random.default_rng(0)
    graph, size = toy(), DIM
    true = torch.from_numpy(rng.random((size, size, size)) < 0.3).double()  # r, s, o
    decoder = decoder_of("tucker", graph, reciprocal=False, batch_norm=False)
    with torch.no_grad():
        decoder.core.copy_(true)
    z = Representations(torch.eye(size).double(), torch.eye(size).double())
    r, s = (
        x.flatten() for x in torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    )
    facts = FactBatch(
        torch.stack([s, torch.zeros_like(s)], dim=1), r[:, None], torch.ones(len(r), 2).bool()
    )
    scores = decoder.score_slot(facts, torch.ones_like(r), z) * SCALE**3 * math.sqrt(DIM)
    assert torch.allclose(scores.view(size, size, size), true)


# -- what is read of qualifiers -------------------------------------------------------------------


def test_every_pair_of_slots_has_its_edges() -> None:
    graph = toy()
    facts, slots = questions(graph)
    layout = Layout.of(facts, slots)
    for row, asked in enumerate(slots.tolist()):
        found = sorted(
            (other, asked) if target else (asked, other)
            for other, target, exists in zip(
                layout.other[row].tolist(),
                layout.asks_target[row].tolist(),
                layout.exists[row].tolist(),
                strict=True,
            )
            if exists
        )
        decoder, z = decoder_of("distmult", graph), vectors(graph)
        expected = [(s, t) for s, t, _ in edges_at(decoder, facts, row, asked, z)]
        assert found == sorted(expected)


@pytest.mark.parametrize("name", NAMES)
def test_qualifiers_can_be_ignored(name: str) -> None:
    graph = toy()
    decoder, z = decoder_of(name, graph, qualifiers="ignore"), vectors(graph)
    kind = DECODERS[name]
    assert not kind.fills_values(decoder.settings)
    assert kind.fills_values(kind.Settings())
    facts, bare = (FactBatch.of(graph, np.array(rows)) for rows in ([1, 1], [0, 0]))
    slots = torch.tensor([0, 1])
    one, two = (decoder.score_slot(f, slots, z) for f in (facts, bare))
    assert torch.allclose(one, two, atol=1e-12)  # a r b with and without p = c
    with pytest.raises(UserError, match="fills subjects and objects only"):
        decoder.score_slot(facts, torch.tensor([0, 2]), z)
    assert [n for n, _ in decoder.named_parameters() if "places" in n] == []


@pytest.mark.parametrize("name", NAMES)
def test_triples_alone_are_the_same_either_way(name: str) -> None:
    graph = toy()
    facts = FactBatch.of(graph, np.flatnonzero(graph.arity == 2))
    slots, z = torch.arange(len(facts)) % 2, vectors(graph)
    one, two = (decoder_of(name, graph, qualifiers=how) for how in ("hyperedge", "ignore"))
    state = {n: t for n, t in one.state_dict().items() if n != "edges.places"}
    two.load_state_dict(state)
    scores = (one.score_slot(facts, slots, z), two.score_slot(facts, slots, z))
    assert torch.allclose(scores[0], scores[1], atol=1e-12)


# -- how it starts and learns ---------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_scores_of_triples_start_with_a_deviation_of_about_one(name: str) -> None:
    dim, entities = 200, 400
    kind = DECODERS[name]
    decoder = kind(
        dim=dim,
        num_entities=entities,
        scale=SCALE,
        settings=kind.Settings(),
        generator=torch.Generator().manual_seed(0),
    ).double()
    z = representations(entities, 12, dim, scale=SCALE)
    generator = torch.Generator().manual_seed(1)
    facts = FactBatch(
        torch.randint(entities, (64, 2), generator=generator),
        torch.randint(12, (64, 1), generator=generator),
        torch.ones(64, 2, dtype=torch.bool),
    )
    with torch.no_grad():
        scores = decoder.score_slot(facts, torch.arange(64) % 2, z)
    assert 0.4 < float(scores.std(dim=1).mean()) < 2.5


@pytest.mark.parametrize("name", ["conve", "tucker"])
def test_padding_does_not_enter_the_statistics(name: str) -> None:
    graph = toy()
    z, (facts, slots) = vectors(graph), questions(graph)
    wide = FactBatch(
        torch.nn.functional.pad(facts.entities, (0, 3), value=5),
        torch.nn.functional.pad(facts.relations, (0, 3), value=1),
        torch.nn.functional.pad(facts.mask, (0, 3), value=False),
    )
    decoders = [decoder_of(name, graph).train() for _ in range(2)]
    one, two = (d.score_slot(f, slots, z) for d, f in zip(decoders, (facts, wide), strict=True))
    assert torch.allclose(one, two, atol=1e-9)
    states = [d.state_dict() for d in decoders]
    for key in states[0]:
        assert torch.allclose(states[0][key].double(), states[1][key].double(), atol=1e-9), key


@pytest.mark.parametrize("name", ["conve", "tucker"])
def test_one_edge_alone_can_be_trained_on(name: str) -> None:
    graph = toy()
    decoder, z = decoder_of(name, graph).train(), vectors(graph)
    facts = FactBatch.of(graph, np.array([0]))
    assert decoder.score_slot(facts, torch.tensor([0]), z).isfinite().all()


@pytest.mark.parametrize(
    ("name", "dim", "settings", "message"),
    [
        ("complex", 7, {}, "training.dim must be even, got 7"),
        ("rotate", 7, {}, "training.dim must be even, got 7"),
        ("duale", 12, {}, "must be a multiple of 8, got 12"),
        ("conve", 12, {"height": 5}, "decoder.height = 5 must divide training.dim = 12"),
        ("conve", 7, {}, "decoder.kernel = 3 is larger than the image of 2 x 7"),
    ],
)
def test_dimensions_that_do_not_fit_are_refused(
    name: str, dim: int, settings: dict[str, Any], message: str
) -> None:
    kind = DECODERS[name]
    with pytest.raises(ConfigError, match=message):
        kind(
            dim=dim,
            num_entities=3,
            scale=SCALE,
            settings=kind.Settings(**settings),
            generator=torch.Generator(),
        )


def test_the_published_image_of_conve() -> None:
    decoder = DECODERS["conve"](
        dim=200,
        num_entities=3,
        scale=SCALE,
        settings=DECODERS["conve"].Settings(),
        generator=torch.Generator(),
    )
    assert decoder.height == 10
    assert decoder.projection.shape == (32 * 18 * 18, 200)

"""RAM, ReAlE, n-ary ComplEx, HSimplE, m-CP and GETD against their formulas in plain loops."""

import cmath
import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from hyperfact.errors import ConfigError
from hyperfact.graph.batches import FactBatch
from hyperfact.graph.hkg import HKG
from hyperfact.models.decoders import DECODERS
from hyperfact.models.decoders.decoder import Decoder
from hyperfact.models.representations import Representations
from tests.support.models import representations, toy

DIM, SCALE = 6, 0.3
Vector = list[float]


def decoder_of(name: str, graph: HKG, *, dim: int = DIM, **settings: Any) -> Decoder:
    """With every parameter away from where it starts."""
    generator = torch.Generator().manual_seed(0)
    kind = DECODERS[name]
    options: dict[str, Any] = {"dim": dim, "num_entities": len(graph.entities), "scale": SCALE}
    decoder = kind(**options, settings=kind.Settings(**settings), generator=generator).double()
    for parameter in decoder.parameters():
        noise = torch.randn(parameter.shape, generator=generator).double()
        parameter.data.add_(0.1 * noise)
    return decoder.eval()


def vectors_of(graph: HKG, dim: int = DIM) -> Representations:
    return representations(len(graph.entities), len(graph.relations), dim, scale=SCALE)


def ids(graph: HKG, row: int) -> tuple[list[int], list[int]]:
    """Entities of the slots, and the relation with the attributes."""
    c = graph.columns
    part = slice(c.offsets[row], c.offsets[row + 1])
    entities = [int(c.subject[row]), int(c.object[row]), *map(int, c.values[part])]
    return entities, [int(c.relation[row]), *map(int, c.attributes[part])]


def roles(relations: list[int]) -> list[tuple[int, int]]:
    """Of each slot: which map reads its role, and which relation the role comes from."""
    return [(0, relations[0]), (1, relations[0]), *((2, a) for a in relations[1:])]


def times(vector: Vector, matrix: Any) -> Vector:
    """A row times a matrix."""
    result: Vector = (np.array(vector) @ matrix.detach().numpy()).tolist()
    return result


def unit(table: Tensor, row: int) -> Vector:
    return [x / SCALE for x in table[row].tolist()]


def softmax(logits: Vector) -> Vector:
    exps = [math.exp(x) for x in logits]
    return [x / sum(exps) for x in exps]


def pooled(z: Representations, relations: list[int]) -> Vector:
    rows = [unit(z.relations, r) for r in relations]
    return [sum(column) / len(rows) for column in zip(*rows, strict=True)]


def naive_ram(d: Any, z: Representations, entities: list[int], relations: list[int]) -> float:
    parts, bases = d.settings.multiplicity, d.settings.bases
    k = d.dim // parts
    alpha = [
        softmax([x / math.sqrt(d.dim) for x in times(unit(z.relations, r), d.weights[kind])])
        for kind, r in roles(relations)
    ]
    pi = []
    for base in range(bases):
        flat = softmax(d.patterns[base].flatten().tolist())
        # the mean of all n·m entries is 1, and the sum over parts keeps its deviation
        pi.append([x * bases * parts / math.sqrt(parts) for x in flat])
    total = 0.0
    for mine in alpha:
        u = times(mine, d.bases)
        for c in range(k):
            term = u[c]
            for slot, e in enumerate(entities):
                fit = 0.0
                for j in range(parts):
                    pattern = sum(
                        mine[a] * alpha[slot][b] * pi[a][b * parts + j]
                        for a in range(bases)
                        for b in range(bases)
                    )
                    fit += pattern * unit(z.entities, e)[j * k + c]
                term *= fit
            total += term
    return total / math.sqrt(k * len(entities))


SQUASHES = {
    "none": lambda x: x,
    "relu": lambda x: max(x, 0.0),
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
    "tanh": math.tanh,
}


def naive_reale(d: Any, z: Representations, entities: list[int], relations: list[int]) -> float:
    sigma, tau = SQUASHES[d.settings.squash], SQUASHES[d.settings.entity_squash]
    windows = d.dim // d.settings.window
    beta = times(unit(z.relations, relations[0]), d.bias)
    total = 0.0
    for j in range(windows):
        inner = beta[j]
        for (kind, r), e in zip(roles(relations), entities, strict=True):
            weights = times(unit(z.relations, r), d.roles[kind])
            for t in range(d.settings.window):
                place = t * windows + j
                share = math.sqrt(2 * d.settings.window)
                inner += weights[place] / share * tau(unit(z.entities, e)[place])
        total += sigma(inner)
    return total


def naive_ncomplex(d: Any, z: Representations, entities: list[int], relations: list[int]) -> float:
    half, total = d.dim // 2, 0.0
    relation = pooled(z, relations)
    for k in range(half):
        value = complex(relation[k], relation[k + half]) / math.sqrt(2)
        for slot, e in enumerate(entities):
            number = complex(unit(z.entities, e)[k], unit(z.entities, e)[k + half]) / math.sqrt(2)
            value *= number.conjugate() if slot == 1 else number
        total += value.real
    return total * 2 / math.sqrt(d.dim)


def naive_hsimple(d: Any, z: Representations, entities: list[int], relations: list[int]) -> float:
    numbers = [0, 1, *(2 + a for a in relations[1:])]
    total, relation = 0.0, pooled(z, relations)
    for k in range(d.dim):
        term = relation[k]
        for number, e in zip(numbers, entities, strict=True):
            shift = int((number * (math.sqrt(5) - 1) / 2) % 1.0 * d.dim)
            term *= unit(z.entities, e)[(k + shift) % d.dim]
        total += term
    return total / math.sqrt(d.dim)


def gated(d: Any, z: Representations, attribute: int, vector: Vector) -> Vector:
    gate = times(unit(z.relations, attribute), d.gate)
    return [(1 + g) * x for g, x in zip(gate, vector, strict=True)]


def naive_mcp(d: Any, z: Representations, entities: list[int], relations: list[int]) -> float:
    terms = times(pooled(z, relations), d.relation_head)
    for (kind, r), e in zip(roles(relations), entities, strict=True):
        vector = unit(z.entities, e)
        vector = gated(d, z, r, vector) if kind == 2 else vector
        terms = [t * x for t, x in zip(terms, times(vector, d.heads[kind]), strict=True)]
    return sum(terms) / math.sqrt(len(terms))


def naive_getd(d: Any, z: Representations, entities: list[int], relations: list[int]) -> float:
    def link(vector: Vector, ring: Tensor) -> np.ndarray:
        return sum(x * ring[i].detach().numpy() for i, x in enumerate(vector))  # type: ignore

    around = link(times(pooled(z, relations), d.relation_map), d.relation_ring)
    for (kind, r), e in zip(roles(relations), entities, strict=True):
        x = times(unit(z.entities, e), d.entity_map)
        if kind == 2:
            around = around @ np.diag(times(gated(d, z, r, x), d.value_ring))
        else:
            around = around @ link(x, (d.subject_ring, d.object_ring)[kind])
    return float(np.trace(around))


CASES: list[tuple[str, Any, dict[str, Any]]] = [
    ("ram", naive_ram, {"bases": 4}),
    ("ram", naive_ram, {"bases": 2, "multiplicity": 3}),
    ("reale", naive_reale, {}),
    ("reale", naive_reale, {"window": 3, "squash": "relu", "entity_squash": "sigmoid"}),
    ("reale", naive_reale, {"window": 1, "squash": "tanh", "entity_squash": "none"}),
    ("ncomplex", naive_ncomplex, {}),
    ("hsimple", naive_hsimple, {}),
    ("mcp", naive_mcp, {}),
    ("mcp", naive_mcp, {"rank": 9}),
    ("getd", naive_getd, {"width": 4, "rank": 3}),
]


@pytest.mark.parametrize(("name", "naive", "settings"), CASES)
def test_scores_follow_the_formula(name: str, naive: Any, settings: dict[str, Any]) -> None:
    graph = toy()
    decoder, z = decoder_of(name, graph, **settings), vectors_of(graph)
    with torch.no_grad():
        for slot in (0, 1):
            facts = FactBatch.of(graph, np.arange(len(graph)))
            found = decoder.score(facts, torch.full((len(graph),), slot), z)
            for row in range(len(graph)):
                expected = naive(decoder, z, *ids(graph, row))
                assert float(found[row]) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def plain(*pairs: tuple[int, int]) -> tuple[FactBatch, Tensor]:
    """Facts without qualifiers, of the first relation."""
    entities = torch.tensor(pairs)
    facts = FactBatch(
        entities, torch.zeros(len(pairs), 1, dtype=torch.long), torch.ones_like(entities).bool()
    )
    return facts, torch.zeros(len(pairs), dtype=torch.long)


@pytest.mark.parametrize("name", ["ram", "reale", "ncomplex", "hsimple", "mcp", "getd", "s2s"])
def test_subject_and_object_are_told_apart(name: str) -> None:
    graph = toy()
    options = {"core": "complex"} if name == "s2s" else {}
    decoder, z = decoder_of(name, graph, dim=8, **options), vectors_of(graph, 8)
    one, two = decoder.score(*plain((0, 1), (1, 0)), z).tolist()
    assert abs(one - two) > 1e-4


def test_without_qualifiers_ncomplex_is_complex() -> None:
    graph = toy()
    z = vectors_of(graph)
    (found,) = decoder_of("ncomplex", graph).score(*plain((0, 1)), z).tolist()
    r, s, o = (torch.complex(v[:3], v[3:]) for v in (z.relations[0], *z.entities[:2]))
    expected = (r * s * o.conj()).sum().real / SCALE**3 / math.sqrt(2) / math.sqrt(DIM)
    assert found == pytest.approx(float(expected))


def test_real_vectors_make_ncomplex_mdistmult() -> None:
    graph = toy()
    z = vectors_of(graph)
    mask = torch.tensor([1.0] * 3 + [0.0] * 3)
    real = Representations(z.entities * mask, z.relations * mask)
    facts = FactBatch.of(graph, np.arange(len(graph)))
    slots = torch.zeros(len(graph), dtype=torch.long)
    one, two = (
        decoder_of(name, graph, normalise=False).score(facts, slots, real)
        for name in ("ncomplex", "mdistmult")
    )
    assert torch.allclose(one, two, atol=1e-12)


def test_turning_all_known_parts_of_ncomplex_turns_the_answer() -> None:
    """A phase of the subject is undone by the same phase of the object."""
    graph = toy()
    z = vectors_of(graph)
    phase = cmath.exp(0.7j)
    entities = torch.complex(z.entities[:, :3], z.entities[:, 3:]) * phase
    turned = Representations(torch.cat([entities.real, entities.imag], dim=1), z.relations)
    decoder, call = decoder_of("ncomplex", graph), plain((0, 1), (2, 3))
    assert torch.allclose(decoder.score(*call, z), decoder.score(*call, turned), atol=1e-12)


def test_linear_windows_of_reale_are_linear_in_the_answer() -> None:
    graph = toy()
    decoder = decoder_of("reale", graph, squash="none", entity_squash="none")
    z = vectors_of(graph)
    facts, slots = FactBatch.of(graph, np.arange(len(graph))), torch.zeros(len(graph)).long()
    twice = Representations(torch.cat([z.entities, z.entities * 2, z.entities * 0]), z.relations)
    one, two, none = torch.split(decoder.score_slot(facts, slots, twice), len(z.entities), dim=1)
    assert torch.allclose(two - one, one - none, atol=1e-12)


@pytest.mark.parametrize("candidates", [5, 191, 192, 700])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_equal_candidates_of_reale_have_exactly_equal_scores(
    candidates: int, dtype: torch.dtype
) -> None:
    graph = toy()
    decoder = decoder_of("reale", graph, dim=10).to(dtype)
    z = vectors_of(graph, 10)
    same = z.entities[:1].repeat(candidates + len(z.entities), 1)
    z = Representations(same.to(dtype), z.relations.to(dtype))
    facts, slots = FactBatch.of(graph, np.arange(len(graph))), torch.zeros(len(graph)).long()
    for chunk in (slice(None), slice(0, candidates), slice(1, 2)):
        scores = decoder.score_slot(facts, slots, z, candidates=chunk)
        assert torch.equal(scores, scores[:, :1].expand_as(scores))


@pytest.mark.parametrize(
    ("name", "dim", "options", "message"),
    [
        ("ram", 7, {}, r"decoder.multiplicity = 2 must divide training.dim = 7"),
        ("reale", 7, {}, r"decoder.window = 2 must divide training.dim = 7"),
        ("ncomplex", 7, {}, r"dim must be even, got 7"),
        ("s2s", 6, {}, r"decoder.segments = 4 must divide training.dim = 6"),
        ("s2s", 8, {"core": "++"}, r"expected searched, diagonal, complex .* or 80 signs"),
        ("s2s", 6, {"core": "complex", "segments": 3}, r"an even number of segments"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(
    name: str, dim: int, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        decoder_of(name, toy(), dim=dim, **options)


@pytest.mark.parametrize("name", ["ram", "ncomplex", "hsimple", "mcp", "getd", "s2s"])
@pytest.mark.parametrize("arity", [2, 3, 5, 9])
def test_scores_start_with_a_deviation_of_about_one(name: str, arity: int) -> None:
    dim, entities = 200, 400
    kind = DECODERS[name]
    options: dict[str, Any] = {"dim": dim, "num_entities": entities, "scale": SCALE}
    generator = torch.Generator().manual_seed(0)
    decoder = kind(**options, settings=kind.Settings(), generator=generator).double()
    z = representations(entities, 12, dim, scale=SCALE)
    facts = FactBatch(
        torch.randint(entities, (256, arity), generator=generator),
        torch.randint(12, (256, arity - 1), generator=generator),
        torch.ones(256, arity, dtype=torch.bool),
    )
    for slot in {0, 1, arity - 1}:
        scores = decoder.eval().score_slot(facts, torch.full((256,), slot), z).detach()
        assert 0.2 < float(scores.std()) < 3

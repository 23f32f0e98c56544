"""Neural decoders against their published formulas in plain loops, one fact and one unit at a time.

The formulas are those before any rearrangement: minima over networks, not networks of minima.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from hyperfact.errors import ConfigError
from hyperfact.graph.batches import FactBatch
from hyperfact.graph.hkg import HKG
from hyperfact.models.decoders import DECODERS
from hyperfact.models.decoders.decoder import Decoder
from hyperfact.models.decoders.hycube import sides_of
from hyperfact.models.decoders.nalp import NaLP, NaLPSettings
from hyperfact.models.representations import Representations
from tests.support.models import representations, toy

DIM, SCALE = 6, 0.3
Vector = np.ndarray[Any, Any]
Fact = tuple[list[Vector], list[Vector]]  # vectors of slots; of the relation and the attributes

SIZES: dict[str, dict[str, Any]] = {
    "hinge": {"width": 5, "filters": 2},
    "neuinfer": {"validity": 4, "compatibility": 5, "share": 0.3},
    "nalp": {"filters": 4, "units": 5},
    "boxe": {},
    "hyconve": {"channels": 4},
    "hycube": {"channels": 8},
    "rae": {},
}


def made(name: str, graph: HKG, **settings: Any) -> Decoder:
    """A decoder in double precision whose parameters and statistics are all away from 0 and 1."""
    torch.set_num_threads(1)
    generator, kind = torch.Generator().manual_seed(0), DECODERS[name]
    decoder = kind(
        dim=DIM,
        num_entities=len(graph.entities),
        scale=SCALE,
        settings=kind.Settings(**settings),
        generator=generator,
    )
    decoder = decoder.double().eval()
    with torch.no_grad():
        for tensor in (*decoder.parameters(), *decoder.buffers()):
            tensor.add_(0.2 * torch.rand(tensor.shape, generator=generator).double())
    return decoder


def fact_of(graph: HKG, row: int, z: Representations) -> Fact:
    """The vectors of a fact, in units of the initial scale."""
    c = graph.columns
    part = slice(c.offsets[row], c.offsets[row + 1])
    entities = [c.subject[row], c.object[row], *c.values[part]]
    relations = [c.relation[row], *c.attributes[part]]
    tables = (z.entities.numpy() / SCALE, z.relations.numpy() / SCALE)
    return [tables[0][e] for e in entities], [tables[1][r] for r in relations]


def values(decoder: Decoder) -> dict[str, Vector]:
    """Parameters and statistics by name."""
    return {n: t.detach().numpy() for n, t in decoder.state_dict().items()}


def relu(x: Any) -> Any:
    return np.maximum(x, 0.0)


def normalised(w: dict[str, Vector], name: str, y: Vector) -> Vector:
    """Batch normalisation with what was seen in training; filters last."""
    unit = (y - w[f"{name}.mean"]) / np.sqrt(w[f"{name}.variance"] + 1e-5)
    result: Vector = unit * w[f"{name}.weight"] + w[f"{name}.bias"]
    return result


def hinge(w: dict[str, Vector], fact: Fact, slot: int) -> float:
    del slot
    entities, relations = ([v @ m for v in part] for part, m in zip(fact, w["maps"], strict=True))

    def convolved(rows: list[Vector], kernels: Vector, norm: str) -> Vector:
        places = len(rows[0]) - 2
        out = np.zeros((places, kernels.shape[2]))
        for place in range(places):
            for row, kernel in zip(rows, kernels, strict=True):
                for step in range(3):
                    out[place] += row[place + step] * kernel[step]
        result: Vector = relu(normalised(w, norm, out)).ravel()
        return result

    triple = [entities[0], relations[0], entities[1]]
    parts = [convolved(triple, w["triple_kernels"], "triple_norm")]
    for a, v in zip(relations[1:], entities[2:], strict=True):
        parts.append(convolved([*triple, a, v], w["kernels"], "norm"))
    return float(w["weight"] @ np.min(parts, axis=0))


def neuinfer(w: dict[str, Vector], fact: Fact, slot: int) -> float:
    del slot
    entities, relations = fact
    triple = [entities[0], relations[0], entities[1]]
    hidden = np.concatenate(triple) @ np.concatenate(list(w["valid_maps"])) + w["valid_bias"]
    valid = float(w["valid_weight"] @ relu(hidden))
    parts = []
    for a, v in zip(relations[1:], entities[2:], strict=True):
        row = np.concatenate([*triple, a, v])
        parts.append(relu(row @ np.concatenate(list(w["maps"])) + w["bias"]))
    if not parts:
        return valid
    return 0.3 * valid + 0.7 * float(w["weight"] @ np.min(parts, axis=0))


def nalp(w: dict[str, Vector], fact: Fact, slot: int) -> float:
    del slot
    entities, relations = fact
    roles = [relations[0] + w["ends"][0], relations[0] + w["ends"][1], *relations[1:]]
    filters = np.concatenate([w["role_filters"], w["filters"]])
    pairs = [
        relu(normalised(w, "norm", np.concatenate([role, e]) @ filters))
        for role, e in zip(roles, entities, strict=True)
    ]
    units = len(w["bias"])
    both = np.concatenate([w["maps"][:, :units], w["maps"][:, units:]])
    sums = [np.concatenate([i, j]) @ both + w["bias"] for i in pairs for j in pairs]
    return float(w["weight"] @ np.min([np.where(s > 0, s, 0.1 * s) for s in sums], axis=0))


def boxe(w: dict[str, Vector], fact: Fact, slot: int) -> float:
    del slot
    entities, relations = fact
    points, bumps = w["places"][:, :DIM], w["places"][:, DIM:]
    total = 0.0
    for p, e in enumerate(entities):
        x = e @ points
        for other, bumping in enumerate(entities):
            x = x if other == p else x + bumping @ bumps
        x, box = np.tanh(x), relations[max(0, p - 1)] @ w["boxes"][min(p, 2)]
        centre, sides = box[:DIM], np.exp(np.clip(box[DIM:], -3, 3))
        low, high = np.tanh(centre - sides / 2), np.tanh(centre + sides / 2)
        squares = 0.0
        for k in range(DIM):
            c, omega = (low[k] + high[k]) / 2, high[k] - low[k]
            v, off = omega + 1, abs(x[k] - c)
            inside = low[k] <= x[k] <= high[k]
            squares += (off / v if inside else v * off - omega / 2 * (v - 1 / v)) ** 2
        total += math.sqrt(squares)
    return -math.exp(float(w["log_temperature"])) * total


def hyconve(w: dict[str, Vector], fact: Fact, slot: int) -> float:
    del slot
    entities, relations = fact
    pooled = np.mean(relations, axis=0)
    sums = np.multiply.outer(w["channels"][3], pooled)  # (2, pairs of channels, dim)
    g = pooled @ w["relation_filter"] + w["relation_bias"]
    seen = w["bias"].copy()
    for p, e in enumerate(entities):
        kind, role = min(p, 2), relations[max(0, p - 1)]
        sums = sums + np.multiply.outer(w["channels"][kind], e)
        alpha = (w["kinds"][kind] + (role @ w["roles"]).reshape(3, 3)) @ g
        maps = [max(a * e[k], a * e[k + 1]) for a in alpha for k in range(0, DIM, 2)]
        seen += relu(np.array(maps)) @ w["maps"][kind]
    return float(w["weight"] @ relu(sums.max(axis=0).ravel() + seen))


def hycube(w: dict[str, Vector], fact: Fact, slot: int) -> float:
    (h, width), (entities, relations) = sides_of(DIM), fact
    roles = [relations[0], *relations]
    stacks = []
    for p, (role, e) in enumerate(zip(roles, entities, strict=True)):
        own = w["hole"] if p == slot else e
        stacks.append(np.array([role, own, role * own]))
    extra = [np.sum(stacks[2:], axis=0) / math.sqrt(len(stacks) - 2)] if stacks[2:] else []
    maps = np.concatenate([*stacks[:2], *(extra or [np.zeros((3, DIM))])]).reshape(9, h, width)
    channels = np.zeros((len(w["kernels"]), h, width)) + w["channel_bias"][:, None, None]
    for c, y, x in np.ndindex(channels.shape):
        for m, dy, dx in np.ndindex(9, 3, 3):
            pixel = maps[m, (y + dy - 1) % h, (x + dx - 1) % width]
            channels[c, y, x] += w["kernels"][c, m, dy, dx] * pixel
    largest = [channels[i : i + 4].max(axis=0).ravel() for i in range(0, len(channels), 4)]
    query = np.concatenate(largest) @ w["output"]
    return float(query @ entities[slot]) / math.sqrt(DIM)


def rae(w: dict[str, Vector], fact: Fact, slot: int) -> float:
    entities, relations = ([v / math.sqrt(DIM) for v in part] for part in fact)
    pooled = np.mean(relations, axis=0)
    nu = pooled @ w["normal"]
    nu = nu / np.linalg.norm(nu)
    total = pooled @ w["translation"]
    for p, e in enumerate(entities):
        role, kind = fact[1][max(0, p - 1)], min(p, 2)
        c = role @ w["roles"][:, kind] + w["role_bias"][kind]
        total = total + c * (e - (e @ nu) * nu)
    others = [e for p, e in enumerate(entities) if p != slot]
    related = sum(e @ w["relatedness"] @ entities[slot] for e in others)
    return float(related - math.exp(float(w["log_temperature"])) * (total @ total))


FORMULAS: dict[str, Callable[[dict[str, Vector], Fact, int], float]] = {
    "hinge": hinge,
    "neuinfer": neuinfer,
    "nalp": nalp,
    "boxe": boxe,
    "hyconve": hyconve,
    "hycube": hycube,
    "rae": rae,
}


@pytest.mark.parametrize("name", FORMULAS)
def test_the_formula(name: str) -> None:
    graph = toy()
    z = representations(len(graph.entities), len(graph.relations), DIM, scale=SCALE)
    decoder = made(name, graph, **SIZES[name])
    w, formula = values(decoder), FORMULAS[name]
    facts = FactBatch.of(graph, np.arange(len(graph)))
    for slot in range(facts.entities.shape[1]):
        rows = [i for i in range(len(graph)) if slot < graph.arity[i]]
        some = FactBatch.of(graph, np.array(rows))
        slots = torch.full((len(rows),), slot)
        scores, matrix = decoder.score(some, slots, z), decoder.score_slot(some, slots, z)
        found = matrix.gather(1, some.answers(slots)[:, None])[:, 0].tolist()
        bias = w.get("entity_bias", np.zeros(len(graph.entities)))
        for place, row in enumerate(rows):
            expected = formula(w, fact_of(graph, row, z), slot)
            expected += float(bias[some.answers(slots)[place]])
            assert scores.tolist()[place] == pytest.approx(expected, rel=1e-9, abs=1e-9)
            assert found[place] == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_hinge_convolves_the_vectors_themselves_where_no_width_is_given() -> None:
    graph = toy()
    z = representations(len(graph.entities), len(graph.relations), DIM, scale=SCALE)
    decoder = made("hinge", graph, width=0, filters=2)
    w = values(decoder) | {"maps": np.stack([np.eye(DIM)] * 2)}
    facts, slots = FactBatch.of(graph, np.arange(len(graph))), torch.ones(len(graph)).long()
    for row, score in enumerate(decoder.score(facts, slots, z).tolist()):
        assert score == pytest.approx(hinge(w, fact_of(graph, row, z), 1), rel=1e-9)
    with pytest.raises(ConfigError, match="at least 3"):
        made("hinge", graph, width=2)


@pytest.mark.parametrize("name", ["hinge", "nalp"])
def test_statistics_are_those_of_the_true_facts(name: str) -> None:
    """Not of padding, and not of who is tried."""
    graph = toy()
    z = representations(len(graph.entities), len(graph.relations), DIM, scale=SCALE)
    facts, slots = FactBatch.of(graph, np.arange(len(graph))), torch.zeros(len(graph)).long()
    wide = FactBatch(
        torch.nn.functional.pad(facts.entities, (0, 2), value=3),
        torch.nn.functional.pad(facts.relations, (0, 2), value=1),
        torch.nn.functional.pad(facts.mask, (0, 2), value=False),
    )
    found = []
    for batch, tried in ((facts, 1), (facts, 5), (wide, 5)):
        decoder = made(name, graph, **SIZES[name]).train()
        candidates = torch.arange(tried).expand(len(graph), -1)
        scores = decoder.score_candidates(batch, slots, z, candidates=candidates)
        found.append((scores[:, :1], values(decoder)))
    for scores, state in found[1:]:
        torch.testing.assert_close(scores, found[0][0])
        for statistic in (n for n in state if n.endswith((".mean", ".variance"))):
            np.testing.assert_allclose(state[statistic], found[0][1][statistic])


def test_training_normalises_every_filter_of_the_true_facts() -> None:
    graph = toy()
    z = representations(len(graph.entities), len(graph.relations), DIM, scale=SCALE)
    decoder = NaLP(
        dim=DIM,
        num_entities=len(graph.entities),
        scale=SCALE,
        settings=NaLPSettings(filters=4, units=5),
        generator=torch.Generator().manual_seed(0),
    ).double()
    w = values(decoder)
    rows = [fact_of(graph, i, z) for i in range(len(graph))]
    sums = []
    for entities, relations in rows:
        roles = [relations[0] + w["ends"][0], relations[0] + w["ends"][1], *relations[1:]]
        for role, e in zip(roles, entities, strict=True):
            sums.append(role @ w["role_filters"] + e @ w["filters"])
    w = {n: v.copy() for n, v in w.items()}
    facts, slots = FactBatch.of(graph, np.arange(len(graph))), torch.ones(len(graph)).long()
    scores = decoder.train().score(facts, slots, z)
    w |= {"norm.mean": np.mean(sums, axis=0), "norm.variance": np.var(sums, axis=0)}
    for row, score in enumerate(scores.tolist()):
        assert score == pytest.approx(nalp(w, rows[row], 1), rel=1e-9)
    seen = values(decoder)
    np.testing.assert_allclose(seen["norm.mean"], 0.1 * w["norm.mean"])
    np.testing.assert_allclose(seen["norm.variance"], 0.9 + 0.1 * w["norm.variance"])


def test_rae_without_relatedness_is_mtransh() -> None:
    graph = toy()
    z = representations(len(graph.entities), len(graph.relations), DIM, scale=SCALE)
    one, other = made("rae", graph), made("mtransh", graph)
    weights = one.state_dict()
    weights.pop("relatedness").zero_()
    other.load_state_dict(weights)
    facts, slots = FactBatch.of(graph, np.arange(len(graph))), torch.ones(len(graph)).long()
    assert torch.allclose(one.score_slot(facts, slots, z), other.score_slot(facts, slots, z))


def test_boxes_by_role_do_not_see_which_relation_an_attribute_qualifies() -> None:
    """Of two relations and two attributes the scores add up alike: BoxE is not expressive here."""
    graph = toy()
    z = representations(len(graph.entities), len(graph.relations), DIM, scale=SCALE)
    facts = FactBatch(
        torch.tensor([[0, 1, 2]] * 4),
        torch.tensor([[0, 2], [1, 1], [0, 1], [1, 2]]),
        torch.ones(4, 3, dtype=torch.bool),
    )
    a, b, c, d = made("boxe", graph).score(facts, torch.zeros(4).long(), z).tolist()
    assert a + b == pytest.approx(c + d)
    assert a != pytest.approx(c)


def test_hycube_asks_for_another_slot_by_another_vector() -> None:
    """The published position vector goes to all candidates alike and says nothing."""
    graph = toy()
    z = representations(len(graph.entities), len(graph.relations), DIM, scale=SCALE)
    decoder = made("hycube", graph)
    facts = FactBatch(torch.tensor([[0, 0]] * 2), torch.tensor([[0]] * 2), torch.ones(2, 2).bool())
    one, two = decoder.score_slot(facts, torch.tensor([0, 1]), z)
    assert not torch.allclose(one, two)


@pytest.mark.parametrize(
    ("dim", "sides"), [(200, (10, 20)), (64, (8, 8)), (7, (1, 7)), (1, (1, 1))]
)
def test_images_are_nearly_square(dim: int, sides: tuple[int, int]) -> None:
    assert sides_of(dim) == sides


@pytest.mark.parametrize("kernel", [2, 7])
def test_a_kernel_is_odd_and_fits(kernel: int) -> None:
    with pytest.raises(ConfigError, match="must be odd and fit images of 2 x 3"):
        made("hycube", toy(), kernel=kernel)

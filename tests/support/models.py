"""Small models over small graphs, on one thread so that bits repeat."""

import random
from itertools import product
from typing import Any

import pytest
import torch

from hyperfact.config import ExperimentConfig
from hyperfact.evaluation.checks.example_facts import example_facts
from hyperfact.graph.facts import Fact
from hyperfact.graph.hkg import HKG
from hyperfact.models.decoders import DECODERS
from hyperfact.models.encoders import ENCODERS
from hyperfact.models.representations import Representations
from hyperfact.models.transeq import TransEQ
from hyperfact.runs.build import build, resolve

#: Every encoder with each of its forms.
ENCODER_FORMS: dict[str, dict[str, Any]] = {
    "anonymous": {"name": "anonymous"},
    "lookup": {"name": "lookup"},
    "compgcn": {"name": "compgcn"},
    "compgcn-sub": {"name": "compgcn", "composition": "sub", "layers": 2},
    "compgcn-mult": {"name": "compgcn", "composition": "mult", "normaliser": "mean"},
    "compgcn-corr": {"name": "compgcn", "composition": "corr", "normaliser": "published"},
    "compgcn-plain": {
        "name": "compgcn",
        "residual": False,
        "activation": "tanh",
        "layers": 2,
        "hidden_dropout": 0.1,
    },
    "compgcn-bare": {"name": "compgcn", "batch_norm": False, "dropout": 0.2, "layers": 3},
    "rgcn": {"name": "rgcn"},
    "rgcn-block": {"name": "rgcn", "decomposition": "block", "parts": 4, "layers": 2},
    "rgcn-full": {"name": "rgcn", "decomposition": "full", "normaliser": "global"},
    "stare": {"name": "stare"},
    "stare-sub": {"name": "stare", "composition": "sub", "layers": 2, "normaliser": "mean"},
    "stare-corr": {"name": "stare", "composition": "corr", "normaliser": "published"},
    "stare-plain": {
        "name": "stare",
        "composition": "mult",
        "residual": False,
        "batch_norm": False,
        "activation": "tanh",
        "layers": 2,
        "relation_share": 0.5,
        "dropout": 0.2,
    },
    "gmpnn": {"name": "gmpnn"},
    "gmpnn-max": {"name": "gmpnn", "aggregation": "max", "layers": 2, "dropout": 0.2},
    "gmpnn-plain": {
        "name": "gmpnn",
        "aggregation": "sum",
        "residual": False,
        "batch_norm": False,
        "activation": "tanh",
    },
    "vrgcn": {"name": "vrgcn"},
    "vrgcn-plain": {
        "name": "vrgcn",
        "residual": False,
        "batch_norm": False,
        "activation": "tanh",
        "layers": 2,
        "dropout": 0.2,
    },
    "vrgcn-loopless": {"name": "vrgcn", "self_loop": False, "layers": 2, "hidden_dropout": 0.1},
    "ingram": {"name": "ingram", "heads": 2},
    "ingram-deep": {
        "name": "ingram",
        "heads": 4,
        "bins": 3,
        "relation_layers": 2,
        "layers": 2,
        "dropout": 0.2,
    },
    "ingram-plain": {
        "name": "ingram",
        "heads": 1,
        "residual": False,
        "batch_norm": False,
        "activation": "tanh",
    },
    "kegcn": {"name": "kegcn"},
    "kegcn-transe": {"name": "kegcn", "score": "transe", "layers": 2, "dropout": 0.2},
    "kegcn-distmult": {"name": "kegcn", "score": "distmult", "layers": 2},
    "kegcn-plain": {
        "name": "kegcn",
        "residual": False,
        "batch_norm": False,
        "activation": "tanh",
        "layers": 2,
    },
}

#: Settings that make a decoder small: finite differences try every number of it twice.
SMALL: dict[str, dict[str, Any]] = {
    "getd": {"width": 3, "rank": 3},
    "ram": {"bases": 3},
    "hinge": {"width": 5, "filters": 3},
    "hyconve": {"channels": 4},
    "hycube": {"channels": 4},
    "nalp": {"filters": 5, "units": 6},
    "neuinfer": {"validity": 5, "compatibility": 7},
    "gran": {"feedforward": 5, "heads": 2, "layers": 2},
    "hcnet": {"layers": 2},
    "hynt": {"feedforward": 5, "heads": 2},
    "hytransformer": {"feedforward": 5, "heads": 2},
    "stare_transformer": {"feedforward": 5, "heads": 2},
    "conve": {"channels": 2, "kernel": 2},
    "transformer": {"feedforward": 5, "heads": 2},
}
#: The least dimension of decoders that cannot do with 4.
LEAST_DIM = {"duale": 8}
_TRANSFORMER = {"epochs": 50, "lr": 0.005, "batch_size": 64, "initial_scale": 0.1}
#: How decoders learn a few facts by heart that need other steps than most, or more of them.
PACE: dict[str, dict[str, Any]] = {
    "getd": {"lr": 0.005},
    "mcp": {"lr": 0.01},
    "s2s": {"epochs": 100},
    "hinge": {"epochs": 25, "batch_size": 64},
    "nalp": {"options": {"filters": 64, "units": 128}},
    "neuinfer": {"epochs": 25},
    "gran": _TRANSFORMER,
    "hynt": _TRANSFORMER,
    "hytransformer": {**_TRANSFORMER, "epochs": 80},
    "stare_transformer": _TRANSFORMER,
    "transformer": _TRANSFORMER,
}
#: Decoders that take two values of one attribute in a fact for each other: v + r = w, w + r = v.
TRANSLATING = {"transe", "transh"}
#: Decoders that pool attributes, so that pairs of attribute and value do not bind.
POOLING = {"mdistmult", "ncomplex", "s2s"}
#: Pairs that stand for all: every decoder alone, every encoder with the paper's decoder, and those
#: of the paper's table; `make night` tries all.
PAIRS = sorted(
    {
        *product(("lookup",), DECODERS),
        *product(ENCODERS, ("mdistmult",)),
        *product(("compgcn", "rgcn"), ("hype", "mtransh", "transformer")),
        ("stare", "stare_transformer"),
        ("anonymous", "hcnet"),
    }
    - {("anonymous", "mdistmult")}
)
#: All that can be configured: entities without vectors need a decoder that reads facts.
EVERY_PAIR = sorted(
    (encoder, decoder)
    for encoder, decoder in product(ENCODERS, DECODERS)
    if ENCODERS[encoder].tells_apart or DECODERS[decoder].reads_facts
)
#: Gradients by finite differences along random directions; number by number at night.
CHECKED = pytest.mark.parametrize(
    "fast", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["directions", "every number"]
)


def toy() -> HKG:
    """Arities 2 to 5, a repeated attribute, a repeated entity, twins and a lonely entity."""
    return example_facts()


def random_facts(count: int, *, entities: int = 25, seed: int = 0) -> HKG:
    """Random facts of arity 2 to 5 over few entities."""
    rng = random.Random(seed)
    names = [f"e{i}" for i in range(entities)]
    found: dict[Fact, None] = {}
    while len(found) < count:
        pairs = [(f"a{rng.randrange(3)}", rng.choice(names)) for _ in range(rng.choice((0, 1, 3)))]
        fact = Fact(rng.choice(names), f"r{rng.randrange(3)}", rng.choice(names), tuple(pairs))
        found[fact] = None
    return HKG.from_facts(found, entities=names)


def config_of(**sections: dict[str, Any]) -> ExperimentConfig:
    """A complete configuration; sections not given keep their defaults."""
    return resolve(ExperimentConfig.from_dict(sections))


def model_of(
    graph: HKG,
    encoder: dict[str, Any] | None = None,
    decoder: dict[str, Any] | None = None,
    *,
    dim: int = 8,
    precision: str = "float32",
    seed: int = 0,
) -> TransEQ:
    """A new model of these facts, on one thread."""
    torch.set_num_threads(1)
    encoder = encoder or {"name": "lookup"}
    usual = "mdistmult" if ENCODERS[encoder["name"]].tells_apart else "hcnet"
    config = config_of(
        encoder=encoder,
        decoder=decoder or {"name": usual},
        training={"dim": dim, "precision": precision},
    )
    return build(config, graph, torch.Generator().manual_seed(seed))


def representations(
    entities: int, relations: int, dim: int, *, scale: float = 0.3, seed: int = 0
) -> Representations:
    """Random vectors in double precision."""
    generator = torch.Generator().manual_seed(seed)
    e, r = (
        torch.randn(n, dim, generator=generator).double() * scale for n in (entities, relations)
    )
    return Representations(e, r)

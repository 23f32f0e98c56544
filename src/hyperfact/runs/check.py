"""Check somebody else's encoder or decoder: every promise of the contract, and that it learns."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np
import torch

from hyperfact.config import ExperimentConfig
from hyperfact.evaluation.checks.contract import CHECKS
from hyperfact.evaluation.checks.example_facts import example_facts
from hyperfact.evaluation.checks.promises import Case, Make
from hyperfact.graph.facts import Fact
from hyperfact.graph.hkg import HKG, Splits
from hyperfact.models.transeq import TransEQ
from hyperfact.runs.build import build, resolve
from hyperfact.runs.experiment import run
from hyperfact.runs.extensions import Extension

LEARNS = "it learns a few facts by heart"
_WITH = {"encoder": ("mdistmult", "transformer"), "decoder": ("lookup", "compgcn")}
_DIM, _FACTS, _EPOCHS, _ENOUGH = 8, 30, 60, 0.8


@dataclass(frozen=True)
class Verdict:
    """What one promise came to."""

    encoder: str
    decoder: str
    promise: str
    kept: bool
    reason: str = ""  # what it raised, if it did


def check_extension(extension: Extension) -> Iterator[Verdict]:
    """Try every promise, with two partners of the package each."""
    mine, partners = (extension.name,), _WITH[extension.kind]
    pairs = product(mine, partners) if extension.kind == "encoder" else product(partners, mine)
    for encoder, decoder in pairs:
        case = Case(model_maker(encoder, decoder), example_facts())
        checks = {promise: partial(check, case) for promise, check in CHECKS.items()}
        checks[LEARNS] = partial(_learns, encoder, decoder)
        for promise, check in checks.items():
            kept, reason = _try(check)
            yield Verdict(encoder, decoder, promise, kept, reason)


def _try(check: Callable[[], bool]) -> tuple[bool, str]:
    """Whether a promise is kept; what it raised, if it did."""
    try:
        return bool(check()), ""
    except Exception as error:  # whatever somebody else's code raises
        return False, f"{type(error).__name__}: {error}".partition("\n")[0]


def model_maker(encoder: str, decoder: str) -> Make:
    """Makes models of a pair in float64, with parameters that start at 0 moved away from it."""

    def make(graph: HKG) -> TransEQ:
        config = _config(encoder, decoder, dim=_DIM, precision="float64")
        model = build(config, graph, torch.Generator().manual_seed(0))
        generator = torch.Generator().manual_seed(1)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(0.1 * torch.randn(parameter.shape, generator=generator).double())
        return model

    return make


def _config(encoder: str, decoder: str, **training: object) -> ExperimentConfig:
    tree = {"encoder": {"name": encoder}, "decoder": {"name": decoder}, "training": training}
    return resolve(ExperimentConfig.from_dict(tree))


def _learns(encoder: str, decoder: str) -> bool:
    """Trained and asked about the same facts, it must put most answers first."""
    rng = np.random.default_rng(0)
    facts = [
        Fact(f"e{s}", f"r{i % 3}", f"e{o}", ((f"a{i % 2}", f"e{v}"),) if i % 2 else ())
        for i, (s, o, v) in enumerate(rng.integers(0, 12, (_FACTS, 3)).tolist())
    ]
    graph = HKG.from_facts(facts)
    config = _config(encoder, decoder, dim=32, epochs=_EPOCHS, batch_size=64, validate_every=0)
    found = run(config, splits=Splits({"train": graph, "test": graph}, name="a few facts"))
    return found.results["test"].metrics.mrr >= _ENOUGH

"""What a configuration will cost, before it is paid: memory, time, disk.

First a bound on memory from sizes alone, before anything large is allocated; then a probe of some
seconds: a few steps, some ranked queries, one checkpoint in memory.
"""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from safetensors.torch import save as bytes_of

from hyperfact.config import ExperimentConfig
from hyperfact.evaluation import evaluate
from hyperfact.graph.hkg import HKG, Splits
from hyperfact.runs.build import encoder_graph, limits_of, policy_of, resolve, training_facts
from hyperfact.runs.run import representations
from hyperfact.runs.setup import Setup, set_up
from hyperfact.runs.sizes import GraphSize, estimate_memory, refuse_too_large
from hyperfact.system.memory import peak_memory
from hyperfact.training.averaging import snapshot
from hyperfact.training.events import Report

_WARM_UP = 2  # steps that are not timed: kernels are loaded, memory is touched
_RANKED = 64, 2048  # facts of the two timed rankings; many batches, as a validation has


@dataclass(frozen=True)
class Forecast:
    """What a run is expected to need."""

    parameters: int
    steps: int  # in an epoch
    memory: int  # bytes, at the highest point
    checkpoint: int  # bytes of one; two are kept, a third exists while it is written
    epoch_seconds: float  # without validation
    validation_seconds: float  # of one
    ranking_seconds: float  # of valid and test, at the end
    total_seconds: float  # with every epoch that is allowed
    probe_seconds: float

    def as_dict(self) -> dict[str, Any]:
        """For machines."""
        return asdict(self)


def forecast(
    config: ExperimentConfig,
    splits: Splits,
    *,
    seconds: float = 10.0,
    max_memory: int | None = None,
) -> Forecast:
    """Probe a configuration.

    Args:
        config: What would be run.
        splits: Its data.
        seconds: For the probe, roughly.
        max_memory: Bytes that the process may use.

    Raises:
        UserError: More memory is needed than allowed.
    """
    begun = time.perf_counter()
    config = resolve(config)
    graph = encoder_graph(config, training_facts(config, splits))
    needed = peak_memory() + estimate_memory(config, GraphSize.of(graph))
    refuse_too_large(needed, max_memory, what="estimated before the start")
    setup = set_up(config, splits)
    ready = time.perf_counter() - begun
    step = _step_seconds(setup, seconds / 2)
    rate, fixed = _ranking_rate(setup)
    checkpoint = _checkpoint_bytes(setup)
    memory = peak_memory()
    refuse_too_large(memory, max_memory, what="measured by a probe")
    steps = setup.trainer.steps
    look = fixed + rate * _slots(setup.valid) if setup.valid is not None else 0.0
    held_out = [splits[name] for name in ("valid", "test") if name in splits]
    ranking = sum(fixed + rate * _slots(facts) for facts in held_out)
    looks = _validations(config) if setup.valid is not None else 0
    share = 1 + min(config.checkpoint.budget, 0.02)
    training = config.training.epochs * step * steps + looks * look
    return Forecast(
        parameters=sum(p.numel() for p in setup.model.parameters()),
        steps=steps,
        memory=memory,
        checkpoint=checkpoint,
        epoch_seconds=step * steps,
        validation_seconds=look,
        ranking_seconds=ranking,
        total_seconds=ready + training * share + ranking,
        probe_seconds=time.perf_counter() - begun,
    )


def _step_seconds(setup: Setup, seconds: float) -> float:
    """The typical time of a step; at least three are timed."""
    times: list[float] = []
    end = time.perf_counter() + seconds
    steps = (event for event in setup.trainer.run() if isinstance(event, Report))
    while len(times) < _WARM_UP + 3 or time.perf_counter() < end:
        start = time.perf_counter()
        if next(steps, None) is None:
            break
        times.append(time.perf_counter() - start)
    return float(np.mean(times[min(_WARM_UP, len(times) - 1) :]))


def _ranking_rate(setup: Setup) -> tuple[float, float]:
    """Seconds for each ranked slot, and seconds that every ranking takes before the first."""
    config, splits = setup.config, setup.splits
    held_out = next((splits[n] for n in ("valid", "test") if n in splits and len(splits[n])), None)
    facts = held_out if held_out is not None else splits.train
    rows = np.random.default_rng(0).permutation(len(facts))
    samples = [facts.select(np.sort(rows[:count])) for count in _RANKED]
    vectors = representations(setup.model)

    def rank(sample: HKG) -> Callable[[], object]:
        return lambda: evaluate(
            setup.model,
            sample,
            setup.known,
            policy=policy_of(config),
            limits=limits_of(config),
            representations=vectors,
        )

    encoding = _seconds(lambda: representations(setup.model))
    few, many = (_seconds(rank(sample)) for sample in samples)
    more = _slots(samples[1]) - _slots(samples[0])
    rate = max(0.0, many - few) / more if more else many / max(1, _slots(samples[1]))
    return rate, encoding + max(0.0, few - rate * _slots(samples[0]))


def _seconds(act: Callable[[], object]) -> float:
    """The better of two runs; the first may load kernels."""
    times = []
    for _ in range(2):
        start = time.perf_counter()
        act()
        times.append(time.perf_counter() - start)
    return min(times)


def _slots(facts: HKG) -> int:
    return int(facts.arity.sum())


def _checkpoint_bytes(setup: Setup) -> int:
    """Make one in memory, with a best model beside the last, as a long run has."""
    if setup.valid is not None:
        setup.trainer.best = snapshot(setup.model)
    _, tensors = setup.trainer.state()
    return len(bytes_of({name: t.detach().contiguous() for name, t in tensors.items()}))


def _validations(config: ExperimentConfig) -> int:
    every, epochs = config.training.validate_every, config.training.epochs
    return -(-epochs // every) if every else 0

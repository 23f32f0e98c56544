"""What several processes would need, reckoned from the probe of one: memory, time, from which size.

A step's work is proportional to the rows that are scored and encoded, and divides, as does what it
holds; the table that a graph encoder reads is gathered by everybody, whole or in blocks, its
gradient summed. Nothing of this is measured on
several machines: it is a forecast, as good as the two numbers that are assumed.
"""

from dataclasses import asdict, dataclass
from typing import Any

import torch

from hyperfact.config import ExperimentConfig
from hyperfact.config.settings import settings_of
from hyperfact.models.encoders import ENCODERS
from hyperfact.runs.plan import Forecast
from hyperfact.runs.sizes import GraphSize
from hyperfact.system.cores import cores

SIZES = (10**5, 10**6, 10**7, 10**8)  # entities
_BASE = 0.45e9  # bytes of a process with torch and no model
_LATENCY, _CALLS = 1e-3, 12  # seconds of a collective operation, and how many a step has


@dataclass(frozen=True)
class Row:
    """One size of graph, by one process and by each of several."""

    entities: int
    memory: float  # bytes of one that holds everything
    memory_each: float
    step: float  # seconds of one
    step_each: float  # with communication
    communication: float  # seconds of it

    @property
    def pays(self) -> bool:
        """Whether several are faster."""
        return self.step_each < self.step


@dataclass(frozen=True)
class TeamForecast:
    """What a team is expected to need."""

    processes: int
    nodes: int
    bandwidth: float  # bytes a second, assumed
    here: Row  # this graph
    sizes: tuple[Row, ...]  # others like it
    pays_from: float | None  # entities; None: at this bandwidth never, for time

    def as_dict(self) -> dict[str, Any]:
        """For machines."""
        return asdict(self)


def team_forecast(
    config: ExperimentConfig,
    size: GraphSize,
    found: Forecast,
    *,
    processes: int,
    nodes: int = 1,
    bandwidth: float = 1e9,
) -> TeamForecast:
    """Several processes instead of the one that was probed.

    Args:
        config: What would be run.
        size: Of the graph of the probe.
        found: The probe.
        processes: In all.
        nodes: Machines, each with as many cores as this one.
        bandwidth: Bytes a second between two processes.
    """
    threads = min(torch.get_num_threads(), cores())  # of the probe, and of each process
    has_graph = config.encoder.name != "lookup"
    nodes_each = 1 + (size.mediators / size.entities if has_graph else 0)  # rows for each entity
    row_bytes = (
        nodes_each * config.training.dim * (8 if config.training.precision == "float64" else 4)
    )
    copies = 6 if config.training.average else 5  # weights, gradient, two moments, best, mean
    encoder = settings_of(ENCODERS, "encoder", config.encoder)
    held = ENCODERS[config.encoder.name].held(encoder, config.training.dim)
    gathered = (1 + held) * row_bytes  # first values are made whole
    sent = 3 * row_bytes * (processes - 1) / processes if has_graph else 0.0
    work = found.epoch_seconds / found.steps / size.entities  # seconds for each entity
    speed = min(processes * threads, nodes * cores()) / threads
    own = max(0.0, found.memory - _BASE) / size.entities
    latency = _CALLS * _LATENCY

    def row(entities: int) -> Row:
        talk = latency + sent * entities / bandwidth
        alone = max(own, copies * row_bytes)
        each = alone / processes + gathered
        return Row(
            entities,
            _BASE + alone * entities,
            _BASE + min(each, alone) * entities,
            work * entities,
            work * entities / speed + talk,
            talk,
        )

    gain = work * (1 - 1 / speed) - sent / bandwidth
    return TeamForecast(
        processes,
        nodes,
        bandwidth,
        row(size.entities),
        tuple(row(entities) for entities in SIZES),
        latency / gain if gain > 0 else None,
    )

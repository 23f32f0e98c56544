"""Settings for somebody who gave none: they fit the size and the shape of the training facts.

A start, found on the bundled datasets and on parts of them, that beats the frequency baseline
within minutes on two cores; docs/howto/train.md has the figures. For good results, `tune`.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from hyperfact.config import ExperimentConfig, Section
from hyperfact.graph.hkg import HKG
from hyperfact.runs.sizes import GraphSize, estimate_memory

_DECODER = "mdistmult"  # the one that settings of decoder and optimizer were found for


class Row(NamedTuple):
    """Settings for training facts with so many queries."""

    queries: float  # at most
    dim: int
    epochs: int
    batch_size: int
    lr_decay: float
    validate_every: int
    strangers: float


#: Few queries need many epochs of small steps; many must end within minutes.
ROWS = (
    Row(3_000, 32, 40, 64, 0.96, 8, 0.2),
    Row(50_000, 64, 24, 1024, 0.93, 4, 0.0),
    Row(100_000, 64, 12, 1024, 0.9, 4, 0.0),
    Row(1_000_000, 64, 6, 8192, 0.8, 2, 0.0),
    Row(float("inf"), 32, 2, 16384, 0.7, 1, 0.0),
)


def fitting_defaults(train: HKG, memory: int | None = None) -> dict[str, dict[str, Any]]:
    """Settings by dotted name, in groups by the reason for them.

    Args:
        train: The facts to learn from.
        memory: Bytes that training may take; the dimension is halved until it does.
    """
    queries = int(train.arity.sum())
    row = next(row for row in ROWS if queries <= row.queries)
    found: dict[str, dict[str, Any]] = {
        f"for {queries:,} training queries": {
            "training.dim": _fitting_dim(row.dim, train, memory),
            "training.epochs": row.epochs,
            "training.batch_size": row.batch_size,
            "training.average": 0.99,
            "training.validate_every": row.validate_every,
            "training.validate_facts": 300,
        },
        "to tell subject from object, to fall back where facts are few, and to learn fast": {
            "decoder.turn": "all",
            "decoder.offset": 0.8,
            "decoder.dropout": 0.0,
            "decoder.query_dropout": 0.3,
            "optimizer.name": "adamw",
            "optimizer.lr": 0.02,
            "optimizer.lr_decay": row.lr_decay,
            "optimizer.weight_decay": 0.1,
        },
    }
    if row.strangers:
        found["for names that few facts show"] = {"graph.strangers": row.strangers}
    if len(train.columns.values):
        found["for questions that leave qualifiers out"] = {"objective.partial": 0.9}
    return found


def with_defaults(
    given: Mapping[str, Mapping[str, Any]], train: HKG, memory: int | None = None
) -> tuple[ExperimentConfig, list[str]]:
    """What is given, and beside it what fits; with a line for each reason that decided something.

    Args:
        given: Settings by section and name; they win.
        train: The facts to learn from.
        memory: Bytes that training may take.
    """
    config = ExperimentConfig.from_dict(given)
    tree = {section: dict(settings) for section, settings in given.items()}
    lines = []
    for reason, settings in fitting_defaults(train, memory).items():
        used = {name: value for name, value in settings.items() if _is_open(name, given, config)}
        for name, value in used.items():
            section, _, key = name.partition(".")
            tree.setdefault(section, {})[key] = value
        if used:
            lines.append(f"{reason}: {', '.join(f'{k} = {v}' for k, v in used.items())}")
    return ExperimentConfig.from_dict(tree), lines


def _is_open(name: str, given: Mapping[str, Mapping[str, Any]], config: ExperimentConfig) -> bool:
    """Whether nobody set it, and what was set leaves it a meaning."""
    section, _, key = name.partition(".")
    if section in ("decoder", "optimizer") and config.decoder.name != _DECODER:
        return False
    chosen = getattr(config, section)
    unused = chosen.unused() if isinstance(chosen, Section) else ()
    return key not in given.get(section, {}) and key not in unused


def _fitting_dim(dim: int, train: HKG, memory: int | None) -> int:
    """Half of it, and again, until the estimate is below half of the memory."""
    size = GraphSize.of_facts(train)
    while memory is not None and dim > 8:
        config = ExperimentConfig.from_dict({"training": {"dim": dim, "average": 0.99}})
        if estimate_memory(config, size) <= memory // 2:
            break
        dim //= 2
    return dim

"""Where a run comes from, and what must be the same for it to go on to the same bits."""

import hashlib
import json
import platform
from collections.abc import Container, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from hyperfact import __version__, kernels
from hyperfact.config import ExperimentConfig
from hyperfact.errors import ConfigError
from hyperfact.graph.facts import Vocabulary
from hyperfact.graph.facts_in_parts import FactsInParts
from hyperfact.graph.hkg import HKG, Splits
from hyperfact.models.transeq import TransEQ

_PACKAGES = ("numba", "numpy", "safetensors", "torch")


def versions() -> dict[str, str]:
    """Of everything that computes."""
    return {"python": platform.python_version(), **{name: version(name) for name in _PACKAGES}}


def processor() -> str:
    """Its name, as the system tells it."""
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def deciding(config: ExperimentConfig, *, exclude_defaults: bool = False) -> dict[str, Any]:
    """The settings that decide numbers, not where data is, what computes, when it is stored."""
    dump = config.model_dump(
        mode="json",
        exclude={"data": {"data_dir"}, "training": {"device"}, "checkpoint": True},
        exclude_defaults=exclude_defaults,
    )
    objective = dump.get("objective", {})
    if exclude_defaults and objective.get("negatives") == 0:  # written out or not, it is the same
        del objective["negatives"]
    return dump if objective else {k: v for k, v in dump.items() if k != "objective"}


def fingerprint(config: ExperimentConfig) -> str:
    """SHA-256 of everything that decides figures.

    Settings at their defaults are left out, so that a new one orphans no result; a default that
    changes must be written into the recipes.
    """
    dump = deciding(config, exclude_defaults=True)
    return hashlib.sha256(json.dumps(dump, sort_keys=True).encode()).hexdigest()


def passport(
    config: ExperimentConfig, splits: Splits, train: HKG, model: TransEQ
) -> dict[str, Any]:
    """All that decides the numbers of a run, by name."""
    return {
        "config": deciding(config),
        "data": {name: facts.fingerprint for name, facts in splits.items()},
        "order": {
            "entities": _names_hash(splits.entities),
            "relations": _names_hash(splits.relations),
            "training facts": _facts_hash(train),
        },
        "threads": torch.get_num_threads(),
        "precision": model.precision,
        "versions": {"hyperfact": __version__, "kernels": _kernels_hash(), **versions()},
    }


def refuse_other(
    now: Mapping[str, Any], then: Any, where: Path, *, ignore: Container[str] = ()
) -> None:
    """Compare two passports.

    Args:
        now: Of what would go on.
        then: Of what was stored; anything may have been.
        where: The run, for the message.
        ignore: Parts that may differ.

    Raises:
        ConfigError: The first field that differs, by its dotted name.
    """
    new, old = dict(_flat(now)), dict(_flat(then if isinstance(then, Mapping) else {}))
    for name in sorted(new.keys() | old.keys()):
        if name.partition(".")[0] in ignore or new.get(name) == old.get(name):
            continue
        shown = name.removeprefix("config.")
        raise ConfigError(
            f"{where}: {shown} is {_short(new.get(name))} now, the checkpoint has "
            f"{_short(old.get(name))}; a run goes on only as it began"
        )


def _flat(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def _short(value: object) -> str:
    text = "absent" if value is None else repr(value)
    return text if len(text) <= 40 else text[:20] + "…'"


def _names_hash(names: Vocabulary) -> str:
    """Of names in the order of their ids."""
    digest = hashlib.sha256()
    for name in names:
        content = str(name).encode("utf-8", "surrogatepass")
        digest.update(f"{type(name).__name__} {len(content)} ".encode() + content)
    return digest.hexdigest()


def _facts_hash(facts: HKG) -> str:
    """Of facts in their order, which decides what is drawn when."""
    if isinstance(facts, FactsInParts):
        return facts.order
    c = facts.columns
    digest = hashlib.sha256()
    for column in (c.subject, c.relation, c.object, c.offsets, c.attributes, c.values):
        digest.update(f"{column.dtype} {len(column)} ".encode() + column.tobytes())
    return digest.hexdigest()


def _kernels_hash() -> str:
    """Of the code that sums: another order of additions gives other bits."""
    digest = hashlib.sha256()
    for path in sorted(Path(kernels.__path__[0]).glob("*.py")):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()

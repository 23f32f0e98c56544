"""Small trained runs to ask questions of, made once a process."""

import atexit
import random
import shutil
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

from hyperfact.config import ExperimentConfig
from hyperfact.graph.facts import Fact
from hyperfact.graph.hkg import HKG, Splits
from hyperfact.runs.artifacts import RunWriter
from hyperfact.runs.build import build
from hyperfact.runs.experiment import run
from hyperfact.runs.run import Run, save
from tests.support.models import config_of

CITIES = [f"city {i}" for i in range(4)]
CLUBS = [f"club {i}" for i in range(8)]
POSITIONS = ["goal", "wing", "centre"]


def league() -> Splits:
    """Players and clubs: where a player lives follows from the city of his club."""
    rng = random.Random(0)
    fixed = [Fact(club, "in", CITIES[i % 4]) for i, club in enumerate(CLUBS)]
    plays, lives = [], []
    for number in range(64):
        player, club = f"player {number}", CLUBS[number % 8]
        position, year = POSITIONS[number % 3], str(2000 + rng.randrange(4))
        pairs = (("position", position), ("since", year))
        plays.append(Fact(player, "plays for", club, pairs[: rng.choice((1, 2))]))
        lives.append(Fact(player, "lives in", CITIES[number % 4], (("since", year),)))
    rng.shuffle(lives)
    rng.shuffle(plays)
    train = [*fixed, *plays[10:], *lives[16:]]
    valid, test = [*lives[:8], *plays[:5]], [*lives[8:16], *plays[5:10]]
    names = HKG.from_facts([*train, *valid, *test])
    parts = {"train": train, "valid": valid, "test": test}
    return Splits(
        {
            name: HKG.from_facts(facts, entities=names.entities, relations=names.relations)
            for name, facts in parts.items()
        },
        "league",
    )


def folder() -> Path:
    """A directory that goes when the process ends."""
    path = Path(tempfile.mkdtemp(prefix="hyperfact-runs-"))
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


def league_config(**sections: dict[str, Any]) -> ExperimentConfig:
    """Enough to learn the league in a few seconds."""
    training = {"dim": 16, "epochs": 25, "batch_size": 64, "validate_every": 0}
    given: dict[str, dict[str, Any]] = {
        "encoder": {"name": "compgcn"},
        "training": {**training, "precision": "float32"},
        "optimizer": {"lr": 0.02},
    }
    return config_of(**{**given, **sections})


@lru_cache
def league_run() -> Path:
    """A trained run directory; its dataset exists nowhere else."""
    torch.set_num_threads(1)
    path = folder() / "league"
    run(league_config(), splits=league(), out=path)
    return path


def untrained(splits: Splits, **sections: dict[str, Any]) -> Run:
    """A run that never trained."""
    torch.set_num_threads(1)
    config = league_config(**sections)
    return Run(config, splits, build(config, splits.train, torch.Generator().manual_seed(0)))


def stored(result: Run) -> Path:
    """The directory of a run."""
    path = folder() / "run"
    writer = RunWriter(path)
    writer.text("config.toml", result.config.to_toml())
    save(result, writer)
    return path

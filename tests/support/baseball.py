"""Runs on the bundled facts, trained as `hyperfact demo` trains, made once a process."""

from functools import lru_cache
from typing import Any

import numpy as np
import torch

from hyperfact.cli.demo import MODEL
from hyperfact.config import ExperimentConfig
from hyperfact.data import load
from hyperfact.graph.hkg import Splits
from hyperfact.predict import Predictor
from hyperfact.runs.experiment import run

_TEAMS = ("Atlanta Braves", "Milwaukee Braves", "Arizona Diamondbacks")
_SMALL = {"dim": 48, "epochs": 12, "batch_size": 256, "validate_every": 12}


def some_careers() -> Splits:
    """The facts of everybody who ever played for one of a few teams, with all names."""
    baseball = load("baseball")
    every, plays = baseball.all.columns, baseball.relations.id("played for")
    teams = [baseball.entities.id(team) for team in _TEAMS]
    theirs = np.isin(every.object, teams) & (every.relation == plays)
    persons = np.unique(every.subject[theirs])
    rows = {n: np.flatnonzero(np.isin(p.columns.subject, persons)) for n, p in baseball.items()}
    return Splits({name: part.select(rows[name]) for name, part in baseball.items()}, "careers")


@lru_cache
def careers() -> Predictor:
    """A model of these careers, in seconds."""
    return _trained(some_careers(), _SMALL)


@lru_cache
def demo() -> Predictor:
    """The model of the demo, in minutes."""
    return _trained(load("baseball"), {"epochs": 12})


def _trained(splits: Splits, training: dict[str, Any]) -> Predictor:
    torch.set_num_threads(1)
    tree = {**MODEL, "training": {**MODEL["training"], **training}}
    return Predictor.of(run(ExperimentConfig.from_dict(tree), splits=splits))

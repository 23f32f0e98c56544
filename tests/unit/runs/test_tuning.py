"""The search for settings: what it tries, that it goes on, and that test facts stay unseen."""

import csv
import tomllib
from pathlib import Path
from typing import Any

import pytest

from hyperfact.config import ExperimentConfig
from hyperfact.errors import UserError
from hyperfact.evaluation import evaluate
from hyperfact.graph.hkg import HKG, Splits
from hyperfact.runs.tune import SPACES, changed, tune, usable
from tests.support.runs import league, league_config

SPACE = {"optimizer.lr": (0.001, 0.05), "encoder.alpha": (0.0, 1.0), "decoder.nothing": (1, 2)}


def small(**training: Any) -> ExperimentConfig:
    settings = {"dim": 8, "epochs": 4, "batch_size": 64, "validate_every": 2, **training}
    return league_config(training={**settings, "precision": "float32"})


def test_trials_go_on_where_they_ended(tmp_path: Path) -> None:
    numbers: list[int] = []

    def watch(number: int, _: Any) -> Any:
        numbers.append(number)
        return lambda _: None

    first = tune(small(), league(), space=SPACE, trials=2, out=tmp_path, watch=watch)
    assert (first.trials, numbers) == (2, [0, 1])
    second = tune(small(), league(), space=SPACE, trials=3, out=tmp_path, watch=watch)
    assert (second.trials, numbers) == (3, [0, 1, 2])
    assert second.mrr >= first.mrr
    with (tmp_path / "trials.csv").open(newline="") as table:
        rows = list(csv.DictReader(table))
    assert max(float(row["valid mrr"]) for row in rows) == second.mrr
    assert set(rows[0]) >= {"optimizer.lr", "encoder.alpha"}
    best = tomllib.loads((tmp_path / "best.toml").read_text())
    assert best["optimizer"]["lr"] == second.changes["optimizer.lr"]
    assert ExperimentConfig.from_dict(best).encoder.options["alpha"] in (0.0, 1.0)


def test_the_first_trial_has_the_settings_of_the_configuration(tmp_path: Path) -> None:
    tried: list[Any] = []

    def watch(_: int, changes: Any) -> Any:
        tried.append(changes)
        return lambda _: None

    config = changed(small(epochs=1), {"optimizer.lr": 0.03, "encoder.alpha": 0.25})
    space = {"optimizer.lr": (0.001, 0.03, 0.05, 0.06), "encoder.alpha": (0.0, 0.25, 0.5, 1.0)}
    tune(config, league(), space=space, trials=1, out=tmp_path, watch=watch)
    assert tried == [{"optimizer.lr": 0.03, "encoder.alpha": 0.25}]


def test_a_trial_that_was_cut_off_is_tried_again(tmp_path: Path) -> None:
    tried: list[Any] = []

    def watch(_: int, changes: Any) -> Any:
        tried.append(changes)

        def look(_: object) -> None:
            if len(tried) == 1:
                raise KeyboardInterrupt

        return look

    with pytest.raises(KeyboardInterrupt):
        tune(small(), league(), space=SPACE, trials=1, out=tmp_path, watch=watch)
    found = tune(small(), league(), space=SPACE, trials=1, out=tmp_path, watch=watch)
    assert found.trials == 1
    assert tried[0] == tried[1]


def test_the_search_never_ranks_test_facts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ranked: list[str] = []

    def note(model: Any, graph: HKG, *rest: Any, **more: Any) -> Any:
        ranked.append(graph.fingerprint)
        return evaluate(model, graph, *rest, **more)

    monkeypatch.setattr("hyperfact.runs.setup.evaluate", note)
    splits = league()
    tune(small(), splits, space=SPACE, trials=1, out=tmp_path)
    assert set(ranked) == {splits.valid.fingerprint}


def test_only_settings_that_exist_are_tried() -> None:
    names = usable(SPACES["wide"], league_config(encoder={"name": "lookup"}))
    assert "encoder.layers" not in names
    assert {"encoder.initial_scale", "decoder.dropout", "optimizer.lr"} <= set(names)
    assert changed(small(), {"optimizer.lr": 0.5}).optimizer.lr == 0.5


def test_only_values_that_the_others_allow_are_tried() -> None:
    by_role = usable(SPACES["wide"], league_config())
    assert list(by_role["graph.strangers"]) == [0.0, 0.05, 0.1]
    without = usable(SPACES["wide"], league_config(graph={"unseen": "mean"}))
    assert list(without["graph.strangers"]) == [0.0]
    assert {**by_role, "graph.strangers": [0.0]} == without


def test_settings_that_do_not_go_together_cost_a_trial_not_the_search(tmp_path: Path) -> None:
    odd = league_config(
        encoder={"name": "lookup"},
        training={"dim": 7, "epochs": 1, "validate_every": 1, "precision": "float32"},
    )
    space = {"decoder.coordinate_dropout": (0.5, 0.0)}
    found = tune(odd, league(), space=space, trials=6, out=tmp_path / "some")
    assert found.changes == {"decoder.coordinate_dropout": 0.0}
    assert 0 < found.pruned < found.trials == 6
    never = {"decoder.coordinate_dropout": (0.5,)}
    with pytest.raises(UserError, match=r"no trial was finished: .*dim must be even, got 7"):
        tune(odd, league(), space=never, trials=2, out=tmp_path / "none")


def test_without_validation_facts_there_is_nothing_to_search_by(tmp_path: Path) -> None:
    only = Splits({"train": league().train, "valid": league().valid[0:0]}, "league")
    with pytest.raises(UserError, match="validation facts"):
        tune(small(), only, space=SPACE, trials=1, out=tmp_path)

from pathlib import Path

import pytest

import hyperfact
from hyperfact.errors import ConfigError


def test_train_and_evaluate_in_a_line(tmp_path: Path) -> None:
    facts = [hyperfact.Fact("a", "r", b, (("q", c),)) for b in "bcd" for c in "ef"]
    graph = hyperfact.HKG.from_facts(facts)
    splits = hyperfact.Splits({"train": graph, "valid": graph[:2], "test": graph[2:4]}, "small")
    settings = {"training.dim": 8, "training.epochs": 2, "training.validate_every": 1}
    run = hyperfact.train(splits, encoder="lookup", settings=settings)
    metrics = hyperfact.evaluate(run).metrics
    assert metrics == run.results["test"].metrics
    assert 0 < metrics.mrr <= 1

    hyperfact.write(splits, tmp_path / "data", format="jsonl")
    kept = hyperfact.train(
        tmp_path / "data", encoder="lookup", settings=settings, out=tmp_path / "run"
    )
    assert hyperfact.evaluate(tmp_path / "run").metrics == kept.results["test"].metrics
    with pytest.raises(ConfigError, match=r"training\.epoch"):
        hyperfact.train(splits, settings={"training.epoch": 2})

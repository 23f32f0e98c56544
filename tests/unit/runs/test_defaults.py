"""Settings that fit: by size and shape, under what is given, within memory."""

import pytest

from hyperfact import HKG, Fact, Splits, load, train
from hyperfact.config import ExperimentConfig
from hyperfact.errors import UserError
from hyperfact.runs.build import resolve
from hyperfact.runs.defaults import ROWS, fitting_defaults, with_defaults
from hyperfact.runs.experiment import run
from hyperfact.runs.sizes import GraphSize, estimate_memory


def chain(count: int, *, qualified: bool = True) -> HKG:
    qualifiers = (("q", "v"),) if qualified else ()
    return HKG.from_facts([Fact(f"e{i}", "r", f"e{i + 1}", qualifiers) for i in range(count)])


def settings(facts: HKG) -> dict[str, object]:
    return {k: v for part in fitting_defaults(facts).values() for k, v in part.items()}


def test_few_facts_get_small_steps_and_many_epochs() -> None:
    few, many = settings(chain(160)), settings(chain(40_000, qualified=False))
    assert few["training.dim"] < many["training.dim"]  # type: ignore[operator]
    assert few["training.batch_size"] < many["training.batch_size"]  # type: ignore[operator]
    assert few["training.epochs"] > many["training.epochs"]  # type: ignore[operator]
    assert [row.queries for row in ROWS] == sorted(row.queries for row in ROWS)


def test_only_qualifiers_are_left_out_of_questions() -> None:
    assert settings(chain(5))["objective.partial"] == 0.9
    assert "objective.partial" not in settings(chain(5, qualified=False))


def test_what_is_given_wins_and_leaves_no_setting_without_meaning() -> None:
    facts = chain(20)
    config, reasons = with_defaults({"training": {"dim": 7}}, facts)
    assert (config.training.dim, config.decoder.options["turn"]) == (7, "all")
    assert "training.dim" not in " ".join(reasons)
    config, _ = with_defaults({"objective": {"negatives": 3}}, facts)
    assert config.objective.partial == 0.9  # which goes with sampled negatives too
    config, _ = with_defaults({"training": {"validate_every": 0}}, facts)
    assert config.training.validate_facts == 0
    config, _ = with_defaults({"graph": {"unseen": "own"}}, facts)
    assert config.graph.strangers == 0.0
    config, _ = with_defaults({"decoder": {"name": "hype"}}, facts)
    assert resolve(config).optimizer == ExperimentConfig().optimizer


def test_the_dimension_fits_the_memory() -> None:
    facts = chain(20_000)
    size, memory = GraphSize.of_facts(facts), 240_000_000
    config, _ = with_defaults({}, facts, memory)
    assert config.training.dim < with_defaults({}, facts)[0].training.dim
    assert estimate_memory(config, size) <= memory


def test_an_untuned_run_beats_the_baseline_on_a_part_of_world() -> None:
    world = load("world")
    found = train(Splits({n: part[:200] for n, part in world.items()}, name="part"))
    test = found.results["test"]
    baseline = next(m.mrr for name, m in test.beside.items() if name.startswith("baseline"))
    assert test.metrics.mrr > baseline
    assert repr(found).startswith("Run(part, compgcn + mdistmult, 40 epochs, valid MRR 0.")
    assert len(repr(found)) < 120


def test_impossible_sizes_are_refused_before_memory_is_asked_for() -> None:
    config, _ = with_defaults({"training": {"dim": 1_000_000}}, chain(100))
    with pytest.raises(UserError, match=r"training\.dim = 1,000,000 for .* GB of memory are"):
        run(config, splits=Splits({"train": chain(100)}, name="chain"))


def test_facts_alone_are_split() -> None:
    found = train(load("world").train[:300], settings={"training.epochs": 3})
    assert set(found.results) == {"valid", "test"}

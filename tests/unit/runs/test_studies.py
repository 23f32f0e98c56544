"""Studies: what they train, what they write, and that nothing is trained twice."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hyperfact.errors import UnknownNameError, UserError
from hyperfact.graph.hkg import HKG
from hyperfact.runs.build import resolve
from hyperfact.runs.configurations import read_config, recipes
from hyperfact.runs.studies import STUDIES, Cell, Cells, Plan, Workspace, plots
from hyperfact.runs.studies.paper import reported, rows_of
from hyperfact.runs.studies.recipes import OURS, PAPER, SYSTEMS, recipe
from hyperfact.runs.studies.result_tables import summary
from hyperfact.runs.studies.tsne import purity, sample
from hyperfact.runs.tune import SPACES, usable
from hyperfact.training.events import Event
from tests.support.runs import league

TINY = ("training.dim=8", "training.epochs=2", "training.validate_every=1", "training.average=0.9")


@pytest.fixture
def tmp_path(tmp_path: Path) -> Path:
    """A folder without neighbours, from which a study would borrow."""
    alone = tmp_path / "alone"
    alone.mkdir()
    return alone


class Office:
    """A space whose every dataset is a handful of facts, and that counts trainings."""

    def __init__(self, folder: Path, *, resume: bool = False) -> None:
        self.trained: list[str] = []
        cells = Cells(folder, lambda _: league())
        self.workspace = Workspace(cells, self.facts, self.watch, resume=resume)

    def facts(self, _: str) -> HKG:
        return league().train

    def watch(self, cell: Cell) -> "Watching":
        self.trained.append(cell.name)
        return Watching()


class Watching:
    """Looks at nothing."""

    def __call__(self, event: Event) -> None:
        """Look."""


@pytest.mark.parametrize("name", STUDIES)
def test_a_quick_study_writes_table_and_picture(name: str, tmp_path: Path) -> None:
    rows = ("TransEQ", "m-DistMult", "RAM") if name == "main" else ()  # others are as these
    lines = STUDIES[name].run(Office(tmp_path).workspace, Plan(overrides=TINY, rows=rows))
    with (tmp_path / f"{name}.csv").open(newline="") as table:
        assert len(list(csv.DictReader(table))) == len(lines)
    assert (tmp_path / f"{name}.md").read_text().startswith("# ")
    assert (tmp_path / f"{name}.svg").read_bytes().lstrip().startswith(b"<?xml")


def test_a_table_of_sizes_is_not_written_over(tmp_path: Path) -> None:
    plan, study = Plan(overrides=TINY), STUDIES["complexity"]
    lines = study.run(Office(tmp_path).workspace, plan)
    with pytest.raises(UserError, match="--resume"):
        study.run(Office(tmp_path).workspace, plan)
    assert study.run(Office(tmp_path, resume=True).workspace, plan) == lines


def test_what_is_trained_is_not_trained_again(tmp_path: Path) -> None:
    plan, study = Plan(overrides=TINY), STUDIES["tsne"]
    first = Office(tmp_path)
    lines = study.run(first.workspace, plan)
    assert len(first.trained) == 2
    with pytest.raises(UserError, match="--resume"):
        study.run(Office(tmp_path).workspace, plan)
    (tmp_path / "cells" / "FB-AUTO-0.0-0.json").unlink()
    (tmp_path / "runs" / "FB-AUTO-0.0-0").rename(tmp_path / "away")
    again = Office(tmp_path, resume=True)
    second = study.run(again.workspace, plan)
    assert again.trained == ["FB-AUTO-0.0-0"]
    assert [line["mrr"] for line in second] == [line["mrr"] for line in lines]


def test_a_training_of_another_study_is_not_done_again(tmp_path: Path) -> None:
    main = Office(tmp_path / "main")
    STUDIES["main"].run(main.workspace, Plan(overrides=TINY, rows=("TransEQ",)))
    office = Office(tmp_path / "sharing")
    lines = STUDIES["sharing"].run(office.workspace, Plan(overrides=TINY, rows=("0.0", "1.0")))
    assert office.trained == ["FB-AUTO-0.0-0"]  # 1.0 is the recipe itself, trained as TransEQ
    assert [line["row"] for line in lines] == ["0.0", "1.0"]
    stored = json.loads((tmp_path / "sharing" / "cells" / "FB-AUTO-1.0-0.json").read_text())
    other = json.loads((tmp_path / "main" / "cells" / "FB-AUTO-TransEQ-0.json").read_text())
    assert stored == other | {"row": "1.0"}


def test_validation_of_versions_that_filter_otherwise_is_not_drawn_together(tmp_path: Path) -> None:
    study, office = STUDIES["sharing"], Office(tmp_path)
    study.run(office.workspace, Plan(overrides=TINY, rows=("0.0", "1.0")))
    picture = tmp_path / "sharing.svg"
    assert "valid" in picture.read_text()
    stored = tmp_path / "cells" / "FB-AUTO-1.0-0.json"
    stored.write_text(json.dumps(json.loads(stored.read_text()) | {"version": "0.1.0"}))
    study.run(Office(tmp_path).workspace, Plan(train=False))
    assert "valid" not in picture.read_text()
    assert "test" in picture.read_text()


def test_a_traced_training_serves_a_plain_one_but_not_the_other_way(tmp_path: Path) -> None:
    plan = Plan(overrides=TINY, rows=("TransEQ",))
    STUDIES["curves"].run(Office(tmp_path / "curves").workspace, plan)
    main = Office(tmp_path / "main")
    lines = STUDIES["main"].run(main.workspace, plan)
    assert main.trained == []
    alone = Office(tmp_path / "alone" / "main")
    again = STUDIES["main"].run(alone.workspace, plan)
    assert [line.get("mrr") for line in again] == [line.get("mrr") for line in lines]
    traced = Office(tmp_path / "alone" / "curves")
    STUDIES["curves"].run(traced.workspace, plan)
    assert traced.trained == ["FB-AUTO-TransEQ-0"]  # its curve needs test facts


def test_the_table_of_what_is_stored_trains_nothing(tmp_path: Path) -> None:
    study, office = STUDIES["curves"], Office(tmp_path)
    with pytest.raises(UserError, match="no result is stored"):
        study.run(office.workspace, Plan(train=False))
    study.run(office.workspace, Plan(overrides=TINY, rows=("m-DistMult", "TransEQ")))
    lines = study.run(Office(tmp_path).workspace, Plan(train=False))
    assert [line["row"] for line in lines] == ["TransEQ", "m-DistMult"]
    assert lines[0]["budget"] == "; ".join(("quick", *TINY))


def test_rows_can_be_chosen(tmp_path: Path) -> None:
    office = Office(tmp_path)
    lines = STUDIES["curves"].run(office.workspace, Plan(overrides=TINY, rows=("m-DistMult",)))
    assert [line["row"] for line in lines] == ["m-DistMult"]
    assert office.trained == ["FB-AUTO-m-DistMult-0"]
    with pytest.raises(UnknownNameError, match="did you mean"):
        STUDIES["curves"].run(office.workspace, Plan(rows=("mDistMult",)))


def test_a_result_tells_its_data_and_its_machine(tmp_path: Path) -> None:
    STUDIES["tsne"].run(Office(tmp_path).workspace, Plan(overrides=TINY, rows=("0.0",)))
    stored = json.loads((tmp_path / "cells" / "FB-AUTO-0.0-0.json").read_text())
    assert stored["data"]["train"] == league().train.fingerprint
    assert stored["machine"]["threads"] >= 1
    assert stored["machine"]["precision"] in ("float32", "bfloat16")
    assert stored["machine"]["versions"]["torch"]


def test_a_result_of_another_configuration_is_refused(tmp_path: Path) -> None:
    study, row = STUDIES["main"], ("m-DistMult",)
    study.run(Office(tmp_path).workspace, Plan(overrides=TINY, rows=row))
    other = Plan(overrides=(*TINY, "optimizer.lr=0.1"), rows=row)
    with pytest.raises(UserError, match="another configuration"):
        study.run(Office(tmp_path, resume=True).workspace, other)


def test_seeds_give_a_mean_and_a_spread(tmp_path: Path) -> None:
    plan = Plan(seeds=2, overrides=TINY, rows=("m-DistMult",))
    lines = STUDIES["curves"].run(Office(tmp_path).workspace, plan)
    first = lines[0]
    found = [
        json.loads((tmp_path / "cells" / f"FB-AUTO-{first['row']}-{s}.json").read_text())
        for s in range(2)
    ]
    values = [f["test"]["mrr"] for f in found]
    assert first["mrr"] == pytest.approx(np.mean(values))
    assert first["mrr spread"] == pytest.approx(np.std(values, ddof=1))
    assert all(len(f["curve"]) == 2 and "test" in f["curve"][0] for f in found)


def test_threads_are_told_where_all_seeds_had_the_same(tmp_path: Path) -> None:
    office = Office(tmp_path)
    STUDIES["main"].run(office.workspace, Plan(seeds=2, overrides=TINY, rows=("m-DistMult",)))
    one, two = (replace(o, machine={"threads": 1}) for o in office.workspace.cells.all())
    assert summary("main", [one, two])[0]["threads"] == 1
    assert summary("main", [one, replace(two, machine={"threads": 2})])[0]["threads"] is None


def test_a_picture_says_where_the_budget_was_not_full() -> None:
    lines = [
        {"dataset": "A", "row": "x", "mrr": 0.5, "budget": "full"},
        {"dataset": "B", "row": "x", "mrr": 0.4, "budget": "full; training.epochs=2"},
        {"dataset": "B", "row": "y", "mrr paper": 0.6},
    ]
    picture = plots.bars(lines, "Things").decode()
    assert ("Things: A<" in picture, "Things: B (not the full budget)<" in picture) == (True, True)


def test_figures_of_the_paper() -> None:
    assert reported("main", "FB-AUTO", "TransEQ")["mrr"] == 0.870
    assert reported("transformations", "JF17K", "plain") == {
        "mrr": 0.504,
        "hits@1": 0.422,
        "hits@10": 0.669,
    }
    assert reported("encoder-decoder", "JF17K", "rgcn+mtransh") == {}  # it ran out of memory
    assert len(rows_of("main", "JF17K")) == 13  # two of them by the papers of the systems


def test_a_recipe_keeps_its_settings_or_is_replaced_where_the_component_is() -> None:
    config = recipe("FB-AUTO", {"encoder": {"alpha": 0.4}})
    assert config.encoder.options["alpha"] == 0.4
    assert config.encoder.options["composition"] == "rotate"
    other = recipe("FB-AUTO", {"encoder": {"name": "lookup"}}, ["training.seed=7"])
    assert "composition" not in other.encoder.options
    assert other.training.seed == 7
    with pytest.raises(UserError, match="no recipe for Nowhere"):
        recipe("Nowhere", {})


def test_the_last_row_of_departures_is_the_recipe_of_the_paper() -> None:
    cells = {cell.row: cell for cell in STUDIES["deviations"].cells(Plan("full", ("FB-AUTO",)))}  # type: ignore[attr-defined]
    assert list(cells)[-1] == "all taken back"
    assert cells["all taken back"].config == read_config(Path("fb_auto_paper"))
    adam = cells["Adam"].config.optimizer
    assert (adam.name, adam.weight_decay) == ("adam", 0.0)
    assert adam.lr_decay == cells["recipe"].config.optimizer.lr_decay  # nothing else changes


@pytest.mark.parametrize("name", ["fb_auto_paper", "jf17k_paper"])
def test_a_recipe_is_the_letter_of_the_paper(name: str) -> None:
    """Whatever its section on implementation and equation 1 say; the grid where they give one."""
    config, grid = resolve(read_config(Path(name))), SPACES["paper"]
    encoder, decoder = config.encoder.options, config.decoder.options
    assert (config.encoder.name, config.decoder.name) == ("compgcn", "mdistmult")
    assert config.training.dim == 200
    assert config.training.patience > 0
    assert config.training.average == 0
    assert (encoder["composition"], encoder["normaliser"]) == ("rotate", "published")
    assert (encoder["residual"], encoder["batch_norm"]) == (False, True)
    assert encoder["activation"] == "tanh"
    assert (decoder["turn"], decoder["coordinate_dropout"], decoder["limit"]) == ("none", 0, 0)
    assert (config.graph.mode, config.graph.unseen) == ("paper-text", "own")
    assert config.objective.joint
    assert config.objective.negatives
    assert config.optimizer.name == "adam"
    assert (config.optimizer.lr_decay, config.optimizer.weight_decay) == (1.0, 0.0)
    tree = config.model_dump()
    for setting, values in usable(grid, config).items():
        section, _, key = setting.partition(".")
        assert tree[section][key] in values, setting
    assert usable(grid, config).keys() == grid.keys()


def test_a_benchmark_without_the_letter_of_the_paper_goes_without_the_row() -> None:
    main = STUDIES["main"]
    rows = [cell.row for cell in main.cells(Plan("full", ("WD50K",), seeds=1))]  # type: ignore[attr-defined]
    assert rows == [
        *("TransEQ", "m-DistMult", "HypE", "m-TransH", "hyperfact"),
        "hyperfact, train+valid",
    ]
    with pytest.raises(UserError, match="no recipe for WD50K"):
        main.cells(Plan("full", ("WD50K",), rows=("TransEQ by the paper's text",)))  # type: ignore[attr-defined]
    assert reported("main", "FB-AUTO", "TransEQ by the paper's text")["mrr"] == 0.870


def test_a_system_starts_from_its_recipe() -> None:
    main = STUDIES["main"]
    cells = {cell.row: cell for cell in main.cells(Plan("full", ("FB-AUTO",), 1))}  # type: ignore[attr-defined]
    assert cells["RAM"].config == read_config(Path("fb_auto_ram"))
    assert {"m-DistMult", "HypE", "m-TransH", "HINGE", "StarE", "G-MPNN"} < set(cells)
    assert not {"ComplEx", "DistMult"} & set(cells)  # they have recipes for triples
    rows = [cell.row for cell in main.cells(Plan("full", ("FB15k-237",), 1))]  # type: ignore[attr-defined]
    assert rows == ["DistMult", "ComplEx", "ConvE", "CompGCN + ConvE"]


def test_a_benchmark_without_a_recipe_of_a_system_borrows_its_settings() -> None:
    (cell,) = STUDIES["main"].cells(Plan("full", ("JF17K",), 1, rows=("RAM",)))  # type: ignore[attr-defined]
    assert cell.config.data.dataset == "JF17K"
    assert cell.config.decoder == read_config(Path("fb_auto_ram")).decoder
    with pytest.raises(UserError, match="no recipe for JF17K"):
        STUDIES["main"].cells(Plan("full", ("JF17K",), rows=("ComplEx",)))  # type: ignore[attr-defined]


def test_every_system_has_a_recipe() -> None:
    endings = {name for name in recipes() for system in SYSTEMS.values() if name.endswith(system)}
    others = {name for name in recipes() if name.endswith((OURS, PAPER))}
    assert endings | others == set(recipes())
    assert all(any(name.endswith(f"_{s}") for name in endings) for s in SYSTEMS.values())


def test_purity_is_one_for_clusters_and_about_chance_without() -> None:
    rng = np.random.default_rng(0)
    labels = ["a", "b"] * 200
    apart = rng.standard_normal((400, 3)) + 100 * np.array([[i % 2] * 3 for i in range(400)])
    assert purity(apart, labels) == 1.0
    assert purity(rng.standard_normal((400, 3)), labels) == pytest.approx(0.5, abs=0.05)
    assert purity(np.zeros((400, 3)), labels) == pytest.approx(199 / 399)  # all equally near


def test_the_most_frequent_relations_are_sampled() -> None:
    relation = np.repeat(np.arange(12), np.arange(1, 13))
    assert set(relation[sample(relation)].tolist()) == set(range(2, 12))

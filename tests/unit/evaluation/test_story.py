"""Runs as a whole: what evaluation must not change, and what training must not know."""

import hashlib
import json
import random
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch

from hyperfact.cli import main
from hyperfact.config import (
    ExperimentConfig,
    ObjectiveConfig,
    OptimizerConfig,
    TrainingConfig,
)
from hyperfact.errors import DataError, NumericalError
from hyperfact.evaluation import Background, Evaluation, Policy, Ranks, evaluate
from hyperfact.graph.facts import Fact
from hyperfact.graph.hkg import HKG, Splits
from hyperfact.graph.queries import KnownAnswers
from hyperfact.models.encoders import ENCODERS
from hyperfact.models.transeq import TransEQ
from hyperfact.runs import artifacts
from hyperfact.runs.experiment import run
from hyperfact.runs.run import Run, evaluate_split, open_run, save
from hyperfact.system.tables import read_table
from hyperfact.training.objectives import make_objective
from hyperfact.training.trainer import Trainer
from tests.support.models import model_of, random_facts


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


def splits_of(seed: int = 0, *, count: int = 90, entities: int = 12) -> Splits:
    whole = random_facts(count, entities=entities, seed=seed)
    order = np.random.default_rng(seed).permutation(count)
    cut = (order[: count - 30], order[count - 30 : count - 15], order[count - 15 :])
    names = ("train", "valid", "test")
    return Splits({n: whole.select(np.sort(c)) for n, c in zip(names, cut, strict=True)}, "toy")


def config_of(encoder: str = "lookup", **training: object) -> ExperimentConfig:
    return ExperimentConfig.from_dict(
        {
            "encoder": {"name": encoder},
            "decoder": {"name": "mdistmult" if ENCODERS[encoder].tells_apart else "hcnet"},
            "training": {"dim": 8, "epochs": 3, "batch_size": 32, "validate_every": 0, **training},
        }
    )


def weights_of(model: TransEQ) -> str:
    digest = hashlib.sha256()
    for name, tensor in model.state_dict().items():
        digest.update(name.encode() + tensor.numpy().tobytes())
    return digest.hexdigest()


@pytest.mark.parametrize("encoder", ENCODERS)
def test_held_out_facts_do_not_touch_the_weights(encoder: str) -> None:
    """Non-interference: the same training facts, any other facts over the same names."""
    splits, others = splits_of(), splits_of(5)
    names = {"entities": splits.entities, "relations": splits.relations}
    parts = {
        "train": splits.train,
        **{n: HKG.from_facts(list(others[n]), **names) for n in ("valid", "test")},
    }
    config = config_of(encoder)
    one, two = (run(config, splits=s) for s in (splits, Splits(parts, "toy")))
    assert weights_of(one.model) == weights_of(two.model)
    assert one.results["test"].metrics != two.results["test"].metrics


@pytest.mark.parametrize("encoder", ENCODERS)
def test_ranking_after_every_step_changes_nothing(encoder: str) -> None:
    splits = splits_of()
    known, found = Background.of(splits), []
    for watched in (False, True):
        model = model_of(splits.train, {"name": encoder})
        generator = torch.Generator().manual_seed(1)
        trainer = Trainer(
            model,
            make_objective(splits.train, ObjectiveConfig()),
            training=TrainingConfig(dim=8, epochs=2, batch_size=64),
            optimizer=OptimizerConfig(),
            generator=generator,
        )
        for _ in trainer.run():
            assert model.training
            if watched:
                evaluate(model, splits.valid, known)
        found.append((weights_of(model), generator.get_state().tolist()))
    assert found[0] == found[1]


def test_an_error_while_ranking_leaves_everything_as_it_was() -> None:
    graph = random_facts(30)
    model = model_of(graph, {"name": "compgcn"}).train()
    model.decoder.eval()
    with torch.no_grad():
        next(model.parameters())[0] = float("nan")
    before = weights_of(model), [m.training for m in model.modules()], torch.get_rng_state()
    with pytest.raises(NumericalError):
        evaluate(model, graph, KnownAnswers.build(graph))
    assert weights_of(model) == before[0]
    assert [m.training for m in model.modules()] == before[1]
    assert torch.equal(torch.get_rng_state(), before[2])
    assert torch.is_grad_enabled()


def test_nothing_comes_from_nothing() -> None:
    """Random facts, learned by heart: test facts must rank as a random scorer ranks them."""
    whole = random_facts(280, entities=60, seed=3)
    splits = Splits({"train": whole[:200], "test": whole[200:]}, "random")
    config = ExperimentConfig.from_dict(
        {
            "encoder": {"name": "lookup"},
            "decoder": {"name": "mdistmult", "dropout": 0.0},
            "optimizer": {"lr": 0.02},
            "training": {"dim": 32, "epochs": 40, "batch_size": 64, "validate_every": 0},
        }
    )
    result = run(config, splits=splits)
    background = Background.of(splits)
    assert evaluate(result.model, splits.train, background).metrics.mrr > 0.9
    ranks = result.results["test"].ranks
    rng = np.random.default_rng(0)
    places = rng.integers(1, ranks.candidates + 1, size=(20_000, len(ranks)))
    low, high = np.quantile((1.0 / places).mean(axis=1), [0.005, 0.995])
    assert low <= result.results["test"].metrics.mrr <= high


def planted(*, qualified: bool) -> Splits:
    """The object is a function of the value, and of nothing else."""
    rng = random.Random(0)
    facts: dict[Fact, None] = {}
    for s in range(30):
        for v in range(8):
            pair = (("q", f"v{v}"),) if qualified else ()
            facts[Fact(f"s{s}", "r", f"o{(3 * v + 1) % 8}", pair)] = None
    rows = list(facts)
    rng.shuffle(rows)
    names = [f"{kind}{i}" for kind in "sov" for i in range(30)]
    whole = HKG.from_facts(rows, entities=names, relations=["r", "q"])
    return Splits({"train": whole[:190], "test": whole[190:]}, "planted")


@pytest.mark.parametrize("qualified", [True, False])
def test_qualifiers_matter_when_they_should(qualified: bool) -> None:
    result = run(config_of(dim=16, epochs=40, batch_size=64), splits=planted(qualified=qualified))
    mrr = evaluate_split(result, "test", policy=Policy(slots="object", filter="none")).metrics.mrr
    assert mrr >= 0.95 if qualified else mrr <= 0.60


# -- the directory --------------------------------------------------------------------------------


@pytest.fixture
def stored(tmp_path: Path) -> tuple[Run, Path]:
    path = tmp_path / "run"
    config = config_of("compgcn", epochs=8, validate_every=1)
    return run(config, splits=splits_of(), out=path), path


def test_best_means_best(stored: tuple[Run, Path]) -> None:
    result, path = stored
    log = [json.loads(line) for line in (path / "log.jsonl").read_text().splitlines()]
    best = max(row["valid_mrr"] for row in log)
    again = open_run(path, splits=splits_of())
    metrics = json.loads((path / "metrics.json").read_text())
    for split in ("valid", "test"):
        found = evaluate_split(again, split)
        assert found.metrics == result.results[split].metrics
        logged = {k: metrics[split][k] for k in found.metrics.as_dict()}
        assert logged == found.metrics.as_dict()
    assert evaluate_split(again, "valid").metrics.mrr == best


def test_the_rank_table_holds_every_rank(stored: tuple[Run, Path]) -> None:
    result, path = stored
    manifest = json.loads((path / "manifest.json").read_text())
    for split in ("valid", "test"):
        name = f"ranks-{split}.parquet"
        assert (
            manifest["files"][name]["sha256"]
            == hashlib.sha256((path / name).read_bytes()).hexdigest()
        )
        names = list(Ranks.__dataclass_fields__)
        columns, about = read_table(path / name, names)
        ours = result.results[split]
        for column in names:
            assert np.array_equal(columns[column], getattr(ours.ranks, column)), column
        assert about["policy"] == ours.as_dict()["policy"]
        assert about["facts"] == result.splits[split].fingerprint
        back = Ranks(*(columns[n] for n in names))
        again = Evaluation(back, ours.policy, ours.graph, ours.train, ours.candidates)
        assert again.as_dict() == replace(ours, beside={}).as_dict()


def test_a_table_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such table"):
        read_table(tmp_path / "absent.parquet", ["a"])
    (tmp_path / "x.parquet").write_bytes(b"PAR1 nonsense")
    with pytest.raises(DataError, match="not a usable table"):
        read_table(tmp_path / "x.parquet", ["a"])


# -- commands -------------------------------------------------------------------------------------


def call(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as end:
        main([str(word) for word in words])
    out, err = capsys.readouterr()
    return int(end.value.code or 0), out, err


@pytest.fixture
def runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> tuple[Path, Path]:
    data = tmp_path / "data"
    data.mkdir()
    for name, part in splits_of().items():
        lines = ["\t".join([*f.primary, *(x for p in f.qualifiers for x in p)]) for f in part]
        (data / f"{name}.txt").write_text("\n".join(lines) + "\n")
    paths = tmp_path / "one", tmp_path / "two"
    for path, epochs in zip(paths, (1, 12), strict=True):
        options = (f"training.epochs={epochs}", "training.dim=8", "training.validate_every=0")
        words = [word for option in options for word in ("--set", option)]
        line = ("train", "--dataset", data, "--encoder", "lookup", *words, "--out", path)
        code, _, error = call(capsys, *line, "--threads", 1)
        assert code == 0, error
    return paths


def test_evaluate_prints_the_policy_and_the_slices(
    runs: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = call(capsys, "evaluate", runs[1], "--json", "--by", "relation", "--hits", "1,5")
    found = json.loads(out)
    assert code == 0
    assert {"mrr", "hits@1", "hits@5", "ranks", "candidates", "policy", "by_relation"} <= set(found)
    order = [found["mrr_by_ties"][t] for t in ("optimistic", "realistic", "pessimistic")]
    assert all(a >= b for a, b in pairwise(order))
    options = ("--slots", "value", "--filter", "none", "--candidates", "seen-so")
    code, out, _ = call(capsys, "evaluate", runs[1], *options, "--unseen", "skip", "--json")
    assert json.loads(out)["policy"] == {
        "ties": "realistic",
        "slots": "value",
        "filter": "none",
        "candidates": "seen-so",
        "unseen": "skip",
        "given": "all",
        "average": "micro",
    }
    code, out, _ = call(capsys, "evaluate", runs[1], "--by", "frequency")
    assert "frequency" in out
    assert "primary triple not in train" in out
    assert "MRR by ties: " in out
    assert "baseline: most frequent in this role" in out
    assert "no qualifier given" in out
    code, out, _ = call(capsys, "evaluate", runs[1], "--given", "none", "--json")
    assert json.loads(out)["policy"]["given"] == "none"
    for words in (("--filter", "some"), ("--by", "colour"), ("--hits", "1,x"), ("--split", "dev")):
        code, _, error = call(capsys, "evaluate", runs[1], *words)
        assert code == 2, words
        assert error.startswith("error: "), error


def test_ties_that_matter_are_told(
    runs: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stored = open_run(runs[0])
    with torch.no_grad():
        for parameter in stored.model.parameters():
            parameter.zero_()
    _save(stored, tmp_path / "flat")
    code, out, error = call(capsys, "evaluate", tmp_path / "flat")
    assert code == 0
    assert "warning: ties decide" in error
    assert "optimistic 1.0000" in out


def test_a_score_that_is_no_number_is_exit_5(
    runs: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stored = open_run(runs[0])
    with torch.no_grad():
        next(stored.model.parameters())[0] = float("nan")
    _save(stored, tmp_path / "nan")
    code, _, error = call(capsys, "evaluate", tmp_path / "nan")
    assert code == 5
    assert "of the fact" in error


def _save(stored: Run, path: Path) -> None:
    writer = artifacts.RunWriter(path)
    writer.text(artifacts.CONFIG, stored.config.to_toml())
    save(stored, writer)


def test_compare_reads_both_tables(
    runs: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, error = call(capsys, "compare", *runs, "--by", "arity", "--json")
    assert code == 0, error
    found = json.loads(out)
    assert found["wins"] + found["ties"] + found["losses"] == found["ranks"]
    assert found["difference"] == pytest.approx(found["second"] - found["first"])
    assert sum(s["ranks"] for s in found["slices"].values()) == found["ranks"]
    code, out, _ = call(capsys, "compare", *runs)
    assert code == 0
    assert "wins are the second's" in out
    table = tmp_path / "so.parquet"
    assert call(capsys, "evaluate", runs[1], "--slots", "so", "--ranks", table)[0] == 0
    code, _, error = call(capsys, "compare", runs[0], table)
    assert (code, "differ in their policy" in error) == (2, True)
    assert call(capsys, "evaluate", runs[1], "--slots", "so", "--ranks", table)[0] == 2
    other = tmp_path / "other.parquet"
    assert call(capsys, "evaluate", runs[0], "--slots", "so", "--ranks", other)[0] == 0
    assert call(capsys, "compare", other, table)[0] == 0


def test_score_predictions_agrees_with_evaluate(
    runs: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "data"
    _, out, _ = call(capsys, "evaluate", runs[1], "--json")
    expected = json.loads(out)
    ranks = evaluate_split(open_run(runs[1]), "test").ranks
    file = tmp_path / "ranks.csv"
    rows = zip(ranks.fact, ranks.slot, ranks.by("realistic"), strict=True)
    file.write_text("fact,slot,rank\n" + "".join(f"{f},{s},{r}\n" for f, s, r in rows))
    code, out, error = call(capsys, "score-predictions", file, "--dataset", data, "--json")
    assert code == 0, error
    assert json.loads(out)["mrr"] == pytest.approx(expected["mrr"], abs=1e-12)
    assert "taken as they are" in error
    file.write_text("\n".join(file.read_text().splitlines()[:-1]) + "\n")
    assert call(capsys, "score-predictions", file, "--dataset", data)[0] == 2
    line = ("score-predictions", file, "--dataset", data, "--missing", "worst")
    code, out, _ = call(capsys, *line)
    assert code == 0
    assert "protocol" in out
    assert call(capsys, *line[:-1], "never")[0] == 2

"""An ensemble is a run like any other: its scores, its members, and what it refuses."""

import shutil
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from hyperfact.errors import DataError, UserError
from hyperfact.graph.facts import Vocabulary
from hyperfact.graph.hkg import HKG
from hyperfact.models.ensemble import Ensemble, Pool
from hyperfact.predict import Predictor
from hyperfact.predict.combining import combine, pool_weights
from hyperfact.predict.explain import explain
from hyperfact.predict.export import export_run
from hyperfact.runs.run import Run, evaluate_split, open_run
from tests.support.runs import folder, league, league_run, stored, untrained

QUESTION = "player 3 | lives in | ? | since = 2001"


@lru_cache
def two() -> tuple[Path, Path]:
    """A trained run that reads the graph, and one that does not but counts facts."""
    other = untrained(
        league(),
        encoder={"name": "lookup"},
        decoder={"name": "hype"},
        evidence={"order": 2},
    )
    return league_run(), stored(other)


@lru_cache
def both() -> Path:
    path = folder() / "both"
    combine(two(), path, splits=league())
    return path


def logits(run: Path) -> Tensor:  # (1, entities)
    predictor = Predictor.load(run, splits=league())
    return predictor.scorer.entities([predictor.resolve(QUESTION).ids]).double()


def test_an_ensemble_of_one_run_has_its_ranks(tmp_path: Path) -> None:
    combine([league_run()], tmp_path / "one", splits=league())
    ranks = [
        evaluate_split(open_run(path, splits=league()), "test", alone=True).ranks
        for path in (league_run(), tmp_path / "one")
    ]
    for name in ("greater", "equal", "candidates"):
        assert np.array_equal(getattr(ranks[0], name), getattr(ranks[1], name)), name


def test_scores_are_the_product_of_calibrated_probabilities() -> None:
    decoder = open_run(both(), splits=league()).model.decoder
    assert isinstance(decoder, Pool)
    weights, temperatures = decoder.weights, decoder.temperatures
    product = torch.ones(1, len(league().entities), dtype=torch.float64)
    for place, run in enumerate(two()):
        member = (logits(run) / temperatures[place]).softmax(dim=1)
        product *= member ** weights[place]
    torch.testing.assert_close(logits(both()).softmax(dim=1), product / product.sum())


def test_both_ways_to_open_it_agree() -> None:
    run = open_run(both(), splits=league())
    torch.testing.assert_close(Predictor.of(run).scorer.z.entities, _loaded().scorer.z.entities)
    assert run.model.encode().entities.shape[0] == len(league().entities)


def _loaded() -> Predictor:
    return Predictor.load(both(), splits=league())


def test_it_answers_and_explains_itself() -> None:
    answers = _loaded().ask(QUESTION, 3)
    assert len(answers) == 3
    best = answers[0]
    found = explain(_loaded(), QUESTION, best.name)
    assert found.support
    assert _loaded().model.encoder.sees_graph  # one of its members does


def test_hidden_facts_are_hidden_from_each_member() -> None:
    model = open_run(both(), splits=league()).model
    assert isinstance(model, Ensemble)
    keep = model.keep_without(np.array([0]))
    assert len(keep) == sum(len(member.encoded) for member in model.members)
    with torch.no_grad():
        hidden, whole = model.eval().encode(keep=keep), model.encode()
    assert not torch.equal(hidden.entities, whole.entities)


def test_a_member_that_is_gone_or_another_is_said(tmp_path: Path) -> None:
    copies = [tmp_path / name for name in ("a", "b")]
    for run, copy in zip(two(), copies, strict=True):
        shutil.copytree(run, copy)
    combine(copies, tmp_path / "both", splits=league())
    Predictor.load(tmp_path / "both", splits=league())
    copies[1].rename(tmp_path / "away")
    with pytest.raises(DataError, match=r"both: its member .*b is not there"):
        open_run(tmp_path / "both", splits=league())
    shutil.copytree(copies[0], copies[1])
    with pytest.raises(DataError, match=r"both: its member .*b is not the run it was made of"):
        Predictor.load(tmp_path / "both", splits=league())


def test_members_have_the_same_facts(tmp_path: Path) -> None:
    splits = league()
    fewer = type(splits)({**splits, "train": splits.train.select(np.arange(50))}, "less")
    other = stored(untrained(fewer))
    with pytest.raises(UserError, match="its train facts are not those of"):
        combine([league_run(), other], tmp_path / "both", splits=splits)
    assert not (tmp_path / "both").exists()


def test_names_in_another_order_are_refused(tmp_path: Path) -> None:
    splits = league()
    names = Vocabulary(list(splits.entities)[::-1])
    parts = {
        name: HKG.from_facts(list(part), entities=names, relations=splits.relations)
        for name, part in splits.items()
    }
    turned = type(splits)(parts, "league")
    other = stored(untrained(turned))
    with pytest.raises(DataError, match="names or their order"):
        combine([league_run(), other], tmp_path / "both", splits=splits)


def test_a_run_that_saw_validation_facts_is_refused(tmp_path: Path) -> None:
    sections = {"data": {"train_on": "train+valid"}, "encoder": {"name": "lookup"}}
    greedy: Run = untrained(league(), **sections)
    with pytest.raises(DataError, match="no validation facts are left"):
        combine([stored(greedy)], tmp_path / "one", splits=league())


def test_it_is_not_exported(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="export its members"):
        export_run(_loaded(), tmp_path / "out")


def test_weights_go_to_who_knows() -> None:
    generator = torch.Generator().manual_seed(0)
    answers = torch.randint(10, (200,), generator=generator)
    good = torch.randn(200, 10, generator=generator, dtype=torch.float64)
    good[torch.arange(200), answers] += 3.0
    noise = torch.randn(200, 10, generator=generator, dtype=torch.float64)
    weights = pool_weights(torch.stack([good, noise]), answers)
    assert weights[0] > 5 * weights[1] > 0


def test_an_ensemble_hears_new_facts_through_its_members() -> None:
    predictor, fact = Predictor.load(both(), splits=league()), "player 99 | in | city 1"
    before = predictor.scorer.entities([predictor.resolve(QUESTION).ids])
    assert predictor.add(fact).names == ("player 99",)
    assert [a.name for a in predictor.ask("player 99 | in | ?", known="only")] == ["city 1"]
    predictor.remove()
    assert torch.equal(predictor.scorer.entities([predictor.resolve(QUESTION).ids]), before)

"""The benchmarks: exactly as many ranks as there are slots to ask for."""

import pytest
import torch

from hyperfact.data import load
from hyperfact.evaluation import Background, Evaluation, evaluate
from hyperfact.evaluation.policy import Policy
from tests.support.benchmarks import data_folder
from tests.support.models import model_of

pytestmark = pytest.mark.bench_data

RANKS = {"FB-AUTO": 8_564, "JF17K": 67_573, "WD50K": 101_046}


def ranked(name: str, policy: Policy | None = None) -> Evaluation:
    splits = load(name, data_dir=data_folder())
    model = model_of(splits.train, dim=4)
    torch.set_num_threads(2)
    return evaluate(model, splits.test, Background.of(splits), policy=policy)


@pytest.mark.parametrize(
    "name",
    ["FB-AUTO", *(pytest.param(name, marks=pytest.mark.slow) for name in ("JF17K", "WD50K"))],
)
def test_every_slot_of_every_test_fact_is_ranked_once(name: str) -> None:
    found = ranked(name)
    assert found.metrics.ranks == RANKS[name]
    for slices in ("slot", "arity", "relation", "primary", "frequency"):
        assert sum(m.ranks for m in found.by(slices).values()) == RANKS[name]
    assert (
        len(set(zip(found.ranks.fact.tolist(), found.ranks.slot.tolist(), strict=True)))
        == (RANKS[name])
    )
    assert found.candidates == len(found.graph.entities)
    assert 0 < found.metrics.mrr < 0.01  # untrained


def test_facts_with_unseen_entities_are_counted_when_skipped() -> None:
    found = ranked("FB-AUTO", Policy(unseen="skip"))
    assert found.metrics.ranks + found.skipped == RANKS["FB-AUTO"]
    assert len(set(found.ranks.fact.tolist())) == 2_180 - 258

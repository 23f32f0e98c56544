"""Losses and ranks of fixed seeds; a change here is a decision, and its commit says so.

`python -m tests.golden.test_losses` records what is missing; to record a pair anew, delete it.
"""

import json
from pathlib import Path

import pytest
import torch

from hyperfact.config import ExperimentConfig
from hyperfact.runs.experiment import run
from tests.support.models import PAIRS
from tests.unit.runs.test_experiment import splits_of

RECORD = Path(__file__).with_name("losses.json")
RECORDED = [(e, d) for e, d in map(str.split, json.loads(RECORD.read_text()))]


def measure(encoder: str, decoder: str) -> dict[str, list[float] | float]:
    torch.set_num_threads(1)
    tree = {
        "encoder": {"name": encoder},
        "decoder": {"name": decoder},
        "training": {
            "dim": 8,
            "epochs": 3,
            "batch_size": 32,
            "validate_every": 3,
            "precision": "float64",
        },
    }
    result = run(ExperimentConfig.from_dict(tree), splits=splits_of())
    return {
        "losses": [epoch.loss for epoch in result.epochs],
        "test_mrr": result.results["test"].metrics.mrr,
    }


@pytest.mark.parametrize(("encoder", "decoder"), sorted({*PAIRS, *RECORDED}))
def test_numbers_stay_what_they_were(encoder: str, decoder: str) -> None:
    recorded = json.loads(RECORD.read_text())[f"{encoder} {decoder}"]
    found = measure(encoder, decoder)
    assert found["losses"] == pytest.approx(recorded["losses"], rel=1e-7)
    assert found["test_mrr"] == pytest.approx(recorded["test_mrr"], abs=1e-9)


if __name__ == "__main__":
    table = json.loads(RECORD.read_text())
    missing = [(e, d) for e, d in PAIRS if f"{e} {d}" not in table]
    table |= {f"{e} {d}": measure(e, d) for e, d in missing}
    RECORD.write_text(json.dumps(table, indent=2) + "\n")

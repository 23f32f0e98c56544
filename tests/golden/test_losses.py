"""Losses and ranks of fixed seeds; a change here is a decision, and its commit says so.

To record anew: `python -m tests.golden.test_losses`.
"""

import json
from itertools import product
from pathlib import Path

import pytest
import torch

from hyperfact.config import ExperimentConfig
from hyperfact.models.decoders import DECODERS
from hyperfact.models.encoders import ENCODERS
from hyperfact.runs.experiment import run
from tests.unit.runs.test_experiment import splits_of

RECORD = Path(__file__).with_name("losses.json")
PAIRS = list(product(ENCODERS, DECODERS))


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


@pytest.mark.parametrize(("encoder", "decoder"), PAIRS)
def test_numbers_stay_what_they_were(encoder: str, decoder: str) -> None:
    recorded = json.loads(RECORD.read_text())[f"{encoder} {decoder}"]
    found = measure(encoder, decoder)
    assert found["losses"] == pytest.approx(recorded["losses"], rel=1e-7)
    assert found["test_mrr"] == pytest.approx(recorded["test_mrr"], abs=1e-9)


if __name__ == "__main__":
    table = {f"{e} {d}": measure(e, d) for e, d in PAIRS}
    RECORD.write_text(json.dumps(table, indent=2) + "\n")

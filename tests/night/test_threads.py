"""Two threads: bits are promised on one thread only, and yet they should repeat on two."""

import os
import subprocess
import sys

import pytest

from tests.support import ROOT

RUNS = 10
CODE = """
import hashlib, sys
import torch
torch.set_num_threads(2)
torch.use_deterministic_algorithms(True)
from hyperfact.config import ObjectiveConfig, OptimizerConfig, TrainingConfig
from hyperfact.training.objectives import make_objective
from hyperfact.training.trainer import Trainer
from tests.support.models import model_of, random_facts
graph = random_facts(700, entities=600)
model = model_of(graph, {"name": sys.argv[1]}, {"name": "mdistmult"}, dim=64)
torch.set_num_threads(2)
objective = make_objective(graph, ObjectiveConfig())
training = TrainingConfig(epochs=4, batch_size=-(-len(objective) // 10))
trainer = Trainer(model, objective, training=training, optimizer=OptimizerConfig(),
                  hide_targets="batch", generator=torch.Generator().manual_seed(5))
steps = len(list(trainer.run())) - training.epochs
digest = hashlib.sha256()
for tensor in model.state_dict().values():
    digest.update(tensor.numpy().tobytes())
print(steps, torch.get_num_threads(), digest.hexdigest())
"""


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("encoder", ["compgcn", "rgcn"])
def test_ten_processes_of_two_threads_give_the_same_bits(encoder: str) -> None:
    """Forty steps in each, over tables that are large enough to be shared between threads."""
    found = set()
    for _ in range(RUNS):
        done = subprocess.run(
            [sys.executable, "-c", CODE, encoder],
            env={**os.environ, "MKL_DYNAMIC": "FALSE", "OMP_DYNAMIC": "FALSE"},
            cwd=ROOT,
            check=True,
            capture_output=True,
            text=True,
        )
        steps, threads, digest = done.stdout.split()
        assert (steps, threads) == ("40", "2")
        found.add(digest)
    assert len(found) == 1

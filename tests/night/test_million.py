"""Ranking over a million entities within two gigabytes."""

import json
import subprocess
import sys

import pytest

CODE = """
import json, resource, sys, time
limit = 4 * 2**30
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
import numpy as np, torch
torch.set_num_threads(2)
from hyperfact.evaluation import Limits, rank_with
from hyperfact.graph.facts import Fact, Vocabulary
from hyperfact.models.decoders import DECODERS
from hyperfact.graph.hkg import HKG, Columns
from hyperfact.models.representations import Representations
from hyperfact.system.memory import peak_memory
from hyperfact.graph.queries import KnownAnswers
size, dim, queries = 1_000_000, 200, {queries}
generator = torch.Generator().manual_seed(0)
table = torch.empty(size, dim).normal_(0, 0.3, generator=generator)
z = Representations(table, torch.empty(4, dim).normal_(0, 0.3, generator=generator))
kind = DECODERS["mdistmult"]
decoder = kind(dim=dim, num_entities=size, scale=0.3, settings=kind.Settings(), generator=generator)
rng = np.random.default_rng(0)
facts = queries // 2
ids = lambda high: rng.integers(high, size=facts).astype(np.int32)
columns = Columns(ids(size), ids(4), ids(size), np.zeros(facts + 1, dtype=np.int64),
                  np.zeros(0, np.int32), np.zeros(0, np.int32))
names = Vocabulary(map(str, range(size)))
graph = HKG.from_columns(names, Vocabulary("abcd"), columns)
score = lambda facts, slots, candidates: decoder.score_slot(facts, slots, z, candidates=candidates)
start = time.process_time()
with torch.no_grad():
    found = rank_with(score, graph, KnownAnswers.build(graph), limits=Limits(128))
seconds = time.process_time() - start  # of both threads; others share the machine
peak = peak_memory() / 1e9
print(json.dumps([seconds, peak, found.metrics.ranks, found.candidates]))
"""


@pytest.mark.slow
def test_a_thousand_queries_over_a_million_entities() -> None:
    code = CODE.replace("{queries}", "1000")
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    seconds, gigabytes, ranks, candidates = json.loads(done.stdout.splitlines()[-1])
    assert (ranks, candidates) == (1000, 1_000_000)
    assert gigabytes <= 2.0
    assert seconds <= 90

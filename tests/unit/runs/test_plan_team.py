"""What several processes would need: each less than one, and time from some size on."""

from hyperfact.config import ExperimentConfig
from hyperfact.runs.plan import Forecast
from hyperfact.runs.plan_team import SIZES, team_forecast
from hyperfact.runs.sizes import GraphSize

PROBE = Forecast(
    parameters=1,
    steps=100,
    memory=2_000_000_000,
    checkpoint=1,
    epoch_seconds=100.0,
    validation_seconds=0.0,
    ranking_seconds=0.0,
    total_seconds=100.0,
    probe_seconds=1.0,
)
SIZE = GraphSize(50_000, 20_000, 500)


def test_memory_and_work_divide_and_talk_does_not() -> None:
    found = team_forecast(ExperimentConfig(), SIZE, PROBE, processes=8, nodes=8)
    assert [row.entities for row in found.sizes] == list(SIZES)
    for row in (found.here, *found.sizes):
        assert row.memory_each < row.memory
        assert row.communication < row.step_each
    assert found.pays_from is not None
    assert found.sizes[-1].pays


def test_a_slow_network_pays_for_memory_only() -> None:
    found = team_forecast(ExperimentConfig(), SIZE, PROBE, processes=8, nodes=8, bandwidth=1e6)
    assert found.pays_from is None
    assert found.here.memory_each < found.here.memory


def test_lookup_sends_no_tables() -> None:
    config = ExperimentConfig.from_toml('encoder.name = "lookup"')
    found = team_forecast(config, SIZE, PROBE, processes=4, nodes=4, bandwidth=1e6)
    assert found.sizes[0].communication == found.sizes[-1].communication

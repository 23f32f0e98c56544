"""The moving mean of weights: what it holds, who is judged, and that nothing else changes."""

from typing import Any

import pytest
import torch

from hyperfact.config import ObjectiveConfig, OptimizerConfig, TrainingConfig
from hyperfact.training.averaging import Average, snapshot
from hyperfact.training.events import Report
from hyperfact.training.objectives import make_objective
from hyperfact.training.trainer import Trainer
from tests.support.models import model_of, random_facts


def trainer(**training: Any) -> Trainer:
    graph = random_facts(40)
    return Trainer(
        model_of(graph, {"name": "compgcn"}, {"name": "mdistmult"}),
        make_objective(graph, ObjectiveConfig()),
        training=TrainingConfig(**{"epochs": 3, "batch_size": 16} | training),
        optimizer=OptimizerConfig(),
        generator=torch.Generator().manual_seed(5),
    )


def equal(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[n], other[n]) for n in one)


def test_the_mean_is_that_of_the_definition() -> None:
    training = trainer(average=0.9)
    assert training.average is not None
    expected = {n: t.double() for n, t in snapshot(training.model).items()}
    steps = (event for event in training.run() if isinstance(event, Report))
    for step, _ in enumerate(steps, start=1):
        stays = min(0.9, (1 + step) / (10 + step))
        for name, tensor in training.model.state_dict().items():
            if tensor.is_floating_point():
                expected[name] = stays * expected[name] + (1 - stays) * tensor.double()
            else:
                expected[name] = tensor
    for name, mean in training.average.mean.items():
        torch.testing.assert_close(mean.double(), expected[name].double(), rtol=1e-4, atol=1e-6)


def test_averaging_does_not_change_the_path() -> None:
    plain, averaged = trainer(), trainer(average=0.99)
    losses = [[report.loss for report in t.run()] for t in (plain, averaged)]
    assert losses[0] == losses[1]
    assert equal(snapshot(plain.model), snapshot(averaged.model))


def test_weights_come_back_to_the_bit_even_after_an_error() -> None:
    training = trainer(average=0.5)
    list(training.run())
    assert training.average is not None
    before, mean = snapshot(training.model), dict(training.average.mean)

    def judge() -> None:
        with training.averaged():
            assert equal(snapshot(training.model), mean)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        judge()
    assert equal(snapshot(training.model), before)
    assert equal(training.average.mean, mean)


def test_an_exchange_that_was_cut_off_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the weights are those of the mean: such a state is not to be stored."""
    training = trainer(average=0.5)
    list(training.run())
    assert training.average is not None
    assert training.is_whole

    class Torn(dict[str, torch.Tensor]):
        def __setitem__(self, name: str, tensor: torch.Tensor) -> None:
            raise KeyboardInterrupt

    monkeypatch.setattr(training.average, "mean", Torn(training.average.mean))
    with pytest.raises(KeyboardInterrupt), training.averaged():
        pass
    assert not training.is_whole


def test_the_mean_is_what_is_judged_and_kept() -> None:
    training = trainer(average=0.9, validate_every=1)
    judged = []

    def validate() -> float:
        judged.append(snapshot(training.model))
        return float(len(judged))

    list(training.run(validate=validate))
    assert training.average is not None
    assert equal(judged[-1], training.average.mean)
    assert not equal(judged[-1], snapshot(training.model))
    training.choose_best()
    assert equal(snapshot(training.model), judged[-1])


def test_without_validation_the_mean_is_kept() -> None:
    training = trainer(average=0.9, validate_every=0)
    list(training.run())
    assert training.average is not None
    mean = {name: t.clone() for name, t in training.average.mean.items()}
    training.choose_best()
    assert equal(snapshot(training.model), mean)


def test_a_state_holds_the_mean() -> None:
    whole, first, second = (trainer(average=0.9) for _ in range(3))
    list(whole.run())
    steps = first.run()
    for _ in range(first.steps + 1 + 2):
        next(steps)
    numbers, tensors = first.state()
    second.restore(numbers, {name: t.clone() for name, t in tensors.items()})
    list(second.run())
    assert whole.average is not None
    assert second.average is not None
    assert equal(second.average.mean, whole.average.mean)
    assert second.average.steps == whole.average.steps


def test_whole_numbers_are_taken_over() -> None:
    model = trainer().model
    count = torch.tensor(0)
    model.register_buffer("count", count)
    average = Average(model, 0.9)
    count += 7
    average.update()
    assert int(average.mean["count"]) == 7

"""No tensor is made on a device by accident: every model on a second device, or not at all.

The second device is `meta` (tests/support/devices.py), where an operation on tensors of two devices
raises. A whole step, a validation and an answer have there the numbers that they have on the CPU.
"""

import numpy as np
import pytest
import torch

from hyperfact.errors import ConfigError
from hyperfact.graph.hkg import Splits
from hyperfact.predict.scoring import Scorer
from hyperfact.runs import build as building
from hyperfact.runs.build import CHOICE
from hyperfact.runs.device import device_of
from hyperfact.runs.run import representations
from hyperfact.runs.setup import Setup, set_up
from hyperfact.training.events import Report
from tests.support.devices import META, MixedDevicesError, SecondDevice
from tests.support.models import EVERY_PAIR, config_of, random_facts

FACTS = random_facts(30)
SPLITS = Splits({"train": FACTS, "valid": FACTS.select(np.arange(4))}, "facts")
FORMS = [
    ({"name": "mdistmult"}, {"objective": {"share": 0.5}, "graph": {"strangers": 0.2}}),
    ({"name": "mdistmult"}, {"objective": {"mask_others": True, "label_smoothing": 0.1}}),
    ({"name": "mdistmult"}, {"objective": {"negatives": 3}, "graph": {"hide_targets": "batch"}}),
    ({"name": "mdistmult", "coordinate_dropout": 0.5}, {"objective": {"joint": True}}),
    ({"name": "transe"}, {"objective": {"joint": True, "negatives": 2}}),
]


def story(setup: Setup) -> tuple[list[float], torch.Tensor]:
    """A step, a validation, and the scores of every candidate for a few questions."""
    report = next(iter(setup.trainer.run()))
    assert isinstance(report, Report)
    assert setup.valid is not None
    mrr = setup.mrr(setup.valid, CHOICE)
    scorer = Scorer(setup.model.decoder, representations(setup.model), "float32")
    facts, slots = setup.trainer.objective.batch(np.arange(5))
    return [report.loss, report.gradient_norm, mrr], scorer.batch(facts, slots)


def check(encoder: str, decoder: dict[str, object], **sections: dict[str, object]) -> None:
    """The story on the second device is that on the CPU."""
    torch.set_num_threads(1)
    training = {"dim": 8, "precision": "float64", "batch_size": 16}
    config = config_of(encoder={"name": encoder}, decoder=decoder, training=training, **sections)
    numbers, scores = story(set_up(config, SPLITS))
    with pytest.MonkeyPatch.context() as patch, SecondDevice() as device:
        patch.setattr(building, "device_of", lambda *_, **__: META)
        found, elsewhere = story(set_up(config, SPLITS))
        assert elsewhere.is_meta
    assert found == pytest.approx(numbers, rel=1e-7)
    torch.testing.assert_close(device.numbers(elsewhere), scores, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize(
    ("encoder", "decoder"),
    [("compgcn", "mdistmult"), pytest.param("stare", "gran", marks=pytest.mark.slow)],
)
def test_a_whole_step_stays_on_its_device(encoder: str, decoder: str) -> None:
    check(encoder, {"name": decoder})


@pytest.mark.slow
@pytest.mark.parametrize(("encoder", "decoder"), EVERY_PAIR)
def test_so_does_that_of_every_pair(encoder: str, decoder: str) -> None:
    check(encoder, {"name": decoder})


@pytest.mark.slow
@pytest.mark.parametrize(("decoder", "sections"), FORMS)
def test_so_do_other_objectives(
    decoder: dict[str, object], sections: dict[str, dict[str, object]]
) -> None:
    check("compgcn", decoder, **sections)


def test_the_second_device_refuses_what_an_accelerator_refuses() -> None:
    with SecondDevice() as device:
        x = torch.arange(3.0).to(META)
        y = (x * 2)[x > 0.5]  # as many as the numbers say
        assert y.is_meta
        assert y.tolist() == [2.0, 4.0]
        with pytest.raises(MixedDevicesError):
            x + torch.ones(3)
    assert device.numbers(y).tolist() == [2.0, 4.0]


def test_a_device_that_is_not_there_is_refused() -> None:
    assert device_of("cpu") == torch.device("cpu")
    with pytest.raises(ConfigError, match=r"training\.device = 'cuda:99': this machine has"):
        device_of("cuda:99")
    with pytest.raises(ConfigError, match=r"training\.device"):
        config_of(training={"device": "gpu"})

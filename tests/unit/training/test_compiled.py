"""torch.compile in training: the same numbers, and a line where there is no compiler."""

import logging

import pytest
import torch

from hyperfact.config import ObjectiveConfig
from hyperfact.training import compiled
from hyperfact.training.objectives import make_objective
from hyperfact.training.trainer import Trainer
from tests.support.models import config_of, model_of, random_facts


def trained(*, compile_it: bool) -> Trainer:
    graph = random_facts(40)
    settings = config_of(
        training={"dim": 8, "epochs": 2, "batch_size": 64, "compile": compile_it},
    )
    trainer = Trainer(
        model_of(graph, decoder={"name": "mtransh"}),
        make_objective(graph, ObjectiveConfig(negatives=4)),
        training=settings.training,
        optimizer=settings.optimizer,
        generator=torch.Generator().manual_seed(5),
    )
    for _ in trainer.run():
        pass
    return trainer


def test_without_a_compiler_a_line_is_said_and_training_goes_on(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(compiled, "obstacle", lambda: "no working C++ compiler found")
    with caplog.at_level(logging.WARNING, "hyperfact"):
        found = trained(compile_it=True)
    assert caplog.messages == [
        "training.compile: no working C++ compiler found; training goes on without"
    ]
    assert [epoch.loss for epoch in found.log] == [e.loss for e in trained(compile_it=False).log]


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_compiled_steps_have_the_same_losses() -> None:
    if (why := compiled.obstacle()) is not None:
        pytest.skip(why)
    plain, fused = trained(compile_it=False), trained(compile_it=True)
    assert [e.loss for e in fused.log] == pytest.approx([e.loss for e in plain.log], rel=1e-5)
    for one, other in zip(plain.model.parameters(), fused.model.parameters(), strict=True):
        assert torch.allclose(one, other, rtol=1e-3, atol=1e-4)
    decoder = fused.model.decoder
    assert not {"linear_form", "score_slot", "score_candidates"} & set(vars(decoder))


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_a_compiler_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch._inductor import config

    torch.compiler.reset()
    monkeypatch.setattr(config.cpp, "cxx", ("no-such-compiler",))
    monkeypatch.setattr(config, "force_disable_caches", True)
    why = compiled.obstacle()
    torch.compiler.reset()
    assert why is not None
    assert "\n" not in why

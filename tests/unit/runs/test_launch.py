"""Processes that our own command starts, as torch's launcher is asked for them."""

import os
from typing import Any

import pytest
from torch.distributed.launcher import api

from hyperfact.runs.launch import launch
from hyperfact.system.memory import COMPACT
from hyperfact.system.torchrun import LAUNCHED


@pytest.mark.parametrize("chosen", [None, "glibc.malloc.arena_max=1"])
def test_they_use_memory_densely_unless_told_otherwise(
    chosen: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, dense = COMPACT
    monkeypatch.setenv(LAUNCHED, "")  # so that both are as before afterwards
    monkeypatch.setenv(name, chosen or "")
    if chosen is None:
        monkeypatch.delenv(name)
    found: list[str] = []

    def asked(*_: Any) -> Any:
        return lambda *_: found.append(os.environ[name])

    monkeypatch.setattr(api, "elastic_launch", asked)
    launch(["train"], 2)
    assert found == [chosen or dense]

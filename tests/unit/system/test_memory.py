"""Memory is a matter of the system; where it cannot be asked, nothing breaks."""

import ctypes

import pytest

from hyperfact.system.memory import (
    forget_peak,
    keep_freed_memory,
    peak_memory,
    return_freed_memory,
)


@pytest.mark.parametrize("error", [AttributeError, OSError, TypeError])
def test_another_c_library_is_left_alone(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: object) -> None:
        raise error

    monkeypatch.setattr(ctypes, "CDLL", refuse)
    assert keep_freed_memory() is False
    assert return_freed_memory() is False
    forget_peak()
    assert peak_memory() >= 0

"""What a decoder computes in steps of training, fused by torch.compile (`training.compile`).

Rankings and answers are computed as ever, so that they keep their bits. Our own kernels are no
business of the compiler: it calls them as they are.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from hyperfact.models.decoders.decoder import Decoder

logger = logging.getLogger("hyperfact")

_METHODS = ("linear_form", "score_slot", "score_candidates")
_OURS = ("hyperfact.kernels", "hyperfact.models.noise")


class CompiledDecoder:
    """A decoder with compiled methods; make it with `of`."""

    def __init__(self, decoder: Decoder) -> None:
        self.decoder = decoder
        self._methods = {
            name: torch.compile(getattr(decoder, name), dynamic=True) for name in _METHODS
        }

    @classmethod
    def of(cls, decoder: Decoder) -> "CompiledDecoder | None":
        """The same; None, and a line that says why, where nothing can be compiled."""
        why = obstacle()
        if why is not None:
            logger.warning("training.compile: %s; training goes on without", why)
            return None
        from torch._dynamo import trace_rules  # takes a second to import

        for module in _OURS:
            trace_rules.add(module)  # type: ignore[no-untyped-call,unused-ignore]
        return cls(decoder)

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """In this block the decoder computes with them."""
        try:
            vars(self.decoder).update(self._methods)
            yield
        finally:
            for name in self._methods:
                vars(self.decoder).pop(name, None)


def obstacle() -> str | None:
    """Why torch.compile does not work here; None: it does."""
    try:
        torch.compile(_probe)(torch.ones(2))
    except Exception as error:  # it has many, and each of them means the same
        return (str(error).strip() or type(error).__name__).splitlines()[0][:200]
    return None


def _probe(x: Tensor) -> Tensor:
    return x + x

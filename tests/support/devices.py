"""A second device on a machine that has one: `meta`, with numbers behind it.

A tensor on `meta` has a shape and no numbers. Under `SecondDevice` each operation on such tensors
is also computed on the CPU, with numbers that only the mode knows, so that whatever depends on them
(which rows are masked, how long a list is) comes out right. An operation that gets tensors of both
devices raises, but for copies from one to the other and for single numbers: as an accelerator does.
"""

from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map, tree_map_only

META = torch.device("meta")
_MOVES = {"aten::_to_copy", "aten::copy_"}
_READ = "aten::_local_scalar_dense"  # a number on its way to Python


class MixedDevicesError(AssertionError):
    """An operation got tensors of two devices."""


class _Literals(TorchFunctionMode):
    """Numbers of Python come to `meta` by way of the CPU; else they would be lost."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Make the tensor, then move it."""
        kwargs = kwargs or {}
        if func in (torch.tensor, torch.as_tensor) and kwargs.get("device") == META:
            return func(*args, **{**kwargs, "device": torch.device("cpu")}).to(META)
        return func(*args, **kwargs)


class SecondDevice(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Gives `meta` numbers, and refuses to mix it with the CPU."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._numbers: dict[int, tuple[Any, Any]] = {}  # by storage: it, so that it stays; its real
        self._literals = _Literals()

    def __enter__(self) -> "SecondDevice":
        """Begin."""
        self._literals.__enter__()  # type: ignore[no-untyped-call]
        super().__enter__()  # type: ignore[no-untyped-call]
        return self

    def __exit__(self, *error: Any) -> None:
        """End."""
        super().__exit__(*error)  # type: ignore[no-untyped-call]
        self._literals.__exit__(*error)  # type: ignore[no-untyped-call]

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Compute on `meta`, and behind it."""
        kwargs, name = kwargs or {}, func.name().partition(".")[0]
        tensors = [x for x in tree_leaves((args, kwargs)) if isinstance(x, Tensor)]
        on_meta = any(t.is_meta for t in tensors)
        if not on_meta and kwargs.get("device") != META:
            return func(*args, **kwargs)
        if name not in _MOVES and on_meta and any(t.ndim and not t.is_meta for t in tensors):
            shapes = [(tuple(t.shape), t.device.type) for t in tensors]
            raise MixedDevicesError(f"{func.name()} got {shapes}")
        real_args, real_kwargs = tree_map_only(Tensor, self._real, (args, kwargs))
        goes_home = name == "aten::_to_copy" and kwargs.get("device") == torch.device("cpu")
        if "device" in kwargs:
            real_kwargs["device"] = torch.device("cpu")
        real = func(*real_args, **real_kwargs)
        if name == _READ or goes_home or (name == "aten::copy_" and not args[0].is_meta):
            return args[0] if name == "aten::copy_" else real
        try:
            made = func(*args, **kwargs)
        except (NotImplementedError, RuntimeError):  # the shape depends on the numbers
            made = tree_map_only(Tensor, lambda t: torch.empty_like(t, device=META), real)
        return tree_map(self._remember, made, real)

    def numbers(self, tensor: Tensor) -> Tensor:
        """What a tensor on `meta` stands for."""
        return self._real(tensor).clone()

    def _real(self, tensor: Tensor) -> Tensor:
        if not tensor.is_meta:
            return tensor
        storage = self._numbers[tensor.untyped_storage()._cdata][1]
        whole = torch.empty(0, dtype=tensor.dtype)
        return whole.set_(storage, tensor.storage_offset(), tensor.shape, tensor.stride())

    def _remember(self, shown: Any, numbers: Any) -> Any:
        if not isinstance(shown, Tensor):
            return shown
        if shown.shape != numbers.shape:  # of results that nobody reads
            shown = torch.empty_like(numbers, device=META)
        storage = shown.untyped_storage()
        if storage._cdata not in self._numbers:  # else it is a view, or was changed in place
            behind = torch.empty_strided(shown.shape, shown.stride(), dtype=shown.dtype)
            behind.copy_(numbers)
            self._numbers[storage._cdata] = (storage, behind.untyped_storage())
        return shown

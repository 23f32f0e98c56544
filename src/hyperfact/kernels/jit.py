"""How a kernel is compiled: once per machine, without the interpreter lock, without a thread layer.

Kernels are serial numba functions over a range of rows; `threads.parallel_for` runs ranges side by
side. That avoids numba's own thread layers, of which each has a trap: `omp` kills forked children,
`workqueue` aborts the process when two Python threads enter a kernel, `tbb` is rarely installed.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]  # it has no types
from numba.core import cgutils, types
from numba.extending import intrinsic
from numpy.typing import NDArray

Array = NDArray[Any]
F = TypeVar("F", bound=Callable[..., Any])

#: Fused multiply-add only: the order of a sum, infinities and NaN stay as written.
_EXACT_ORDER = {"contract"}
#: A sum over a row may also be split over vector lanes, always in the same way on one machine.
_FREE_ORDER = {"contract", "reassoc", "nsz"}
#: A search for the largest number: NaN need not win, and is found by the sum that follows.
_NO_NAN = {"nnan", "nsz"}
_LINE = 64  # bytes that one prefetch brings


def kernel(function: F) -> F:
    """Compile on first use and keep the machine code for the next process."""
    return _compile(function, _EXACT_ORDER)


def reducing_kernel(function: F) -> F:
    """The same for functions whose inner loop sums up a row."""
    return _compile(function, _FREE_ORDER)


def part_of_kernels(function: F) -> F:
    """For functions that only kernels call: always compiled into the caller.

    Otherwise a process that has just compiled would call this function as it was compiled alone,
    and one that takes the caller from the cache as it was compiled with the caller: the two may
    round differently.
    """
    return _compile(function, _EXACT_ORDER, forceinline=True)


def reducing_part(function: F) -> F:
    """The same for functions whose inner loop sums up a row."""
    return _compile(function, _FREE_ORDER, forceinline=True)


def comparing_part(function: F) -> F:
    """The same for functions whose inner loop looks for a maximum."""
    return _compile(function, _NO_NAN, forceinline=True)


def _compile(function: F, fastmath: set[str], **more: bool) -> F:
    options: dict[str, Any] = {
        **{"nogil": True, "error_model": "numpy", "fastmath": fastmath},
        **more,
    }
    try:
        return cast(F, numba.njit(cache=True, **options)(function))
    except RuntimeError:  # neither the package nor the user's cache folder can be written
        return cast(F, numba.njit(**options)(function))


def _prefetch_line(_typing: Any, matrix: Any, row: Any, column: Any) -> Any:
    def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        pointer = array.data
        strides = [builder.extract_value(array.strides, axis) for axis in (0, 1)]
        address = builder.ptrtoint(pointer, cgutils.intp_t)
        for index, stride in zip(arguments[1:], strides, strict=True):
            address = builder.add(address, builder.mul(index, stride))
        line = builder.inttoptr(address, cgutils.voidptr_t)
        flags = [cgutils.int32_t(flag) for flag in (0, 3, 1)]  # read, keep in all levels, data
        function = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, *[cgutils.int32_t] * 3])
        prefetch = builder.module.declare_intrinsic("llvm.prefetch", [cgutils.voidptr_t], function)
        builder.call(prefetch, [line, *flags])
        return context.get_dummy_value()

    return types.void(matrix, row, column), lower


prefetch_line: Any = intrinsic(_prefetch_line)


@part_of_kernels
def prefetch_row(matrix: Array, row: int) -> None:
    """Ask for a row that the next edge needs: a gather of rows then runs about twice as fast."""
    step = _LINE // matrix.itemsize
    for column in range(0, matrix.shape[1], step):
        prefetch_line(matrix, np.int64(row), np.int64(column))

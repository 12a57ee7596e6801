# SPDX-License-Identifier: MIT OR Apache-2.0
"""Defines the functions that kernels call, and the table of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from typing import Any, TypeVar

from xyntra.errors import KernelError
from xyntra.frontends.kernel.recorder import KernelRecorder
from xyntra.frontends.kernel.values import ArrayValue, HostScalar, NeedsConstant

__all__ = [
    "Function",
    "array_of",
    "broadcast",
    "constant",
    "constant_axes",
    "constant_axis",
    "constant_int",
    "function_table",
    "language",
]

_MODULES = (
    "elementwise",
    "creation",
    "reductions",
    "shapes",
    "indexing",
    "products",
    "nn",
    "combining",
)
_TABLE: dict[str, Function] = {}
Record = TypeVar("Record", bound=Callable[..., Any])


class Function:
    """A function of kernels; outside of one it is an error to call it.

    Args:
        name: in `xyntra.lang`.
        implementation: takes a recorder ahead of the arguments.
    """

    def __init__(self, name: str, implementation: Callable[..., Any]) -> None:
        self.name = self.__name__ = self.__qualname__ = name
        self.__doc__ = implementation.__doc__
        self.__module__ = "xyntra.lang"
        self._implementation = implementation
        whole = inspect.signature(implementation)
        self.__signature__ = whole.replace(parameters=list(whole.parameters.values())[1:])

    def __repr__(self) -> str:
        return f"<function xyntra.lang.{self.name}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Refuse: it has a meaning in kernels alone.

        Raises:
            KernelError: always.
        """
        raise KernelError(
            "kernel-only",
            f"xl.{self.name} is called outside of a kernel",
            hint="call it inside of a function that @xyntra.kernel decorates",
        )

    def record(self, recorder: KernelRecorder, *args: Any, **kwargs: Any) -> Any:
        """Record a call.

        Raises:
            KernelError: the arguments do not fit.
        """
        try:
            self.__signature__.bind(*args, **kwargs)
        except TypeError as error:
            raise KernelError(
                "kernel-type",
                f"xl.{self.name}: {error}",
                hint=f"xl.{self.name}{self.signature_text()}",
            ) from None
        return self._implementation(recorder, *args, **kwargs)

    def signature_text(self) -> str:
        """Return the parameters without their annotations."""
        plain = [p.replace(annotation=p.empty) for p in self.__signature__.parameters.values()]
        return str(inspect.Signature(plain))


def language(name: str) -> Callable[[Record], Record]:
    """Register the decorated function in the table under `name`.

    Raises:
        ValueError: there is one already.
    """

    def register(implementation: Record) -> Record:
        if name in _TABLE:
            raise ValueError(f"xl.{name} is defined twice")
        _TABLE[name] = Function(name, implementation)
        return implementation

    return register


@cache
def function_table() -> dict[str, Function]:
    """Return all functions by name."""
    for module in _MODULES:
        import_module(f"xyntra.frontends.kernel.functions.{module}")
    return _TABLE


def array_of(name: str, value: Any) -> ArrayValue:
    """Return `value`, which has to be an array.

    Raises:
        KernelError: `kernel-type`.
    """
    if isinstance(value, ArrayValue):
        return value
    kind = str(value) if isinstance(value, HostScalar) else type(value).__name__
    raise KernelError(
        "kernel-type",
        f"{name} takes an array, not a {kind}",
        hint="xl.asarray(number, dtype) makes an array of a number",
    )


def broadcast(name: str, *shapes: Sequence[int]) -> tuple[int, ...]:
    """Return the shape to which `shapes` broadcast by numpy's rule.

    Raises:
        KernelError: `kernel-shape`.
    """
    rank = max((len(shape) for shape in shapes), default=0)
    result = [1] * rank
    for shape in shapes:
        for axis, size in enumerate(shape, rank - len(shape)):
            if size == 1 or size == result[axis]:
                continue
            if result[axis] != 1:
                texts = " and ".join(str(tuple(each)) for each in shapes)
                raise KernelError(
                    "kernel-shape",
                    f"{name}: the shapes {texts} do not broadcast",
                    cause=f"dimension {axis - rank} has the sizes {result[axis]} and {size}",
                    hint="sizes have to be equal, or 1; x[:, None] inserts a dimension",
                )
            result[axis] = size
    return tuple(result)


def constant(value: Any) -> Any:
    """Return a value that is known when the kernel is read.

    Raises:
        NeedsConstant: it is a number of the call.
        KernelError: `kernel-type`, it is an array.
    """
    if isinstance(value, HostScalar):
        raise NeedsConstant(value.parameters)
    if isinstance(value, ArrayValue):
        raise KernelError(
            "kernel-type",
            f"a constant is needed here, not an array: {value}",
            hint="sizes, axes and bounds of loops are numbers, such as x.shape[0]",
        )
    return value


def constant_int(name: str, value: Any) -> int:
    """Return an integer that is known when the kernel is read.

    Raises:
        NeedsConstant, KernelError: as `constant`, or it is no integer.
    """
    known = constant(value)
    if isinstance(known, bool) or not hasattr(known, "__index__"):
        raise KernelError(
            "kernel-type", f"{name} is an integer, not {known!r} of {type(known).__name__}"
        )
    return int(known.__index__())


def constant_axis(name: str, value: Any, rank: int) -> int:
    """Return a dimension as one that is not negative.

    Raises:
        NeedsConstant, KernelError: as `constant_int`, or there is no such dimension.
    """
    axis = constant_int(name, value)
    if not -rank <= axis < rank:
        raise KernelError(
            "kernel-shape",
            f"{name}: there is no dimension {axis} in an array of {rank} dimensions",
            hint=f"{-rank} to {rank - 1}" if rank else "a scalar has no dimensions",
        )
    return axis % rank


def constant_axes(name: str, value: Any, rank: int) -> tuple[int, ...]:
    """Return dimensions, sorted; all for None.

    Raises:
        NeedsConstant, KernelError: as `constant_axis`, or one is given twice.
    """
    if value is None:
        return tuple(range(rank))
    given = value if isinstance(value, (tuple, list)) else (value,)
    axes = sorted(constant_axis(name, each, rank) for each in given)
    if len(set(axes)) < len(axes):
        raise KernelError("kernel-shape", f"{name}: a dimension is given twice: {value}")
    return tuple(axes)

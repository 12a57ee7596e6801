# SPDX-License-Identifier: MIT OR Apache-2.0
"""Says of which types the arguments of a call are, and where its arrays lie."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from xyntra.errors import InputError, KernelError
from xyntra.frontends.kernel.promotion import COMPUTED
from xyntra.frontends.kernel.reading import ArrayType
from xyntra.frontends.kernel.values import HostScalar
from xyntra.targets.current import CurrentDevice

__all__ = ["arrays_in", "device_of", "is_array", "key_of", "one_device", "recorder_of", "type_of"]


def is_array(value: Any) -> bool:
    """Tell whether an argument is an array: numpy's, or one that speaks DLPack."""
    return isinstance(value, (np.ndarray, np.generic)) or hasattr(value, "__dlpack__")


def key_of(value: Any) -> Any:
    """Return what of an argument decides how a kernel is compiled, to be looked up."""
    kind = type(value)
    if kind is np.ndarray:
        return value.dtype, value.shape
    if kind is float or kind is int:
        return kind
    if is_array(value):
        return str(value.dtype), tuple(value.shape), device_of(value)
    if isinstance(value, (tuple, list)):
        return kind, tuple(_inner_key(each) for each in value)
    if isinstance(value, dict):
        return kind, tuple((name, _inner_key(each)) for name, each in value.items())
    return kind, value


def _inner_key(value: Any) -> Any:
    """As `key_of`, but numbers inside of a structure are constants."""
    return (type(value), value) if type(value) in (float, int) else key_of(value)


def type_of(name: str, value: Any) -> Any:
    """Return an argument as `read_kernel` takes it.

    Raises:
        InputError: an array has a dtype that kernels do not compute in.
    """
    if type(value) in (float, int):
        return HostScalar(name, "float" if type(value) is float else "int", frozenset([name]))
    return _inner_type(name, value)


def _inner_type(name: str, value: Any) -> Any:
    if is_array(value):
        dtype = getattr(value.dtype, "name", None) or str(value.dtype).removeprefix("torch.")
        if dtype not in COMPUTED:
            raise InputError(
                "dtype-unsupported",
                f"argument '{name}' has the dtype {value.dtype}",
                cause="kernels compute in " + ", ".join(COMPUTED),
            )
        return ArrayType(dtype, tuple(int(size) for size in value.shape))
    if isinstance(value, (tuple, list)):
        return tuple(_inner_type(f"{name}[{i}]", each) for i, each in enumerate(value))
    if isinstance(value, dict):
        return {key: _inner_type(f"{name}[{key!r}]", each) for key, each in value.items()}
    return value


def arrays_in(value: Any) -> Iterator[Any]:
    """Yield the arrays of an argument in the order in which they are inputs."""
    if is_array(value):
        yield value
    elif isinstance(value, (tuple, list)):
        for each in value:
            yield from arrays_in(each)
    elif isinstance(value, dict):
        for each in value.values():
            yield from arrays_in(each)


def recorder_of(values: Sequence[Any]) -> Callable[..., Any] | None:
    """Return the function that records programs on lazy arrays, where an argument has some."""
    for value in values:
        for each in arrays_in(value):
            found: Callable[..., Any] | None = getattr(each, "__xyntra_record__", None)
            if found is not None:
                return found
    return None


def device_of(value: Any) -> str:
    """Return the target whose memory an array lies in: "cpu", or "cuda:1".

    Raises:
        InputError: it is on a device of another kind.
    """
    if isinstance(value, (np.ndarray, np.generic)) or hasattr(value, "__xyntra_record__"):
        return "cpu"  # lazy arrays are not asked, which would compute them
    kind, index = value.__dlpack_device__()
    if int(kind) in (1, 3):  # kDLCPU, kDLCUDAHost
        return "cpu"
    if int(kind) in (2, 13):  # kDLCUDA, kDLCUDAManaged
        return f"cuda:{index}"
    raise InputError(
        "input-device",
        f"an array of {type(value).__module__} lies on a device that kernels do not run on",
        cause=f"DLPack calls its kind {int(kind)}",
        hint="move it to the CPU or to an NVIDIA GPU",
    )


def one_device(arrays: list[Any]) -> str:
    """Return the device on which a call's arrays lie; numpy's arrays go where others are.

    Where none lies on a device, it is the current one.

    Raises:
        KernelError: `kernel-device`, they lie on several.
    """
    found = sorted({device_of(each) for each in arrays} - {"cpu"})
    if len(found) > 1:
        raise KernelError(
            "kernel-device",
            f"arrays of one call lie on {' and '.join(found)}",
            hint="move them to one",
        )
    return found[0] if found else CurrentDevice.target

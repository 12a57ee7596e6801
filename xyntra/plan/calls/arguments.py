# SPDX-License-Identifier: MIT OR Apache-2.0
"""Checks the arrays of a call against the model's inputs and outputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from xyntra.errors import InputError
from xyntra.plan.calls.python_values import array_of_values, is_values
from xyntra.plan.plan import Port, numpy_dtype

Array = np.ndarray[Any, Any]


class InputChecks:
    """Turns what a call is given into arrays that fit the model's inputs.

    Args:
        ports: the inputs.
    """

    def __init__(self, ports: Sequence[Port]) -> None:
        self._expected = [(port, numpy_dtype(port.dtype), port.shape) for port in ports]

    def __call__(self, values: Sequence[Any]) -> list[Array]:
        """Contiguous arrays of the right dtypes and shapes, the given ones where they are so.

        Raises:
            InputError: as `to_array` raises it.
        """
        prepared: list[Array] = []
        for value, (port, dtype, shape) in zip(values, self._expected, strict=True):
            if type(value) is np.ndarray and value.dtype is dtype and value.shape == shape:
                flags = value.flags
                if flags.c_contiguous and flags.aligned:
                    prepared.append(value)
                    continue
            prepared.append(to_array(value, port))
        return prepared


class OutputChecks:
    """Checks the arrays that are to receive the outputs, except for memory that they share.

    Args:
        ports: the outputs.
    """

    def __init__(self, ports: Sequence[Port]) -> None:
        self._expected = [(port, numpy_dtype(port.dtype), port.shape) for port in ports]

    def __call__(self, out: Sequence[Any]) -> list[Array]:
        """The arrays of `out`.

        Raises:
            InputError: `output-type`, `output-count`, or as `check_output` raises it.
        """
        if not isinstance(out, (list, tuple)):
            raise InputError(
                "output-type", f"out= takes a list of arrays, not a {type(out).__name__}"
            )
        if len(out) != len(self._expected):
            raise InputError(
                "output-count", f"the model has {len(self._expected)} outputs, out= has {len(out)}"
            )
        for array, (port, dtype, shape) in zip(out, self._expected, strict=True):
            is_plain = type(array) is np.ndarray and array.dtype is dtype and array.shape == shape
            if not (is_plain and array.flags.carray):
                check_output(array, port, [], [])
        return list(out)

    def new(self) -> list[Array]:
        """Fresh arrays, uninitialised."""
        return [np.empty(shape, dtype) for _, dtype, shape in self._expected]


def to_array(value: Any, port: Port) -> Array:
    """`value` as a contiguous array of the dtype and shape of `port`.

    No array is converted silently: another dtype or shape is an error. Arrays that are not
    contiguous are copied. Scalars and lists, which have no dtype, are made arrays.

    Raises:
        InputError: `input-type`, `input-dtype`, `input-byte-order` or `input-shape`.
    """
    array = value if type(value) is np.ndarray else _as_numpy(value, port)
    dtype = numpy_dtype(port.dtype)
    if array.dtype is not dtype and array.dtype != dtype:
        raise _wrong_dtype(array, dtype, port)
    if array.shape != port.shape:
        raise wrong_shape(array.shape, port)
    flags = array.flags
    # A C-contiguous array with a misaligned data pointer still has to be copied.
    if flags.c_contiguous and flags.aligned:
        return array
    return np.array(array, order="C", copy=True)


def state_array(value: Any, port: Port) -> Array:
    """`value` as an array of numpy's on the same memory, for an output to be written over.

    Raises:
        InputError: `state-layout`, where its memory is not contiguous, aligned and writable, or
            what `to_array` raises.
    """
    array = value if type(value) is np.ndarray else _as_numpy(value, port)
    is_values_only = not hasattr(value, "__dlpack__")
    to_array(array, port)
    flags = array.flags
    is_writable = flags.writeable or not isinstance(value, np.ndarray)  # DLPack may not say
    if is_values_only or not (flags.c_contiguous and flags.aligned and is_writable):
        raise InputError(
            "state-layout",
            f"an output is written where input '{port.name}' lies",
            cause="that needs an array that is contiguous, aligned and writable",
            hint="make such a copy once, and give it to every call",
        )
    return array


def wrong_shape(shape: tuple[int, ...], port: Port) -> InputError:
    """The error for an array of another shape: what fixed the shape, and how to get another."""
    causes = [f"the model was compiled for {port.shape}"]
    causes += [
        f"dimension {axis} has size {wanted} by {fixed_by or 'the model itself'}"
        for axis, size, wanted, fixed_by in _differences(shape, port)
    ]
    return InputError(
        "input-shape",
        f"input '{port.name}' has the shape {shape}",
        cause="\n".join(causes),
        hint=_compile_for(shape, port),
    )


def _differences(shape: tuple[int, ...], port: Port) -> list[tuple[int, int, int, str]]:
    """Axis, size, size of the input, and what fixed it, where two shapes of a rank differ."""
    if len(shape) != len(port.shape):
        return []
    fixed_by = port.fixed_by or ("",) * len(shape)
    entries = zip(range(len(shape)), shape, port.shape, fixed_by, strict=True)
    return [entry for entry in entries if entry[1] != entry[2]]


def _compile_for(shape: tuple[int, ...], port: Port) -> str:
    """The arguments of `compile` that make the model take `shape`, where there are any."""
    differences = _differences(shape, port)
    if not differences:
        return f"give an array of {len(port.shape)} dimensions"
    if not all(fixed_by for _, _, _, fixed_by in differences):
        return f"give an array of the shape {port.shape}"
    dims = {
        fixed_by.removeprefix("dims[").removesuffix("]"): size
        for _, size, _, fixed_by in differences
        if fixed_by.startswith("dims[")
    }
    given = ", ".join(f"{name}: {size}" for name, size in dims.items())
    arguments = [f"dims={{{given}}}"] if dims else []
    if any(not fixed_by.startswith("dims[") for _, _, _, fixed_by in differences):
        arguments.append(f"inputs={{{port.name!r}: {shape}}}")
    return f"compile it for this shape: xyntra.compile(model, {', '.join(arguments)})"


def _as_numpy(value: Any, port: Port) -> Array:
    if isinstance(value, np.ndarray):
        return value
    if is_values(value):
        return array_of_values(value, port)
    if hasattr(value, "__dlpack__"):
        try:
            return np.from_dlpack(value)
        except (BufferError, RuntimeError, TypeError, ValueError) as error:
            raise InputError(
                "input-type",
                f"input '{port.name}' cannot be read through DLPack",
                cause=str(error),
                hint="detach it and move it to the CPU",
            ) from None
    raise InputError(
        "input-type",
        f"input '{port.name}' is a {type(value).__name__}",
        cause="numpy arrays, lists of numbers and objects with DLPack are accepted",
        hint="numpy.asarray(value, dtype=...)",
    )


def _wrong_dtype(array: Array, dtype: np.dtype[Any], port: Port) -> InputError:
    if array.dtype == dtype.newbyteorder():
        return InputError(
            "input-byte-order",
            f"input '{port.name}' is stored in the other byte order",
            hint=f"x.astype('{port.dtype}')",
        )
    return wrong_dtype(str(array.dtype), port)


def wrong_dtype(dtype: str, port: Port) -> InputError:
    """The error for an array of another dtype."""
    return InputError(
        "input-dtype",
        f"input '{port.name}' has the dtype {dtype}",
        cause=f"the model takes {port.dtype}",
        hint=f"x.astype('{port.dtype}')",
    )


def check_output(array: Any, port: Port, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
    """Check an array that is to receive an output.

    Args:
        array: the array.
        port: the output.
        inputs: the arrays that the call reads.
        outputs: the arrays that receive the outputs before this one.

    Raises:
        InputError: it is no writable, contiguous array of the right dtype and shape, or it
            shares memory with an input or another output.
    """
    place = f"out= for output '{port.name}'"
    if not isinstance(array, np.ndarray):
        raise InputError(
            "output-type", f"expected a numpy array, got {type(array).__name__}", place=place
        )
    if array.dtype != numpy_dtype(port.dtype) or array.shape != port.shape:
        raise InputError(
            "output-shape",
            f"expected {port.dtype} of shape {port.shape}, got {array.dtype} of {array.shape}",
            place=place,
        )
    if not (array.flags.c_contiguous and array.flags.writeable and array.flags.aligned):
        raise InputError("output-layout", "the array must be contiguous and writable", place=place)
    if any(np.may_share_memory(array, other) for other in inputs):
        raise InputError(
            "output-overlap",
            "the array shares memory with an input",
            place=place,
            hint=f"compile the model with aliases={{{port.name!r}: …}} to write over an input",
        )
    if any(np.may_share_memory(array, other) for other in outputs):
        raise InputError("output-overlap", "the array shares memory with another", place=place)

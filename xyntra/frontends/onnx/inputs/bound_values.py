# SPDX-License-Identifier: MIT OR Apache-2.0
"""Values that inputs are bound to, checked against what the model declares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx

from xyntra.errors import InputError
from xyntra.frontends.onnx.inputs.interface import declared_shape, input_dtype
from xyntra.frontends.weight_types import dtype_of
from xyntra.suggestions import did_you_mean

__all__ = ["bind_values", "with_values"]


def bind_values(
    inputs: Sequence[onnx.ValueInfoProto], constants: Mapping[str, Mapping[str, Any]]
) -> dict[str, np.ndarray]:
    """The array that each bound input is, in the dtype that the model declares.

    Args:
        inputs: the graph's inputs that are not initializers.
        constants: by input name, "values" and, where an array was given, its "dtype" and "shape".
            One number is taken for every declared shape of one element. That other shapes fit is
            for `bind_inputs` to check.

    Raises:
        InputError: `unknown-input`, `constant-dtype` or `constant-value`.
    """
    values = {str(value.name): value for value in inputs}
    found = {}
    for name, given in constants.items():
        if name not in values:
            raise InputError(
                "unknown-input",
                f"the model has no input '{name}'",
                cause=f"its inputs are {', '.join(values) or 'none'}",
                hint=did_you_mean(name, values),
            )
        found[name] = _array(values[name], given)
    return found


def with_values(model: bytes, constants: Mapping[str, Mapping[str, Any]]) -> bytes:
    """The model with initializers in place of the inputs that `constants` binds."""
    if not constants:
        return model
    found = onnx.ModelProto.FromString(model)
    arrays = bind_values(found.graph.input, constants)
    kept = [value for value in found.graph.input if value.name not in arrays]
    del found.graph.input[:]
    found.graph.input.extend(kept)
    found.graph.initializer.extend(
        onnx.numpy_helper.from_array(array, name) for name, array in arrays.items()
    )
    return bytes(found.SerializeToString())


def _array(value: onnx.ValueInfoProto, given: Mapping[str, Any]) -> np.ndarray:
    name, dtype = str(value.name), input_dtype(value)
    wanted = dtype_of(dtype)
    if "dtype" in given:
        if given["dtype"] != dtype:
            raise _wrong_dtype(name, dtype, f"an array of {given['dtype']}")
        return np.array(given["values"], wanted).reshape(given["shape"])
    array = np.array(given["values"])
    if array.size and not _fits_kind(array.dtype.kind, wanted):
        raise _wrong_dtype(name, dtype, f"{given['values']!r}"[:60])
    if wanted.kind in "iu" and array.size:
        limits = np.iinfo(wanted)
        if int(array.min()) < limits.min or int(array.max()) > limits.max:
            raise InputError(
                "constant-value",
                f"{given['values']!r}"[:60] + f" is out of the range of {dtype}",
                place=f"input '{name}'",
            )
    with np.errstate(over="ignore"):
        array = array.astype(wanted)
    declared = declared_shape(value)
    if array.ndim == 0 and declared and all(dim == 1 or isinstance(dim, str) for dim in declared):
        return array.reshape([1] * len(declared))
    return array


def _fits_kind(kind: str, wanted: np.dtype) -> bool:
    """Tell whether numbers of Python are values of a dtype: integers are floats, too."""
    if wanted.kind == "b":
        return kind == "b"
    return kind in ("iu" if wanted.kind in "iu" else "iuf")


def _wrong_dtype(name: str, dtype: str, given: str) -> InputError:
    return InputError(
        "constant-dtype", f"it is {dtype}, and was bound to {given}", place=f"input '{name}'"
    )

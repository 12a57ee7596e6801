# SPDX-License-Identifier: MIT OR Apache-2.0
"""Takes large weights out of ONNX models, and puts random ones of the same spread in their place.

A model with random weights is as good with other random weights, and a seed is shorter. What is not
random is kept: small tensors, integers, tables with few distinct values, masks.
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

__all__ = ["fill", "strip"]

_LEAST = 2048
_FEW = 256
_SHORT, _MOST_SHORT = 64, 1 << 16


def strip(model: onnx.ModelProto) -> dict[str, tuple[float, float]]:
    """Remove the data of large random initializers.

    Returns:
        The mean and the standard deviation of each, by name.
    """
    found = {}
    for tensor in model.graph.initializer:
        array = numpy_helper.to_array(tensor)
        if array.size < _LEAST or array.dtype.kind != "f" or _is_short(array):
            continue
        if not _is_random(array):
            continue
        wide = array.astype(np.float64)
        found[tensor.name] = float(wide.mean()), float(wide.std())
        tensor.ClearField("raw_data")
        tensor.ClearField("float_data")
        tensor.ClearField("int32_data")
    return found


def fill(model: onnx.ModelProto, spreads: dict[str, Any]) -> None:
    """Put uniform random numbers into the initializers that `strip` emptied.

    Equal names give equal numbers, on every machine.
    """
    for tensor in model.graph.initializer:
        if tensor.name not in spreads:
            continue
        mean, deviation = spreads[tensor.name]
        shape = tuple(tensor.dims)
        generator = np.random.Generator(np.random.PCG64(zlib.crc32(tensor.name.encode())))
        unit = generator.random(shape, dtype=np.float32) - np.float32(0.5)
        values = unit * np.float32(deviation * np.sqrt(12.0)) + np.float32(mean)
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type)
        tensor.CopyFrom(numpy_helper.from_array(values.astype(dtype), tensor.name))


def _is_short(array: np.ndarray[Any, Any]) -> bool:
    """Whether sums over the weights of a channel are so short that another draw is far from it.

    Statistics of batch norms are measured behind such convolutions, which are depthwise ones.
    """
    return array.ndim > 2 and array.size // array.shape[0] <= _SHORT and array.size <= _MOST_SHORT


def _is_random(array: np.ndarray[Any, Any]) -> bool:
    sample = array.reshape(-1)[:: max(1, array.size // 4096)]
    return bool(np.isfinite(array).all()) and np.unique(sample).size > _FEW

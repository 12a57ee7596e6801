# SPDX-License-Identifier: MIT OR Apache-2.0
"""Arrays as dense attributes."""

from __future__ import annotations

import numpy as np
from torch_mlir import ir

from xyntra.dialects.dtypes import ELEMENT_TYPES


def dense_attribute(array: np.ndarray, type_: ir.RankedTensorType, dtype: str) -> ir.Attribute:
    """`array` as an attribute of tensor type `type_`; equal elements are stored once.

    Raises:
        TypeError: `dtype` is not supported.
    """
    if dtype not in ELEMENT_TYPES:
        raise TypeError(f"dtype {dtype} is not supported")
    if dtype == "bool":
        return ir.Attribute.parse(f"dense<{_boolean_text(array)}> : {type_}")
    # Bytes are handed over as they are: going through Python numbers would lose NaN payloads.
    data = np.ascontiguousarray(array).reshape(-1)
    if not data.size:
        return ir.Attribute.parse(f"dense<> : {type_}")
    rows = data.view(np.uint8).reshape(data.size, -1)
    if bool((rows == rows[0]).all()):
        data = data[:1]
    return ir.Attribute.parse(f'dense<"0x{data.tobytes().hex().upper()}"> : {type_}')


def only_element(value: ir.Value) -> float | int | None:
    """The number that all elements of a constant tensor are; None for any other value."""
    if isinstance(value.owner, ir.Block) or value.owner.operation.name != "arith.constant":
        return None
    attribute = value.owner.operation.attributes["value"]
    if not isinstance(attribute, ir.DenseElementsAttr) or not attribute.is_splat:
        return None
    element = attribute.get_splat_value()
    is_number = isinstance(element, (ir.FloatAttr, ir.IntegerAttr))
    return element.value if is_number else None


def _boolean_text(array: np.ndarray) -> str:
    if array.size and (array.all() or not array.any()):
        return "true" if array.all() else "false"
    return str(array.tolist()).lower() if array.size else ""

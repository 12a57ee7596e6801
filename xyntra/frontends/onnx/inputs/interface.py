# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads what a model declares of its inputs: element types that Xyntra knows, and dimensions."""

from __future__ import annotations

import ml_dtypes
import onnx
from onnx import TensorProto

from xyntra.dialects.dtypes import ELEMENT_TYPES
from xyntra.errors import ModelError, UnsupportedError

MAX_RANK = 32
MAX_DIMENSION = 2**40

Shape = tuple[int, ...]


def dtype_name(element_type: int, place: str) -> str:
    """The dtype of an ONNX element type; UnsupportedError when Xyntra has none for it."""
    try:
        name = str(onnx.helper.tensor_dtype_to_np_dtype(element_type).name)
    except (KeyError, ValueError):
        name = ""
    if element_type == TensorProto.BFLOAT16:
        name = ml_dtypes.bfloat16.__name__
    if name not in ELEMENT_TYPES or element_type == TensorProto.STRING:
        known = TensorProto.DataType.DESCRIPTOR.values_by_number.get(element_type)
        label = known.name.lower() if known else str(element_type)
        raise UnsupportedError(
            "dtype-unsupported",
            f"element type {label} is not supported",
            place=place,
            hint="export the model with floats of 4, 8 or 16 to 64 bits, integers, or booleans",
        )
    return name


def _tensor_type(value: onnx.ValueInfoProto) -> onnx.TypeProto.Tensor:
    kind = value.type.WhichOneof("value")
    if kind != "tensor_type":
        raise UnsupportedError(
            "type-unsupported",
            f"values of type {kind or 'none'} are not supported",
            place=f"input '{value.name}'",
        )
    return value.type.tensor_type


def input_dtype(value: onnx.ValueInfoProto) -> str:
    """The dtype of an input; UnsupportedError when Xyntra has none for it."""
    return dtype_name(_tensor_type(value).elem_type, f"input '{value.name}'")


def declared_shape(value: onnx.ValueInfoProto) -> list[int | str] | None:
    """Each dimension's size, or its name (`?` when it has none); None for an unknown rank."""
    tensor_type = _tensor_type(value)
    if not tensor_type.HasField("shape"):
        return None
    if len(tensor_type.shape.dim) > MAX_RANK:
        raise ModelError("shape-invalid", f"rank above {MAX_RANK}", place=f"input '{value.name}'")
    dims: list[int | str] = []
    for dim in tensor_type.shape.dim:
        if dim.HasField("dim_value") and dim.dim_value >= 0:
            _check_size(dim.dim_value, f"input '{value.name}'")
            dims.append(int(dim.dim_value))
        else:
            dims.append(str(dim.dim_param) or "?")
    return dims


def _check_size(size: int, place: str) -> None:
    if not 0 <= size <= MAX_DIMENSION:
        raise ModelError("shape-invalid", f"dimension {size} is out of range", place=place)

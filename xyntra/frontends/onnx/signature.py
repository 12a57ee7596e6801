# SPDX-License-Identifier: MIT OR Apache-2.0
"""Checks a node against its operator's schema: its inputs, their types, its attributes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import onnx
from onnx.defs import OpSchema

from xyntra.dialects.dtypes import NARROW_TYPES
from xyntra.errors import ModelError, UnsupportedError

_CONVERSIONS = frozenset({"QuantizeLinear", "DequantizeLinear"})
_TYPE_NAMES = {
    "float": "float32",
    "double": "float64",
    "float8e4m3fn": "float8_e4m3fn",
    "float8e4m3fnuz": "float8_e4m3fnuz",
    "float8e5m2": "float8_e5m2",
    "float8e5m2fnuz": "float8_e5m2fnuz",
    "float8e8m0": "float8_e8m0fnu",
    "float4e2m1": "float4_e2m1fn",
}


@dataclass(frozen=True)
class _Parameter:
    """One formal input; `mixed` ones repeat, each with a type of its own."""

    name: str
    variable: str
    dtypes: frozenset[str]
    optional: bool
    mixed: bool


@dataclass(frozen=True)
class _Signature:
    inputs: tuple[_Parameter, ...]
    least_inputs: int
    most_inputs: int
    most_outputs: int
    attributes: dict[str, tuple[int, bool]]


def check_signature(
    node: onnx.NodeProto, domain: str, opset: int, dtypes: Sequence[str | None], label: str
) -> None:
    """Refuse a node that breaks its operator's schema; operators without one are let through.

    Args:
        node: the node.
        domain: its operator set.
        opset: version of that operator set.
        dtypes: the dtype of every input, None where it is left out.
        label: what messages call the node.

    Raises:
        ModelError: `node-invalid`.
    """
    signature = _signature(node.op_type, opset, domain)
    if signature is None:
        return
    problem = (
        _arity_problem(signature, node)
        or _type_problem(signature, dtypes)
        or _attribute_problem(signature, node)
    )
    if problem:
        raise ModelError("node-invalid", f"{node.op_type}: {problem}", place=f"node '{label}'")


def check_narrow(
    node: onnx.NodeProto, domain: str, dtypes: Sequence[str | None], label: str
) -> None:
    """Refuse elements of a byte or less that no schema says the operator to have.

    Raises:
        UnsupportedError: `dtype-unsupported`.
    """
    narrow = next((dtype for dtype in dtypes if dtype in NARROW_TYPES), None)
    if domain and narrow and node.op_type not in _CONVERSIONS:
        raise UnsupportedError(
            "dtype-unsupported",
            f"{node.op_type}: elements of {narrow} are converted and moved, not computed with",
            place=f"node '{label}'",
            hint="put a DequantizeLinear or a Cast before it",
        )


@lru_cache(maxsize=1024)
def _signature(op_type: str, opset: int, domain: str) -> _Signature | None:
    try:
        schema: Any = onnx.defs.get_schema(op_type, opset, domain)
    except onnx.defs.SchemaError:
        return None
    if schema.deprecated:
        return None
    return _Signature(
        tuple(_parameter(formal) for formal in schema.inputs),
        schema.min_input,
        schema.max_input,
        schema.max_output,
        {
            name: (int(attribute.type.value), attribute.required)
            for name, attribute in schema.attributes.items()
        },
    )


def _parameter(formal: OpSchema.FormalParameter) -> _Parameter:
    variadic = formal.option == OpSchema.FormalParameterOption.Variadic
    return _Parameter(
        formal.name,
        formal.type_str,
        _with_bfloat16(frozenset(_dtype(name) for name in formal.types)),
        formal.option != OpSchema.FormalParameterOption.Single,
        variadic and not formal.is_homogeneous,
    )


def _dtype(type_name: str) -> str:
    """The dtype of `tensor(…)`, and `seq(…)` or `optional(…)` of one; others keep their name."""
    for outer in ("seq(", "optional("):
        if type_name.startswith(outer):
            return f"{outer}{_dtype(type_name[len(outer) : -1])})"
    element = type_name.removeprefix("tensor(").removesuffix(")")
    return _TYPE_NAMES.get(element, element)


def _with_bfloat16(dtypes: frozenset[str]) -> frozenset[str]:
    """Add bfloat16 to types with float16.

    Schemas took it up operator by operator, most with opset 22; PyTorch writes modules in it with
    opset 18 to 20.
    """
    return dtypes | {"bfloat16"} if "float16" in dtypes else dtypes


def _arity_problem(signature: _Signature, node: onnx.NodeProto) -> str | None:
    least, most, count = signature.least_inputs, signature.most_inputs, len(node.input)
    if not least <= count <= most:
        limits = str(least) if least == most else f"{least} to {most}"
        return f"it has {count} inputs, the operator takes {limits}"
    if len(node.output) > signature.most_outputs:
        return f"it has {len(node.output)} outputs, the operator has {signature.most_outputs}"
    for name, parameter in zip(node.input, signature.inputs, strict=False):
        if not name and not parameter.optional:
            return f"input '{parameter.name}' is missing"
    return None


def _type_problem(signature: _Signature, dtypes: Sequence[str | None]) -> str | None:
    bound: dict[str, str] = {}
    for position, dtype in enumerate(dtypes):
        parameter = signature.inputs[min(position, len(signature.inputs) - 1)]
        if dtype is None or parameter.mixed:
            continue
        if not {dtype, f"optional({dtype})"} & parameter.dtypes:
            return f"input '{parameter.name}' cannot be {dtype}"
        if bound.setdefault(parameter.variable, dtype) != dtype:
            first = bound[parameter.variable]
            return f"input '{parameter.name}' is {dtype} where another of its type is {first}"
    return None


def _attribute_problem(signature: _Signature, node: onnx.NodeProto) -> str | None:
    given = {attribute.name: int(attribute.type) for attribute in node.attribute}
    for name, kind in given.items():
        if name not in signature.attributes:
            return f"the operator has no attribute '{name}'"
        if kind != signature.attributes[name][0]:
            return f"attribute '{name}' has the wrong type"
    for name, (_, required) in signature.attributes.items():
        if required and name not in given:
            return f"attribute '{name}' is missing"
    return None

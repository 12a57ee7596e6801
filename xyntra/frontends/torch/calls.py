# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes nodes of a torch.fx graph as calls of ATen operators, for every kind of program."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import torch

from xyntra.errors import UnsupportedError
from xyntra.frontends.torch.arrays import dtype_name
from xyntra.frontends.torch.program import AtenCall, AtenTensor

if TYPE_CHECKING:
    from xyntra.frontends.torch.exported_sizes import ExportedSizes

__all__ = ["call_of", "memory_order", "tensor_type"]

_STRIDED = ("as_strided", "as_strided_copy", "as_strided_scatter")
"""Operators that read memory, of which programs otherwise know nothing."""


def call_of(node: torch.fx.Node, sizes: ExportedSizes | None = None) -> AtenCall:
    """Return a node as a call with all arguments of the operator's schema.

    Args:
        node: calls an operator or `getitem`; `meta["val"]` holds its results as fake tensors.
        sizes: those that are free.

    Raises:
        UnsupportedError: it calls something else, or a shape, dtype or argument is not supported.
    """
    place = label = _label(node)
    if node.target is operator.getitem:
        source, index = node.args
        arguments = {"source": _value(source, place, sizes), "index": index}
        return AtenCall(node.name, "getitem", label, arguments, (_result(node, place, sizes),))
    if isinstance(node.meta.get("val"), (torch.SymInt, torch.SymFloat, torch.SymBool)):
        raise UnsupportedError(
            "torch-data-dependent",
            f"{node.target}: a size, or an assertion, depends on the values of tensors",
            place=f"node '{place}'",
            hint="leave that part outside of the module; torch.compile runs it in PyTorch",
        )
    if not isinstance(node.target, torch._ops.OpOverload):
        raise UnsupportedError(
            "operator-unsupported",
            f"{node.target}: control flow and calls of Python are not supported",
            place=f"node '{place}'",
            hint="write the choice with torch.where, or unroll the loop",
        )
    schema = node.target._schema
    given = dict(zip((each.name for each in schema.arguments), node.args, strict=False))
    defaults = {a.name: a.default_value for a in schema.arguments if a.has_default_value()}
    everything = {**defaults, **given, **node.kwargs}
    arguments = {k: _value(v, place, sizes) for k, v in everything.items()}
    if node.target._opname in _STRIDED:
        arguments["memory_order"] = _whole_memory_order(node.args[0].meta["val"])
    return AtenCall(node.name, str(node.target), label, arguments, _results(node, place, sizes))


def tensor_type(value: torch.Tensor, place: str, sizes: ExportedSizes | None = None) -> AtenTensor:
    """Return the dtype and the shape of a tensor.

    Args:
        value: the tensor; fake ones have no more than that.
        place: names it in errors.
        sizes: those that are free; without, the shape has to be static.

    Raises:
        UnsupportedError: its shape is not static, or its dtype or layout is not supported.
    """
    is_static = all(type(size) is int for size in value.shape)
    if not is_static and sizes is None:
        raise UnsupportedError(
            "dimension-range",
            f"a shape is not static: {list(value.shape)}",
            place=place,
            hint="export without dynamic_shapes; values that decide shapes are not supported",
        )
    name = dtype_name(value.dtype)
    if name is None or value.layout != torch.strided:
        raise UnsupportedError(
            "dtype-unsupported",
            f"tensors of {value.dtype} ({value.layout}) are not supported",
            place=place,
        )
    if is_static or sizes is None:
        return AtenTensor(name, tuple(value.shape))
    texts = tuple(sizes.text(size, place) for size in value.shape)
    return AtenTensor(name, tuple(map(sizes.example, value.shape)), texts)


def memory_order(value: torch.Tensor) -> tuple[int, ...] | None:
    """Return dimensions from the outermost in memory to the innermost; None where there are gaps.

    That is where the memory is not that of a contiguous tensor with dimensions permuted.
    """
    sizes, strides = value.shape, value.stride()
    order = tuple(range(len(sizes)))
    if value.is_contiguous():
        return order
    wide = [d for d in order if sizes[d] != 1]
    ranked = sorted(wide, key=lambda d: -strides[d])
    step = 1
    for d in reversed(ranked):
        if strides[d] != step:
            return None
        step *= sizes[d]
    ordered = iter(ranked)
    return tuple(d if sizes[d] == 1 else next(ordered) for d in order)


def _whole_memory_order(value: torch.Tensor) -> list[int] | None:
    """As `memory_order`, of a tensor that begins where its memory does, and ends there."""
    order = memory_order(value)
    if order is None or value.storage_offset():
        return None
    whole = value.untyped_storage().nbytes() == value.numel() * value.element_size()
    return list(order) if whole else None


def _result(node: torch.fx.Node, place: str, sizes: ExportedSizes | None) -> AtenTensor | None:
    value = node.meta.get("val")
    at = f"node '{place}'"
    return tensor_type(value, at, sizes) if isinstance(value, torch.Tensor) else None


def _results(
    node: torch.fx.Node, place: str, sizes: ExportedSizes | None
) -> tuple[AtenTensor | None, ...]:
    value = node.meta.get("val")
    values = value if isinstance(value, (tuple, list)) else [value]
    at = f"node '{place}'"
    return tuple(tensor_type(v, at, sizes) if isinstance(v, torch.Tensor) else None for v in values)


def _label(node: torch.fx.Node) -> str:
    """Return the part of the module that a node belongs to, and its name."""
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    path = str(stack[-1][0]) if stack else ""
    return f"{path}/{node.name}" if path else node.name


def _value(value: Any, place: str, sizes: ExportedSizes | None) -> Any:
    """Return an argument of a node as JSON."""
    if isinstance(value, torch.fx.Node):
        found = value.meta.get("val")
        if isinstance(found, torch.SymInt) and sizes is not None:
            return {"size": sizes.text(found, f"node '{place}'")}
        return {"value": value.name}
    if isinstance(value, (tuple, list)):
        return [_value(each, place, sizes) for each in value]
    if isinstance(value, torch.dtype):
        return {"dtype": dtype_name(value) or str(value)}
    if isinstance(value, (torch.device, torch.layout, torch.memory_format)):
        return None
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise UnsupportedError(
        "operator-unsupported",
        f"an argument of type {type(value).__name__} is not supported",
        place=f"node '{place}'",
    )

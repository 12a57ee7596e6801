# SPDX-License-Identifier: MIT OR Apache-2.0
"""Recognises products with packed weights, whose bodies dequantize."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.dtypes import default_dtype
from xyntra.dialects.mlir import ir
from xyntra.dialects.tensors.packed_product import PackedWeight, packed_contraction
from xyntra.passes.analysis.owners import constant_attribute
from xyntra.passes.fusion.weights.weights import constant_of_fill
from xyntra.passes.recognize.dead_operations import erase_unused

__all__ = ["PackedMatmul", "body_form", "packed_product_of"]

_LOOPS = 4
_SYMMETRIC = {4: 8, 8: 128}


@dataclass(frozen=True)
class PackedMatmul:
    """A product that `packed_contraction` has built.

    Attributes:
        rows: [M, blocks, bytes of a block], with the integers of a byte behind.
        weight: the weight.
        dtype: of the sum.
    """

    rows: Tensor
    weight: PackedWeight
    dtype: str


def packed_product_of(op: ir.Operation) -> PackedMatmul | None:
    """Return `op`, a linalg.generic, as such a product; None for anything else.

    It is one if building the product of its operands gives the same operation.
    """
    if len(op.attributes["iterator_types"]) != _LOOPS or len(op.results) != 1:
        return None
    operands = list(op.operands)
    initial = constant_of_fill(operands[-1])
    if not isinstance(initial, ir.FloatAttr) or initial.value != 0:
        return None
    each = 2 if len(operands) > 2 and operands[0] == operands[1] else 1
    weights = [Tensor.of(value) for value in operands[each:-1]]
    if len(weights) not in (2, 3) or weights[0].dtype != "int8":
        return None
    integers, scales, *points = weights
    zeros: Tensor | int = _SYMMETRIC[8 // each]
    if points:
        zeros = _bytes(points[0])
    rows = Tensor.of(operands[0])
    if integers.rank != _LOOPS - 1 or rows.rank != (_LOOPS if each > 1 else _LOOPS - 1):
        return None
    weight = PackedWeight(_bytes(integers), scales, zeros, 8 // each, _steps(rows))
    dtype = default_dtype(ir.RankedTensorType(op.results[0].type).element_type)
    found = PackedMatmul(rows, weight, dtype)
    return found if _is_built_so(op, found) else None


def _steps(rows: Tensor) -> int:
    """Return how many steps each of the rows has."""
    return prod(rows.shape[1:])


def _bytes(tensor: Tensor) -> Tensor:
    """Return a tensor whose 8-bit integers, if any, are unsigned, as those of weights are."""
    return Tensor(tensor.value, "uint8") if tensor.dtype == "int8" else tensor


def _is_built_so(op: ir.Operation, found: PackedMatmul) -> bool:
    with op.context, op.location:
        b = TensorBuilder(ir.InsertionPoint(op), op.location)
        built = packed_contraction(b, found.rows, found.weight, found.dtype).value.owner.operation
        same = all(
            built.attributes[name] == op.attributes[name]
            for name in ("indexing_maps", "iterator_types")
        )
        same = same and built.results[0].type == op.results[0].type
        same = same and body_form(built.regions[0].blocks[0]) == body_form(op.regions[0].blocks[0])
        erase_unused([built])
    return same


def body_form(body: ir.Block) -> list[tuple[object, ...]]:
    """Return a body as what it computes, with constants in their places."""
    numbers: dict[ir.Value, str] = {each: f"argument {i}" for i, each in enumerate(body.arguments)}
    form: list[tuple[object, ...]] = [tuple(str(value.type) for value in body.arguments)]
    for view in body.operations:
        op = view.operation
        if op.name == "arith.constant":
            continue
        places: list[str] = []
        for value in op.operands:
            known = numbers.get(value)
            places.append(str(constant_attribute(value)) if known is None else known)
        types = tuple(str(each.type) for each in op.results)
        if op.name in ("arith.addf", "arith.mulf", "arith.addi", "arith.muli"):
            places.sort()
        form.append((op.name, types, *places))
        numbers.update((each, f"{len(form)} {i}") for i, each in enumerate(op.results))
    return form

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tells whether the memory of a module can have elements of f16 on devices that know these.

What packs buffers and cuts large ones works on words; so does what looks at bits.
"""

from __future__ import annotations

from math import prod

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.kernel_function import entry_block, operations_named
from xyntra.passes.lower.gpu.spirv.flat_signature import FUNCTION

__all__ = ["f16_can_stay"]

_BUFFERS = 8  # of a launch that needs no packing
_BYTES = 128 << 20  # of a buffer that is bound as a whole
_KNOWN = (
    "arith.constant",
    "arith.extf",
    "arith.select",
    "arith.truncf",
    "gpu.func",
    "memref.alloc",
    "memref.load",
    "memref.store",
    "scf.for",
    "scf.if",
    "scf.yield",
)


def f16_can_stay(module: ir.Operation) -> bool:
    """Tell whether f16 is moved and converted alone, between memory that is bound as it is."""
    return all(
        _is_bound_whole(function) and _is_converted_alone(function)
        for function in operations_named(module, FUNCTION)
    )


def _is_bound_whole(function: ir.Operation) -> bool:
    arguments = [each.type for each in entry_block(function).arguments]
    memories = [ir.MemRefType(each) for each in arguments if isinstance(each, ir.MemRefType)]
    largest = max((_bytes(each) for each in memories), default=0)
    return len(memories) <= _BUFFERS and largest <= _BYTES


def _bytes(kind: ir.MemRefType) -> int:
    element = kind.element_type
    lanes = prod(element.shape) if isinstance(element, ir.VectorType) else 1
    width = getattr(element, "element_type", element).width
    return int(prod(kind.shape) * lanes * width) // 8


def _is_converted_alone(function: ir.Operation) -> bool:
    unknown = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        touches = any(_is_f16(each.type) for each in [*op.operands, *op.results])
        if touches and (op.name not in _KNOWN or _is_to_other(op)):
            unknown.append(op)
            return ir.WalkResult.INTERRUPT
        return ir.WalkResult.ADVANCE

    function.walk(visit)
    return not unknown


def _is_to_other(op: ir.Operation) -> bool:
    """Tell whether an operation converts between f16 and anything but f32."""
    kinds = [each.type for each in [*op.operands, *op.results]]
    return op.name in ("arith.extf", "arith.truncf") and not any(
        isinstance(kind, ir.F32Type) for kind in kinds
    )


def _is_f16(kind: ir.Type) -> bool:
    return isinstance(getattr(kind, "element_type", kind), ir.F16Type)

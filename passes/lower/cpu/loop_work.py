# SPDX-License-Identifier: MIT OR Apache-2.0
"""Estimates, in nanoseconds of one core, the work of operations on buffers."""

from __future__ import annotations

from math import prod

from xyntra.dialects.dtypes import ITEM_BYTES
from xyntra.dialects.mlir import ir
from xyntra.passes.lower.nests.loop_bounds import constant_of

__all__ = ["block_work", "upper_bound", "work_of"]

# For 3 GHz and registers of 256 bits.
_VECTOR = 0.2  # an operation on a vector
_ELEMENT = 0.06  # an operation on one element, which LLVM does for several at a time
_CALL = 6.0  # a function of the C library, an unvectorised division
_STEP = 0.7  # of a loop around other loops
_BYTE = 0.08  # copied
_GENERIC = 0.5  # an element of what is still a linalg operation
_UNKNOWN_TRIPS = 4
_SLOW = ("arith.div", "arith.rem", "math.", "func.call")


def work_of(op: ir.Operation) -> float:
    """Estimate one execution of `op` with all that is inside."""
    if op.name == "scf.for":
        body = op.regions[0].blocks[0]
        return trips(op) * (block_work(body) + (_STEP if _has_loops(body) else 0.0))
    if op.name == "memref.copy":
        return _BYTE * _nbytes(op.operands[0])
    if op.name.startswith("linalg.") and len(op.regions):
        return _GENERIC * max([_elements(value) for value in op.operands], default=1)
    if len(op.regions):
        return sum(block_work(block) for region in op.regions for block in region.blocks)
    return _operation(op)


def block_work(block: ir.Block) -> float:
    """Estimate one execution of everything in a block."""
    return sum(work_of(view.operation) for view in block.operations)


def trips(loop: ir.Operation) -> int:
    """The iterations of an scf.for; the most there can be where its end is computed."""
    end = upper_bound(loop.operands[1])
    return _UNKNOWN_TRIPS if end is None else max(0, end)


def upper_bound(value: ir.Value) -> int | None:
    """A number that `value`, which is never negative, does not exceed; None if there is none."""
    known = constant_of(value)
    owner = value.owner
    if known is not None:
        return known
    if isinstance(owner, ir.Block):
        loop = owner.owner.operation
        return upper_bound(loop.operands[1]) if loop.name == "scf.for" else None
    op = owner.operation
    bounds = [upper_bound(operand) for operand in op.operands]
    if op.name in ("arith.minsi", "arith.minui"):
        return min([bound for bound in bounds if bound is not None], default=None)
    if op.name == "arith.subi":
        return bounds[0]
    if None in bounds or len(bounds) != 2:
        return None
    return _combined(op, *[bound or 0 for bound in bounds])


def _combined(op: ir.Operation, first: int, second: int) -> int | None:
    if op.name == "arith.addi":
        return first + second
    if op.name == "arith.muli":
        return first * second
    if op.name == "arith.maxsi":
        return max(first, second)
    divisor = constant_of(op.operands[1])
    if op.name in ("arith.divui", "arith.ceildivui") and divisor:
        return -(-first // divisor) if "ceil" in op.name else first // divisor
    return None


def _operation(op: ir.Operation) -> float:
    if not len(op.results) and op.name != "memref.store":
        return _VECTOR if op.name.startswith("vector.") else 0.0
    kind = (op.results[0] if len(op.results) else op.operands[0]).type
    if isinstance(kind, (ir.IndexType, ir.MemRefType)) or op.name == "arith.constant":
        return 0.0
    vector = isinstance(kind, ir.VectorType)
    if op.name.startswith(_SLOW):
        return _CALL if vector or op.name.startswith("func.") else _CALL / 4
    return _VECTOR if vector else _ELEMENT


def _has_loops(block: ir.Block) -> bool:
    return any(view.operation.name == "scf.for" for view in block.operations)


def _elements(value: ir.Value) -> int:
    if isinstance(value.type, ir.MemRefType) and value.type.has_static_shape:
        return prod(value.type.shape)
    return 1


def _nbytes(value: ir.Value) -> int:
    return _elements(value) * ITEM_BYTES.get(str(ir.MemRefType(value.type).element_type), 8)

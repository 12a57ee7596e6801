# SPDX-License-Identifier: MIT OR Apache-2.0
"""Estimates, in nanoseconds of one core, the work of operations on buffers."""

from __future__ import annotations

from math import prod

from xyntra.dialects.dtypes import ITEM_BYTES
from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.loop_bounds import constant_of, constant_trips
from xyntra.passes.analysis.sizes.size import hint_of

__all__ = ["LoopWork", "trips", "unfinished_share", "upper_bound"]

# For 3 GHz and registers of 256 bits.
_VECTOR = 0.2  # an operation on a vector
_ELEMENT = 0.06  # an operation on one element, which LLVM does for several at a time
_ALONE = 5.0  # times as long as when LLVM is done with it
_ENOUGH_CARRIED = 8  # vectors: a step of a loop takes longer than its end
_CALL = 6.0  # a function of the C library, an unvectorised division
_STEP = 0.7  # of a loop around other loops
_BYTE = 0.08  # copied
_GENERIC = 0.5  # an element of what is still a linalg operation
_UNKNOWN_TRIPS = 4
_SLOW = ("arith.div", "arith.rem", "math.", "func.call")


class LoopWork:
    """Estimates of operations that do not change meanwhile: every loop is looked into once."""

    def __init__(self) -> None:
        self._bodies: dict[ir.Operation, tuple[float, bool]] = {}

    def of(self, op: ir.Operation) -> float:
        """Estimate one execution of `op` with all that is inside."""
        if op.name == "scf.for":
            return trips(op) * (self.of_body(op) + (_STEP if self.has_loops(op) else 0.0))
        if op.name == "memref.copy":
            return _BYTE * _nbytes(op.operands[0])
        if not len(op.regions):
            return _operation(op)
        if op.name.startswith("linalg."):
            return _GENERIC * max([_elements(value) for value in op.operands], default=1)
        blocks = [block for region in op.regions for block in region.blocks]
        return sum(self.of(view.operation) for block in blocks for view in block.operations)

    def of_body(self, loop: ir.Operation) -> float:
        """Estimate one iteration of an scf.for."""
        return self._body(loop)[0]

    def has_loops(self, loop: ir.Operation) -> bool:
        """Tell whether there is a loop right inside `loop`."""
        return self._body(loop)[1]

    def _body(self, loop: ir.Operation) -> tuple[float, bool]:
        if loop not in self._bodies:
            inside = [view.operation for view in loop.regions[0].blocks[0].operations]
            has_loops = any(op.name == "scf.for" for op in inside)
            self._bodies[loop] = sum(map(self.of, inside)), has_loops
        return self._bodies[loop]


def unfinished_share(block: ir.Block, known: LoopWork) -> float:
    """Estimate the share of the time that takes what LLVM should vectorise or unroll, if it is not.

    Those are innermost loops that store, or carry, something else than vectors, and short ones of
    a number of steps that is computed, such as those over the taps of a window at an edge.
    """
    total = sum(known.of(view.operation) for view in block.operations)
    alone = _ALONE * _unfinished_work(block, known)
    return alone / max(total + alone, 1.0)


def _unfinished_work(block: ir.Block, known: LoopWork) -> float:
    found = 0.0
    for view in block.operations:
        op = view.operation
        if op.name != "scf.for":
            continue
        body = op.regions[0].blocks[0]
        if known.has_loops(op):
            found += trips(op) * _unfinished_work(body, known)
        elif not _is_finished(op, body):
            found += known.of(op)
    return found


def _is_finished(loop: ir.Operation, body: ir.Block) -> bool:
    if any(not isinstance(result.type, ir.VectorType) for result in loop.results):
        return False
    if 0 < len(loop.results) < _ENOUGH_CARRIED and constant_trips(loop) is None:
        return False
    return all(view.operation.name != "memref.store" for view in body.operations)


def trips(loop: ir.Operation) -> int:
    """The iterations of an scf.for; the most there can be where its end is computed."""
    end = upper_bound(loop.operands[1])
    return _UNKNOWN_TRIPS if end is None else max(0, end)


def upper_bound(value: ir.Value) -> int | None:
    """A number that `value`, which is never negative, does not exceed; None if there is none."""
    known: int | None = hint_of(constant_of(value))
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
    name, results = op.name, op.results
    if not len(results) and name != "memref.store":
        return _VECTOR if name.startswith("vector.") else 0.0
    if name == "arith.constant":
        return 0.0
    kind = (results[0] if len(results) else op.operands[0]).type
    if isinstance(kind, (ir.IndexType, ir.MemRefType)):
        return 0.0
    vector = isinstance(kind, ir.VectorType)
    if name.startswith(_SLOW):
        return _CALL if vector or name.startswith("func.") else _CALL / 4
    return _VECTOR if vector else _ELEMENT


def _elements(value: ir.Value) -> int:
    if isinstance(value.type, ir.MemRefType) and value.type.has_static_shape:
        return prod(value.type.shape)
    return 1


def _nbytes(value: ir.Value) -> int:
    return _elements(value) * ITEM_BYTES.get(str(ir.MemRefType(value.type).element_type), 8)

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Estimates of loops that wait for memory: no less than moving what a kernel is given takes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from xyntra.dialects.dtypes import ITEM_BYTES
from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cpu.threads.loop_work import LoopWork, trips
from xyntra.passes.lower.loops.memrefs import root

__all__ = ["SlowedWork"]

_BYTE = 0.015  # ns, from or to the caches that cores share
_PLACES = {"memref.load": 0, "vector.load": 0, "memref.store": 1, "vector.store": 1}
"""Operations that touch memory, and which operand that memory is."""


@dataclass(frozen=True)
class SlowedWork:
    """Estimates in nanoseconds of one core, lengthened where memory takes longer than arithmetic.

    Attributes:
        known: estimates without memory.
        factor: by which all of them are too short.
    """

    known: LoopWork
    factor: float

    @classmethod
    def of_kernel(cls, block: ir.Block, known: LoopWork) -> SlowedWork:
        """Return estimates of the kernel with the body `block`."""
        total = sum(known.of(view.operation) for view in block.operations)
        sizes = {each: _nbytes(each) for each in block.arguments if _is_memory(each)}
        if not 0.0 < total < _BYTE * sum(sizes.values()):
            return cls(known, 1.0)
        return cls(known, max(1.0, _BYTE * _moved(block, sizes) / total))

    def of(self, op: ir.Operation) -> float:
        """Estimate one execution of `op` with all that is inside."""
        return self.factor * self.known.of(op)

    def of_body(self, loop: ir.Operation) -> float:
        """Estimate one iteration of an scf.for."""
        return self.factor * self.known.of_body(loop)

    def has_loops(self, loop: ir.Operation) -> bool:
        """Tell whether there is a loop right inside `loop`."""
        return self.known.has_loops(loop)


def _moved(block: ir.Block, sizes: dict[ir.Value, int]) -> int:
    """Bytes of arguments that are touched, each once: caches of a core hold what is read again."""
    touched: dict[ir.Value, int] = {}
    for memory, nbytes in _touches(block, 1):
        touched[memory] = touched.get(memory, 0) + nbytes
    return sum(min(touched.get(memory, 0), size) for memory, size in sizes.items())


def _touches(block: ir.Block, times: int) -> Iterator[tuple[ir.Value, int]]:
    """Yield the memory that operations inside `block` touch, with the bytes, repeats counted."""
    for view in block.operations:
        op = view.operation
        place = _PLACES.get(op.name)
        if place is not None:
            kind = op.result.type if len(op.results) else op.operands[0].type
            yield root(op.operands[place]), times * _size(kind)
        elif op.name == "memref.copy":
            for operand in op.operands:
                yield root(operand), times * _nbytes(operand)
        elif len(op.regions):
            inside = times * (trips(op) if op.name == "scf.for" else 1)
            for region in op.regions:
                for inner in region.blocks:
                    yield from _touches(inner, inside)


def _size(kind: ir.Type) -> int:
    if isinstance(kind, ir.VectorType):
        return int(prod(kind.shape)) * _size(kind.element_type)
    return ITEM_BYTES.get(str(kind), 8)


def _is_memory(value: ir.Value) -> bool:
    return isinstance(value.type, ir.MemRefType) and value.type.has_static_shape


def _nbytes(memory: ir.Value) -> int:
    kind = ir.MemRefType(memory.type)
    return prod(kind.shape) * _size(kind.element_type) if kind.has_static_shape else 0

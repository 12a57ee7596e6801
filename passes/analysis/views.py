# SPDX-License-Identifier: MIT OR Apache-2.0
"""Operations whose result is another view of their first operand: they move no element."""

from __future__ import annotations

from xyntra.dialects.mlir import ir

__all__ = ["MEMREF_VIEWS", "RESHAPES", "TENSOR_VIEWS", "origin_of", "readers_of"]

RESHAPES = frozenset({"tensor.collapse_shape", "tensor.expand_shape"})
"""Another shape for the same elements in the same order."""

TENSOR_VIEWS = RESHAPES | {"tensor.extract_slice"}
"""Another shape, or some of the elements."""

MEMREF_VIEWS = frozenset(
    [
        "memref.cast",
        "memref.collapse_shape",
        "memref.expand_shape",
        "memref.reinterpret_cast",
        "memref.subview",
        "memref.view",
    ]
)
"""Operations on buffers whose result shares the memory of their first operand."""


def origin_of(value: ir.Value) -> ir.Value:
    """The value that `value` is another shape of."""
    while not isinstance(value.owner, ir.Block) and value.owner.name in RESHAPES:
        value = value.owner.operands[0]
    return value


def readers_of(value: ir.Value) -> list[ir.Operation]:
    """What reads a value, through other shapes of it; once for each operand."""
    found, waiting = [], [value]
    while waiting:
        for use in waiting.pop().uses:
            op = use.owner.operation
            if op.name in RESHAPES:
                waiting.append(op.results[0])
            else:
                found.append(op)
    return found

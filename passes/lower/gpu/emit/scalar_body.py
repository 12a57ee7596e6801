# SPDX-License-Identifier: MIT OR Apache-2.0
"""A body of plain arithmetic, repeated on given scalars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.analysis.kernel_function import terminator

INDEX = "linalg.index"


def is_scalar_code(body: ir.Block) -> bool:
    """Tell whether `body` can be repeated on scalars: arithmetic, and numbers of iterations."""
    return all(
        view.operation.name in (INDEX, "linalg.yield")
        or (
            view.operation.name.startswith(("arith.", "math.")) and len(view.operation.results) == 1
        )
        for view in body.operations
    )


def indices_of(body: ir.Block) -> list[ir.Operation]:
    """Return every linalg.index of a body, in order."""
    return [view.operation for view in body.operations if view.operation.name == INDEX]


def emit_on_scalars(
    body: ir.Block,
    arguments: Sequence[ir.Value],
    known: Mapping[ir.Value, ir.Value] | None = None,
) -> list[ir.Value]:
    """Emit `body` at the insertion point and return what it yields.

    Args:
        body: satisfies `is_scalar_code`.
        arguments: for the arguments of `body`, at least for those that are used.
        known: what stands for results that need not be emitted: those of every linalg.index.
    """
    mapped: dict[ir.Value, ir.Value] = dict(zip(body.arguments, arguments, strict=False))
    mapped.update(known or {})
    ending = terminator(body)
    for view in body.operations:
        op = view.operation
        if op == ending:
            break
        if op.result in mapped:
            continue
        operands = [mapped.get(value, value) for value in op.operands]
        mapped[op.result] = emit(op.name, operands, op.result.type, **dict(op.attributes.items()))
    return [mapped.get(value, value) for value in ending.operands]

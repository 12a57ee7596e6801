# SPDX-License-Identifier: MIT OR Apache-2.0
"""Operations that place one tensor in another: paddings, insertions and slices of all dimensions.

Their attributes have a number for every dimension, which can be put into another order.
"""

from __future__ import annotations

from collections.abc import Sequence

from xyntra.dialects.mlir import ir
from xyntra.passes.fusion.graph.block_graph import reads_no_tensor
from xyntra.passes.views.structured import body_uses

__all__ = ["ENLARGING", "PLACING", "is_destination", "permute", "placed"]

_SLICE = ("static_offsets", "static_sizes", "static_strides")
_BY_DIMENSION = {
    "tensor.pad": ("static_low", "static_high"),
    "tensor.insert_slice": _SLICE,
    "tensor.extract_slice": _SLICE,
}
PLACING = frozenset(_BY_DIMENSION)
ENLARGING = PLACING - {"tensor.extract_slice"}
"""Those whose result is the larger tensor."""


def is_destination(value: ir.Value) -> bool:
    """Tell whether `value` is written over, or holds one number everywhere."""
    if isinstance(value.owner, ir.Block):
        return False
    op = value.owner.operation
    if op.name == "tensor.empty":
        return not len(op.operands)
    return reads_no_tensor(op) and len(op.results) == 1 and not body_uses(op, "linalg.index")


def placed(op: ir.Operation) -> list[ir.Value]:
    """The tensors that one of `PLACING` reads and writes in one order; none where they have none.

    Destinations without contents are not among them.
    """
    values = [*op.operands, *op.results]
    if len(op.operands) != (2 if op.name == "tensor.insert_slice" else 1):
        return []
    if len({len(value.type.shape) for value in values}) > 1:
        return []
    if op.name == "tensor.pad":
        arguments = op.regions[0].blocks[0].arguments
        return [] if any(list(argument.uses) for argument in arguments) else values
    return [value for value in values if not is_destination(value)]


def permute(op: ir.Operation, order: Sequence[int]) -> None:
    """Let dimension i of what `op` places be what dimension `order[i]` was."""
    for name in _BY_DIMENSION[op.name]:
        numbers = list(ir.DenseI64ArrayAttr(op.attributes[name]))
        op.attributes[name] = ir.DenseI64ArrayAttr.get([numbers[d] for d in order], op.context)

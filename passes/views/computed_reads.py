# SPDX-License-Identifier: MIT OR Apache-2.0
"""`linalg.generic` bodies that compute their read positions, as resizing and sampling do.

Such a body asks for the counters of its loops by `linalg.index` and reads tensors of the block
around it by `tensor.extract`. Both can be put into another order, as indexing maps can.
"""

from __future__ import annotations

from collections.abc import Sequence

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.owners import member_of
from xyntra.passes.analysis.walking import nested_operations

__all__ = [
    "extract_of",
    "extracts_in",
    "loop_of",
    "own_loops",
    "read_through",
    "rename_indices",
    "user_in",
]

_EXTRACT = "tensor.extract"


def rename_indices(op: ir.Operation, names: Sequence[int]) -> None:
    """Let the body of `op` know its loop i as loop `names[i]`."""
    for inner in nested_operations(op):
        if inner.name == "linalg.index":
            dimension = ir.IntegerAttr(inner.attributes["dim"])
            inner.attributes["dim"] = ir.IntegerAttr.get(dimension.type, names[dimension.value])


def user_in(block: ir.Block, use: ir.OpOperand) -> ir.Operation:
    """Return the operation of `block` that reads by `use`, itself or in its body.

    What uses a value in another way than reading its elements in a body is returned itself.
    """
    return extract_of(use, block) or use.owner.operation


def extract_of(use: ir.OpOperand, block: ir.Block) -> ir.Operation | None:
    """Return the `linalg.generic` of `block` whose body reads elements of what is used by `use`.

    None where something else in a region uses it.
    """
    op = use.owner.operation
    if op.name != _EXTRACT or use.operand_number or op.block == block:
        return None
    holder = member_of(block, op)
    return holder if holder.name == "linalg.generic" else None


def extracts_in(op: ir.Operation) -> list[ir.Operation]:
    """Return what reads tensors from around `op` in its body."""
    return [inner for inner in nested_operations(op) if inner.name == _EXTRACT]


def loop_of(index: ir.Value) -> int | None:
    """Return the loop whose counter an index is; None for any other index."""
    if isinstance(index.owner, ir.Block) or index.owner.name != "linalg.index":
        return None
    return int(ir.IntegerAttr(index.owner.attributes["dim"]).value)


def own_loops(op: ir.Operation, tensor: ir.Value) -> set[int]:
    """Return the dimensions of `tensor` that the body of `op` indexes by their own loops.

    Those of size 1 are among them.
    """
    shape = tensor.type.shape
    found = set(range(len(shape)))
    for extract in extracts_in(op):
        if extract.operands[0] == tensor:
            indices = enumerate(list(extract.operands)[1:])
            found &= {i for i, index in indices if shape[i] == 1 or loop_of(index) == i}
    return found


def read_through(
    extract: ir.Operation, base: ir.Value, sources: Sequence[int | None]
) -> ir.Operation:
    """Let what uses `extract` read `base` instead, whose dimension i it indexes by `sources[i]`.

    `sources` are dimensions of the tensor that was read, or None for index 0. The operation itself
    stays, without uses. Returns the one that takes its place.
    """
    indices = list(extract.operands)[1:]
    with extract.location, ir.InsertionPoint(extract):
        places = [_zero() if source is None else indices[source] for source in sources]
        kind = extract.results[0].type
        made = ir.Operation.create(_EXTRACT, results=[kind], operands=[base, *places])
    extract.results[0].replace_all_uses_with(made.results[0])
    return made


def _zero() -> ir.Value:
    kind = ir.IndexType.get()
    attributes = {"value": ir.IntegerAttr.get(kind, 0)}
    return ir.Operation.create("arith.constant", results=[kind], attributes=attributes).results[0]

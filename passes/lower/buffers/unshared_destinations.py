# SPDX-License-Identifier: MIT OR Apache-2.0
"""`unshared-destinations`: keeps the memory of a result free of what is not that result."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.kernel_function import operations_named
from xyntra.passes.fusion.graph.block_graph import reads_no_tensor
from xyntra.passes.registry import register_pass

__all__ = ["UnsharedDestinations"]

_INTO = "bufferization.materialize_in_destination"


@register_pass
@dataclass(frozen=True)
class UnsharedDestinations:
    """Give tensors that are written on their way to a result no other use.

    Upstream's `eliminate-empty-tensors` lets an operation write straight into the memory of the
    result that it leads to. A value in between, on which two operations build different results,
    then lies in the memory of the first result, and is gone once that is complete: two
    concatenations that begin with the same tensor, which CSE makes one insertion of, gave one
    result twice.

    An insertion on which several others build is repeated for each of them, a fill and an empty
    tensor for each use. Where a value in between has other uses still, the chain gets memory of its
    own, which is copied to the result.
    """

    name: ClassVar[str] = "unshared-destinations"

    def run(self, module: ir.Operation) -> None:
        """Rewrite the operations below `module`."""
        for op in reversed(operations_named(module, "tensor.insert_slice")):
            _repeat_insertion(op)
        for op in operations_named(module, "linalg.fill", "linalg.generic"):
            if len(op.results) == 1 and reads_no_tensor(op):
                _repeat(op)
        for op in operations_named(module, "tensor.empty"):
            _repeat(op)
        shared = [
            empty
            for op in operations_named(module, _INTO)
            if (empty := _shared_start(op.operands[0])) is not None
        ]
        for empty in dict.fromkeys(shared):
            with empty.context, empty.location, ir.InsertionPoint(empty):
                memory = ir.Operation.create(
                    "bufferization.alloc_tensor",
                    results=[empty.results[0].type],
                    attributes={"operandSegmentSizes": ir.DenseI32ArrayAttr.get([0, 0, 0])},
                )
            empty.results[0].replace_all_uses_with(memory.results[0])
        for empty in dict.fromkeys(shared):
            empty.erase()


def _repeat(op: ir.Operation) -> None:
    """Clone an operation that reads nothing for all but the first of its uses."""
    for use in list(op.results[0].uses)[1:]:
        clone = op.clone(ip=ir.InsertionPoint(op))
        use.owner.operation.operands[use.operand_number] = clone.results[0]


def _repeat_insertion(op: ir.Operation) -> None:
    """Clone an insertion for all but the first of the insertions that build on it."""
    builders = [
        use.owner.operation
        for use in op.results[0].uses
        if use.owner.operation.name == "tensor.insert_slice" and use.operand_number == 1
    ]
    for builder in builders[1:]:
        builder.operands[1] = op.clone(ip=ir.InsertionPoint(op)).results[0]


def _shared_start(value: ir.Value) -> ir.Operation | None:
    """Return the empty tensor that `value` is built on, if a value in between has other uses."""
    shared = False
    for between in _built_on(value):
        shared = shared or len(list(between.uses)) > 1
        owner = between.owner
        if not isinstance(owner, ir.Block) and owner.operation.name == "tensor.empty":
            return owner.operation if shared else None
    return None


def _built_on(value: ir.Value) -> Iterator[ir.Value]:
    """Yield what `value` is written on top of, what that is written on, and so on."""
    while not isinstance(value.owner, ir.Block):
        op = value.owner.operation
        position = _destination(op, ir.OpResult(value).result_number)
        if position is None:
            return
        value = op.operands[position]
        yield value


def _destination(op: ir.Operation, result: int) -> int | None:
    """Return the operand on top of which `op` writes a result; None where there is none."""
    if op.name == "tensor.insert_slice":
        return 1
    if op.name.startswith("linalg."):
        return len(op.operands) - len(op.results) + result
    # Behind the bounds and the step of a loop are the values that it carries.
    return 3 + result if op.name == "scf.for" else None

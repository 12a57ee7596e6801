# SPDX-License-Identifier: MIT OR Apache-2.0
"""`form-kernels`: puts every operation that is not yet in a region into one of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.mlir import ir
from xyntra.errors import UnsupportedError
from xyntra.passes.fusion.block_graph import VIEWS, BlockGraph, Item, is_fill
from xyntra.passes.fusion.classify import classify
from xyntra.passes.fusion.functions import function_blocks
from xyntra.passes.fusion.regions import Group, rebuild_block
from xyntra.passes.registry import register_pass

_OUTSIDE = VIEWS | {"xyntra.fused", "func.call", "arith.constant", "tensor.empty"}


@register_pass
@dataclass(frozen=True)
class FormKernels:
    """Wrap each remaining operation in a xyntra.fused of its kind.

    What initialises its destination comes along: the fill of an accumulator, the insertions that a
    concatenation consists of. Views and constants stay outside.
    """

    name: ClassVar[str] = "form-kernels"

    def run(self, module: ir.Operation) -> None:
        """Rewrite every function of `module`."""
        for block in function_blocks(module):
            _give_own_fills(block)
            _wrap_block(BlockGraph.of(block))


def _give_own_fills(block: ir.Block) -> None:
    """Let every accumulator be filled on its own: a shared fill would have to be copied."""
    for view in block.operations:
        op = view.operation
        for position in range(_first_destination(op), len(op.operands)):
            owner = op.operands[position].owner
            if isinstance(owner, ir.Block) or not is_fill(owner.operation):
                continue
            if len(list(op.operands[position].uses)) > 1:
                clone = owner.operation.clone(ip=ir.InsertionPoint(op))
                op.operands[position] = clone.results[0]


def _wrap_block(graph: BlockGraph) -> None:
    readers = graph.readers()
    order: list[int | Group] = []
    absorbed: set[int] = set()
    for index in reversed(range(len(graph.items) - 1)):
        item = graph.items[index]
        if index in absorbed:
            continue
        if item.source or item.op.name in _OUTSIDE:
            order.append(index)
            continue
        _check_results(item.op)
        members = [index, *_initialisers(graph, readers, index)]
        absorbed.update(members)
        order.append(Group(tuple(sorted(members)), classify(item.op)))
    rebuild_block(graph, order[::-1])


def _check_results(op: ir.Operation) -> None:
    for result in op.results:
        if not isinstance(result.type, ir.RankedTensorType) or not result.type.has_static_shape:
            raise UnsupportedError(
                "kernel-type",
                f"'{op.name}' gives {result.type}: a kernel gives tensors of static shape",
                place=str(op.location),
            )


def _initialisers(graph: BlockGraph, readers: list[set[int]], index: int) -> list[int]:
    """Operations that only prepare the destination of operation `index`."""
    found = []
    for read in graph.items[index].reads:
        producer = graph.items[read.producer]
        if (
            read.operand is not None
            and read.operand >= _first_destination(graph.items[index].op)
            and readers[read.producer] == {index}
            and _initialises(producer)
        ):
            found += [read.producer, *_initialisers(graph, readers, read.producer)]
    return found


def _initialises(item: Item) -> bool:
    return item.op.name == "tensor.insert_slice" or is_fill(item.op)


def _first_destination(op: ir.Operation) -> int:
    """Position of the first operand that the operation overwrites."""
    if op.name == "tensor.insert_slice":
        return 1
    if op.name.startswith("linalg."):
        return len(op.operands) - len(op.results)
    return 3 if op.name == "scf.for" else len(op.operands)

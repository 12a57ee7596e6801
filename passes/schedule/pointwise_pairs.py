# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds results of elementwise kernels that may be written over an argument."""

from __future__ import annotations

from xyntra.dialects.mlir import ir
from xyntra.passes.fusion.graph.access import Loops, Shape, loops_of
from xyntra.passes.fusion.graph.block_graph import is_source
from xyntra.passes.fusion.graph.nodes import TensorTypes

__all__ = ["Pairs", "PointwisePairs"]

Pairs = tuple[tuple[int, int], ...]
"""Numbers of results and of arguments of a kernel that share a buffer."""


class PointwisePairs:
    """Finds the results of kernels that may take the place of an argument."""

    def __init__(self) -> None:
        self._tensors = TensorTypes()

    def of(self, kernel: ir.Operation) -> Pairs:
        """All (result, argument) of equal type that one nest reads and writes point by point."""
        return _pointwise_pairs(kernel, self._tensors)


def _pointwise_pairs(kernel: ir.Operation, tensors: TensorTypes) -> Pairs:
    block = kernel.regions[0].blocks[0]
    if not _is_one_space(block, tensors):
        return ()
    results = [value.type for value in block.operations[len(block.operations) - 1].operands]
    types = set(results)
    arguments = [
        (argument.arg_number, argument.type)
        for argument in block.arguments
        if argument.type in types and all(_is_pointwise(use, tensors) for use in argument.uses)
    ]
    return tuple(
        (result, number)
        for result, type_ in enumerate(results)
        for number, other in arguments
        if other == type_
    )


def _is_one_space(block: ir.Block, tensors: TensorTypes) -> bool:
    """Tell whether all operations before the return are elementwise over one space."""
    spaces: set[Shape] = set()
    for view in block.operations:
        op = view.operation
        if is_source(op) or op.name == "func.return":
            continue
        known = _is_elementwise(op, tensors) and tensors.shape_and_bytes(op.results[0].type)
        if not known:
            return False
        spaces.add(known[0])
    return len(spaces) == 1


def _is_elementwise(op: ir.Operation, tensors: TensorTypes) -> bool:
    """Tell whether `op` is a `linalg.generic` that computes every element from inputs alone."""
    if op.name != "linalg.generic":
        return False
    loops = loops_of(op, tensors.loops)
    if not loops.is_parallel or not loops.writes_in_order or loops.inputs == len(loops.maps):
        return False
    arguments = op.regions[0].blocks[0].arguments
    outputs = range(loops.inputs, len(loops.maps))
    return all(next(iter(arguments[number].uses), None) is None for number in outputs)


def _is_pointwise(use: ir.OpOperand, tensors: TensorTypes) -> bool:
    reader = use.owner.operation
    if reader.name != "linalg.generic":
        return False
    loops = loops_of(reader, tensors.loops)
    return use.operand_number < loops.inputs and _reads_in_order(loops, use.operand_number)


def _reads_in_order(loops: Loops, position: int) -> bool:
    return loops.maps[position] == tuple(range(len(loops.reductions)))

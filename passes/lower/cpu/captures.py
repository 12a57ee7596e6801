# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a loop that moves into a function takes along, and what it has to be given."""

from __future__ import annotations

from collections.abc import Container, Iterator

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.nests.kernel_function import entry_block
from xyntra.passes.lower.nests.memrefs import VIEWS

__all__ = ["can_move", "capture_values", "move_private_buffers"]

_COPIED = VIEWS | {"arith.constant", "memref.get_global"}
_READS = frozenset(["vector.load", "vector.gather", "vector.maskedload", "vector.transfer_read"])


def can_move(loop: ir.Operation) -> bool:
    """Tell whether every value that `loop` takes from outside fits a word or can be made again."""
    waiting = [value for _, _, value in _reads_from_outside(loop)]
    while waiting:
        value = waiting.pop()
        owner = value.owner
        if not isinstance(owner, ir.Block) and _is_copied(owner.operation):
            waiting.extend(owner.operation.operands)
        elif not _fits_word(value.type):
            return False
    return True


def move_private_buffers(loop: ir.Operation, anchor: ir.Operation) -> None:
    """Move before `anchor` the buffers, with their views, that nothing but `loop` touches."""
    inside = dict.fromkeys(_nested(loop))
    waiting = [value for _, _, value in _reads_from_outside(loop)]
    moved: list[ir.Operation] = []
    while waiting:
        owner = waiting.pop().owner
        if isinstance(owner, ir.Block) or owner.operation in moved:
            continue
        op = owner.operation
        if op.name in VIEWS:
            waiting.append(op.operands[0])
        elif op.name == "memref.alloc":
            moved += _with_views(op, inside)
    for op in moved:
        op.move_before(anchor)


def capture_values(function: ir.Operation) -> list[ir.Value]:
    """Make everything inside `function` read what is inside it, and return what that lacks.

    Constants, views and computed vectors are made again at its start. For any other value from
    outside it gets a further argument, in the order of the values that are returned.
    """
    block = entry_block(function)
    first = block.operations[0]
    mapped: dict[ir.Value, ir.Value] = {}
    captured: list[ir.Value] = []

    def inner(value: ir.Value) -> ir.Value:
        if value in mapped:
            return mapped[value]
        owner = value.owner
        if not isinstance(owner, ir.Block) and _is_copied(owner.operation):
            operands = [inner(operand) for operand in owner.operation.operands]
            with ir.InsertionPoint(first):
                copy = owner.operation.clone().operation
            for number, operand in enumerate(operands):
                copy.operands[number] = operand
            mapped[value] = copy.results[0]
        else:
            captured.append(value)
            mapped[value] = block.add_argument(value.type, function.location)
        return mapped[value]

    for op, number, value in _reads_from_outside(function):
        op.operands[number] = inner(value)
    return captured


def _is_copied(op: ir.Operation) -> bool:
    """Tell whether `op` is made again where its result is used: a view, a constant, a vector."""
    if op.name in _COPIED:
        return True
    is_pure = op.name.startswith(("arith.", "math.", "ub.", "vector.")) and op.name not in _READS
    return is_pure and len(op.results) == 1 and isinstance(op.results[0].type, ir.VectorType)


def _reads_from_outside(function: ir.Operation) -> list[tuple[ir.Operation, int, ir.Value]]:
    """Operations in `function`, or itself, with the operands that come from outside."""
    inside: set[ir.Value] = set()
    found = []
    # What is inside comes before what reads it.
    for op in _nested(function):
        for number, value in enumerate(op.operands):
            if value not in inside:
                found.append((op, number, value))
        inside.update(op.results)
        for region in op.regions:
            for block in region.blocks:
                inside.update(block.arguments)
    return found


def _with_views(buffer: ir.Operation, inside: Container[ir.Operation]) -> list[ir.Operation]:
    """A buffer and its views outside, where all else that uses them is inside; nothing if not."""
    found = [buffer]
    for op in found:
        for use in op.result.uses:
            user = use.owner.operation
            if user in inside or user in found:
                continue
            if user.name not in VIEWS:
                return []
            found.append(user)
    return found


def _nested(op: ir.Operation) -> Iterator[ir.Operation]:
    """`op` and everything inside."""
    yield op
    for region in op.regions:
        for block in region.blocks:
            for view in block.operations:
                yield from _nested(view.operation)


def _fits_word(kind: ir.Type) -> bool:
    if isinstance(kind, ir.MemRefType):
        strides, offset = kind.get_strides_and_offset()
        return bool(kind.has_static_shape and min([offset, *strides], default=0) >= 0)
    return isinstance(kind, (ir.IndexType, ir.IntegerType, ir.FloatType))

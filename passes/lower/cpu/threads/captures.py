# SPDX-License-Identifier: MIT OR Apache-2.0
"""Collects what a parallel loop needs from around it, when it becomes a function.

Most of a kernel is inside such a loop. So these look at what is outside of it, and at who uses
that, rather than at all that is inside.
"""

from __future__ import annotations

from collections.abc import Iterator

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.kernel_function import entry_block
from xyntra.passes.analysis.views import MEMREF_VIEWS

__all__ = ["can_move", "capture_values", "move_private_buffers"]

_COPIED = MEMREF_VIEWS | {"arith.constant", "memref.get_global"}
_READS = frozenset(["vector.load", "vector.gather", "vector.maskedload", "vector.transfer_read"])
_FUNCTION = "func.func"


def can_move(loop: ir.Operation) -> bool:
    """Tell whether every value that `loop` takes from outside fits a word or can be made again."""
    waiting = [value for value in _values_before(loop) if not _can_take(value)]
    known = set(waiting)  # else what two values are made of would be looked at twice, and so on
    while waiting:
        for use in waiting.pop().uses:
            user = use.owner.operation
            if _is_inside(user, loop):
                return False
            new = (
                [value for value in user.results if value not in known] if _is_copied(user) else []
            )
            known.update(new)
            waiting += new
    return True


def move_private_buffers(loop: ir.Operation, anchor: ir.Operation) -> None:
    """Move before `anchor` the buffers, with their views, that nothing but `loop` touches."""
    outside = list(_operations_before(loop))
    moved: list[ir.Operation] = []
    for op in outside:
        if op.name == "memref.alloc":
            moved += _with_views(op, loop)
    for op in moved:
        op.move_before(anchor)


def capture_values(function: ir.Operation, loop: ir.Operation) -> list[ir.Value]:
    """Make everything inside `function` read what is inside it, and return what that lacks.

    Constants, views and computed vectors are made again at its start. For any other value from
    outside it gets a further argument, in the order of the values that are returned.

    Args:
        function: where the body of the loop is now.
        loop: the loop, where it has been.
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

    for value in list(_values_before(loop)):
        uses = [(use.owner.operation, use.operand_number) for use in value.uses]
        for op, number in uses:
            if _is_inside(op, function):
                op.operands[number] = inner(value)
    return captured


def _can_take(value: ir.Value) -> bool:
    owner = value.owner
    if not isinstance(owner, ir.Block) and _is_copied(owner.operation):
        return True
    return _fits_word(value.type)


def _is_copied(op: ir.Operation) -> bool:
    """Tell whether `op` is made again where its result is used: a view, a constant, a vector."""
    if op.name in _COPIED:
        return True
    is_pure = op.name.startswith(("arith.", "math.", "ub.", "vector.")) and op.name not in _READS
    return is_pure and len(op.results) == 1 and isinstance(op.results[0].type, ir.VectorType)


def _values_before(loop: ir.Operation) -> Iterator[ir.Value]:
    """Yield the values that can be used in `loop` and are not defined there, outer blocks first."""
    for block, operations in reversed(list(_blocks_around(loop))):
        yield from block.arguments
        for op in operations:
            yield from op.results


def _operations_before(loop: ir.Operation) -> Iterator[ir.Operation]:
    for _, operations in _blocks_around(loop):
        yield from operations


def _blocks_around(loop: ir.Operation) -> Iterator[tuple[ir.Block, list[ir.Operation]]]:
    """Yield each block around `loop` in its function, with the operations before it there."""
    op = loop
    while op.name != _FUNCTION:
        block = op.block
        before = []
        for view in block.operations:
            if view.operation == op:
                break
            before.append(view.operation)
        yield block, before
        op = block.owner.operation


def _is_inside(op: ir.Operation, outer: ir.Operation) -> bool:
    """Tell whether `op` is `outer`, or somewhere inside of it."""
    while op != outer:
        parent = op.parent
        if parent is None or op.name == _FUNCTION:
            return False
        op = parent.operation
    return True


def _with_views(buffer: ir.Operation, loop: ir.Operation) -> list[ir.Operation]:
    """A buffer and its views outside, where all else that uses them is in `loop`; or nothing."""
    found = [buffer]
    is_used = False
    for op in found:
        for use in op.result.uses:
            user = use.owner.operation
            if _is_inside(user, loop):
                is_used = True
            elif user.name not in MEMREF_VIEWS:
                return []
            elif user not in found:
                found.append(user)
    return found if is_used else []


def _fits_word(kind: ir.Type) -> bool:
    if isinstance(kind, ir.MemRefType):
        strides, offset = kind.get_strides_and_offset()
        return bool(kind.has_static_shape and min([offset, *strides], default=0) >= 0)
    return isinstance(kind, (ir.IndexType, ir.IntegerType, ir.FloatType))

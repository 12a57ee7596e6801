# SPDX-License-Identifier: MIT OR Apache-2.0
"""`forward-copies`: what is only computed to be copied is computed where the copy goes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.kernel_function import operations_named
from xyntra.passes.registry import register_pass


@register_pass
@dataclass(frozen=True)
class ForwardCopies:
    """Replace an allocation that is copied to a buffer, or to a slice of one, by that place.

    Applies where nothing else touches the place: bufferization writes the parts of a concatenation
    into tensors of their own when the destination is named after them. Copies of a buffer onto
    itself disappear.
    """

    name: ClassVar[str] = "forward-copies"

    def run(self, module: ir.Operation) -> None:
        """Rewrite what is possible below `module`."""
        for copy in operations_named(module, "memref.copy"):
            source, target = copy.operands
            if source == target:
                copy.erase()
            elif _is_local(source, copy) and _is_untouched(target, copy):
                _forward(copy, source, target)


def _forward(copy: ir.Operation, source: ir.Value, target: ir.Value) -> None:
    users = [_in_block(use.owner.operation, copy.block) for use in source.uses]
    first = next(view.operation for view in copy.block.operations if view.operation in users)
    if not isinstance(target.owner, ir.Block):
        target.owner.operation.move_before(first)
    source.replace_all_uses_with(target)
    copy.erase()


def _is_local(source: ir.Value, copy: ir.Operation) -> bool:
    """Tell whether only operations of one block, and `copy`, use what `source` stands for.

    These are linalg operations, and for what becomes an argument copies and loops. What `source`
    stands for is an allocation or the only part of one that is used at all.
    """
    whole = source
    if not isinstance(whole.owner, ir.Block) and whole.owner.name == "memref.subview":
        whole = whole.owner.operands[0]
        if len(list(whole.uses)) > 1:
            return False
    if isinstance(whole.owner, ir.Block) or whole.owner.name != "memref.alloc":
        return False
    is_argument = isinstance(copy.operands[1].owner, ir.Block) and whole == source
    users = [use.owner.operation for use in source.uses]
    return all(
        user == copy
        or (user.name == "linalg.generic" and user.block == copy.block)
        or (is_argument and _is_of_loops(user, source, copy.block))
        for user in users
    ) and not _is_written_behind(source, copy)


def _is_of_loops(user: ir.Operation, source: ir.Value, block: ir.Block) -> bool:
    """Tell whether `user` is the copy from which loops start, or part of such loops."""
    if user.name == "memref.copy":
        return bool(user.block == block and user.operands[0] != source)
    outer = _in_block(user, block)
    return (
        user.name in ("memref.load", "memref.store")
        and outer is not None
        and outer.name == "scf.for"
    )


def _in_block(op: ir.Operation | None, block: ir.Block) -> ir.Operation | None:
    """Return the operation of `block` that `op` is, or is inside of."""
    while op is not None and op.block != block:
        op = op.parent.operation if op.name != "builtin.module" and op.parent else None
    return op


def _is_written_behind(source: ir.Value, copy: ir.Operation) -> bool:
    operations = [view.operation for view in copy.block.operations]
    behind = operations[operations.index(copy) + 1 :]
    for use in source.uses:
        user = use.owner.operation
        if user != copy and _in_block(user, copy.block) in behind and _writes(user, source):
            return True
    return False


def _writes(user: ir.Operation, source: ir.Value) -> bool:
    if user.name == "linalg.generic":
        first = user.attributes["operandSegmentSizes"][0]
        return any(value == source for value in list(user.operands)[first:])
    return bool(user.name != "memref.load")


def _is_untouched(target: ir.Value, copy: ir.Operation) -> bool:
    """Tell whether no other operation touches the memory that `copy` writes to."""
    if any(use.owner.operation != copy for use in target.uses):
        return False
    if isinstance(target.owner, ir.Block):
        return bool(target.owner == copy.block)
    view = target.owner.operation
    if view.name == "memref.alloc":
        return False
    if view.name != "memref.subview" or len(view.operands) > 1:
        return False
    whole = view.operands[0]
    if not isinstance(whole.owner, ir.Block) or whole.owner != copy.block:
        return False
    others = [use.owner.operation for use in whole.uses if use.owner.operation != view]
    return all(_are_disjoint(view, other) for other in others)


def _are_disjoint(view: ir.Operation, other: ir.Operation) -> bool:
    """Tell whether `other` is a slice of the same buffer that shares no element with `view`."""
    if other.name != "memref.subview" or len(other.operands) > 1:
        return False
    return any(
        first_end <= second_start or second_end <= first_start
        for (first_start, first_end), (second_start, second_end) in zip(
            _ranges(view), _ranges(other), strict=True
        )
    )


def _ranges(view: ir.Operation) -> list[tuple[int, int]]:
    offsets, sizes, strides = (
        list(ir.DenseI64ArrayAttr(view.attributes[f"static_{name}"]))
        for name in ("offsets", "sizes", "strides")
    )
    return [
        (start, start + max(size - 1, 0) * stride + 1)
        for start, size, stride in zip(offsets, sizes, strides, strict=True)
    ]

# SPDX-License-Identifier: MIT OR Apache-2.0
"""`forward-copies`: what is only computed to be copied is computed where the copy goes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.nests.kernel_function import operations_named
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
    users = [use.owner.operation for use in source.uses]
    first = next(view.operation for view in copy.block.operations if view.operation in users)
    if not isinstance(target.owner, ir.Block):
        target.owner.operation.move_before(first)
    source.replace_all_uses_with(target)
    copy.erase()


def _is_local(source: ir.Value, copy: ir.Operation) -> bool:
    """Tell whether only linalg operations of one block, and `copy`, use what `source` stands for.

    That is an allocation or the only part of one that is used at all.
    """
    whole = source
    if not isinstance(whole.owner, ir.Block) and whole.owner.name == "memref.subview":
        whole = whole.owner.operands[0]
        if len(list(whole.uses)) > 1:
            return False
    if isinstance(whole.owner, ir.Block) or whole.owner.name != "memref.alloc":
        return False
    users = [use.owner.operation for use in source.uses]
    return all(
        user == copy or (user.name == "linalg.generic" and user.block == copy.block)
        for user in users
    ) and not _is_written_behind(source, copy)


def _is_written_behind(source: ir.Value, copy: ir.Operation) -> bool:
    passed = False
    for view in copy.block.operations:
        op = view.operation
        passed = passed or op == copy
        if passed and op.name == "linalg.generic":
            first = op.attributes["operandSegmentSizes"][0]
            if any(value == source for value in list(op.operands)[first:]):
                return True
    return False


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

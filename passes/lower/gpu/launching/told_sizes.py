# SPDX-License-Identifier: MIT OR Apache-2.0
"""Passes sizes that are told when a kernel is launched to its launches.

In the code of a launch a size is a cast of nothing, with its expression, until the launch has a
function of its own: then it is an argument behind all memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.dialects.sizes import parse
from xyntra.passes.analysis.kernel_function import (
    direct_operations_named,
    entry_block,
    set_signature,
)
from xyntra.passes.analysis.sizes.session import SIZE, SizeSession, session
from xyntra.passes.analysis.sizes.size import Size

__all__ = ["LaunchSizes", "is_size", "pass_sizes", "size_from", "size_operand", "size_text"]

_CAST = "builtin.unrealized_conversion_cast"


class LaunchSizes(SizeSession):
    """The lowering of one kernel at one sample, whose launches take sizes by value."""

    def _load(self, text: str) -> ir.Value:
        with ir.InsertionPoint.at_block_begin(entry_block(self.kernel)), self.kernel.location:
            return size_operand(text)


def size_operand(text: str) -> ir.Value:
    """Return what stands for a size."""
    return emit(_CAST, [], ir.IndexType.get(), **{SIZE: ir.StringAttr.get(text)})


def is_size(value: ir.Value) -> bool:
    """Tell whether a value is what `size_operand` returned."""
    owner = value.owner
    return not isinstance(owner, ir.Block) and owner.name == _CAST and SIZE in owner.attributes


def size_text(value: ir.Value) -> str:
    """Return the expression of what `size_operand` returned."""
    return str(ir.StringAttr(value.owner.attributes[SIZE]).value)


def pass_sizes(function: ir.Operation) -> tuple[str, ...]:
    """Make the sizes that the code of a launch uses arguments of its function; returns them."""
    block, found = entry_block(function), dict[str, ir.Value]()
    casts = [op for op in direct_operations_named(function, _CAST) if SIZE in op.attributes]
    for op in casts:
        if list(op.result.uses):
            text = size_text(op.result)
            if text not in found:
                found[text] = block.add_argument(op.result.type, function.location)
            op.result.replace_all_uses_with(found[text])
        op.erase()
    if found:
        with function.location:
            set_signature(function, [])
    return tuple(found)


def size_from(text: str) -> int:
    """Return a size by its expression, while a kernel with sizes is lowered."""
    current, expression = session.get(), parse(text)
    if current is None:
        raise ValueError("sizes are known only while a kernel with sizes is lowered")
    return Size(expression.at(current.sample), expression)


def numbers_attribute(numbers: Sequence[int]) -> ir.Attribute:
    """Return numbers as an attribute; as texts where some are sizes."""
    if any(isinstance(each, Size) for each in numbers):
        return ir.ArrayAttr.get([ir.StringAttr.get(str(each)) for each in numbers])
    return ir.DenseI64ArrayAttr.get(list(numbers))


def numbers_of(attribute: ir.Attribute) -> tuple[int, ...]:
    """Return what `numbers_attribute` was given."""
    if isinstance(attribute, ir.ArrayAttr):
        texts = [str(ir.StringAttr(each).value) for each in attribute]
        return tuple(number_from(text) for text in texts)
    return tuple(ir.DenseI64ArrayAttr(attribute))


def number_from(text: str) -> int:
    """Return a number, or a size by its expression."""
    return int(text) if text.lstrip("-").isdigit() else size_from(text)

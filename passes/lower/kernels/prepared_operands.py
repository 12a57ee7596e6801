# SPDX-License-Identifier: MIT OR Apache-2.0
"""Copies of a kernel's constants in another order, made once when the model is loaded.

Beside the kernel stands a function that fills them, `NAME.prepare`. It takes what the kernel takes,
of which it reads the constants alone, and the memory of the copies, which the kernel takes as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from xyntra.dialects.dtypes import ITEM_BYTES
from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.kernel_function import (
    PREPARE,
    constant_arguments,
    entry_block,
    function_name,
    prepare_function,
    set_signature,
    terminator,
)
from xyntra.passes.lower.loops.linear_nest import BufferOperand
from xyntra.passes.lower.loops.memrefs import flattened, root
from xyntra.passes.lower.loops.shared_constants import shared_constants

PREPARED = "xyntra.prepared"
"""Attribute of a kernel: the bytes of every copy. They are its last arguments."""
_ALIGNMENT = 64


@dataclass(frozen=True)
class Prepared:
    """Memory for one copy.

    Attributes:
        source: the operand as the preparing function reads it.
        copy: the memory in the preparing function, of one dimension.
        memory: the same in the kernel.
    """

    source: BufferOperand
    copy: ir.Value
    memory: ir.Value

    @contextmanager
    def filling(self) -> Iterator[None]:
        """Let what is emitted inside become part of the preparing function."""
        block = self.copy.owner
        with ir.InsertionPoint(terminator(block)), shared_constants(block):
            yield


def is_constant(access: BufferOperand) -> bool:
    """Tell whether an operand of a kernel is known when the model is loaded."""
    argument = _argument(access)
    if argument is None:
        return False
    function = argument.owner.owner
    return argument.arg_number in constant_arguments(function.operation)


def prepared(access: BufferOperand, size: int, element: ir.Type | None = None) -> Prepared:
    """Add memory for `size` elements to the kernel around, for a copy of a constant operand.

    Args:
        access: satisfies `is_constant`.
        size: elements of the copy.
        element: their type; the operand's where it is left out.
    """
    argument = _argument(access)
    if argument is None:
        raise ValueError("only an argument of a kernel can be prepared")
    kernel = argument.owner.owner.operation
    prepare = _prepare_function(kernel)
    element = element or access.element_type
    kind = ir.MemRefType.get([size], element)
    nbytes = -(-size * ITEM_BYTES[str(element)] // _ALIGNMENT) * _ALIGNMENT
    sizes = ir.DenseI64ArrayAttr.get([*prepared_bytes(kernel), nbytes])
    values = []
    for function in (kernel, prepare):
        values.append(entry_block(function).add_argument(kind, function.location))
        set_signature(function, [])
        function.attributes[PREPARED] = sizes
    body = entry_block(prepare)
    with ir.InsertionPoint(terminator(body)):
        source = flattened(body.arguments[argument.arg_number])
    start = access.start
    return Prepared(BufferOperand(source, start, access.strides), values[1], values[0])


def prepared_bytes(function: ir.Operation) -> list[int]:
    """Return the sizes of the copies of a kernel's constants, in bytes."""
    if PREPARED not in function.attributes:
        return []
    return list(ir.DenseI64ArrayAttr(function.attributes[PREPARED]))


def _argument(access: BufferOperand) -> ir.BlockArgument | None:
    """The argument of a kernel that `access` reads elements of the right type of."""
    if access.is_scalar:
        return None
    memory = root(access.value)
    if not isinstance(memory.owner, ir.Block) or memory.owner.owner.operation.name != "func.func":
        return None
    element = access.element_type
    if ir.MemRefType(memory.type).element_type != element:
        return None
    return ir.BlockArgument(memory)


def _prepare_function(kernel: ir.Operation) -> ir.Operation:
    found = prepare_function(kernel.parent)
    if found is not None:
        return found
    arguments = [argument.type for argument in entry_block(kernel).arguments]
    function = ir.Operation.create(
        "func.func",
        attributes={
            "sym_name": ir.StringAttr.get(f"{function_name(kernel)}.prepare"),
            "function_type": ir.TypeAttr.get(ir.FunctionType.get(arguments, [])),
            PREPARE: ir.UnitAttr.get(),
        },
        regions=1,
        ip=ir.InsertionPoint(kernel),
    )
    block = ir.Block.create_at_start(
        function.regions[0], arguments, [kernel.location] * len(arguments)
    )
    with ir.InsertionPoint(block):
        ir.Operation.create("func.return")
    return function

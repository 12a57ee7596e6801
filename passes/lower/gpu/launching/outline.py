# SPDX-License-Identifier: MIT OR Apache-2.0
"""One function for every launch of a kernel, in a `gpu.module`, and the launches of the host.

What a launch is given stands in `gpu.launch_func`: blocks, threads, clusters, dynamic shared memory
and arguments; beside them the schedule that the code was made by, for people to read.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace

from xyntra.dialects.mlir import ir
from xyntra.dialects.ops.stage import STAGE
from xyntra.dialects.scalar import emit
from xyntra.passes.analysis.kernel_function import (
    constant_arguments,
    direct_operations_named,
    entry_block,
    function_name,
    inplace_pairs,
    kernel_function,
    operations_named,
    terminator,
)
from xyntra.passes.analysis.sizes.size import Size
from xyntra.passes.lower.gpu.emit.shared_memory import ALIGNMENT
from xyntra.passes.lower.gpu.emit.thread_grid import LaunchShape
from xyntra.passes.lower.gpu.launching.launching import Launching
from xyntra.passes.lower.gpu.launching.told_sizes import pass_sizes, size_operand

MODULE = "device"
"""Symbol of the `gpu.module` with the functions of a kernel's launches."""
LAUNCH = "gpu.launch_func"
LASTING = "xyntra.lasting"
"""Attribute of a function: which of its pointers are to memory that nobody writes meanwhile."""
SCRATCH = "xyntra.scratch"
SCHEDULE = "xyntra.schedule"
BLOCKS = "xyntra.blocks"
"""Attribute of a launch whose blocks depend on sizes that it is told: their expression."""
GRID, BLOCK, CLUSTER, SHARED, ARGUMENTS = 1, 4, 7, 10, 11
"""Segments of the operands of a launch: three dimensions of each of the first three."""
_NUMBER = "xyntra.launch"
_SYMBOLS = ("memref.global", "llvm.mlir.global")


def number_regions(regions: Sequence[ir.Operation]) -> None:
    """Let `outline` know the code of every launch, of which others may go before."""
    for number, region in enumerate(regions):
        region.attributes[_NUMBER] = ir.IntegerAttr.get(ir.IndexType.get(), number)


def outline(
    module: ir.Operation, shapes: Sequence[LaunchShape | None], launching: Launching
) -> None:
    """Move the code of a kernel's launches into functions of a `gpu.module`.

    The kernel function is the host's afterwards: it holds the launches, in order.

    Args:
        module: its kernel function holds regions with the numbers of their launches, and has been
            given its scratch slots.
        shapes: of the launches; None for a region that is not launched.
        launching: what the target does with launches.
    """
    function = kernel_function(module)
    name = function_name(function)
    only_read, constant = _only_read(function), constant_arguments(function)
    known = tuple(each and number in constant for number, each in enumerate(only_read))
    launched = [(number, shape) for number, shape in enumerate(shapes) if shape is not None]
    module.attributes["gpu.container_module"] = ir.UnitAttr.get()
    with function.location:
        device, host = _device_module(module), _host_function(function)
    for number, shape in launched:
        copy = function
        if number != launched[-1][0]:
            with ir.InsertionPoint(function):
                copy = function.clone().operation
            _erase_stages(function, {number})
        _erase_stages(copy, set(range(len(shapes))) - {number})
        shape = launching.finished(copy, shape)
        shape = replace(shape, sizes=pass_sizes(copy))
        lasting = known if launching.is_overlapping(shape) else only_read
        entry = f"{name}_{number}"
        with function.location:
            with ir.InsertionPoint.at_block_terminator(host):
                emit_launch(entry, shape, list(host.arguments), launching)
            with ir.InsertionPoint(device):
                _device_function(copy, entry, shape, lasting)
        if copy is not function:
            copy.erase()
    function.erase()


def _host_function(function: ir.Operation) -> ir.Block:
    """Return the body of a new function, before `function`, that takes and says the same."""
    attributes = {name: function.attributes[name] for name in function.attributes}
    with ir.InsertionPoint(function):
        host = ir.Operation.create("func.func", attributes=attributes, regions=1)
    kinds = [argument.type for argument in entry_block(function).arguments]
    block = host.regions[0].blocks.append(*kinds)
    with ir.InsertionPoint(block):
        ir.Operation.create("func.return")
    return block


def _device_module(module: ir.Operation) -> ir.Block:
    """Return the body of a new `gpu.module` in `module`, which takes what memory is declared."""
    body = module.regions[0].blocks[0]
    declared = [view.operation for view in body.operations if view.operation.name in _SYMBOLS]
    with ir.InsertionPoint(body):
        attributes = {"sym_name": ir.StringAttr.get(MODULE)}
        created = ir.Operation.create("gpu.module", attributes=attributes, regions=1)
    block = created.regions[0].blocks.append()
    for op in declared:
        block.append(op)
    return block


def _device_function(
    function: ir.Operation, name: str, shape: LaunchShape, lasting: Sequence[bool]
) -> None:
    """Make a function for a device of the body of `function`, which is left without one."""
    body = entry_block(function)
    _inline_stage(function)
    last = terminator(body)
    with ir.InsertionPoint(last):
        ir.Operation.create("gpu.return")
    last.erase()
    inputs = [argument.type for argument in body.arguments]
    signature = ir.FunctionType.get(inputs, [])
    memory = _workgroup_memory(body)
    alignment = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), ALIGNMENT)
    aligned = ir.DictAttr.get({"llvm.align": alignment})
    attributes: dict[str, ir.Attribute] = {
        "sym_name": ir.StringAttr.get(name),
        "function_type": ir.TypeAttr.get(signature),
        "kernel": ir.UnitAttr.get(),
        "known_block_size": ir.DenseI32ArrayAttr.get([shape.block, 1, 1]),
        "workgroup_attributions": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), memory),
        LASTING: ir.DenseBoolArrayAttr.get(list(lasting)),
    }
    if memory:
        attributes["workgroup_attrib_attrs"] = ir.ArrayAttr.get([aligned] * memory)
    created = ir.Operation.create("gpu.func", attributes=attributes, regions=1)
    body.append_to(created.regions[0])


def _workgroup_memory(body: ir.Block) -> int:
    """Pass what a block allocates for its threads as arguments behind all others; returns how many.

    They are the attributions of a `gpu.func`.
    """
    found = operations_named(body.owner, "memref.alloc")
    for op in found:
        argument = body.add_argument(op.result.type, op.location)
        op.result.replace_all_uses_with(argument)
    for op in found:
        op.erase()
    return len(found)


def _inline_stage(function: ir.Operation) -> None:
    """Move the code of a launch out of the operation around it."""
    for stage in direct_operations_named(function, STAGE):
        inner = [view.operation for view in stage.regions[0].blocks[0].operations]
        for op in inner[:-1]:
            op.move_before(stage)
        stage.erase()


def _erase_stages(function: ir.Operation, numbers: Set[int]) -> None:
    for stage in direct_operations_named(function, STAGE):
        if ir.IntegerAttr(stage.attributes[_NUMBER]).value in numbers:
            stage.erase()


def emit_launch(
    function: str, shape: LaunchShape, memory: Sequence[ir.Value], launching: Launching
) -> None:
    """Emit a launch at the insertion point.

    Args:
        function: symbol of its function, in `MODULE`.
        shape: how it is launched.
        memory: all pointers of the kernel.
        launching: what the target does with launches.
    """
    one = _index(1)
    operands = [_index(shape.grid), one, one, _index(shape.block), one, one]
    segments = [0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0]
    if shape.cluster > 1:
        operands += [_index(shape.cluster), one, one]
        segments[CLUSTER:SHARED] = [1, 1, 1]
    if shape.shared:
        kind = ir.IntegerType.get_signless(32)
        size = ir.IntegerAttr.get(kind, shape.shared)
        operands.append(emit("arith.constant", [], kind, value=size))
        segments[SHARED] = 1
    told = [size_operand(text) for text in shape.sizes]
    arguments = [*memory, *launching.operands(shape, memory), *told]
    segments[ARGUMENTS] = len(arguments)
    attributes: dict[str, ir.Attribute] = {
        "kernel": ir.SymbolRefAttr.get([MODULE, function]),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get(segments),
        **launching.attributes(shape),
    }
    if isinstance(shape.grid, Size):
        attributes[BLOCKS] = ir.StringAttr.get(str(shape.grid))
    if shape.schedule:
        attributes[SCHEDULE] = ir.StringAttr.get(shape.schedule)
    ir.Operation.create(LAUNCH, operands=[*operands, *arguments], attributes=attributes)


def _index(number: int) -> ir.Value:
    kind = ir.IndexType.get()
    return emit("arith.constant", [], kind, value=ir.IntegerAttr.get(kind, number))


def _only_read(function: ir.Operation) -> tuple[bool, ...]:
    inputs = ir.IntegerAttr(function.attributes["xyntra.inputs"]).value
    written = set(inplace_pairs(function).values())
    count = len(entry_block(function).arguments)
    return tuple(number < inputs and number not in written for number in range(count))


def scratch_slots(host: ir.Operation) -> tuple[int, ...]:
    """Return the bytes of every scratch slot, which are the last pointers of a kernel."""
    return tuple(ir.DenseI64ArrayAttr(host.attributes[SCRATCH]))


def device_module(module: ir.Operation) -> ir.Operation:
    """Return the `gpu.module` of a kernel."""
    (found,) = direct_operations_named(module, "gpu.module")
    return found

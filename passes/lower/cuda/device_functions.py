# SPDX-License-Identifier: MIT OR Apache-2.0
"""One function for every launch of a kernel, in a `gpu.module`."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace

from xyntra.dialects.mlir import ir
from xyntra.dialects.ops.stage import STAGE
from xyntra.passes.lower.cuda.launch_shape import CudaLaunch
from xyntra.passes.lower.cuda.launches import LAUNCH, emit_launch, launch_entry, launch_shape
from xyntra.passes.lower.cuda.ptx.assembly import ASSEMBLY
from xyntra.passes.lower.cuda.ptx.launches import (
    GRID_CONSTANT,
    griddepcontrol_launch_dependents,
    griddepcontrol_wait,
    is_griddepcontrol_wait,
    mark_entry,
)
from xyntra.passes.lower.cuda.tensor_map import MAP_ALIGNMENT, MAP_ARGUMENT, MAP_BYTES, pass_maps
from xyntra.passes.lower.gpu.emit.shared_memory import ALIGNMENT
from xyntra.passes.lower.nests.kernel_function import (
    constant_arguments,
    direct_operations_named,
    entry_block,
    function_name,
    inplace_pairs,
    kernel_function,
    operations_named,
    terminator,
)

BUFFER_ALIGNMENT = 16
"""Bytes: every pointer that an entry point is given is a multiple of it."""
MODULE = "device"
"""Symbol of the `gpu.module` with the functions of a kernel's launches."""
_NUMBER = "xyntra.launch"
_LASTING = "xyntra.lasting"
SCRATCH = "xyntra.scratch"
_SYMBOLS = ("memref.global", "llvm.mlir.global")
_ADDRESSES = frozenset({"llvm.getelementptr", "llvm.addrspacecast", "llvm.bitcast"})
_WRITES = {"llvm.store": 1, "llvm.atomicrmw": 0, "llvm.cmpxchg": 0, "llvm.ptrtoint": 0}
"""Operations that write, or may, through one of their operands."""


@dataclass(frozen=True)
class DeviceFunction:
    """The function of one launch.

    Attributes:
        name: its symbol.
        shape: the launch.
        lasting: which of its pointers are to memory that nobody writes while it runs; tensor maps
            come behind them.
        scratch: bytes of the scratch slots, the last of its pointers.
    """

    name: str
    shape: CudaLaunch
    lasting: tuple[bool, ...]
    scratch: tuple[int, ...]


def number_regions(regions: Sequence[ir.Operation]) -> None:
    """Let `outline` know the code of every launch, of which others may go before."""
    for number, region in enumerate(regions):
        region.attributes[_NUMBER] = ir.IntegerAttr.get(ir.IndexType.get(), number)


def outline(module: ir.Operation, shapes: Sequence[CudaLaunch | None]) -> None:
    """Move the code of a kernel's launches into functions of a `gpu.module`.

    The kernel function is the host's afterwards: it holds the launches, in order.

    Args:
        module: its kernel function holds regions with the numbers of their launches, and has been
            given its scratch slots.
        shapes: of the launches; None for a region that is not launched.
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
        inner = operations_named(copy, ASSEMBLY, MAP_ARGUMENT)
        if shape.programmatic and not any(map(is_griddepcontrol_wait, inner)):
            _wait_in_code(copy)
        casts = (op for op in inner if op.name == MAP_ARGUMENT)
        shape = replace(shape, maps=pass_maps(copy, shape.maps, casts))
        lasting = known if shape.programmatic else only_read
        entry = f"{name}_{number}"
        with function.location:
            with ir.InsertionPoint.at_block_terminator(host):
                emit_launch(MODULE, entry, shape, list(host.arguments))
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
    function: ir.Operation, name: str, shape: CudaLaunch, lasting: Sequence[bool]
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
        _LASTING: ir.DenseBoolArrayAttr.get(list(lasting)),
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


def device_functions(module: ir.Operation) -> list[DeviceFunction]:
    """Return the functions of a kernel's launches, in order, as `outline` wrote them down."""
    host = kernel_function(module)
    scratch = scratch_slots(host)
    entries = {function_name(op): op for op in operations_named(device_module(module), "gpu.func")}
    found = []
    for op in direct_operations_named(host, LAUNCH):
        name = launch_entry(op)
        lasting = tuple(ir.DenseBoolArrayAttr(entries[name].attributes[_LASTING]))
        found.append(DeviceFunction(name, launch_shape(op), lasting, scratch))
    return found


def scratch_slots(host: ir.Operation) -> tuple[int, ...]:
    """Return the bytes of every scratch slot, which are the last pointers of a kernel."""
    return tuple(ir.DenseI64ArrayAttr(host.attributes[SCRATCH]))


def device_module(module: ir.Operation) -> ir.Operation:
    """Return the `gpu.module` of a kernel."""
    (found,) = direct_operations_named(module, "gpu.module")
    return found


def mark_kernels(module: ir.Operation, functions: Sequence[DeviceFunction]) -> None:
    """Make the lowered functions of a `gpu.module` entry points for their launches."""
    known = {each.name: each for each in functions}
    for op in direct_operations_named(module, "llvm.func"):
        device = known.get(function_name(op))
        if device is None:
            continue
        shape = device.shape
        del op.attributes[_LASTING]
        mark_entry(op, shape.block, shape.resident, shape.cluster)
        op.attributes["gpu.kernel"] = ir.UnitAttr.get()  # is what a launch may name
        op.attributes["arg_attrs"] = _argument_attributes(device, entry_block(op).arguments)


def _wait_in_code(function: ir.Operation) -> None:
    """Let a launch first of all wait for the one before it."""
    with ir.InsertionPoint.at_block_begin(entry_block(function)), function.location:
        griddepcontrol_wait()


def let_next_begin(region: ir.Operation) -> None:
    """Let the launch behind `region` take its places once all blocks of this one have theirs.

    It pays where these blocks need little. Beside others, those of the next launch would lie
    several on some multiprocessors and none on others, and wait there.
    """
    with ir.InsertionPoint.at_block_begin(region.regions[0].blocks[0]), region.location:
        griddepcontrol_launch_dependents()


def _only_read(function: ir.Operation) -> tuple[bool, ...]:
    inputs = ir.IntegerAttr(function.attributes["xyntra.inputs"]).value
    written = set(inplace_pairs(function).values())
    count = len(entry_block(function).arguments)
    return tuple(number < inputs and number not in written for number in range(count))


def _argument_attributes(device: DeviceFunction, arguments: Sequence[ir.Value]) -> ir.ArrayAttr:
    """Say of every pointer what holds of its memory.

    What is `noalias` and `readonly` is read by `ld.global.nc`, and the assembler moves such loads
    to before `griddepcontrol.wait`, where the launch ahead may not have written yet: PTX lets them
    read only what nobody writes as long as the kernel lives. LLVM finds out by itself what is
    `readonly`, so that memory of others that is only read must not be `noalias`. Nothing is lost by
    that: what a launch writes is, and so cannot be what it reads.
    """
    unit = ir.UnitAttr.get()
    passed = ir.DictAttr.get(
        {
            "llvm.byval": ir.TypeAttr.get(ir.Type.parse(f"!llvm.array<{MAP_BYTES} x i8>")),
            "llvm.align": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), MAP_ALIGNMENT),
            GRID_CONSTANT: unit,
        }
    )
    alignment = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), BUFFER_ALIGNMENT)
    common = {"llvm.noundef": unit, "llvm.align": alignment}
    found = []
    for lasts, argument in zip(device.lasting, arguments, strict=False):
        named = dict(common)
        if lasts:
            named |= {"llvm.noalias": unit, "llvm.readonly": unit}
        elif not device.shape.programmatic or _is_written(argument):
            named["llvm.noalias"] = unit
        found.append(ir.DictAttr.get(named))
    return ir.ArrayAttr.get(found + [passed] * len(device.shape.maps))


def _is_written(pointer: ir.Value) -> bool:
    """Tell whether a launch surely writes through a pointer, or hides from LLVM what it does."""
    for use in pointer.uses:
        user = use.owner.operation
        if user.name in _ADDRESSES:
            if _is_written(user.results[0]):
                return True
        elif user.name in _WRITES and use.operand_number == _WRITES[user.name]:
            return True
    return False

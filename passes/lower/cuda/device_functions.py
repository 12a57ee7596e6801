# SPDX-License-Identifier: MIT OR Apache-2.0
"""One function for every launch of a kernel."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace

from xyntra.dialects.mlir import ir
from xyntra.dialects.ops.stage import STAGE
from xyntra.passes.lower.cuda.ptx.assembly import ASSEMBLY
from xyntra.passes.lower.cuda.ptx.launches import (
    GRID_CONSTANT,
    griddepcontrol_launch_dependents,
    griddepcontrol_wait,
    is_griddepcontrol_wait,
    mark_entry,
)
from xyntra.passes.lower.cuda.tensor_map import MAP_ALIGNMENT, MAP_ARGUMENT, MAP_BYTES, pass_maps
from xyntra.passes.lower.cuda.thread_grid import LaunchShape
from xyntra.passes.lower.nests.kernel_function import (
    constant_arguments,
    direct_operations_named,
    entry_block,
    function_name,
    inplace_pairs,
    kernel_function,
    operations_named,
)

BUFFER_ALIGNMENT = 16
"""Bytes: every pointer that an entry point is given is a multiple of it."""
_NUMBER = "xyntra.launch"
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
    shape: LaunchShape
    lasting: tuple[bool, ...]
    scratch: tuple[int, ...]


def number_regions(regions: Sequence[ir.Operation]) -> None:
    """Let `outline` know the code of every launch, of which others may go before."""
    for number, region in enumerate(regions):
        region.attributes[_NUMBER] = ir.IntegerAttr.get(ir.IndexType.get(), number)


def outline(module: ir.Operation, shapes: Sequence[LaunchShape | None]) -> list[DeviceFunction]:
    """Replace the kernel function of `module` by one function a launch.

    Args:
        module: its kernel function holds regions with the numbers of their launches, and has been
            given its scratch slots.
        shapes: of the launches; None for a region that is not launched.
    """
    function = kernel_function(module)
    name = function_name(function)
    scratch = tuple(ir.DenseI64ArrayAttr(function.attributes["xyntra.scratch"]))
    only_read, constant = _only_read(function), constant_arguments(function)
    known = tuple(each and number in constant for number, each in enumerate(only_read))
    found = []
    launched = [(number, shape) for number, shape in enumerate(shapes) if shape is not None]
    for number, shape in launched:
        copy = function
        if number != launched[-1][0]:
            with ir.InsertionPoint(function):
                copy = function.clone().operation
            _erase_regions(function, {number})
        copy.attributes["sym_name"] = ir.StringAttr.get(f"{name}_{number}", module.context)
        _erase_regions(copy, set(range(len(shapes))) - {number})
        _inline_stage(copy)
        inner = operations_named(copy, ASSEMBLY, MAP_ARGUMENT)
        if shape.programmatic and not any(map(is_griddepcontrol_wait, inner)):
            _wait_in_code(copy)
        casts = (op for op in inner if op.name == MAP_ARGUMENT)
        shape = replace(shape, maps=pass_maps(copy, shape.maps, casts))
        lasting = known if shape.programmatic else only_read
        found.append(DeviceFunction(f"{name}_{number}", shape, lasting, scratch))
    if not launched:
        function.erase()
    return found


def _erase_regions(function: ir.Operation, numbers: Set[int]) -> None:
    for region in direct_operations_named(function, STAGE):
        if ir.IntegerAttr(region.attributes[_NUMBER]).value in numbers:
            region.erase()


def _inline_stage(function: ir.Operation) -> None:
    """Put what the only stage of a function holds in its place."""
    (stage,) = direct_operations_named(function, STAGE)
    for view in list(stage.regions[0].blocks[0].operations)[:-1]:
        view.operation.move_before(stage)
    stage.erase()


def mark_kernels(module: ir.Operation, functions: Sequence[DeviceFunction]) -> None:
    """Make the lowered functions of `module` entry points for their launches."""
    known = {each.name: each for each in functions}
    for op in direct_operations_named(module, "llvm.func"):
        device = known.get(function_name(op))
        if device is None:
            continue
        shape = device.shape
        mark_entry(op, shape.block, shape.resident, shape.cluster)
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

# SPDX-License-Identifier: MIT OR Apache-2.0
"""The functions of a kernel's launches as entry points for NVIDIA GPUs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.kernel_function import (
    direct_operations_named,
    entry_block,
    function_name,
    kernel_function,
    operations_named,
)
from xyntra.passes.lower.cuda.launch_shape import CudaLaunch
from xyntra.passes.lower.cuda.launches import launch_entry, launch_shape
from xyntra.passes.lower.cuda.ptx.launches import GRID_CONSTANT, mark_entry
from xyntra.passes.lower.cuda.tensor_map import MAP_ALIGNMENT, MAP_BYTES
from xyntra.passes.lower.gpu.launching.outline import (
    LASTING,
    LAUNCH,
    device_module,
    scratch_slots,
)

BUFFER_ALIGNMENT = 16
"""Bytes: every pointer that an entry point is given is a multiple of it."""
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


def device_functions(module: ir.Operation) -> list[DeviceFunction]:
    """Return the functions of a kernel's launches, in order, as `outline` wrote them down."""
    host = kernel_function(module)
    scratch = scratch_slots(host)
    entries = {function_name(op): op for op in operations_named(device_module(module), "gpu.func")}
    found = []
    for op in direct_operations_named(host, LAUNCH):
        name = launch_entry(op)
        lasting = tuple(ir.DenseBoolArrayAttr(entries[name].attributes[LASTING]))
        found.append(DeviceFunction(name, launch_shape(op), lasting, scratch))
    return found


def mark_kernels(module: ir.Operation, functions: Sequence[DeviceFunction]) -> None:
    """Make the lowered functions of a `gpu.module` entry points for their launches."""
    known = {each.name: each for each in functions}
    for op in direct_operations_named(module, "llvm.func"):
        device = known.get(function_name(op))
        if device is None:
            continue
        shape = device.shape
        del op.attributes[LASTING]
        mark_entry(op, shape.block, shape.resident, shape.cluster)
        op.attributes["gpu.kernel"] = ir.UnitAttr.get()  # is what a launch may name
        op.attributes["passthrough"] = _plain_branches()
        op.attributes["arg_attrs"] = _argument_attributes(device, entry_block(op).arguments)


def _plain_branches() -> ir.ArrayAttr:
    """Return the attribute of LLVM by which blocks find their part of a launch by comparing.

    A table of jumps would be loaded from memory.
    """
    words = [ir.StringAttr.get(each) for each in ("no-jump-tables", "true")]
    return ir.ArrayAttr.get([ir.ArrayAttr.get(words)])


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
        elif device.shape.steps:
            pass  # other threads write at one step what this one reads at the next
        elif not device.shape.programmatic or _is_written(argument):
            named["llvm.noalias"] = unit
        found.append(ir.DictAttr.get(named))
    told = [ir.DictAttr.get({"llvm.noundef": unit})] * len(device.shape.sizes)
    return ir.ArrayAttr.get(found + [passed] * len(device.shape.maps) + told)


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

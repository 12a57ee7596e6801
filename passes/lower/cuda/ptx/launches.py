# SPDX-License-Identifier: MIT OR Apache-2.0
"""Emits `griddepcontrol` and entry points (PTX ISA, "Kernel Function Directives")."""

from __future__ import annotations

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cuda.ptx.assembly import ASSEMBLY, assembly, integer

GRID_CONSTANT = "nvvm.grid_constant"
"""Attribute of a parameter that a kernel takes by value and only reads (`__grid_constant__`)."""
_SAID_ANEW = ("gpu.kernel", "gpu.known_block_size", "nvvm.maxntid")
"""Attributes that the conversion of the `gpu` dialect leaves, of which `.reqntid` says more."""
_WAIT = "griddepcontrol.wait;"
_RELEASE = "griddepcontrol.launch_dependents;"


def griddepcontrol_launch_dependents() -> None:
    """Let the launch behind this one take its places once all blocks of this one have theirs."""
    assembly(_RELEASE)


def griddepcontrol_wait() -> None:
    """Wait until the launch ahead of this one has ended, and what it wrote can be seen."""
    assembly(_WAIT)


def is_griddepcontrol_wait(op: ir.Operation) -> bool:
    """Tell whether an operation waits for the launch ahead."""
    return op.name == ASSEMBLY and _WAIT in ir.StringAttr(op.attributes["asm_string"]).value


def is_griddepcontrol_launch_dependents(op: ir.Operation) -> bool:
    """Tell whether an operation lets the launch behind take its places."""
    return op.name == ASSEMBLY and _RELEASE in ir.StringAttr(op.attributes["asm_string"]).value


def mark_entry(function: ir.Operation, threads: int, resident: int, cluster: int) -> None:
    """Make a function of LLVM's dialect an entry point for a launch.

    Args:
        function: an `llvm.func`, made of a `gpu.func`.
        threads: of a block (`.reqntid`).
        resident: blocks that one multiprocessor holds at once at least (`.minnctapersm`); 0 to
            leave that to the assembler.
        cluster: blocks of a cluster (`.reqnctapercluster`); 1 for none.
    """
    for name in _SAID_ANEW:
        if name in function.attributes:
            del function.attributes[name]
    function.attributes["nvvm.kernel"] = ir.UnitAttr.get()
    function.attributes["nvvm.reqntid"] = ir.DenseI32ArrayAttr.get([threads, 1, 1])
    if resident:
        function.attributes["nvvm.minctasm"] = ir.IntegerAttr.get(integer(32), resident)
    if cluster > 1:
        function.attributes["nvvm.cluster_dim"] = ir.DenseI32ArrayAttr.get([cluster, 1, 1])

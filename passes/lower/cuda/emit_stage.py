# SPDX-License-Identifier: MIT OR Apache-2.0
"""Chooses how the threads of a launch share the work of a stage."""

from __future__ import annotations

from collections.abc import Sequence

from xyntra.dialects.mlir import ir
from xyntra.errors import CompileError
from xyntra.passes.lower.cuda.attention.emit import emit_attention
from xyntra.passes.lower.cuda.contraction.select import emit_contraction
from xyntra.passes.lower.cuda.launch_groups import is_nest
from xyntra.passes.lower.cuda.register_rows import emit_register_rows
from xyntra.passes.lower.cuda.stages.stage import Stage
from xyntra.passes.lower.gpu.device import Device
from xyntra.passes.lower.gpu.elementwise.general import emit_general, is_general
from xyntra.passes.lower.gpu.elementwise.pointwise import emit_pointwise
from xyntra.passes.lower.gpu.elementwise.transposed_tiles import emit_transposed
from xyntra.passes.lower.gpu.emit.shared_memory import SharedMemory
from xyntra.passes.lower.gpu.emit.thread_grid import MAX_GRID, LaunchShape
from xyntra.passes.lower.gpu.loops.loop_threads import emit_loops
from xyntra.passes.lower.gpu.reductions.column_group import column_group
from xyntra.passes.lower.gpu.reductions.columns import emit_columns
from xyntra.passes.lower.gpu.reductions.reductions import emit_reduction
from xyntra.passes.lower.gpu.rows.rows import emit_rows
from xyntra.passes.lower.gpu.scan_sort.scans import emit_scan
from xyntra.passes.lower.nests.access_strides import loop_extents
from xyntra.passes.lower.nests.linear_nest import LinearNest, linear_nest
from xyntra.passes.lower.nests.shared_constants import shared_constants

_SINGLE = LaunchShape(1, 1)


def emit_stage(stage: Stage, module: ir.Operation, name: str, device: Device) -> LaunchShape | None:
    """Emit the code of one thread behind the operations of `stage`.

    What it replaces is left to be erased by `erase_emitted`, once no more code is made.

    Args:
        stage: part of the kernel function of `module`.
        module: where shared memory is declared.
        name: prefix of new symbols.
        device: that the code is for.

    Returns:
        The launch that runs the code; None where there is nothing to do.

    Raises:
        CompileError: the launch would need more blocks than there can be.
    """
    first = stage.operations[0]
    if first.name == "linalg.generic" and 0 in loop_extents(first):
        return None
    with shared_constants(stage.op.regions[0].blocks[0]):
        return _emit(stage, SharedMemory(module, name, device), device)


def emit_plain_stage(stage: Stage) -> LaunchShape | None:
    """Emit a stage of one operation as `emit_stage` does, with one thread for each element.

    What no thread can compute alone is left to a single one.
    """
    (op,) = stage.operations
    if op.name == "linalg.generic" and 0 in loop_extents(op):
        return None
    if not is_general(op):
        return _SINGLE
    with op.location, ir.InsertionPoint(op):
        return _checked(emit_general(op))


def _emit(stage: Stage, shared: SharedMemory, device: Device) -> LaunchShape | None:
    last = stage.operations[-1]
    attention = stage.attention
    if attention is not None:
        with last.location, ir.InsertionPoint(last):
            return _checked(emit_attention(attention.problem(), shared, device))
    if not all(is_nest(op) for op in stage.operations):
        if not is_general(last):
            return _checked(_emit_loops(last, shared, device))
        with last.location, ir.InsertionPoint(last):
            return emit_general(last)
    nests = [linear_nest(op) for op in stage.operations]
    found = stage.contraction
    with last.location, ir.InsertionPoint(last):
        if found is not None:
            return _checked(emit_contraction(found, shared, device))
        return _checked(_emit_nests(nests, stage.operations, shared, device))


def _emit_loops(op: ir.Operation, shared: SharedMemory, device: Device) -> LaunchShape:
    """Share what is loops of any kind; what cannot be is left to one thread."""
    if op.name != "scf.for":
        return _SINGLE
    return emit_scan(op, shared) or emit_loops(op, device) or _SINGLE


def _emit_nests(
    nests: Sequence[LinearNest],
    generics: Sequence[ir.Operation],
    shared: SharedMemory,
    device: Device,
) -> LaunchShape:
    columns = column_group(nests)
    if columns is not None:
        return emit_columns(columns, generics, shared, device)
    if len(nests) > 1:
        in_registers = emit_register_rows(nests, generics, shared, device)
        return in_registers or emit_rows(nests, generics, shared)
    if nests[0].reductions:
        return emit_reduction(nests[0], shared)
    return emit_transposed(nests[0], shared) or emit_pointwise(nests[0])


def _checked(shape: LaunchShape) -> LaunchShape:
    if shape.grid > MAX_GRID:
        raise CompileError("kernel-grid", f"a kernel needs {shape.grid:,} blocks of threads")
    return shape


def erase_emitted(stage: Stage) -> None:
    """Erase the operations of a stage that `emit_stage` has emitted code for."""
    if all(is_nest(op) or is_general(op) for op in stage.operations):
        for op in reversed(stage.operations):
            op.erase()

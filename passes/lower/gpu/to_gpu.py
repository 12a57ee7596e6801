# SPDX-License-Identifier: MIT OR Apache-2.0
"""From the stages of a kernel to launches in MLIR's `gpu` dialect, for any GPU."""

from __future__ import annotations

from dataclasses import replace

from xyntra.dialects.mlir import ir
from xyntra.dialects.ops.stage import schedule_of
from xyntra.passes.analysis.kernel_function import (
    direct_operations_named,
    function_name,
    kernel_function,
)
from xyntra.passes.analysis.sizes.session import session
from xyntra.passes.analysis.views import MEMREF_VIEWS
from xyntra.passes.fallbacks import is_generic
from xyntra.passes.lower.buffers.scratch_allocation import ScratchAllocation
from xyntra.passes.lower.gpu.device import GpuDevice
from xyntra.passes.lower.gpu.emit.thread_grid import LaunchShape
from xyntra.passes.lower.gpu.emitters.emit_stage import emit_plain_stage, emit_stage, erase_emitted
from xyntra.passes.lower.gpu.emitters.families import families_of, schedule_text, table_of
from xyntra.passes.lower.gpu.launching.launching import Launching
from xyntra.passes.lower.gpu.launching.outline import number_regions, outline
from xyntra.passes.lower.gpu.math.waves import expand_waves
from xyntra.passes.lower.gpu.stages.stage import Stage, stages_of
from xyntra.passes.lower.loops.flat_accesses import flatten_accesses
from xyntra.passes.lower.upstream import run_upstream


def to_gpu(module: ir.Operation, device: GpuDevice) -> ir.Operation:
    """Lower the stages of a kernel to the `gpu` dialect; `module` cannot be used afterwards.

    Args:
        module: what `to_stages` returns, or its text.
        device: that the code is for.

    Returns:
        A module that says all of the kernel, so that `from_gpu` can go on from its text: a function
        of the host that holds the launches in order, and the `gpu.module` with their code.

    Raises:
        CompileError: a stage has no schedule, or one that cannot be carried out.
        MLIRError: one of the steps failed.
    """
    for dialect in ("gpu", "nvvm"):
        module.context.get_dialect_descriptor(dialect)  # loads it
    launching: Launching = getattr(table_of(device), "LAUNCHING", Launching())
    shapes = _emit(module, device, launching)
    if session.get() is not None:
        flatten_accesses(kernel_function(module))
    expand_waves(module)
    run_upstream(module, "cse", verify=False)  # what comes next looks at every operation
    _erase_unused_memory(kernel_function(module))
    ScratchAllocation(typed=not device.views_bytes).run(module)
    outline(module, shapes, launching)
    return module


def _emit(
    module: ir.Operation, device: GpuDevice, launching: Launching
) -> list[LaunchShape | None]:
    """Put the code of threads in the place of what the kernel computes; returns the launches."""
    function = kernel_function(module)
    plain = is_generic(function)
    stages = stages_of(function)
    name, families = function_name(function), families_of(device)
    emitted: list[tuple[Stage, LaunchShape | None]] = []
    for number, stage in enumerate(stages):
        with module.context:
            if plain:
                shape = emit_plain_stage(stage, device)
            else:
                shape = emit_stage(stage, module, f"{name}_{number}", device)
        told = schedule_text(schedule_of(stage.op), families)
        emitted.append((stage, shape and replace(shape, schedule=told)))
    launches = launching.decided(emitted, device)
    for stage in stages:
        erase_emitted(stage)
    with module.context:
        launches = launching.joined(stages, launches, device)
    number_regions([stage.op for stage in stages])
    return launches


def _erase_unused_memory(function: ir.Operation) -> None:
    """Erase allocations that nothing uses any more, but for views that nothing uses."""
    for op in reversed(direct_operations_named(function, "memref.alloc", *MEMREF_VIEWS)):
        _erase_unused(op)


def _erase_unused(op: ir.Operation) -> None:
    """Erase an allocation or view if nothing but such views uses it, and these."""
    users = {use.owner.operation for use in op.results[0].uses}
    for user in users:
        if user.name in MEMREF_VIEWS:
            _erase_unused(user)
    if not list(op.results[0].uses):
        op.erase()

# SPDX-License-Identifier: MIT OR Apache-2.0
"""The order of the steps that lower one kernel for NVIDIA GPUs."""

from __future__ import annotations

from dataclasses import replace

from xyntra.dialects.mlir import ir
from xyntra.dialects.ops.stage import schedule_of
from xyntra.passes.fallbacks import is_generic
from xyntra.passes.lower.cuda.attention.carrier import carry_attention
from xyntra.passes.lower.cuda.device_functions import (
    let_next_begin,
    number_regions,
    outline,
)
from xyntra.passes.lower.cuda.device_math import check_math
from xyntra.passes.lower.cuda.exponential import expand_exponentials, hide_exponentials
from xyntra.passes.lower.cuda.gelu import expand_gelus, hide_gelus
from xyntra.passes.lower.cuda.launch_shape import CudaLaunch
from xyntra.passes.lower.cuda.one_plus_erf import expand_one_plus_erf, hide_one_plus_erf
from xyntra.passes.lower.cuda.one_plus_tanh import expand_one_plus_tanh, hide_one_plus_tanh
from xyntra.passes.lower.cuda.to_llvm import LoweredCudaKernel, from_nvvm, to_nvvm
from xyntra.passes.lower.data_by_slices import DataBySlices
from xyntra.passes.lower.defined_arithmetic import DefinedArithmetic
from xyntra.passes.lower.destination_passing import DestinationPassing
from xyntra.passes.lower.empty_arguments import EmptyArguments
from xyntra.passes.lower.fast_math import FastMath
from xyntra.passes.lower.forward_copies import ForwardCopies
from xyntra.passes.lower.gpu.contraction.group import ANCHOR
from xyntra.passes.lower.gpu.device import Device, Feature, device_of
from xyntra.passes.lower.gpu.emitters.emit_stage import emit_plain_stage, emit_stage, erase_emitted
from xyntra.passes.lower.gpu.emitters.families import families_of, schedule_text
from xyntra.passes.lower.gpu.reductions.extreme_keys import find_extremes_by_keys
from xyntra.passes.lower.gpu.stages.form_stages import FormStages
from xyntra.passes.lower.gpu.stages.generalize_copies import GeneralizeCopies
from xyntra.passes.lower.gpu.stages.stage import Stage, stages_of
from xyntra.passes.lower.inplace_results import InplaceResults
from xyntra.passes.lower.narrow_floats import NarrowFloats
from xyntra.passes.lower.nests.kernel_function import (
    check_buffers,
    check_contract,
    direct_operations_named,
    function_name,
    kernel_function,
    kernel_named,
)
from xyntra.passes.lower.nests.memrefs import VIEWS
from xyntra.passes.lower.scratch_allocation import ScratchAllocation
from xyntra.passes.lower.strided_copies import StridedCopies
from xyntra.passes.lower.upstream import WIDEN, bufferize, run_upstream
from xyntra.passes.math.expand_math import expand_classes, expand_math
from xyntra.passes.pipelines import expand
from xyntra.passes.registry import Pass, find_pass

PROGRAMMATIC = True
"""Whether launches are prepared while the ones before them end, and wait by themselves.

On an H100, BERT-base of f16 at batch 1 takes 313 us by it, and 334 us without.
"""
_FEW_THREADS = 256
_LITTLE_SHARED = 48 << 10
"""Bytes of an attention's block: that of BERT-base at batch 1 has 39 KB; the model gains 1.7 us of
302 by it, and GPT-2 3.5 of 332."""
LEVELS = ("kernels", "stages", "gpu", "nvvm")
"""The forms of a kernel on its way to LLVM IR, from functions on tensors down.

Each says all of a kernel: `lower_to` goes on from the text of any of them.
"""
_TENSORS: tuple[Pass, ...] = (NarrowFloats(singles=False), DestinationPassing())
_BUFFERS: tuple[Pass, ...] = (
    InplaceResults(),
    EmptyArguments(),
    ForwardCopies(),
    StridedCopies(),
)


def lower_kernel(module: ir.Module, architecture: str, level: str = "kernels") -> LoweredCudaKernel:
    """Lower the kernel function of `module` to LLVM IR; `module` cannot be used afterwards.

    Args:
        module: holds one kernel, in the form that it has at `level`.
        architecture: what the code is for: one of `DEVICES`, such as "sm_90a".
        level: one of `LEVELS`.

    Raises:
        CompileError: the function breaks the kernel contract, or a pass failed on it.
    """
    return from_nvvm(lower_to(module, architecture, level, "nvvm"))


def lower_to(module: ir.Module, architecture: str, start: str, level: str) -> ir.Operation:
    """Lower a kernel from the level `start` to `level`; `module` cannot be used afterwards.

    Args:
        module: holds one kernel, in the form that it has at `start`.
        architecture: what the code is for.
        start: one of `LEVELS`.
        level: the same, or one below it.

    Raises:
        CompileError: the function breaks the kernel contract, or a pass failed on it.
    """
    operation = module.operation
    function = kernel_function(operation)
    (check_contract if start == "kernels" else check_buffers)(function)
    device = device_of(architecture)
    with kernel_named(function), operation.context, operation.location:
        for each in LEVELS[LEVELS.index(start) : LEVELS.index(level)]:
            operation = _next_level(each, operation, device)
    return operation


def _next_level(level: str, module: ir.Operation, device: Device) -> ir.Operation:
    if level == "kernels":
        return to_stages(module, device)
    return to_gpu(module, device) if level == "stages" else to_nvvm(module)


def to_stages(module: ir.Operation, device: Device) -> ir.Operation:
    """Lower the kernel function of `module` to stages on buffers; it cannot be used afterwards.

    Returns:
        A module with the kernel, whose stages say how they run, so that `to_gpu` can go on from its
        text.

    Raises:
        CompileError: the kernel cannot be computed on `device`.
        MLIRError: one of the steps failed.
    """
    module = _to_buffers(module, device)
    for step in _stage_passes(device, plain=is_generic(kernel_function(module))):
        step.run(module)
    run_upstream(module, "cse", verify=False)
    return module


def to_gpu(module: ir.Operation, device: Device) -> ir.Operation:
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
    shapes = _emit(module, device)
    run_upstream(module, "cse", verify=False)  # what comes next looks at every operation
    _erase_unused_memory(kernel_function(module))
    ScratchAllocation(typed=not device.views_bytes).run(module)
    outline(module, shapes)
    return module


def _emit(module: ir.Operation, device: Device) -> list[CudaLaunch | None]:
    """Put the code of threads in the place of what the kernel computes; returns the launches."""
    function = kernel_function(module)
    plain = is_generic(function)
    stages = stages_of(function)
    name = function_name(function)
    families = families_of(device)
    launches: list[CudaLaunch | None] = []
    roomy = []
    for number, stage in enumerate(stages):
        with module.context:
            if plain:
                shape = emit_plain_stage(stage, device)
            else:
                shape = emit_stage(stage, module, f"{name}_{number}", device)
        launch = None if shape is None else CudaLaunch.of(shape)
        if launch is not None:
            launch = replace(launch, schedule=schedule_text(schedule_of(stage.op), families))
        launches.append(launch)
        if launch is not None and _leaves_room(stage, launch, device):
            roomy.append(stage)
    for stage in stages:
        erase_emitted(stage)
    if PROGRAMMATIC and device.has(Feature.DEPENDENT_LAUNCH):
        launches = [each and replace(each, programmatic=True) for each in launches]
        for stage in roomy:
            let_next_begin(stage.op)
    number_regions([stage.op for stage in stages])
    return launches


def _stage_passes(device: Device, *, plain: bool) -> tuple[Pass, ...]:
    """Return what cuts a kernel on buffers into the launches that suit it best."""
    if plain:
        return (GeneralizeCopies(), FormStages(device.name, single=True))
    found = map(find_pass, expand("gpu-stages"))
    return tuple(
        each(device=device.name) if "device" in each.__dataclass_fields__ else each()
        for each in found
    )


def _leaves_room(stage: Stage, shape: CudaLaunch, device: Device) -> bool:
    """Tell whether blocks of the next launch find their places as if this one were not there."""
    is_small = shape.grid <= device.multiprocessors and shape.block <= _FEW_THREADS
    if stage.attention is not None:
        return is_small and shape.shared <= _LITTLE_SHARED
    has_anchor = any(ANCHOR in op.attributes for op in stage.operations)
    return not has_anchor and is_small and shape.shared == 0


def _erase_unused_memory(function: ir.Operation) -> None:
    """Erase allocations that nothing uses any more, but for views that nothing uses."""
    for op in reversed(direct_operations_named(function, "memref.alloc", *VIEWS)):
        _erase_unused(op)


def _erase_unused(op: ir.Operation) -> None:
    """Erase an allocation or view if nothing but such views uses it, and these."""
    users = {use.owner.operation for use in op.results[0].uses}
    for user in users:
        if user.name in VIEWS:
            _erase_unused(user)
    if not list(op.results[0].uses):
        op.erase()


def _to_buffers(module: ir.Operation, device: Device) -> ir.Operation:
    """Lower tensors to memory; returns the module, or the copy that took its place."""
    carries = device.has(Feature.ASYNC_COPIES) and not is_generic(kernel_function(module))
    carry_attention(module, plain=not carries)
    find_extremes_by_keys(module)
    DataBySlices().run(module)
    expand_classes(module)
    run_upstream(module, WIDEN)
    FastMath().run(module)
    DefinedArithmetic().run(module)
    hide_exponentials(module)
    hide_gelus(module)
    hide_one_plus_erf(module)
    hide_one_plus_tanh(module)
    expand_math(module)
    check_math(module)
    expand_one_plus_erf(module)
    expand_one_plus_tanh(module)
    expand_gelus(module)
    expand_exponentials(module)
    for step in _TENSORS:
        step.run(module)
    module = bufferize(module)
    for step in _BUFFERS:
        step.run(module)
    return module

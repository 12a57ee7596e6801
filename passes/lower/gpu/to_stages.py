# SPDX-License-Identifier: MIT OR Apache-2.0
"""From a kernel on tensors to stages on buffers, for any GPU."""

from __future__ import annotations

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.kernel_function import kernel_function
from xyntra.passes.fallbacks import is_generic
from xyntra.passes.lower.buffers.destination_passing import DestinationPassing
from xyntra.passes.lower.buffers.empty_arguments import EmptyArguments
from xyntra.passes.lower.buffers.forward_copies import ForwardCopies
from xyntra.passes.lower.buffers.inplace_results import InplaceResults
from xyntra.passes.lower.buffers.strided_copies import StridedCopies
from xyntra.passes.lower.gpu.attention.carrier import carry_attention
from xyntra.passes.lower.gpu.device import Feature, GpuDevice
from xyntra.passes.lower.gpu.math.device_erf import expand_erf, hide_erf
from xyntra.passes.lower.gpu.math.device_math import check_math
from xyntra.passes.lower.gpu.math.exponential import expand_exponentials, hide_exponentials
from xyntra.passes.lower.gpu.math.gelu import expand_gelus, hide_gelus
from xyntra.passes.lower.gpu.math.narrow_division import shorten_divisions
from xyntra.passes.lower.gpu.math.narrow_functions import expand_narrow, hide_narrow
from xyntra.passes.lower.gpu.math.one_plus_erf import expand_one_plus_erf, hide_one_plus_erf
from xyntra.passes.lower.gpu.math.one_plus_tanh import expand_one_plus_tanh, hide_one_plus_tanh
from xyntra.passes.lower.gpu.math.tanh_of_softplus import (
    expand_tanh_of_softplus,
    hide_tanh_of_softplus,
)
from xyntra.passes.lower.gpu.math.waves import LATE
from xyntra.passes.lower.gpu.reductions.extreme_keys import find_extremes_by_keys
from xyntra.passes.lower.gpu.stages.form_stages import FormStages
from xyntra.passes.lower.gpu.stages.generalize_copies import GeneralizeCopies
from xyntra.passes.lower.scalar.defined_arithmetic import DefinedArithmetic
from xyntra.passes.lower.scalar.expand_float8 import ExpandFloat8
from xyntra.passes.lower.scalar.fast_math import FastMath
from xyntra.passes.lower.scalar.narrow_floats import NarrowFloats
from xyntra.passes.lower.tensor.data_by_slices import DataBySlices
from xyntra.passes.lower.upstream import WIDEN, bufferize, run_upstream
from xyntra.passes.math.expand_math import expand_classes, expand_math
from xyntra.passes.pipelines import expand
from xyntra.passes.registry import Pass, find_pass

_TENSORS: tuple[Pass, ...] = (NarrowFloats(singles=False), DestinationPassing())
_BUFFERS: tuple[Pass, ...] = (
    InplaceResults(),
    EmptyArguments(),
    ForwardCopies(),
    StridedCopies(),
)


def to_stages(module: ir.Operation, device: GpuDevice) -> ir.Operation:
    """Lower the kernel function of `module` to stages on buffers; it cannot be used afterwards.

    Returns:
        A module with the kernel, whose stages say how they run, so that `to_gpu` can go on from its
        text.

    Raises:
        CompileError: the kernel cannot be computed on `device`.
        MLIRError: one of the steps failed.
    """
    module = to_buffers(module, device)
    for step in stage_passes(device, plain=is_generic(kernel_function(module))):
        step.run(module)
    run_upstream(module, "cse", verify=False)
    return module


def stage_passes(device: GpuDevice, *, plain: bool) -> tuple[Pass, ...]:
    """Return what cuts a kernel on buffers into the launches that suit it best."""
    if plain:
        return (GeneralizeCopies(), FormStages(device.name, single=True))
    found = map(find_pass, expand("gpu-stages"))
    return tuple(
        each(device=device.name) if "device" in each.__dataclass_fields__ else each()
        for each in found
    )


def to_buffers(module: ir.Operation, device: GpuDevice) -> ir.Operation:
    """Lower tensors to memory; returns the module, or the copy that took its place."""
    carry_attention(module, device, plain=is_generic(kernel_function(module)))
    find_extremes_by_keys(module)
    DataBySlices().run(module)
    expand_classes(module)
    if not device.has(Feature.FLOAT8):
        ExpandFloat8().run(module)
    run_upstream(module, WIDEN)
    FastMath().run(module)
    DefinedArithmetic().run(module)
    hide_exponentials(module)
    hide_gelus(module)
    hide_one_plus_erf(module)
    hide_one_plus_tanh(module)
    hide_tanh_of_softplus(module)
    shorten_divisions(module)
    hide_narrow(module)
    hide_erf(module)
    expand_math(module, keep=LATE, f64=True)
    check_math(module)
    expand_erf(module)
    expand_narrow(module)
    expand_tanh_of_softplus(module)
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

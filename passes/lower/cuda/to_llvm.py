# SPDX-License-Identifier: MIT OR Apache-2.0
"""From the `gpu` dialect to LLVM IR for NVIDIA GPUs, by MLIR's own conversions.

`convert-gpu-to-nvvm` is applied as its patterns, not as its pass: the pass calls libdevice for what
LLVM has instructions for (`math.sqrt`, `arith.remf`), and takes no other way of lowering it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from torch_mlir.dialects import llvm
from torch_mlir.dialects.transform import interpreter

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.kernel_function import (
    direct_operations_named,
    function_name,
    kernel_function,
)
from xyntra.passes.lower.cuda.approximate import APPROXIMATED, approximate_marked
from xyntra.passes.lower.cuda.device_functions import device_functions, mark_kernels
from xyntra.passes.lower.cuda.float8_conversions import convert_float8
from xyntra.passes.lower.cuda.launch_shape import CudaLaunch
from xyntra.passes.lower.cuda.launches import launch_entry, launch_shape
from xyntra.passes.lower.cuda.ptx.collective_assembly import mark_collective_assembly
from xyntra.passes.lower.cuda.relaxed_atomics import relax_atomics
from xyntra.passes.lower.gpu.launching.outline import LAUNCH, device_module, scratch_slots
from xyntra.passes.lower.upstream import check_lowered, run_upstream

_LOOPS = (
    "gpu.module(fold-memref-alias-ops,expand-strided-metadata,lower-affine,canonicalize,cse,"
    "convert-scf-to-cf)"
)
# What has types that only the conversion of functions knows: memory, and the spaces it lies in.
_FUNCTIONS = """
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !transform.any_op {transform.readonly}) {
    %device = transform.structured.match ops{["gpu.module"]} in %module
      : (!transform.any_op) -> !transform.any_op
    transform.apply_conversion_patterns to %device {
      transform.apply_conversion_patterns.gpu.gpu_to_nvvm
      transform.apply_conversion_patterns.dialect_to_llvm "memref"
      transform.apply_conversion_patterns.dialect_to_llvm "vector"
    } with type_converter {
      transform.apply_conversion_patterns.memref.memref_to_llvm_type_converter
        {use_bare_ptr_call_conv = true, index_bitwidth = 64}
    } {legal_dialects = ["arith", "cf", "index", "llvm", "math", "nvvm", "ub"],
       legal_ops = ["gpu.module"], illegal_dialects = ["gpu"], partial_conversion}
      : !transform.any_op
    transform.yield
  }
}
"""
_ARITHMETIC = (
    "gpu.module(convert-to-llvm{filter-dialects=arith,math,index,cf,ub},convert-nvvm-to-llvm,"
    "reconcile-unrealized-casts,canonicalize,cse)"
)


_DIALECTS = ("llvm", "nvvm")


@dataclass(frozen=True)
class LaunchCode:
    """One launch of a kernel's code: its entry point takes all pointers of the kernel.

    Attributes:
        entry: symbol of the entry point.
        shape: threads, shared memory, and the tensor maps that it takes behind the pointers.
    """

    entry: str
    shape: CudaLaunch


@dataclass(frozen=True)
class LoweredCudaKernel:
    """LLVM IR of one kernel, as LLVM 24 prints it, and how it is launched.

    Attributes:
        llvm_ir: the text; its entry points take the kernel's inputs, its results that are not
            written in place, and its scratch slots.
        launches: in order; none where there is nothing to compute.
        scratch: bytes of every scratch slot.
    """

    llvm_ir: str
    launches: tuple[LaunchCode, ...]
    scratch: tuple[int, ...]


def from_gpu(module: ir.Operation) -> LoweredCudaKernel:
    """Lower what `to_gpu` returned, or its parsed text; `module` cannot be used afterwards.

    Raises:
        CompileError: something in it has no code for NVIDIA GPUs.
        MLIRError: a conversion failed.
    """
    return from_nvvm(to_nvvm(module))


def to_nvvm(module: ir.Operation) -> ir.Operation:
    """Lower what `to_gpu` returned, or its parsed text; `module` cannot be used afterwards.

    Returns:
        A module with the same function of the host, and a `gpu.module` in the dialects of LLVM and
        NVVM alone, so that `from_nvvm` can go on from its text.

    Raises:
        CompileError: something in it has no code for NVIDIA GPUs.
        MLIRError: a conversion failed.
    """
    launched = device_functions(module)
    convert_float8(module)
    run_upstream(module, _LOOPS)
    with module.context, module.location:
        sequence = _functions(module.context)
        interpreter.apply_named_sequence(
            module, sequence.regions[0].blocks[0].operations[0], sequence
        )
    run_upstream(module, _ARITHMETIC, verify=False)
    device = device_module(module)
    names = check_lowered(device, _DIALECTS, "GPU")
    if "llvm.atomicrmw" in names:
        relax_atomics(device)
    if not names.isdisjoint(APPROXIMATED):
        approximate_marked(device)
    mark_kernels(device, launched)
    return module


def from_nvvm(module: ir.Operation) -> LoweredCudaKernel:
    """Translate what `to_nvvm` returned, or its parsed text, to LLVM IR.

    Raises:
        CompileError: something in it cannot be translated, or it launches what is not there.
        MLIRError: the translation failed.
    """
    device = device_module(module)
    check_lowered(device, _DIALECTS, "GPU")
    text = mark_collective_assembly(llvm.translate_module_to_llvmir(device))
    return LoweredCudaKernel(text, *launches_of(module))


def without_code(module: ir.Operation) -> None:
    """Leave of what `to_nvvm` returned the launches, and declarations of what they launch."""
    device = device_module(module)
    block = device.regions[0].blocks[0]
    entries = {each.entry for each in launches_of(module)[0]}
    found = [view.operation for view in block.operations]
    with module.context, device.location, ir.InsertionPoint(block):
        for op in found:
            if op.name == "llvm.func" and function_name(op) in entries:
                attributes = {name: op.attributes[name] for name in op.attributes}
                ir.Operation.create("llvm.func", attributes=attributes, regions=1)
    for op in found:
        op.erase()


def launches_of(module: ir.Operation) -> tuple[tuple[LaunchCode, ...], tuple[int, ...]]:
    """Return the launches of a kernel at the level of the `gpu` dialect or below, in order.

    Returns:
        The launches, and the bytes of every scratch slot.
    """
    host = kernel_function(module)
    launches = tuple(
        LaunchCode(launch_entry(op), launch_shape(op))
        for op in direct_operations_named(host, LAUNCH)
    )
    return launches, scratch_slots(host) if launches else ()


@lru_cache(maxsize=8)
def _functions(context: ir.Context) -> ir.Operation:
    return ir.Module.parse(_FUNCTIONS, context).operation

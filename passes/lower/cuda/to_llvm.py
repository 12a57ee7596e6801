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
from xyntra.passes.lower.cuda.approximate import APPROXIMATED, approximate_marked
from xyntra.passes.lower.cuda.device_functions import (
    device_functions,
    device_module,
    mark_kernels,
)
from xyntra.passes.lower.cuda.launch_shape import CudaLaunch
from xyntra.passes.lower.cuda.relaxed_atomics import relax_atomics
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


@dataclass(frozen=True)
class Launch:
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
    launches: tuple[Launch, ...]
    scratch: tuple[int, ...]


def from_gpu(module: ir.Operation) -> LoweredCudaKernel:
    """Lower what `to_gpu` returned, or its parsed text; `module` cannot be used afterwards.

    Raises:
        CompileError: something in it has no code for NVIDIA GPUs.
        MLIRError: a conversion failed.
    """
    launched = device_functions(module)
    run_upstream(module, _LOOPS)
    with module.context, module.location:
        sequence = _functions(module.context)
        interpreter.apply_named_sequence(
            module, sequence.regions[0].blocks[0].operations[0], sequence
        )
    run_upstream(module, _ARITHMETIC, verify=False)
    device = device_module(module)
    names = check_lowered(device, ("llvm", "nvvm"), "GPU")
    if "llvm.atomicrmw" in names:
        relax_atomics(device)
    if not names.isdisjoint(APPROXIMATED):
        approximate_marked(device)
    mark_kernels(device, launched)
    text = llvm.translate_module_to_llvmir(device)
    launches = tuple(Launch(each.name, each.shape) for each in launched)
    return LoweredCudaKernel(text, launches, launched[0].scratch if launched else ())


@lru_cache(maxsize=8)
def _functions(context: ir.Context) -> ir.Operation:
    return ir.Module.parse(_FUNCTIONS, context).operation

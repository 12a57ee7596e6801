# SPDX-License-Identifier: MIT OR Apache-2.0
"""The order of the steps that lower one kernel for the CPU."""

from __future__ import annotations

from dataclasses import dataclass

from torch_mlir.dialects import llvm
from torch_mlir.passmanager import PassManager

from xyntra.dialects.mlir import ir
from xyntra.errors import CompileError
from xyntra.passes.lower.cpu.destination_passing import (
    finish_inplace_results,
    pass_results_by_destination,
)
from xyntra.passes.lower.cpu.empty_arguments import pass_empty_arguments_as_bytes
from xyntra.passes.lower.cpu.kernel_function import (
    check_contract,
    entry_block,
    function_name,
    inplace_pairs,
    kernel_function,
)
from xyntra.passes.lower.cpu.packed_entry import add_packed_entry
from xyntra.passes.lower.cpu.scratch_allocation import allocate_scratch
from xyntra.passes.lower.cpu.strided_copies import expand_strided_copies
from xyntra.passes.math.expand_math import expand_math

_BUFFERIZE = (
    "eliminate-empty-tensors,empty-tensor-to-alloc-tensor,one-shot-bufferize{"
    "bufferize-function-boundaries=1 function-boundary-type-conversion=identity-layout-map},"
    "canonicalize,cse"
)
_LLVM = (
    "convert-linalg-to-loops,fold-memref-alias-ops,expand-strided-metadata,lower-affine,"
    "canonicalize,cse,convert-scf-to-cf,convert-math-to-llvm,convert-math-to-libm,"
    "convert-arith-to-llvm,convert-index-to-llvm,finalize-memref-to-llvm,"
    "convert-func-to-llvm{use-bare-ptr-memref-call-conv=1},convert-cf-to-llvm,"
    "convert-ub-to-llvm,reconcile-unrealized-casts,canonicalize,cse"
)


@dataclass(frozen=True)
class LoweringOptions:
    """What the lowering needs to know of the machine: bits of one vector register."""

    vector_bits: int = 256


@dataclass(frozen=True)
class LoweredKernel:
    """LLVM IR (text, as LLVM 24 prints it) of one kernel, and the scratch memory that it needs."""

    llvm_ir: str
    scratch_bytes: int


def lower_kernel(module: ir.Module, options: LoweringOptions | None = None) -> LoweredKernel:
    """Lower the kernel function of `module`, which is changed in place, to LLVM IR.

    Raises:
        CompileError: the function breaks the kernel contract, or a pass failed on it.
    """
    options = options or LoweringOptions()
    function = kernel_function(module)
    check_contract(function)
    name = function_name(function)
    inputs = len(entry_block(function).arguments)
    written = set(inplace_pairs(function).values())
    try:
        with module.context, ir.Location.unknown():
            slots = _lower_to_loops(module)
            _run(module, _LLVM)
            outputs = len(entry_block(kernel_function(module, "llvm.func")).arguments)
            outputs -= inputs + len(slots)
            read_only = [index not in written for index in range(inputs)] + [False] * outputs
            add_packed_entry(module, slots, read_only)
            text = llvm.translate_module_to_llvmir(module.operation)
    except ir.MLIRError as error:
        place = f"kernel '{name}'"
        raise CompileError(
            "kernel-lowering", "a kernel could not be lowered", place=place, cause=str(error)
        ) from error
    return LoweredKernel(text, sum(slots))


def _lower_to_loops(module: ir.Module) -> list[int]:
    expand_math(module.operation)
    pass_results_by_destination(kernel_function(module))
    _run(module, _BUFFERIZE)
    finish_inplace_results(kernel_function(module))
    function = kernel_function(module)
    pass_empty_arguments_as_bytes(function)
    expand_strided_copies(function)
    return allocate_scratch(function)


def _run(module: ir.Module, passes: str) -> None:
    PassManager.parse(f"builtin.module({passes})", module.context).run(module.operation)

# SPDX-License-Identifier: MIT OR Apache-2.0
"""The order of the steps that lower one kernel for the CPU."""

from __future__ import annotations

from dataclasses import dataclass

from torch_mlir._mlir_libs._mlirDialectsLLVM import translate_module_to_llvmir

from xyntra.dialects.mlir import ir
from xyntra.passes.fallbacks import is_generic
from xyntra.passes.lower.cpu.blocked_attention import BlockedAttention
from xyntra.passes.lower.cpu.channel_reductions import ChannelReductions
from xyntra.passes.lower.cpu.convolution_tiles import ConvolutionTiles
from xyntra.passes.lower.cpu.integer_tiles import IntegerTiles
from xyntra.passes.lower.cpu.library_functions import LibraryFunctions
from xyntra.passes.lower.cpu.loop_order import LoopOrder
from xyntra.passes.lower.cpu.nest_loops import NestLoops
from xyntra.passes.lower.cpu.packed_entry import PackedEntry
from xyntra.passes.lower.cpu.parallel_loops import ParallelLoops
from xyntra.passes.lower.cpu.register_tiles import RegisterTiles
from xyntra.passes.lower.cpu.window_tiles import WindowTiles
from xyntra.passes.lower.cpu.winograd_tiles import WinogradTiles
from xyntra.passes.lower.data_by_slices import DataBySlices
from xyntra.passes.lower.defined_arithmetic import DefinedArithmetic
from xyntra.passes.lower.destination_passing import DestinationPassing
from xyntra.passes.lower.empty_arguments import EmptyArguments
from xyntra.passes.lower.fast_math import FastMath
from xyntra.passes.lower.forward_copies import ForwardCopies
from xyntra.passes.lower.inplace_results import InplaceResults
from xyntra.passes.lower.narrow_floats import NarrowFloats
from xyntra.passes.lower.nests.attention_carrier import carry_attention
from xyntra.passes.lower.nests.kernel_function import (
    check_contract,
    kernel_function,
    kernel_named,
    private_bytes,
    task_functions,
)
from xyntra.passes.lower.nests.prepared_operands import prepared_bytes
from xyntra.passes.lower.scratch_allocation import ScratchAllocation
from xyntra.passes.lower.strided_copies import StridedCopies
from xyntra.passes.lower.upstream import WIDEN, bufferize, check_lowered, run_upstream
from xyntra.passes.math.expand_math import expand_classes, expand_math
from xyntra.passes.registry import Pass

_CLEAN = "canonicalize,cse"  # drops the buffers that were replaced
_LLVM = (
    "convert-linalg-to-loops,fold-memref-alias-ops,expand-strided-metadata,lower-affine,"
    "convert-vector-to-llvm,convert-scf-to-cf,convert-math-to-llvm,convert-math-to-libm,"
    "convert-vector-to-llvm,"  # calls of libm take vectors apart
    "convert-arith-to-llvm,convert-index-to-llvm,finalize-memref-to-llvm,"
    "convert-func-to-llvm{use-bare-ptr-memref-call-conv=1},convert-cf-to-llvm,"
    "convert-ub-to-llvm,reconcile-unrealized-casts,canonicalize,cse"
)
# On scalars in the bodies of linalg operations, then on tensors, then on buffers.
_SCALARS: tuple[Pass, ...] = (FastMath(), DefinedArithmetic())
_CONVERSIONS: tuple[Pass, ...] = (LibraryFunctions(), NarrowFloats(), DestinationPassing())
_BUFFERS: tuple[Pass, ...] = (
    InplaceResults(),
    EmptyArguments(),
    ForwardCopies(),
    StridedCopies(),
)
_MEMORY: tuple[Pass, ...] = (ScratchAllocation(), LoopOrder())


@dataclass(frozen=True)
class LoweringOptions:
    """What the lowering needs to know of the machine: its registers, instructions and caches."""

    vector_bits: int = 256
    vector_registers: int = 16
    dot_products: str = "none"
    """Instructions for narrow integers; see `dot_products.KINDS`."""
    cache_bytes: int = 24 << 20
    """A kernel that moves more finds nothing of it in the caches again."""


@dataclass(frozen=True)
class LoweredKernel:
    """One kernel, lowered.

    Attributes:
        llvm_ir: LLVM IR as text, as LLVM 24 prints it.
        scratch_bytes: the scratch memory that the threads of a call share.
        private_bytes: the scratch memory that each of them needs beside.
        prepared_bytes: the memory of its prepared constants; with any, there is `NAME.prepare`.
    """

    llvm_ir: str
    scratch_bytes: int
    private_bytes: int = 0
    prepared_bytes: int = 0


def lower_kernel(module: ir.Module, options: LoweringOptions | None = None) -> LoweredKernel:
    """Lower the kernel function of `module` to LLVM IR; `module` cannot be used afterwards.

    Raises:
        CompileError: the function breaks the kernel contract, or a pass failed on it.
    """
    operation = module.operation
    function = kernel_function(operation)
    check_contract(function)
    with kernel_named(function), operation.context, operation.location:
        operation = _lower(operation, options or LoweringOptions())
        body = kernel_function(operation, "llvm.func")
        slots = ir.DenseI64ArrayAttr(body.attributes["xyntra.scratch"])
        scratch_bytes, private = sum(slots), private_bytes(body)
        copies = sum(prepared_bytes(body))
        PackedEntry().run(operation)
        text = translate_module_to_llvmir(operation)
    return LoweredKernel(text, scratch_bytes, private, copies)


def _lower(module: ir.Operation, options: LoweringOptions) -> ir.Operation:
    """Lower a module to the LLVM dialect; returns it, or the copy that took its place.

    A kernel that asks for generic loops becomes those of `convert-linalg-to-loops`: no step that
    may fail on it takes part, but for those that every kernel needs.
    """
    plain = is_generic(kernel_function(module))
    carry_attention(module, plain=plain)
    DataBySlices().run(module)
    expand_classes(module)
    run_upstream(module, WIDEN)
    for step in _SCALARS:
        step.run(module)
    expand_math(module)
    for step in _CONVERSIONS:
        step.run(module)
    module = bufferize(module)
    for step in _BUFFERS:
        step.run(module)
    if not plain:
        _emit_kernels(module, options)
    for step in _MEMORY:
        step.run(module)
    run_upstream(module, _LLVM)
    check_lowered(module, ("llvm",), "CPU")
    return module


def _emit_kernels(module: ir.Operation, options: LoweringOptions) -> None:
    """Replace loops by those of the emitters that fit, and mark what threads share."""
    BlockedAttention(options.vector_bits, options.vector_registers).run(module)
    vectors = (options.vector_bits, options.vector_registers)
    IntegerTiles(*vectors, options.dot_products).run(module)
    ChannelReductions(options.vector_bits).run(module)
    WindowTiles(*vectors).run(module)
    WinogradTiles(*vectors).run(module)
    ConvolutionTiles(*vectors).run(module)
    RegisterTiles(*vectors).run(module)
    NestLoops(options.vector_bits, options.cache_bytes).run(module)
    run_upstream(module, _CLEAN)
    ParallelLoops().run(module)
    if task_functions(module):
        run_upstream(module, _CLEAN)

# SPDX-License-Identifier: MIT OR Apache-2.0
"""The order of the steps that lower one kernel for the CPU."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass

from torch_mlir._mlir_libs._mlirDialectsLLVM import translate_module_to_llvmir

from xyntra.dialects.attributes.schedule import Schedule
from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.kernel_function import (
    check_contract,
    entry_block,
    kernel_function,
    kernel_named,
    private_bytes,
    task_functions,
)
from xyntra.passes.analysis.sizes.session import session
from xyntra.passes.fallbacks import is_generic
from xyntra.passes.lower.buffers.destination_passing import DestinationPassing
from xyntra.passes.lower.buffers.empty_arguments import EmptyArguments
from xyntra.passes.lower.buffers.forward_copies import ForwardCopies
from xyntra.passes.lower.buffers.inplace_results import InplaceResults
from xyntra.passes.lower.buffers.scratch_allocation import ScratchAllocation
from xyntra.passes.lower.buffers.split_quotients import SplitQuotients
from xyntra.passes.lower.buffers.strided_copies import StridedCopies
from xyntra.passes.lower.cpu.attention.blocked_attention import BlockedAttention
from xyntra.passes.lower.cpu.conv.convolution_tiles import ConvolutionTiles
from xyntra.passes.lower.cpu.emitters import STAGES, schedule_words
from xyntra.passes.lower.cpu.library_functions import LibraryFunctions
from xyntra.passes.lower.cpu.machine import LoweringOptions
from xyntra.passes.lower.cpu.matmul.register_tiles import RegisterTiles
from xyntra.passes.lower.cpu.matmul_int8.integer_tiles import IntegerTiles
from xyntra.passes.lower.cpu.matmul_packed.packed_products import PackedProducts
from xyntra.passes.lower.cpu.packed_entry import PackedEntry
from xyntra.passes.lower.cpu.pooling.channel_reductions import ChannelReductions
from xyntra.passes.lower.cpu.pooling.window_tiles import WindowTiles
from xyntra.passes.lower.cpu.rows.loop_order import LoopOrder
from xyntra.passes.lower.cpu.rows.nest_loops import SCALAR_LOOPS, NestLoops
from xyntra.passes.lower.cpu.rows.vector_scans import VectorScans
from xyntra.passes.lower.cpu.schedule.emitter import checked_schedules
from xyntra.passes.lower.cpu.schedule.told import PARALLEL_LOOPS
from xyntra.passes.lower.cpu.schedule_nests import ScheduleNests, schedules_of
from xyntra.passes.lower.cpu.threads.loop_work import LoopWork, unfinished_share
from xyntra.passes.lower.cpu.threads.parallel_loops import share_loops
from xyntra.passes.lower.cpu.winograd.winograd_tiles import WinogradTiles
from xyntra.passes.lower.kernels.attention_carrier import carry_attention
from xyntra.passes.lower.kernels.prepared_operands import prepared_bytes
from xyntra.passes.lower.loops.flat_accesses import flatten_accesses
from xyntra.passes.lower.scalar.defined_arithmetic import DefinedArithmetic
from xyntra.passes.lower.scalar.expand_float8 import ExpandFloat8
from xyntra.passes.lower.scalar.fast_math import FastMath
from xyntra.passes.lower.scalar.narrow_floats import NarrowFloats
from xyntra.passes.lower.tensor.data_by_slices import DataBySlices
from xyntra.passes.lower.upstream import (
    WIDEN,
    bufferize,
    check_lowered,
    operation_names,
    run_upstream,
)
from xyntra.passes.math.expand_math import expand_classes, expand_math
from xyntra.passes.registry import Pass

_WORTH_FINISHING = 0.05
"""The share of the time, from which on LLVM vectorises and unrolls what emitters leave to it."""
# Drops the buffers that were replaced. Code is as good when every operation is looked at after what
# uses it, in half of the time, and there are no blocks to simplify yet.
_CLEAN = "canonicalize{region-simplify=disabled top-down=false},cse"
_LLVM = (
    "convert-linalg-to-loops,fold-memref-alias-ops,expand-strided-metadata,lower-affine,"
    "convert-vector-to-llvm,convert-scf-to-cf,convert-math-to-llvm,convert-math-to-libm,"
    "convert-vector-to-llvm,"  # calls of libm take vectors apart
    "convert-arith-to-llvm,convert-index-to-llvm,finalize-memref-to-llvm,"
    "convert-func-to-llvm{use-bare-ptr-memref-call-conv=1},convert-cf-to-llvm,"
    "convert-ub-to-llvm,reconcile-unrealized-casts,canonicalize{region-simplify=disabled},cse"
)
_OF_MATH = "convert-math-to-llvm,convert-math-to-libm,convert-vector-to-llvm,"
_OF_LINALG = "convert-linalg-to-loops,"
_TILES = frozenset({"convolution-tiles", "register-tiles", "window-tiles"})
_BESIDE_TILES = frozenset({"vector-rows", PARALLEL_LOOPS})
# On scalars in the bodies of linalg operations, then on tensors, then on buffers.
_SCALARS: tuple[Pass, ...] = (FastMath(), DefinedArithmetic())
_CONVERSIONS: tuple[Pass, ...] = (LibraryFunctions(), NarrowFloats(), DestinationPassing())
_BUFFERS: tuple[Pass, ...] = (
    InplaceResults(),
    EmptyArguments(),
    ForwardCopies(),
    StridedCopies(),
    SplitQuotients(),
)
_EMITTERS: tuple[Pass, ...] = (
    BlockedAttention(),
    IntegerTiles(),
    ChannelReductions(),
    WindowTiles(),
    WinogradTiles(),
    ConvolutionTiles(),
    PackedProducts(),
    RegisterTiles(),
    NestLoops(),
)


@dataclass(frozen=True)
class LoweredKernel:
    """One kernel, lowered.

    Attributes:
        llvm_ir: LLVM IR as text, as LLVM 24 prints it.
        scratch_bytes: the scratch memory that the threads of a call share.
        private_bytes: the scratch memory that each of them needs beside.
        prepared_bytes: the memory of its prepared constants; with any, there is `NAME.prepare`.
        schedules: how code was made of its nests, in order, then which loops threads share, in
            words such as "tiles rows 6".
        plain_loops: whether it has loops that LLVM should vectorise or unroll.
        is_tiled: whether most of its work is in tiles of registers.
        has_attention: whether it computes attention by blocks.
    """

    llvm_ir: str
    scratch_bytes: int
    private_bytes: int = 0
    prepared_bytes: int = 0
    schedules: tuple[str, ...] = ()
    plain_loops: bool = True
    is_tiled: bool = False
    has_attention: bool = False


def lower_kernel(module: ir.Module, options: LoweringOptions | None = None) -> LoweredKernel:
    """Lower the kernel function of `module` to LLVM IR; `module` cannot be used afterwards.

    Raises:
        CompileError: the function breaks the kernel contract, or a pass failed on it.
    """
    function = kernel_function(module.operation)
    check_contract(function)
    with kernel_named(function), module.operation.context, module.operation.location:
        options = options or LoweringOptions()
        return finish_nests(_scheduled(module.operation, options), options)


def to_nests(module: ir.Module, options: LoweringOptions | None = None) -> ir.Module:
    """Lower the kernel function of `module` to loop nests on buffers, each with its schedule.

    The result can be printed, parsed, edited and given to `from_nests`; `module` cannot be used
    afterwards.

    Raises:
        CompileError: as `lower_kernel`.
    """
    function = kernel_function(module.operation)
    check_contract(function)
    with kernel_named(function), module.operation.context, module.operation.location:
        return ir.Module.parse(str(_scheduled(module.operation, options or LoweringOptions())))


def from_nests(module: ir.Module, options: LoweringOptions | None = None) -> LoweredKernel:
    """Lower what comes from `to_nests` to LLVM IR; `module` cannot be used afterwards.

    Nests without a schedule get one.

    Raises:
        CompileError: a schedule is not legal ("bad-schedule"), or a pass failed.
    """
    operation = module.operation
    function = kernel_function(operation)
    with kernel_named(function), operation.context, operation.location:
        options = options or LoweringOptions()
        schedule(operation, options)
        return finish_nests(operation, options)


def _scheduled(module: ir.Operation, options: LoweringOptions) -> ir.Operation:
    """Lower a module to nests on buffers; returns it, or the copy that took its place.

    A kernel that asks for generic loops gets no schedules, and becomes the loops of
    `convert-linalg-to-loops`: no step that may fail on it takes part, but for those that every
    kernel needs.
    """
    module = to_buffers(module)
    schedule(module, options)
    return module


def to_buffers(module: ir.Operation) -> ir.Operation:
    """Lower a module to nests on buffers without schedules; as `_scheduled`."""
    carry_attention(module, plain=is_generic(kernel_function(module)))
    DataBySlices().run(module)
    expand_classes(module)
    ExpandFloat8().run(module)
    run_upstream(module, WIDEN)
    for step in _SCALARS:
        step.run(module)
    expand_math(module)
    for step in _CONVERSIONS:
        step.run(module)
    module = bufferize(module)
    for step in _BUFFERS:
        step.run(module)
    return module


def schedule(module: ir.Operation, options: LoweringOptions) -> None:
    """Give the nests of `module` schedules, but for a kernel of generic loops."""
    if not is_generic(kernel_function(module)):
        ScheduleNests(**vars(options)).run(module)


def finish_nests(module: ir.Operation, options: LoweringOptions) -> LoweredKernel:
    """Lower scheduled nests to LLVM IR."""
    schedules = schedules_of(module)
    plain = True
    if not is_generic(kernel_function(module)):
        plain = _emit_kernels(module, {each.emitter for each in schedules}, options)
        schedules += [each for each in map(Schedule.of, task_functions(module)) if each is not None]
    ScratchAllocation().run(module)
    _lower_to_llvm(module)
    check_lowered(module, ("llvm",), "CPU")
    body = kernel_function(module, "llvm.func")
    slots = ir.DenseI64ArrayAttr(body.attributes["xyntra.scratch"])
    scratch_bytes, private = sum(slots), private_bytes(body)
    copies = sum(prepared_bytes(body))
    PackedEntry().run(module)
    text = translate_module_to_llvmir(module)
    words = tuple(map(schedule_words, schedules))
    names = {each.emitter for each in schedules}
    found = plain, _is_tiled(names), BlockedAttention.name in names
    return LoweredKernel(text, scratch_bytes, private, copies, words, *found)


def _is_tiled(names: set[str]) -> bool:
    return not names.isdisjoint(_TILES) and names <= _TILES | _BESIDE_TILES


def _lower_to_llvm(module: ir.Operation) -> None:
    """Lower what is left, without the passes for what is not there."""
    names = operation_names(module)
    passes = _LLVM
    if any(name.startswith("linalg.") for name in names):
        LoopOrder().run(module)
    else:
        passes = passes.replace(_OF_LINALG, "")
    if not any(name.startswith("math.") for name in names):
        passes = passes.replace(_OF_MATH, "")
    run_upstream(module, passes)


def _emit_kernels(module: ir.Operation, names: set[str], options: LoweringOptions) -> bool:
    """Replace nests by the code of their emitters, of these names, and mark what threads share.

    Returns:
        Whether there are loops that LLVM should vectorise or unroll: those that the kernel came
        with, as of a sort or a scan, always are.
    """
    given = any(
        view.operation.name.startswith("scf.")
        for view in entry_block(kernel_function(module)).operations
    )
    if given and options.vector_bits:
        VectorScans(options.vector_bits).run(module)
    current = session.get()
    # What has to hold of sizes that are told is found while schedules are checked.
    with checked_schedules() if current is None else nullcontext():
        for step, stage in zip(_EMITTERS, STAGES, strict=True):
            if any(stage.named(name) for name in names):
                step.run(module)
    if current is not None:
        flatten_accesses(module)
    run_upstream(module, _CLEAN)
    if current is not None:
        current.forget_values()
    block = entry_block(kernel_function(module))
    left = any(view.operation.name.startswith("linalg.") for view in block.operations)
    known = LoopWork()
    share = 1.0 if given or left or SCALAR_LOOPS in names else unfinished_share(block, known)
    share_loops(module, known)
    return share > _WORTH_FINISHING

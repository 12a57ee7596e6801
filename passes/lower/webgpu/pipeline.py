# SPDX-License-Identifier: MIT OR Apache-2.0
"""The levels of a kernel for WebGPU, and how it is lowered from one to another."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xyntra.dialects.mlir import ir
from xyntra.errors import CompileError, UnsupportedError
from xyntra.passes.analysis.kernel_function import (
    check_buffers,
    check_contract,
    direct_operations_named,
    entry_block,
    kernel_function,
    kernel_named,
    operations_named,
)
from xyntra.passes.lower.gpu.device import GpuDevice, device_of
from xyntra.passes.lower.gpu.launching.outline import (
    ARGUMENTS,
    BLOCK,
    GRID,
    LAUNCH,
    SCHEDULE,
    scratch_slots,
)
from xyntra.passes.lower.gpu.spirv.allocate_workgroup_memory import AllocateWorkgroupMemory
from xyntra.passes.lower.gpu.spirv.lower_gpu_to_spirv import (
    LowerGpuToSpirv,
    to_scalars,
    to_words,
)
from xyntra.passes.lower.gpu.to_gpu import to_gpu
from xyntra.passes.lower.gpu.to_stages import to_stages
from xyntra.passes.lower.webgpu.biased_atomics import BiasedAtomics
from xyntra.passes.lower.webgpu.exact_residuals import ExactResiduals
from xyntra.passes.lower.webgpu.fold_grid import FoldGrid
from xyntra.passes.lower.webgpu.nonfinite_constants import NonfiniteConstants
from xyntra.passes.lower.webgpu.opaque_roundings import OpaqueRoundings
from xyntra.passes.lower.webgpu.pack_buffers import OFFSETS, PackBuffers
from xyntra.passes.lower.webgpu.read_only_buffers import ReadOnlyBuffers
from xyntra.passes.lower.webgpu.shallow_expressions import ShallowExpressions
from xyntra.passes.lower.webgpu.shuffles_through_memory import ShufflesThroughMemory
from xyntra.passes.lower.webgpu.signed_integers import SignedIntegers
from xyntra.passes.lower.webgpu.spirv_binary import spirv_binary
from xyntra.passes.lower.webgpu.split_buffers import WINDOW, SplitBuffers
from xyntra.passes.registry import Pass

_WRITTEN = "xyntra.written"
_WORD = 4  # bytes
LEVELS = ("kernels", "stages", "gpu", "spirv")
"""The forms of a kernel on its way to SPIR-V, from functions on tensors down.

Each says all of a kernel: `lower_to` goes on from the text of any of them.
"""


@dataclass(frozen=True)
class WebgpuLaunch:
    """One launch of an entry point.

    Attributes:
        entry: its symbol.
        grid: workgroups, in two dimensions.
        block: invocations of a workgroup.
        buffers: numbers of the kernel's pointers that it is given: inputs, results that are not
            written in place, scratch slots.
        packed: numbers of pointers whose memory is copied side by side into one more buffer, and
            the words at which each begins there; empty where there is none.
        written: which of these it may write to.
        schedule: what its code was made by, in words.
        starts: the byte at which each of `buffers` is bound, 0 but for parts of large ones.
    """

    entry: str
    grid: tuple[int, int]
    block: int
    buffers: tuple[int, ...]
    packed: tuple[tuple[int, int], ...]
    written: tuple[bool, ...]
    schedule: str = ""
    starts: tuple[int, ...] = ()


@dataclass(frozen=True)
class LoweredWebgpuKernel:
    """SPIR-V of one kernel, and how it is launched.

    Attributes:
        spirv: the binary module; empty where there is nothing to launch.
        launches: in order.
        scratch: bytes of every scratch slot.
    """

    spirv: bytes
    launches: tuple[WebgpuLaunch, ...]
    scratch: tuple[int, ...]


def lower_kernel(
    module: ir.Module, architecture: str, level: str = "kernels"
) -> LoweredWebgpuKernel:
    """Lower the kernel function of `module` to SPIR-V; `module` cannot be used afterwards.

    Args:
        module: holds one kernel, in the form that it has at `level`.
        architecture: what the code is for, in the table of devices.
        level: one of `LEVELS`.

    Raises:
        CompileError: the function breaks the kernel contract, or a pass failed on it.
        UnsupportedError: it computes in f64.
    """
    return from_spirv(lower_to(module, architecture, level, "spirv"))


def lower_to(module: ir.Module, architecture: str, start: str, level: str) -> ir.Operation:
    """Lower a kernel from the level `start` to `level`; `module` cannot be used afterwards.

    Args:
        module: holds one kernel, in the form that it has at `start`.
        architecture: what the code is for.
        start: one of `LEVELS`.
        level: the same, or one below it.

    Raises:
        CompileError: the function breaks the kernel contract, or a pass failed on it.
        UnsupportedError: it computes in f64.
    """
    operation = module.operation
    function = kernel_function(operation)
    (check_contract if start == "kernels" else check_buffers)(function)
    device = device_of(architecture)
    _check_types(operation)
    with kernel_named(function), operation.context, operation.location:
        for each in LEVELS[LEVELS.index(start) : LEVELS.index(level)]:
            operation = _next_level(each, operation, device)
    return operation


def from_spirv(module: ir.Operation) -> LoweredWebgpuKernel:
    """Encode what `lower_to` returns at the level "spirv", or its parsed text.

    Raises:
        CompileError: it cannot be encoded.
    """
    launches, scratch = launches_of(module)
    code = spirv_binary(module) if launches else b""
    return LoweredWebgpuKernel(code, launches, scratch)


def launches_of(module: ir.Operation) -> tuple[tuple[WebgpuLaunch, ...], tuple[int, ...]]:
    """Return the launches of a kernel in order, and the bytes of its scratch slots."""
    host = kernel_function(module)
    found = tuple(_launch(op) for op in direct_operations_named(host, LAUNCH))
    return found, scratch_slots(host)


def without_code(module: ir.Operation) -> None:
    """Leave of a kernel in SPIR-V the launches, and the names of what they launch."""
    for op in operations_named(module, "spirv.module"):
        op.erase()
    for function in operations_named(module, "gpu.func"):
        body = [view.operation for view in entry_block(function).operations]
        for op in reversed(body[:-1]):
            op.erase()


def _next_level(level: str, module: ir.Operation, device: GpuDevice) -> ir.Operation:
    if level == "kernels":
        return to_stages(module, device)
    return to_gpu(module, device) if level == "stages" else to_spirv(module, device)


def to_spirv(module: ir.Operation, device: GpuDevice) -> ir.Operation:
    """Lower what `to_gpu` returned, or its parsed text, to SPIR-V beside the host's launches.

    Raises:
        CompileError: something in it has no code for WebGPU.
        MLIRError: a conversion failed.
        UnsupportedError: it computes in f64.
    """
    if not operations_named(module, "gpu.func"):
        return module
    before: tuple[Pass, ...] = (
        FoldGrid(),
        AllocateWorkgroupMemory(),
        ShufflesThroughMemory(),
    )
    after: tuple[Pass, ...] = (
        SignedIntegers(),
        ShallowExpressions(),
        ReadOnlyBuffers(),
    )
    for step in before:
        step.run(module)
    to_scalars(module)
    BiasedAtomics().run(module)
    ExactResiduals().run(module)
    OpaqueRoundings().run(module)
    to_words(module, device)
    NonfiniteConstants().run(module)
    SplitBuffers().run(module)
    PackBuffers().run(module)
    _check_workgroup_memory(module, device)
    LowerGpuToSpirv(device.name, is_in_words=True).run(module)
    for step in after:
        step.run(module)
    _say_what_is_written(module)
    return module


def _check_workgroup_memory(module: ir.Operation, device: GpuDevice) -> None:
    """Refuse launches for which there is too little: narrow elements are words of it by now.

    Raises:
        CompileError: `shared-memory`.
    """
    for function in operations_named(module, "gpu.func"):
        kinds = [ir.MemRefType(op.result.type) for op in operations_named(function, "memref.alloc")]
        used = sum(_bytes_of(each) for each in kinds)
        if used > device.static_bytes:
            message = f"a kernel needs {used:,} bytes of workgroup memory"
            cause = f"{device.name} has {device.static_bytes:,}"
            raise CompileError("shared-memory", message, cause=cause)


def _bytes_of(kind: ir.MemRefType) -> int:
    element = kind.element_type
    lanes = prod(element.shape) if isinstance(element, ir.VectorType) else 1
    return int(_WORD * lanes * prod(kind.shape))


def _say_what_is_written(module: ir.Operation) -> None:
    """Say of every launch which of its buffers it may write to, for the host's bindings."""
    read = {
        str(op.attributes["sym_name"].value)
        for op in operations_named(module, "spirv.GlobalVariable")
        if "non_writable" in op.attributes
    }
    for launch in operations_named(module, LAUNCH):
        segments = list(ir.DenseI32ArrayAttr(launch.attributes["operandSegmentSizes"]))
        entry = str(ir.SymbolRefAttr(launch.attributes["kernel"]).value[-1])
        written = [f"{entry}_arg_{number}" not in read for number in range(segments[ARGUMENTS])]
        with module.context:
            launch.attributes[_WRITTEN] = ir.DenseBoolArrayAttr.get(written)


def _check_types(module: ir.Operation) -> None:
    """Refuse numbers of 64 bits that WGSL cannot hold exactly."""
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        kinds = [each.type for each in [*op.operands, *op.results]]
        if any(isinstance(getattr(kind, "element_type", kind), ir.F64Type) for kind in kinds):
            found.append(op)
            return ir.WalkResult.INTERRUPT
        return ir.WalkResult.ADVANCE

    module.walk(visit)
    if found:
        raise UnsupportedError(
            "webgpu-f64",
            "WebGPU has no 64-bit floating-point numbers",
            cause="the model computes in float64",
            hint="convert the model to float32, or compile it for target 'cpu'",
        )


def _launch(op: ir.Operation) -> WebgpuLaunch:
    segments = list(ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"]))
    given = list(op.operands)[sum(segments[:ARGUMENTS]) :]
    whole = given[-1].owner if given else None
    packed = not isinstance(whole, ir.Block) and whole is not None and OFFSETS in whole.attributes
    buffers = given[:-1] if packed else given
    return WebgpuLaunch(
        entry=str(ir.SymbolRefAttr(op.attributes["kernel"]).value[-1]),
        grid=(_number(op.operands[GRID - 1]), _number(op.operands[GRID])),
        block=_number(op.operands[BLOCK - 1]),
        buffers=tuple(map(_argument, buffers)),
        packed=_packed(whole) if packed else (),
        written=tuple(ir.DenseBoolArrayAttr(op.attributes[_WRITTEN])),
        schedule=str(op.attributes[SCHEDULE].value) if SCHEDULE in op.attributes else "",
        starts=tuple(map(_start, buffers)),
    )


def _number(value: ir.Value) -> int:
    return int(ir.IntegerAttr(value.owner.attributes["value"]).value)


def _packed(op: ir.Operation) -> tuple[tuple[int, int], ...]:
    starts = list(ir.DenseI64ArrayAttr(op.attributes[OFFSETS]))
    return tuple(zip(map(_argument, op.operands), map(int, starts), strict=True))


def _start(value: ir.Value) -> int:
    """Return the byte of its buffer at which something begins."""
    is_part = not isinstance(value.owner, ir.Block) and WINDOW in value.owner.attributes
    return int(ir.IntegerAttr(value.owner.attributes[WINDOW]).value) if is_part else 0


def _argument(value: ir.Value) -> int:
    """Return the number of the kernel's pointer that something is a view of."""
    while not isinstance(value.owner, ir.Block):
        value = value.owner.operands[0]
    return int(ir.BlockArgument(value).arg_number)

# SPDX-License-Identifier: MIT OR Apache-2.0
"""`lower-gpu-to-spirv`: a `gpu.module` becomes SPIR-V for Vulkan, by MLIR's own conversions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.kernel_function import operations_named
from xyntra.passes.lower.gpu.device import WEBGPU, Feature, GpuDevice, device_of
from xyntra.passes.lower.gpu.spirv.allocate_workgroup_memory import AllocateWorkgroupMemory
from xyntra.passes.lower.gpu.spirv.drop_unused_buffers import DropUnusedBuffers
from xyntra.passes.lower.gpu.spirv.exact_remainders import ExactRemainders
from xyntra.passes.lower.gpu.spirv.flatten_memory import FlattenMemory
from xyntra.passes.lower.gpu.spirv.nan_safe_compares import NanSafeCompares
from xyntra.passes.lower.gpu.spirv.narrow_floats_as_bits import NarrowFloatsAsBits
from xyntra.passes.lower.gpu.spirv.scalarize_vectors import ScalarizeVectors
from xyntra.passes.lower.gpu.spirv.small_integers_as_words import SmallIntegersAsWords
from xyntra.passes.lower.gpu.spirv.split_wide_integers import SplitWideIntegers
from xyntra.passes.lower.gpu.spirv.vector_memory import VectorMemory
from xyntra.passes.lower.upstream import run_upstream
from xyntra.passes.registry import Pass, register_pass

_SIMPLER = "gpu.module(fold-memref-alias-ops,lower-affine,canonicalize,cse)"
_EXPAND = "gpu.module(arith-expand,canonicalize,cse)"
_CONVERSIONS = (
    "gpu.module(convert-math-to-spirv),"
    "map-memref-spirv-storage-class{client-api=vulkan},convert-gpu-to-spirv,"
    "spirv.module(spirv-lower-abi-attrs,spirv-update-vce,canonicalize,cse)"
)
_CAPABILITIES = "Shader, GroupNonUniform, GroupNonUniformArithmetic, GroupNonUniformShuffle"
_EXTENSIONS = "SPV_KHR_storage_buffer_storage_class, SPV_KHR_16bit_storage"
_NUMBERS = {"f64": ["Float64"], "f16": ["Float16", "StorageBuffer16BitAccess"]}
"""What else a module needs, by the types in it. All integers are words by then."""


@register_pass
@dataclass(frozen=True)
class LowerGpuToSpirv:
    """Lower the `gpu.module` that `lower-to-gpu` makes to a `spirv.module` beside it.

    What was a function is an entry point, which takes each buffer as a descriptor, in order. It
    computes in f32, i32 and booleans alone, but for f64.
    """

    name: ClassVar[str] = "lower-gpu-to-spirv"
    device: str = WEBGPU.name
    """What the code is for: says how many threads a subgroup has."""
    is_in_words: bool = False
    """Whether there are only scalars, flat memory and numbers of 32 bits."""

    def run(self, module: ir.Operation) -> None:
        """Rewrite `module`.

        Raises:
            CompileError: it works on vectors, or memory, of a kind that is not known.
            MLIRError: something in it has no SPIR-V.
        """
        device = device_of(self.device)
        if not self.is_in_words:
            to_scalars(module)
            to_words(module, device)
        with module.context, module.location:
            _describe(module, device)
            run_upstream(module, _CONVERSIONS)
            _order_buffers(module)


def to_scalars(module: ir.Operation) -> None:
    """Leave scalars, and flat memory, of the code of a `gpu.module`.

    Raises:
        CompileError: it works on vectors, or memory, of a kind that is not known.
        MLIRError: the IR is invalid.
    """
    AllocateWorkgroupMemory().run(module)
    run_upstream(module, _SIMPLER)
    FlattenMemory().run(module)
    VectorMemory().run(module)
    ScalarizeVectors().run(module)


def to_words(module: ir.Operation, device: GpuDevice) -> None:
    """Leave numbers of 32 bits, f64, and f16 where the device has it, of what there is.

    Raises:
        CompileError: an operation on other numbers is not known.
        MLIRError: the IR is invalid.
    """
    steps: tuple[Pass, ...] = (
        NarrowFloatsAsBits(device.has(Feature.SHADER_F16)),
        SplitWideIntegers(),
        SmallIntegersAsWords(),
    )
    for step in steps:
        step.run(module)
    ExactRemainders().run(module)
    run_upstream(module, _EXPAND)
    DropUnusedBuffers().run(module)
    NanSafeCompares().run(module)


def _order_buffers(module: ir.Operation) -> None:
    """Let barriers order buffers as well, where one is written and read: MLIR's do not.

    Those of `gpu.barrier` order all memory. No two buffers of a launch share memory if it writes to
    one of them.
    """
    whole = "AcquireRelease|UniformMemory|WorkgroupMemory"
    for function in operations_named(module, "spirv.func"):
        loaded = _buffers(function, "spirv.Load")
        if loaded & _buffers(function, "spirv.Store") or _buffers(function, "spirv.Atomic"):
            for op in operations_named(function, "spirv.ControlBarrier"):
                semantics = ir.Attribute.parse(f"#spirv.memory_semantics<{whole}>")
                op.attributes["memory_semantics"] = semantics


def _buffers(function: ir.Operation, access: str) -> set[str]:
    """Return the names of the buffers that some operations touch, by the beginning of a name."""
    found: set[str] = set()

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name.startswith(access) and "StorageBuffer" in str(op.operands[0].type):
            owner = op.operands[0].owner
            while owner.name == "spirv.AccessChain":
                owner = owner.operands[0].owner
            found.add(str(owner.attributes["variable"].value))
        return ir.WalkResult.ADVANCE

    function.walk(visit)
    return found


def _describe(module: ir.Operation, device: GpuDevice) -> None:
    """Say what MLIR wants to know of the target, and of each entry point."""
    limits = f"#spirv.resource_limits<subgroup_size = {device.subgroup}>"
    types = _types(module)
    numbers = [each for name in sorted(types & _NUMBERS.keys()) for each in _NUMBERS[name]]
    capabilities = ", ".join([_CAPABILITIES, *numbers])
    module.attributes["spirv.target_env"] = ir.Attribute.parse(
        f"#spirv.target_env<#spirv.vce<v1.3, [{capabilities}], [{_EXTENSIONS}]>, "
        f"api=Vulkan, {limits}>"
    )
    for function in operations_named(module, "gpu.func"):
        size = list(ir.DenseI32ArrayAttr(function.attributes["known_block_size"]))
        function.attributes["spirv.entry_point_abi"] = ir.Attribute.parse(
            f"#spirv.entry_point_abi<workgroup_size = {size}>"
        )


def _types(module: ir.Operation) -> set[str]:
    """Return the names of all types of elements and scalars."""
    found: set[str] = set()

    def visit(op: ir.Operation) -> ir.WalkResult:
        for value in [*op.operands, *op.results]:
            found.add(str(getattr(value.type, "element_type", value.type)))
        return ir.WalkResult.ADVANCE

    module.walk(visit)
    return found

# SPDX-License-Identifier: MIT OR Apache-2.0
"""`narrow-floats-as-bits`: f16 and bf16 are their bits in memory, and f32 where one computes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from torch_mlir.dialects import arith

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.errors import CompileError
from xyntra.passes.analysis.kernel_function import function_name, operations_named
from xyntra.passes.lower.gpu.spirv.f16_memory import f16_can_stay
from xyntra.passes.lower.gpu.spirv.flat_signature import FUNCTION, pass_memory, set_inputs
from xyntra.passes.lower.upstream import run_upstream
from xyntra.passes.math.values import Builder, Float, Int
from xyntra.passes.registry import register_pass

_TO_F32 = (
    "gpu.module(math-extend-to-supported-types,"
    "arith-emulate-unsupported-floats{source-types=f16,bf16 target-type=f32})"
)
_MOVES = ("arith.select", "memref.load", "memref.store", "memref.alloc", "scf.")
"""Operations that pass a number on without a look at it."""


@register_pass
@dataclass(frozen=True)
class NarrowFloatsAsBits:
    """Let every `gpu.func` compute with f32 where it has f16 and bf16, and keep these as i16.

    Each result is rounded to its type as before, by integer arithmetic, which knows subnormal
    numbers, infinities and NaN on any GPU. WGSL has f16 on some GPUs only, and no bf16; MLIR's
    conversion to SPIR-V would take memory of f32 for them. `flatten-memory` and
    `scalarize-vectors` go before.

    Where the device has f16, memory of f16 can stay, and its instructions round to it.
    """

    name: ClassVar[str] = "narrow-floats-as-bits"
    keeps_f16: bool = False
    """Leave f16 in modules that do no more with it than move and convert it."""

    def run(self, module: ir.Operation) -> None:
        """Rewrite the functions and launches of `module`.

        Raises:
            CompileError: an operation on such numbers is not known.
        """
        run_upstream(module, _TO_F32)
        stays = ir.F16Type if self.keeps_f16 and f16_can_stay(module) else None
        with module.context, module.location:
            for function in operations_named(module, FUNCTION):
                _rewrite(function, stays)
            pass_memory(module, lambda kind: _of_bits(kind, stays))


def _bits() -> ir.Type:
    return ir.IntegerType.get_signless(16)


def _is_narrow(kind: ir.Type, stays: type | None) -> bool:
    element = getattr(kind, "element_type", kind)
    is_kept = stays is not None and isinstance(element, stays)
    return isinstance(element, (ir.F16Type, ir.BF16Type)) and not is_kept


def _of_bits(kind: ir.Type, stays: type | None) -> ir.Type:
    if not _is_narrow(kind, stays):
        return kind
    if not isinstance(kind, ir.MemRefType):
        return _bits()
    return ir.MemRefType.get(kind.shape, _bits(), kind.layout, kind.memory_space)


def _rewrite(function: ir.Operation, stays: type | None) -> None:
    found: list[ir.Operation] = []
    values: list[ir.Value] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        arguments = [each for region in op.regions for block in region for each in block.arguments]
        own = [each for each in [*op.results, *arguments] if _is_narrow(each.type, stays)]
        values.extend(own)
        if own or any(_is_narrow(each.type, stays) for each in op.operands):
            found.append(op)
        return ir.WalkResult.ADVANCE

    function.walk(visit)
    if not found:
        return
    computing = [op for op in found if op != function and not op.name.startswith(_MOVES)]
    plans = [(op, _plan(function, op)) for op in computing]
    for value in values:
        value.set_type(_of_bits(value.type, stays))
    for op, plan in plans:
        with op.location, ir.InsertionPoint(op):
            op.result.replace_all_uses_with(plan(op))
    for op, _ in reversed(plans):
        op.erase()
    set_inputs(function)


_Plan = Callable[[ir.Operation], ir.Value]


def _plan(function: ir.Operation, op: ir.Operation) -> _Plan:
    """Return what emits the value of an operation, once its operands are bits.

    It is called with the types of before.
    """
    kinds = [op.operands[0].type if op.operands else None, op.result.type if op.results else None]
    if op.name == "arith.constant":
        return _constant
    if op.name == "arith.bitcast":
        return lambda op: op.operands[0]
    if op.name == "arith.extf" and isinstance(kinds[1], ir.F32Type):
        return _bf16_to_f32 if isinstance(kinds[0], ir.BF16Type) else _f16_to_f32
    if op.name == "arith.truncf" and isinstance(kinds[0], ir.F32Type):
        return _f32_to_bf16 if isinstance(kinds[1], ir.BF16Type) else _f32_to_f16
    place = f"function '{function_name(function)}'"
    message = f"{op.name} of numbers of 16 bits has no code in f32"
    raise CompileError("gpu-narrow-floats", message, place=place)


def _constant(op: ir.Operation) -> ir.Value:
    text = str(op.attributes["value"].type)
    value = ir.FloatAttr(op.attributes["value"]).value
    attribute = ir.IntegerAttr.get(_bits(), _signed(_encoded(value, text)))
    return emit("arith.constant", [], _bits(), value=attribute)


def _encoded(value: float, kind: str) -> int:
    import ml_dtypes
    import numpy as np

    dtype = np.dtype(np.float16 if kind == "f16" else ml_dtypes.bfloat16)
    with np.errstate(over="ignore", invalid="ignore"):
        return int(np.array(value).astype(dtype).view(np.uint16))


def _signed(bits: int) -> int:
    return bits - (1 << 16) if bits >> 15 else bits


def _word(value: ir.Value) -> Int:
    build = Builder(ir.F32Type.get())
    return Int(build, emit("arith.extui", [value], build.int_type))


def _half(value: Int) -> ir.Value:
    return emit("arith.trunci", [value.value], _bits())


def _f32_bits(value: ir.Value) -> Int:
    return Float(Builder(ir.F32Type.get()), value).bits()


def _bf16_to_f32(op: ir.Operation) -> ir.Value:
    return (_word(op.operands[0]) << 16).as_float().value


def _f32_to_bf16(op: ir.Operation) -> ir.Value:
    bits = _f32_bits(op.operands[0])
    even = bits.shift_right_logical(16) & 1
    rounded = (bits + even + 0x7FFF).shift_right_logical(16)
    is_nan = (bits & 0x7FFFFFFF) > 0x7F800000
    quiet = bits.shift_right_logical(16) | 0x40
    return _half(is_nan.select_int(quiet, rounded))


def _f16_to_f32(op: ir.Operation) -> ir.Value:
    word = _word(op.operands[0])
    size = word & 0x7FFF
    sign = (word & 0x8000) << 16
    # Exponents are 112 apart; that of infinities and NaN is the highest of either type.
    normal = (size << 13) + (112 << 23)
    largest = (size << 13) + (224 << 23)
    # Subnormal numbers are multiples of 2**-24, normal ones in f32.
    small = (size.to_float() * 2.0**-24).bits()
    found = (size < 0x400).select_int(small, (size < 0x7C00).select_int(normal, largest))
    return (found | sign).as_float().value


def _f32_to_f16(op: ir.Operation) -> ir.Value:
    bits = _f32_bits(op.operands[0])
    build = bits.build
    sign = bits.shift_right_logical(16) & 0x8000
    size = bits & 0x7FFFFFFF
    even = size.shift_right_logical(13) & 1
    normal = (size + even + 0xFFF - (112 << 23)).shift_right_logical(13)
    # Below 2**-14 there are multiples of 2**-24.
    scaled = (size < (113 << 23)).select_int(size, 0).as_float() * 2.0**24
    whole = scaled.round_even()
    small = Int(build, arith.fptosi(build.int_type, whole.value))
    found = (size < (113 << 23)).select_int(small, normal)
    found = (size < 0x477FF000).select_int(found, 0x7C00)  # from 65520 on: infinity
    found = (size > 0x7F800000).select_int(0x7E00, found)
    return _half(found | sign)

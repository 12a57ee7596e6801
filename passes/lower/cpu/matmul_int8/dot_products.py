# SPDX-License-Identifier: MIT OR Apache-2.0
"""Sums of products of neighbouring narrow integers, with the instructions that processors have."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

from torch_mlir.dialects import arith

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.loops import integers

__all__ = ["KINDS", "DotProduct", "dot_product", "small_dot_product"]

KINDS = ("none", "pairs", "quads", "pmaddwd", "vnni")
"""What a processor can do: nothing of use, or products of 16-bit pairs or 8-bit quads into 32 bits.

`pairs` and `quads` use vector arithmetic that every processor has; `pmaddwd` is x86's instruction
for pairs (SSE2 to AVX-512BW), `vnni` its instructions for pairs and quads (AVX-VNNI, AVX512-VNNI).
"""

_PMADDWD = {4: "sse2.pmadd.wd", 8: "avx2.pmadd.wd", 16: "avx512.pmaddw.d.512"}
_PMADDUBSW = {8: "avx2.pmadd.ub.sw", 16: "avx512.pmaddubs.w.512"}


@dataclass(frozen=True)
class DotProduct:
    """Products of `group` neighbouring integers, added to a 32-bit accumulator.

    Sums are exact modulo 2**32. In particular nothing saturates: `vpmaddubsw`, which does, is used
    for quads by `pmaddwd` alone, of which the unsigned integers are known to be small.

    Attributes:
        kind: one of `KINDS` other than `none`.
        group: 2 signed 16-bit integers, or 4 integers of 8 bits, of which one factor's are signed
            and the other's are not.
    """

    kind: str
    group: int

    @property
    def bits(self) -> int:
        """Width of the integers that are multiplied."""
        return 32 // self.group

    def accumulate(self, total: ir.Value, unsigned: ir.Value, signed: ir.Value) -> ir.Value:
        """Return `total` plus the products of two vectors of `group` times as many elements.

        Args:
            total: vector of 32-bit integers.
            unsigned: one factor, of unsigned integers where `group` is 4.
            signed: the other factor, of signed integers.
        """
        lanes = ir.VectorType(total.type).shape[0]
        if self.kind == "pmaddwd" and self.group == 4:
            return integers.addi(total, _sums_of_quads(unsigned, signed, total.type))
        if self.kind == "pmaddwd":
            name = f"llvm.x86.{_PMADDWD[lanes]}"
            return integers.addi(total, _intrinsic(name, [signed, unsigned], total.type))
        if self.kind == "vnni":
            instruction = "vpdpwssd" if self.group == 2 else "vpdpbusd"
            name = f"llvm.x86.avx512.{instruction}.{32 * lanes}"
            return _intrinsic(name, [total, unsigned, signed], total.type)
        first = "arith.extsi" if self.group == 2 else "arith.extui"
        products = [
            integers.muli(
                self._every(unsigned, number, first, total.type),
                self._every(signed, number, "arith.extsi", total.type),
            )
            for number in range(self.group)
        ]
        return reduce(arith.addi, products, total)

    def _every(self, vector: ir.Value, first: int, widen: str, wide: ir.Type) -> ir.Value:
        """Return every `group`-th element from `first` on, widened to 32 bits."""
        source = ir.VectorType(vector.type)
        chosen = list(range(first, source.shape[0], self.group))
        kind = ir.VectorType.get([len(chosen)], source.element_type)
        mask = ir.DenseI64ArrayAttr.get(chosen)
        return emit(widen, [emit("vector.shuffle", [vector, vector], kind, mask=mask)], wide)


def dot_product(kind: str, bits: int) -> DotProduct | None:
    """Return what multiplies integers of at most `bits` bits; None where plain loops do as well."""
    if kind == "none":
        return None
    is_quad = bits == 8 and kind in ("quads", "vnni")
    return DotProduct("pairs" if kind == "quads" and not is_quad else kind, 4 if is_quad else 2)


def small_dot_product(kind: str, lanes: int) -> DotProduct:
    """Return what multiplies integers of 8 bits, of which the unsigned ones are 127 at most.

    Args:
        kind: one of `KINDS`.
        lanes: elements of an accumulator.
    """
    if kind == "vnni" or (kind == "pmaddwd" and lanes in _PMADDUBSW):
        return DotProduct(kind, 4)
    return DotProduct("quads", 4)


def _sums_of_quads(unsigned: ir.Value, signed: ir.Value, kind: ir.Type) -> ir.Value:
    """Return sums of four products: two add up to 127 * 128 * 2 at most, which 16 bits hold."""
    lanes = ir.VectorType(kind).shape[0]
    half = ir.IntegerType.get_signless(16)
    halves = ir.VectorType.get([2 * lanes], half)
    pairs = _intrinsic(f"llvm.x86.{_PMADDUBSW[lanes]}", [unsigned, signed], halves)
    value = ir.DenseElementsAttr.get_splat(halves, ir.IntegerAttr.get(half, 1))
    ones = emit("arith.constant", [], halves, value=value)
    return _intrinsic(f"llvm.x86.{_PMADDWD[lanes]}", [pairs, ones], kind)


def _intrinsic(name: str, operands: list[ir.Value], result: ir.Type) -> ir.Value:
    return emit(
        "llvm.call_intrinsic",
        operands,
        result,
        intrin=ir.StringAttr.get(name),
        op_bundle_sizes=ir.DenseI32ArrayAttr.get([]),
        operandSegmentSizes=ir.DenseI32ArrayAttr.get([len(operands), 0]),
    )

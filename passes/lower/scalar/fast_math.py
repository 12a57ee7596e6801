# SPDX-License-Identifier: MIT OR Apache-2.0
"""`fast-math`: what LLVM may assume of floating-point arithmetic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.kernel_function import operations_named, terminator
from xyntra.passes.registry import register_pass

_PRODUCT = "arith.mulf"
_SUMS = ("arith.addf", "arith.subf")
_ASSOCIATIVE = ("arith.addf", "arith.mulf")
_EXTREMES = ("arith.maximumf", "arith.minimumf")


@register_pass
@dataclass(frozen=True)
class FastMath:
    """Allow fused multiply-adds, and any order in the sums and products of reductions.

    NaN and infinities keep their meaning; so do signed zeros, but that the larger or smaller of two
    zeros may be either of them. Conversions between widths are left alone:
    contracting them would drop a rounding that the model asks for. So are products with more than
    one use: were one use fused, |p| - p would be the rounding error of p where p is positive, and
    not 0; and the product is computed in any case. Operations that have flags already keep them.
    """

    name: ClassVar[str] = "fast-math"

    def run(self, module: ir.Operation) -> None:
        """Set the flags of every operation below `module`."""
        with module.context:
            reassociate = ir.Attribute.parse("#arith.fastmath<reassoc,contract>")
            contract = ir.Attribute.parse("#arith.fastmath<contract>")
            any_zero = ir.Attribute.parse("#arith.fastmath<nsz>")
        for generic in operations_named(module, "linalg.generic"):
            for op in _accumulations(generic):
                _set_flags(op, reassociate)
        products = operations_named(module, _PRODUCT)
        uses = Counter(_factors(op) for op in products for _ in _uses(op))
        for op in [*products, *operations_named(module, *_SUMS)]:
            if op.name != _PRODUCT or uses[_factors(op)] == 1:
                _set_flags(op, contract)
        for op in operations_named(module, *_EXTREMES):
            _set_flags(op, any_zero)


def _accumulations(generic: ir.Operation) -> Iterator[ir.Operation]:
    """Yield the operations that combine a reduction's accumulator with one more element."""
    if "reduction" not in str(generic.attributes["iterator_types"]):
        return
    body = generic.regions[0].blocks[0]
    results = list(terminator(body).operands)
    accumulators = list(body.arguments)[-len(results) :]
    for accumulator, result in zip(accumulators, results, strict=True):
        uses = list(accumulator.uses)
        if len(uses) == 1 and uses[0].owner.operation.name in _ASSOCIATIVE:
            op = uses[0].owner.operation
            if op.result == result:
                yield op


def _uses(op: ir.Operation) -> Iterator[ir.Operation]:
    """Yield what uses the result of `op`; twice what gives it to loops that may be many."""
    for use in op.result.uses:
        yield use.owner.operation
        if use.owner.operation.name == "linalg.yield":
            yield use.owner.operation


def _factors(op: ir.Operation) -> frozenset[ir.Value]:
    return frozenset(op.operands)


def _set_flags(op: ir.Operation, flags: ir.Attribute) -> None:
    if "none" in str(op.attributes.get("fastmath", "none")):
        op.attributes["fastmath"] = flags

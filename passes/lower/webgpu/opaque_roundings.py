# SPDX-License-Identifier: MIT OR Apache-2.0
"""`opaque-roundings`: sums that are computed for their rounding cannot be simplified away."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.kernel_function import operations_named
from xyntra.passes.analysis.owners import constant_attribute
from xyntra.passes.lower.webgpu.hidden_zero import hidden, hidden_zero
from xyntra.passes.registry import register_pass

_SUMS = ("arith.addf", "arith.subf")
_FMA = "math.fma"
_ZERO = (0.0).hex()


@register_pass
@dataclass(frozen=True)
class OpaqueRoundings:
    """Hide from the compiler of a GPU where a sum comes from, where a summand is taken off again.

    `(x + 12582912) - 12582912` rounds x to an integer, `x + 0` takes the sign off a zero, and
    `b - ((a + b) - a)` is what adding has lost: WGSL lets an implementation reassociate that, and
    MLIR's SPIR-V cannot forbid it. The bits of such a sum are combined with the third number of the
    workgroup, which is zero, as only the host knows. `scalarize-vectors` goes before.
    """

    name: ClassVar[str] = "opaque-roundings"

    def run(self, module: ir.Operation) -> None:
        """Rewrite the sums of f32 in the functions of `module`."""
        with module.context:
            for function in operations_named(module, "gpu.func"):
                _rewrite(function)


def _rewrite(function: ir.Operation) -> None:
    found = [
        (op, number)
        for op in operations_named(function, *_SUMS, _FMA)
        if isinstance(op.result.type, ir.F32Type)
        for number in _cancelling(op)
    ]
    if not found:
        return
    zero = hidden_zero(function)
    for op, place in found:
        with op.location, ir.InsertionPoint(op):
            op.operands[place] = hidden(op.operands[place], zero)


def _cancelling(op: ir.Operation) -> Iterator[int]:
    """Yield the operands of a sum that are sums of the other operand and something.

    Of a product and a sum, the summand that takes another multiple of the same factor, as where a
    constant is taken off in two parts.
    """
    if op.name == _FMA:
        inner = None if isinstance(op.operands[2].owner, ir.Block) else op.operands[2].owner
        if inner is not None and inner.name == _FMA:
            factors = {_key(each) for each in list(inner.operands)[:2]}
            if not factors.isdisjoint(map(_key, list(op.operands)[:2])):
                yield 2
        return
    for number in (0, 1):
        inner, other = op.operands[number], op.operands[1 - number]
        summands = {_key(each) for each in _summands(inner)}
        if _key(other) in summands or _key(inner) == _ZERO:
            yield number


def _summands(value: ir.Value) -> list[ir.Value]:
    if isinstance(value.owner, ir.Block):
        return []
    op = value.owner.operation
    if op.name in _SUMS:
        return list(op.operands)
    return [op.operands[2]] if op.name == _FMA else []


def _key(value: ir.Value) -> object:
    """Return what is the same for equal values, whatever their signs."""
    attribute = constant_attribute(value)
    if attribute is not None:
        return str(abs(ir.FloatAttr(attribute).value).hex())
    if not isinstance(value.owner, ir.Block) and value.owner.name == "arith.negf":
        return _key(value.owner.operands[0])
    return value

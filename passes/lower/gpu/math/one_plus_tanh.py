# SPDX-License-Identifier: MIT OR Apache-2.0
"""1 + tanh(x), the larger part of a GELU by tanh, by way of the GPU's exponential.

It is 2 / (1 + 2**(-2 log2(e) x)), by instructions that are exact to 2**-22.5 and 2**-23, so that
the error is at most 7e-7, and where x is negative at most 4e-7 + |x| 2e-7 of the result. Zero and 2
are the limits.
"""

from __future__ import annotations

from math import e, log2

from torch_mlir.dialects import arith

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.gpu.math.placeholders import expand, f32_constant, hide_one_plus

_NAME = "xyntra.one_plus_tanh"
_APPROXIMATE = "#arith.fastmath<afn>"


def hide_one_plus_tanh(module: ir.Operation) -> None:
    """Put a placeholder where 1 is added to the tanh of an f32, which nothing else reads."""
    hide_one_plus(module, "math.tanh", _NAME)


def expand_one_plus_tanh(module: ir.Operation) -> None:
    """Put arithmetic in the place of what `hide_one_plus_tanh` has left."""
    expand(module, _NAME, lambda x, _: _one_plus_tanh(x))


def _one_plus_tanh(x: ir.Value) -> ir.Value:
    kind, flags = x.type, ir.Attribute.parse(_APPROXIMATE)
    exponent = arith.mulf(x, f32_constant(-2 * log2(e)))
    power = emit("math.exp2", [exponent], kind, fastmath=flags)
    below = arith.addf(f32_constant(1.0), power)
    share = emit("arith.divf", [f32_constant(1.0), below], kind, fastmath=flags)
    return arith.mulf(f32_constant(2.0), share)

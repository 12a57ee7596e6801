# SPDX-License-Identifier: MIT OR Apache-2.0
"""`xyntra.layer_norm`: (x - mean) / sqrt(variance + epsilon) * scale + bias.

As ONNX LayerNormalization-17 without its two optional outputs.
"""

from typing import Any, Optional

from xyntra.dialects.base import Operand, Pure, Result, Xyntra, ir
from xyntra.dialects.verify import (
    check_axis,
    check_broadcastable,
    check_epsilon,
    check_result_like,
    float_tensor,
    optional_operand,
    verifier,
)

__all__ = ["LayerNormOp"]


class LayerNormOp(Xyntra.Operation, name="layer_norm", traits=[Pure]):
    """Normalises dimensions `axis` to the last of `x`; the result is as `x`.

    `x` is a ranked tensor of f16/bf16/f32/f64; mean and variance are those of the population.
    `scale` and `bias` are optional, of the element type of `x`, broadcast to its trailing
    dimensions. `axis` is an i64, not negative; `epsilon` an f32.
    """

    x: Operand[Any]
    axis: ir.IntegerAttr
    epsilon: ir.FloatAttr
    result: Result[Any]
    scale: Optional[Operand[Any]] = None  # noqa: UP045  (the bindings read this form)
    bias: Optional[Operand[Any]] = None  # noqa: UP045

    @staticmethod
    @verifier
    def verify_region_invariants(op: Any) -> None:
        """Check types, the range of `axis` and `epsilon`, and the shapes of scale and bias."""
        source = float_tensor(op.operation.operands[0], "the input")
        check_axis(op.axis, source.rank)
        check_epsilon(op.epsilon)
        check_result_like(op, source)
        for segment, role in ((1, "scale"), (2, "bias")):
            value = optional_operand(op, segment)
            if value is not None:
                check_broadcastable(value, role, source)

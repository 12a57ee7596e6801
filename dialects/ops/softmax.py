# SPDX-License-Identifier: MIT OR Apache-2.0
"""`xyntra.softmax`: exp(x - max) / sum(exp(x - max)) along one axis, as ONNX Softmax-13."""

from typing import Any

from xyntra.dialects.base import Operand, Pure, Result, Xyntra, ir
from xyntra.dialects.verify import check_axis, check_result_like, float_tensor, verifier

__all__ = ["SoftmaxOp"]


class SoftmaxOp(Xyntra.Operation, name="softmax", traits=[Pure]):
    """`x`: a ranked tensor of f16/bf16/f32/f64; `axis`: i64, not negative; the result is as `x`.

    A NaN makes its whole row NaN, and so does a row of which the maximum is infinite.
    """

    x: Operand[Any]
    axis: ir.IntegerAttr
    result: Result[Any]

    @staticmethod
    @verifier
    def verify_region_invariants(op: Any) -> None:
        """Check types and the range of `axis`."""
        source = float_tensor(op.x, "the input")
        check_axis(op.axis, source.rank)
        check_result_like(op, source)

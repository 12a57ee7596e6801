# SPDX-License-Identifier: MIT OR Apache-2.0
"""`xyntra.silu`: x * sigmoid(x), elementwise."""

from typing import Any

from xyntra.dialects.base import Operand, Pure, Result, Xyntra
from xyntra.dialects.verify import check_result_like, float_tensor, verifier

__all__ = ["SiluOp"]


class SiluOp(Xyntra.Operation, name="silu", traits=[Pure]):
    """`x`: a ranked tensor of f16/bf16/f32/f64; the result is as `x`."""

    x: Operand[Any]
    result: Result[Any]

    @staticmethod
    @verifier
    def verify_region_invariants(op: Any) -> None:
        """Check types."""
        check_result_like(op, float_tensor(op.x, "the input"))

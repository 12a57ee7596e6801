# SPDX-License-Identifier: MIT OR Apache-2.0
"""`xyntra.gelu`: the Gaussian error linear unit, as ONNX Gelu-20."""

from typing import Any, Literal, get_args

from xyntra.dialects.base import Operand, Pure, Result, Xyntra, ir
from xyntra.dialects.verify import Rejected, check_result_like, float_tensor, verifier

__all__ = ["Approximation", "GeluOp"]

Approximation = Literal["none", "tanh"]


class GeluOp(Xyntra.Operation, name="gelu", traits=[Pure]):
    """`x`: a ranked tensor of f16/bf16/f32/f64; the result is as `x`.

    `approximate` is "none", x/2 (1 + erf(x / sqrt 2)), or "tanh",
    x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))).
    """

    x: Operand[Any]
    approximate: ir.StringAttr
    result: Result[Any]

    @staticmethod
    @verifier
    def verify_region_invariants(op: Any) -> None:
        """Check types and the name of the approximation."""
        check_result_like(op, float_tensor(op.x, "the input"))
        if op.approximate.value not in get_args(Approximation):
            raise Rejected(f'expects \'approximate\' to be "none" or "tanh", got {op.approximate}')

# SPDX-License-Identifier: MIT OR Apache-2.0
"""`xyntra.yield`: ends the region of a `xyntra.fused` or `xyntra.stage`."""

from collections.abc import Sequence
from typing import Any

from xyntra.dialects.base import Operand, Pure, Terminator, Xyntra, ir
from xyntra.dialects.segments import SEGMENTS, assign_segments
from xyntra.dialects.verify import Rejected, verifier

__all__ = ["YieldOp", "make_yield"]


class YieldOp(Xyntra.Operation, name="yield", traits=[Terminator, Pure]):
    """Its operands, in order, are the results of the enclosing `xyntra.fused`; a stage has none.

    They are spread over groups of one type each; `make_yield` does it.
    """

    __annotations__ = {f"values{i}": Sequence[Operand[Any]] for i in range(SEGMENTS)}

    @staticmethod
    @verifier
    def verify_region_invariants(op: Any) -> None:
        """Check that the op ends the region of a `xyntra.fused` or `xyntra.stage`."""
        parent = op.operation.parent
        name = parent.name if parent is not None else "nothing"
        if name not in ("xyntra.fused", "xyntra.stage"):
            raise Rejected(f"expects to be inside 'xyntra.fused' or 'xyntra.stage', not '{name}'")


def make_yield(
    values: Sequence[ir.Value],
    *,
    loc: ir.Location | None = None,
    ip: ir.InsertionPoint | None = None,
) -> ir.Operation:
    """Create a `xyntra.yield` of `values`, in the order of the results of the op around it."""
    sizes = assign_segments([value.type for value in values]).sizes
    return ir.Operation.create(
        "xyntra.yield",
        operands=list(values),
        attributes={"operandSegmentSizes": ir.DenseI32ArrayAttr.get(sizes)},
        loc=loc,
        ip=ip,
    )

# SPDX-License-Identifier: MIT OR Apache-2.0
"""`xyntra.yield`: ends the region of `xyntra.fused` and names its results."""

from collections.abc import Sequence
from typing import Any

from xyntra.dialects.base import Operand, Pure, Terminator, Xyntra, ir
from xyntra.dialects.segments import SEGMENTS, assign_segments
from xyntra.dialects.verify import Rejected, verifier

__all__ = ["YieldOp", "make_yield"]


class YieldOp(Xyntra.Operation, name="yield", traits=[Terminator, Pure]):
    """Its operands, in order, are the results of the enclosing `xyntra.fused`.

    They are spread over groups of one type each; `make_yield` does it.
    """

    __annotations__ = {f"values{i}": Sequence[Operand[Any]] for i in range(SEGMENTS)}

    @staticmethod
    @verifier
    def verify_region_invariants(op: Any) -> None:
        """Check that the op ends the region of a `xyntra.fused`."""
        parent = op.operation.parent
        name = parent.name if parent is not None else "nothing"
        if name != "xyntra.fused":
            raise Rejected(f"expects to be inside 'xyntra.fused', not '{name}'")


def make_yield(
    values: Sequence[ir.Value],
    *,
    loc: ir.Location | None = None,
    ip: ir.InsertionPoint | None = None,
) -> ir.Operation:
    """Create a `xyntra.yield` of `values`, which stand in the order of the fused op's results."""
    sizes = assign_segments([value.type for value in values]).sizes
    return ir.Operation.create(
        "xyntra.yield",
        operands=list(values),
        attributes={"operandSegmentSizes": ir.DenseI32ArrayAttr.get(sizes)},
        loc=loc,
        ip=ip,
    )

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Defines verifiers of ops: how they reject, and the checks that several ops need.

A Python exception that leaves a verifier crosses MLIR's C++ frames and reaches the user as it is,
so every verifier goes through `verifier`, which turns a `Rejected` into a diagnostic.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from xyntra.dialects.base import ir

__all__ = [
    "Rejected",
    "check_axis",
    "check_broadcastable",
    "check_epsilon",
    "check_result_like",
    "float_tensor",
    "optional_operand",
    "verifier",
]

FLOATS = ("f16", "bf16", "f32", "f64")


class Rejected(Exception):
    """The op is invalid; the text says what is wrong and what was expected."""


def verifier(check: Callable[[Any], None]) -> Callable[[Any], bool]:
    """Make `check`, which raises `Rejected`, into a verifier in the form the bindings expect."""

    @functools.wraps(check)
    def verify(op: Any) -> bool:
        try:
            check(op.opview)
        except Rejected as rejected:
            message = str(rejected)
        except Exception as error:
            message = f"could not be verified: {type(error).__name__}: {error}"
        else:
            return True
        op.location.emit_error(f"'{op.operation.name}' op {message}")
        return False

    return verify


def float_tensor(value: ir.Value, role: str) -> ir.RankedTensorType:
    """Return the type of `value`, a ranked tensor of f16, bf16, f32 or f64."""
    kind = value.type
    if not isinstance(kind, ir.RankedTensorType) or str(kind.element_type) not in FLOATS:
        raise Rejected(f"expects {role} to be a ranked tensor of {'/'.join(FLOATS)}, got {kind}")
    return kind


def check_result_like(op: ir.OpView, source: ir.RankedTensorType) -> None:
    """Reject an op whose result type is not the type of its first operand."""
    result = op.operation.results[0].type
    if result != source:
        raise Rejected(f"expects the result type to be the input type {source}, got {result}")


def check_axis(axis: ir.Attribute, rank: int) -> int:
    """Return the value of `axis`, an i64 between 0 and `rank` - 1."""
    if axis.type != ir.IntegerType.get_signless(64):
        raise Rejected(f"expects 'axis' to be an i64 attribute, got {axis}")
    if rank == 0:
        raise Rejected("expects an input of rank 1 or more, got rank 0")
    value: int = axis.value
    if not 0 <= value < rank:
        raise Rejected(f"expects 'axis' between 0 and {rank - 1} for rank {rank}, got {value}")
    return value


def check_epsilon(epsilon: ir.Attribute) -> None:
    """Reject an `epsilon` that is not a finite f32 of 0 or more."""
    if epsilon.type != ir.F32Type.get():
        raise Rejected(f"expects 'epsilon' to be an f32 attribute, got {epsilon}")
    if not 0.0 <= epsilon.value < float("inf"):
        raise Rejected(f"expects 'epsilon' to be finite and not negative, got {epsilon.value}")


def optional_operand(op: ir.OpView, segment: int) -> ir.Value | None:
    """Return operand segment `segment` of `op` (0 or 1 values), or None where it is absent."""
    sizes = _segment_sizes(op)
    if not sizes[segment]:
        return None
    value: ir.Value = op.operation.operands[sum(sizes[:segment])]
    return value


def check_broadcastable(value: ir.Value, role: str, source: ir.RankedTensorType) -> None:
    """Reject a `value` that cannot be broadcast to the trailing dimensions of `source`."""
    kind = float_tensor(value, role)
    if kind.element_type != source.element_type:
        raise Rejected(
            f"expects {role} to have the input's element type {source.element_type}, "
            f"got {kind.element_type}"
        )
    wanted = source.shape[source.rank - kind.rank :] if kind.rank <= source.rank else None
    if wanted is None or not all(map(_fits, kind.shape, wanted)):
        raise Rejected(f"expects {role} to be broadcastable to {source}, got {kind}")


def _fits(size: int, wanted: int) -> bool:
    dynamic = ir.ShapedType.get_dynamic_size()
    return size in (1, dynamic, wanted) or wanted == dynamic


def _segment_sizes(op: ir.OpView) -> list[int]:
    # With a single optional operand the bindings neither need nor check this attribute.
    count = len(op.operation.operands)
    sizes = op.operation.attributes.get("operandSegmentSizes")
    counts = list(sizes) if isinstance(sizes, ir.DenseI32ArrayAttr) else []
    if counts[:1] != [1] or max(counts) > 1 or sum(counts) != count:
        raise Rejected(f"expects i32 'operandSegmentSizes' for {count} operands, got {sizes}")
    return counts

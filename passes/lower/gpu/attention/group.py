# SPDX-License-Identifier: MIT OR Apache-2.0
"""An attention with the arithmetic that makes its masks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xyntra.dialects.attention import OP, Access, Attention
from xyntra.dialects.attention_layout import KEY, QUERY
from xyntra.dialects.mlir import ir
from xyntra.dialects.tensors.positions import Digit
from xyntra.passes.lower.gpu.emit.scalar_body import indices_of, is_scalar_code
from xyntra.passes.lower.kernels.attention_carrier import attention_of
from xyntra.passes.lower.loops.linear_nest import is_linear
from xyntra.passes.lower.loops.memrefs import (
    has_static_layout,
    identity_map,
    is_private,
    root,
    written_by,
)


@dataclass(frozen=True)
class AttentionGroup:
    """A carrier of attention and what computes its masks, which nothing else reads.

    Attributes:
        carrier: the linalg.generic that stands for the attention.
        keep: what makes its mask, if that is computed with it.
        bias: what makes its bias, likewise.
    """

    carrier: ir.Operation
    keep: ir.Operation | None
    bias: ir.Operation | None

    @property
    def operations(self) -> tuple[ir.Operation, ...]:
        """Return the operations of the group in order; the carrier comes last."""
        return tuple(op for op in (self.keep, self.bias, self.carrier) if op is not None)


def is_attention(op: ir.Operation) -> bool:
    """Tell whether `op` stands for an attention."""
    return op.name == "linalg.generic" and OP in op.attributes


def attention_group(work: Sequence[ir.Operation], position: int) -> AttentionGroup | None:
    """The group of `work[position]` if that is attention whose memory is known when compiling."""
    carrier = work[position]
    if not is_attention(carrier) or not all(map(has_static_layout, carrier.operands)):
        return None
    op = attention_of(carrier)
    before = work[:position]
    keep, bias = (
        None if mask is None else _placed(_maker(mask.value, before, carrier), mask, op)
        for mask in (op.keep, op.bias)
    )
    return AttentionGroup(carrier, keep, bias)


def _placed(maker: ir.Operation | None, mask: Access, attention: Attention) -> ir.Operation | None:
    """`maker` if all numbers of iterations in it move evenly with queries and keys."""
    if maker is None:
        return None
    sizes = attention.sizes
    for op in indices_of(maker.regions[0].blocks[0]):
        for digit, _ in mask.positions[int(op.attributes["dim"].value)].terms:
            if digit.loop in (QUERY, KEY) and digit != Digit(digit.loop, 1, sizes[digit.loop]):
                return None
    return maker


def _maker(
    mask: ir.Value, before: Sequence[ir.Operation], carrier: ir.Operation
) -> ir.Operation | None:
    """What computes `mask` element by element, from memory that does not change afterwards."""
    for number, op in reversed(list(enumerate(before))):
        if not any(root(value) == root(mask) for value in op.operands):
            continue
        between = before[number + 1 :]
        is_maker = _is_simple(op) and list(op.operands)[-1] == mask
        is_ours = is_maker and is_private(root(mask), [op, carrier])
        # It is no mask alone where the queries, say, are the same memory.
        is_ours = is_ours and sum(root(value) == root(mask) for value in carrier.operands) == 1
        return op if is_ours and not _touches(op, between) else None
    return None


def _is_simple(op: ir.Operation) -> bool:
    """Whether `op` is arithmetic on linear accesses, with one output in the order of its loops."""
    if op.name != "linalg.generic" or OP in op.attributes or not is_linear(op):
        return False
    if list(op.attributes["operandSegmentSizes"])[1] != 1:
        return False
    body = op.regions[0].blocks[0]
    kinds = [str(kind) for kind in op.attributes["iterator_types"]]
    *_, written = op.attributes["indexing_maps"]
    is_plain = not list(body.arguments[len(body.arguments) - 1].uses)
    return (
        is_plain
        and is_scalar_code(body)
        and not any("reduction" in kind for kind in kinds)
        and written == identity_map(len(kinds))
    )


def _touches(op: ir.Operation, others: Sequence[ir.Operation]) -> bool:
    """Tell whether one of `others` may write what `op` reads."""
    read = [root(value) for value in op.operands if isinstance(value.type, ir.MemRefType)]
    return any(root(value) in read for other in others for value in written_by(other))

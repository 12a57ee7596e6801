# SPDX-License-Identifier: MIT OR Apache-2.0
"""Takes `xyntra.attention` through bufferization, which does not know it.

It travels as a linalg.generic with the same operands and a destination, so that its result is
written where it is wanted. The maps and the body of that operation say only which operands it reads
and which it writes; what it computes stands in its attribute `xyntra.attention`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xyntra.dialects.attention import OP, Access, Attention
from xyntra.dialects.builder import Iterator, Tensor, TensorBuilder
from xyntra.dialects.dtypes import default_dtype
from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import Scalar
from xyntra.dialects.tensors.positions import Digit, Position
from xyntra.passes.analysis.kernel_function import operations_named
from xyntra.passes.analysis.sizes.session import session, sized
from xyntra.passes.lower.tensor.attention_as_linalg import decompose_attention

__all__ = ["attention_of", "carried", "carry_attention"]

_WIDE = "float32"


def carry_attention(module: ir.Operation, *, plain: bool = False) -> None:
    """Rewrite every attention of `module`: f64 as linalg, others as a carrier that works in f32.

    Args:
        module: holds a kernel.
        plain: rewrite all of them as linalg.
    """
    for op in operations_named(module, OP):
        b = TensorBuilder(ir.InsertionPoint(op), op.location)
        with op.context, op.location:
            dtype = _dtype(op.results[0])
            result = decompose_attention(op, b) if plain or dtype == "float64" else _carrier(op, b)
            if dtype != result.dtype:
                result = b.map(lambda x, to=dtype: x.cast(to), result, dtype=dtype)
        op.results[0].replace_all_uses_with(result.value)
        op.erase()


def carried(module: ir.Operation) -> list[ir.Operation]:
    """The carriers in `module`."""
    return [op for op in operations_named(module, "linalg.generic") if OP in op.attributes]


def attention_of(carrier: ir.Operation) -> Attention:
    """Return what a carrier computes from its operands; the last one is what it writes."""
    attributes = {each.name: each.attr for each in ir.DictAttr(carrier.attributes[OP])}
    found = Attention.read(attributes, list(carrier.operands)[:-1])
    return _with_sizes(found) if session.get() else found


def _with_sizes(op: Attention) -> Attention:
    """Return an attention whose numbers are sizes where they are told when the kernel runs."""

    def sized_positions(positions: Sequence[Position]) -> tuple[Position, ...]:
        return tuple(
            Position(
                tuple(
                    (Digit(digit.loop, sized(digit.divisor), sized(digit.extent)), sized(factor))
                    for digit, factor in each.terms
                ),
                sized(each.constant),
            )
            for each in positions
        )

    def access(operand: Access) -> Access:
        return Access(operand.value, sized_positions(operand.positions))

    return replace(
        op,
        query=access(op.query),
        key=access(op.key),
        value=access(op.value),
        keep=None if op.keep is None else access(op.keep),
        bias=None if op.bias is None else access(op.bias),
        written=sized_positions(op.written),
        sizes=tuple(map(sized, op.sizes)),
        causal_offset=None if op.causal_offset is None else sized(op.causal_offset),
    )


def _dtype(value: ir.Value) -> str:
    return default_dtype(ir.RankedTensorType(value.type).element_type)


def _carrier(op: ir.Operation, b: TensorBuilder) -> Tensor:
    inputs = [_widened(b, value) for value in op.operands]
    shape = list(ir.RankedTensorType(op.results[0].type).shape)
    ranks = [len(shape), *(tensor.rank for tensor in inputs)]
    starts = [sum(ranks[:number]) for number in range(len(ranks))]
    written, *read = (
        ir.AffineMap.get(sum(ranks), 0, [ir.AffineDimExpr.get(first + d) for d in range(rank)])
        for first, rank in zip(starts, ranks, strict=True)
    )
    kinds: list[Iterator] = ["parallel"] * len(shape)
    kinds += ["reduction"] * (sum(ranks) - len(shape))
    outputs = [(b.empty(shape, _WIDE), _WIDE, written)]
    result = b.generic(list(zip(inputs, read, strict=True)), outputs, kinds, _reads_all)[0]
    attributes = dict(op.attributes.items())
    result.value.owner.operation.attributes[OP] = ir.DictAttr.get(attributes)
    return result


def _widened(b: TensorBuilder, value: ir.Value) -> Tensor:
    tensor = Tensor(value, _dtype(value))
    if tensor.dtype in (_WIDE, "bool", "int64"):
        return tensor
    return b.map(lambda x: x.cast(_WIDE), tensor, dtype=_WIDE)


def _reads_all(*scalars: Scalar) -> Scalar:
    """A body that none of the inputs can be dropped from, and that does not read the output."""
    total, *others = scalars[:-1]
    for other in others:
        total = total + other.cast(_WIDE)
    return total

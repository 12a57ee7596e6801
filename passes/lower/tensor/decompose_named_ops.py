# SPDX-License-Identifier: MIT OR Apache-2.0
"""Named ops of the dialect, rewritten as linalg on tensors.

f16 and bf16 inputs are computed in f32 and rounded once, at the end. NaN and infinity behave as in
ONNX's definitions: a NaN, +inf or nothing but -inf makes a softmax row NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import pi, prod, sqrt
from typing import ClassVar

from xyntra.dialects.attention import OP as ATTENTION
from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import Scalar, constant
from xyntra.dialects.tensors.broadcasting import broadcast_map
from xyntra.dialects.tensors.reductions import Reduction
from xyntra.passes.analysis.gathered_reads import gathers_of, reads_few
from xyntra.passes.analysis.walking import outside_bodies
from xyntra.passes.diagnostics import PassFailure
from xyntra.passes.lower.tensor.attention_as_linalg import decompose_attention
from xyntra.passes.registry import register_pass

__all__ = ["DecomposeNamedOps"]


@register_pass
@dataclass(frozen=True)
class DecomposeNamedOps:
    """Rewrite xyntra.softmax, layer_norm, gelu and the like as linalg on tensors."""

    name: ClassVar[str] = "decompose-named-ops"

    only: tuple[str, ...] = ()
    """Names of the ops to rewrite, as in `gelu`; all where none is given."""
    keep: tuple[str, ...] = ()
    """Names of ops to leave alone."""
    gathered: bool = False
    """Rewrite only those of whose results gathers alone read few elements."""

    def run(self, module: ir.Operation) -> None:
        """Rewrite every named op below `module`.

        Raises:
            PassFailure: an op has a dynamic shape.
        """
        wanted = {name for name in _OPS if self._wants(name)}
        found = [op for op in outside_bodies(module) if op.name in wanted]
        if self.gathered:
            found = [op for op in found if _is_gathered(op)]
        for operation in found:
            _rewrite(operation)

    def _wants(self, name: str) -> bool:
        short = name.removeprefix("xyntra.")
        return short not in self.keep and (not self.only or short in self.only)


@dataclass(frozen=True)
class _Named:
    """A named op to be replaced, its operands, and what to build with."""

    operation: ir.Operation
    builder: TensorBuilder
    x: Tensor
    scale: Tensor | None = None
    bias: Tensor | None = None

    @property
    def wide(self) -> str:
        """The dtype to compute in."""
        return "float64" if self.x.dtype == "float64" else "float32"

    @property
    def axes(self) -> list[int]:
        """The dimensions that are reduced: `axis` alone, or from `axis` to the last."""
        axis: int = self.operation.attributes["axis"].value
        return [axis] if "softmax" in self.operation.name else list(range(axis, self.x.rank))

    @property
    def count(self) -> int:
        """Return how many elements are reduced to one."""
        return prod(self.x.shape[axis] for axis in self.axes)

    def reduce(
        self, source: Tensor, kind: Reduction, element: Callable[[Scalar], Scalar] | None = None
    ) -> Tensor:
        """Combine `source` along `axes`, which the result lacks, in the wide dtype."""
        return self.builder.reduce(
            source, self.axes, kind, keepdims=False, accumulator=self.wide, element=element
        )

    def map(
        self,
        body: Callable[..., Scalar],
        values: Tensor,
        row: Tensor | None = None,
        *trailing: Tensor,
        dtype: str = "",
    ) -> Tensor:
        """Apply `body`, which is given its arguments in the wide dtype.

        Args:
            body: takes an element of each tensor.
            values: a tensor of the shape of `x`.
            row: a tensor that lacks `axes`.
            trailing: tensors broadcast to the trailing dimensions.
            dtype: element type of the result; the wide dtype if not given.
        """
        wide, dtype, rank = self.wide, dtype or self.wide, values.rank
        with self.builder.location:
            inputs = [(values, self.builder.identity(rank))]
            if row is not None:
                kept = [ir.AffineDimExpr.get(d) for d in range(rank) if d not in self.axes]
                inputs.append((row, ir.AffineMap.get(rank, 0, kept)))
            inputs += [(tensor, broadcast_map(tensor.shape, values.shape)) for tensor in trailing]
        return self.builder.generic(
            inputs,
            [(self.builder.empty(values.shape, dtype), dtype, self.builder.identity(rank))],
            ["parallel"] * rank,
            lambda *scalars: body(*(x.cast(wide) for x in scalars[:-1])).cast(dtype),
        )[0]

    def finish(self, body: Callable[..., Scalar], *operands: Tensor) -> Tensor:
        """As `map`, with the result in the dtype of the op."""
        return self.map(body, *operands, dtype=self.x.dtype)


def _is_gathered(op: ir.Operation) -> bool:
    found, only = gathers_of(op.results[0], op.block)
    return only and reads_few(found)


def _rewrite(operation: ir.Operation) -> None:
    if not all(value.type.has_static_shape for value in operation.operands):
        raise PassFailure.at(
            operation, f"'{operation.name}' has a dynamic shape; static shapes were expected"
        )
    builder = TensorBuilder(ir.InsertionPoint(operation), operation.location)
    if operation.name == ATTENTION:
        result = decompose_attention(operation, builder)
    else:
        x, *others = map(Tensor.of, operation.operands)
        named = _Named(operation, builder, x, *_in_place(operation, others))
        result = _RULES[operation.name](named)
    operation.results[0].replace_all_uses_with(result.value)
    operation.erase()


def _in_place(operation: ir.Operation, present: list[Tensor]) -> Iterator[Tensor | None]:
    """Yield the optional operands, None where one is absent."""
    given = iter(present)
    sizes = list(operation.attributes.get("operandSegmentSizes") or [])
    for size in sizes[1:]:
        yield next(given) if size else None


def _softmax(op: _Named) -> Tensor:
    exponent = op.map(lambda x, top: (x - top).exp_at_most_zero(), op.x, op.reduce(op.x, "max"))
    total = op.reduce(exponent, "sum")
    return op.finish(lambda x, sum_: x * (constant(1.0, sum_.dtype) / sum_), exponent, total)


def _log_softmax(op: _Named) -> Tensor:
    shifted = op.map(lambda x, top: x - top, op.x, op.reduce(op.x, "max"))
    total = op.reduce(shifted, "sum", lambda x: x.exp_at_most_zero())
    return op.finish(lambda x, sum_: x - sum_.math("log"), shifted, total)


def _layer_norm(op: _Named) -> Tensor:
    total, count = op.reduce(op.x, "sum"), op.count
    centred = op.map(lambda x, sum_: x - sum_ / count, op.x, total)
    return _scaled(op, centred, op.reduce(centred, "sum", lambda x: x * x))


def _rms_norm(op: _Named) -> Tensor:
    return _scaled(op, op.x, op.reduce(op.x, "sum", lambda x: x * x))


def _scaled(op: _Named, values: Tensor, squares: Tensor) -> Tensor:
    """`values` / sqrt(`squares` / count + epsilon), then times scale and plus bias if present."""
    count, epsilon = op.count, float(op.operation.attributes["epsilon"].value)
    extra = [tensor for tensor in (op.scale, op.bias) if tensor is not None]

    def body(x: Scalar, sum_: Scalar, *rest: Scalar) -> Scalar:
        deviation = (sum_ / count + epsilon).math("sqrt")
        result = x * (constant(1.0, deviation.dtype) / deviation)
        given = iter(rest)
        if op.scale is not None:
            result = result * next(given)
        if op.bias is not None:
            result = result + next(given)
        return result

    return op.finish(body, values, squares, *extra)


def _gelu(op: _Named) -> Tensor:
    if op.operation.attributes["approximate"].value == "tanh":
        return op.finish(_gelu_tanh, op.x)
    return op.finish(lambda x: x * 0.5 * ((x * sqrt(0.5)).math("erf") + 1.0), op.x)


def _gelu_tanh(x: Scalar) -> Scalar:
    inner = (x + x * x * x * 0.044715) * sqrt(2 / pi)
    return x * 0.5 * (inner.math("tanh") + 1.0)


def _silu(op: _Named) -> Tensor:
    return op.finish(lambda x: x / (constant(1.0, x.dtype) + (-x).math("exp")), op.x)


_RULES: dict[str, Callable[[_Named], Tensor]] = {
    "xyntra.softmax": _softmax,
    "xyntra.log_softmax": _log_softmax,
    "xyntra.layer_norm": _layer_norm,
    "xyntra.rms_norm": _rms_norm,
    "xyntra.gelu": _gelu,
    "xyntra.silu": _silu,
}
_OPS = {*_RULES, ATTENTION}

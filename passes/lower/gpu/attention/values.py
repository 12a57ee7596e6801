# SPDX-License-Identifier: MIT OR Apache-2.0
"""Values and control flow of attention, on scalars with a dtype."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from torch_mlir.dialects import scf

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import Scalar, constant, emit

Registers = list[Scalar]


def values_of(registers: Sequence[Scalar]) -> list[ir.Value]:
    """Return what instructions take."""
    return [each.value for each in registers]


def like(registers: Sequence[Scalar], values: Sequence[ir.Value]) -> Registers:
    """Values with the dtypes of other registers."""
    return [Scalar(new, old.dtype) for new, old in zip(values, registers, strict=True)]


def number(value: int, dtype: str = "int32") -> Scalar:
    """A constant."""
    return constant(value, dtype)


def real(value: float) -> Scalar:
    """A constant of f32."""
    return constant(value, "float32")


def fused(a: Scalar, b: Scalar, c: Scalar) -> Scalar:
    """`a * b + c`, rounded once."""
    return a.math("fma", b, c)


def larger(a: Scalar, b: Scalar) -> Scalar:
    """The larger number; the other one where one is NaN."""
    return Scalar(emit("arith.maxnumf", [a.value, b.value], a.value.type), a.dtype)


@contextmanager
def when(condition: Scalar) -> Iterator[None]:
    """Emit what follows under a condition."""
    built = scf.IfOp(condition.value)
    with ir.InsertionPoint(built.then_block):
        yield
        scf.YieldOp([])


def replaced_when(
    condition: Scalar, values: Registers, change: Callable[[Registers], Registers]
) -> Registers:
    """`values`, or what `change` makes of them where the condition holds."""
    built = scf.IfOp(condition.value, [each.value.type for each in values], has_else=True)
    with ir.InsertionPoint(built.then_block):
        scf.YieldOp(values_of(change(values)))
    with ir.InsertionPoint(built.else_block):
        scf.YieldOp(values_of(values))
    return like(values, built.results)


def loop(
    count: Scalar, carried: Registers, body: Callable[[Scalar, Registers], Registers]
) -> Registers:
    """A loop from 0 to `count`, an int32, that is not unrolled; `body` renews what is carried."""
    zero, one = number(0), number(1)
    built = scf.ForOp(zero.value, count.value, one.value, values_of(carried))
    annotation = ir.Attribute.parse("#llvm.loop_annotation<unroll = <disable = true>>")
    built.operation.attributes["llvm.loop_annotation"] = annotation
    with ir.InsertionPoint(built.body):
        inside = like(carried, built.inner_iter_args)
        scf.YieldOp(values_of(body(Scalar(built.induction_variable, "int32"), inside)))
    return like(carried, built.results)


def finite(top: Scalar) -> Scalar:
    """Return what is subtracted from scores: their maximum, or 0 where that is -inf."""
    return top.equals(float("-inf")).select(real(0.0), top)


class Division:
    """Divides by a row's total: NaN, or 0, where the row has none.

    Without a score above -inf a total is 0; a NaN or +inf among them makes it NaN.
    """

    def __init__(self, masked_rows: str, total: Scalar) -> None:
        is_strict = masked_rows == "zero"
        self._is_good = total > 0.0 if is_strict else total.differs(0.0)
        self._factor = real(1.0) / total
        self._other = real(float("nan") if masked_rows == "nan" else 0.0)

    def __call__(self, value: Scalar) -> Scalar:
        """The quotient."""
        return self._is_good.select(value * self._factor, self._other)

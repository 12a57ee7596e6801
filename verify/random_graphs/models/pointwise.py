# SPDX-License-Identifier: MIT OR Apache-2.0
"""Makers of elementwise operators."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from verify.random_graphs.models.builder import Builder, Ref, Reject
from verify.random_graphs.dtypes import ALL, BOOL, DTYPES, INTS, UNSIGNED, is_float, native, rounded
from verify.random_graphs.models.registry import maker

__all__ = ["broadcast_partner", "unary"]

_UNARY = """Abs Neg Ceil Floor Round Sign Sqrt Exp Log Sin Cos Tan Asin Acos Atan Sinh Cosh Tanh
Asinh Acosh Atanh Erf Reciprocal Relu Sigmoid Softplus Softsign Mish HardSwish Identity IsNaN Not
BitwiseNot Abs Neg Exp Tanh Sigmoid Relu Sqrt Relu Tanh""".split()
_PARAMETRIC = {
    "Elu": {"alpha": (-2, 3)},
    "Celu": {"alpha": (0.1, 3)},
    "Selu": {"alpha": (0.5, 3), "gamma": (0.5, 3)},
    "LeakyRelu": {"alpha": (-1, 2)},
    "ThresholdedRelu": {"alpha": (-1, 2)},
    "HardSigmoid": {"alpha": (0, 1), "beta": (0, 1)},
    "Shrink": {"bias": (-1, 1), "lambd": (0, 1.5)},
    "Swish": {"alpha": (-1, 2)},
}
_ARITHMETIC = "Add Sub Mul Div Add Mul Sub Add Mul Pow Mod PRelu".split()
_COMPARISONS = "Equal Less Greater LessOrEqual GreaterOrEqual".split()
_BITS = "BitwiseAnd BitwiseOr BitwiseXor".split()


def unary(g: Builder, op: str, x: Ref | None = None) -> Ref:
    """Append an elementwise operator of one operand."""
    x = x or g.pick(g.allowed(op, 0))
    return g.node(op, [x])[0]


@maker("unary", 6)
def _unary(g: Builder) -> None:
    unary(g, g.choice(_UNARY))


@maker("parametric", 2)
def _parametric(g: Builder) -> None:
    op = g.choice(list(_PARAMETRIC))
    attributes = {k: g.real(*r) for k, r in _PARAMETRIC[op].items() if g.chance(0.6)}
    g.node(op, [g.pick(g.allowed(op, 0))], **attributes)


@maker("gelu", 1)
def _gelu(g: Builder) -> None:
    approximate = g.choice(("none", "tanh", None))
    g.node("Gelu", [g.pick(g.allowed("Gelu", 0))], approximate=approximate)


def broadcast_partner(g: Builder, x: Ref, elems: tuple[int, ...], *, one_way: bool = False) -> Ref:
    """Another operand for a value: one of its shape, or one that broadcasts with it."""

    def fits(ref: Ref) -> bool:
        try:
            joined = np.broadcast_shapes(ref.shape, x.shape)
        except ValueError:
            return False
        return joined == x.shape or (not one_way and np.prod(joined) <= 20_000)

    if g.chance(0.65):
        try:
            return g.pick(elems, where=fits, fresh=0)
        except Reject:
            pass
    shape = list(x.shape)
    style = g.integer(0, 5)
    if style == 0:
        shape = []
    elif style == 1:
        shape = shape[g.integer(0, len(shape)) :]
    elif style == 2:
        shape = [1 if g.chance(0.5) else n for n in shape]
    elif style == 3 and not one_way:
        shape = [g.dimension() if n == 1 else n for n in shape]
        if len(shape) < 6 and g.chance(0.3):
            shape = [g.integer(1, 3), *shape]
    elif style == 4 and shape:
        shape = shape[-1:]
    elem = x.elem if x.elem in elems else g.choice(elems)
    return g.weight(shape, elem, "" if g.style.special else "normal")


@maker("binary", 9)
def _binary(g: Builder) -> None:
    op = g.choice(_ARITHMETIC)
    x = g.pick(g.allowed(op, 0))
    y = broadcast_partner(
        g, x, (x.elem,) if op != "Pow" else g.allowed("Pow", 1), one_way=op == "PRelu"
    )
    attributes = {}
    if op == "Mod":
        if is_float(x.elem) or g.chance(0.3):
            attributes["fmod"] = 1
        if g.chance(0.8) and not is_float(x.elem):
            y = g.weight(y.shape, x.elem, "positive")
    if op in ("Div", "Mod") and not is_float(x.elem) and not y.array.all():
        raise Reject("division of integers by zero")
    if op == "Pow":
        if not is_float(x.elem) and not is_float(y.elem) and (y.array < 0).any():
            raise Reject("negative powers of integers")
        if not is_float(x.elem):
            y = g.weight(y.shape, y.elem, "positive")
            if y.array.size and (
                y.array.max() > 4 or np.abs(x.array.astype(float)).max(initial=0) > 30
            ):
                raise Reject("large powers of integers")
        if g.chance(0.4):
            y = (
                g.constant(np.array(g.choice((0.5, 1.0, 2.0, 3.0, -1.0, 0.0, -0.5, 4.0))), x.elem)
                if is_float(x.elem)
                else y
            )
    pair = [y, x] if g.chance(0.3) and op not in ("PRelu", "Pow", "Mod", "Div") else [x, y]
    if g.chance(0.1) and op in ("Add", "Mul", "Sub"):
        pair = [x, x]
    g.node(op, pair, **attributes)


@maker("compare", 3)
def _compare(g: Builder) -> None:
    op = g.choice(_COMPARISONS)
    x = g.pick(g.allowed(op, 0))
    y = broadcast_partner(g, x, (x.elem,))
    g.node(op, [x, y])


@maker("logic", 1.5)
def _logic(g: Builder) -> None:
    x = g.pick((BOOL,))
    g.node(g.choice(("And", "Or", "Xor")), [x, broadcast_partner(g, x, (BOOL,))])


@maker("bits", 1.5)
def _bits(g: Builder) -> None:
    op = g.choice(_BITS)
    x = g.pick(g.allowed(op, 0))
    g.node(op, [x, broadcast_partner(g, x, (x.elem,))])


@maker("shift", 0.7)
def _shift(g: Builder) -> None:
    x = g.pick(UNSIGNED)
    width = DTYPES[x.elem].itemsize * 8
    shape = g.choice((x.shape, (), x.shape[-1:]))
    y = g.constant(g.rng.integers(0, width, shape), x.elem)
    g.node("BitShift", [x, y], direction=g.choice(("LEFT", "RIGHT")))


@maker("variadic", 2.5)
def _variadic(g: Builder) -> None:
    op = g.choice(("Max", "Min", "Sum", "Mean"))
    x = g.pick(g.allowed(op, 0))
    operands = [x]
    for _ in range(g.integer(0, 3)):
        operands.append(broadcast_partner(g, x, (x.elem,), one_way=g.chance(0.7)))
    g.node(op, operands)


@maker("where", 3)
def _where(g: Builder) -> None:
    x = g.pick(g.allowed("Where", 1))
    y = broadcast_partner(g, x, (x.elem,))
    condition = broadcast_partner(g, g.choice((x, y)), (BOOL,))
    pair = [x, y] if g.chance(0.6) else [y, x]
    g.node("Where", [condition, *pair])


@maker("clip", 2)
def _clip(g: Builder) -> None:
    low, high = sorted((g.real(-3, 3), g.real(-3, 3)))
    if g.chance(0.1):
        low, high = high, low
    if g.opset < 11:
        x = g.pick(g.allowed("Clip", 0))
        g.node("Clip", [x], min=g.choice((low, None)), max=g.choice((high, None)))
        return
    x = g.pick(g.allowed("Clip", 0))
    bounds: list[Ref | None] = []
    for value in (low, high):
        if g.chance(0.25):
            bounds.append(None)
            continue
        value = value if is_float(x.elem) else abs(np.trunc(value * 3))
        exact = (
            rounded(np.array(value, np.float64), x.elem)
            if is_float(x.elem)
            else native(np.array(value), x.elem)
        )
        bounds.append(g.constant(exact, x.elem) if g.chance(0.7) else g.input((), x.elem, "normal"))
    g.node("Clip", [x, *bounds])


@maker("cast", 4)
def _cast(g: Builder) -> None:
    x = g.pick(g.allowed("Cast", 0))
    to = g.choice(tuple(e for e in ALL if g.opset >= 13 or e != TensorProto.BFLOAT16))
    if g.chance(0.3):
        to = g.style.float_type
    if g.chance(0.15) and g.opset >= 15:
        g.node("CastLike", [x, g.pick((to,))])
    else:
        g.node("Cast", [x], to=to)


@maker("bit_cast", 0.3)
def _bit_cast(g: Builder) -> None:
    x = g.pick(g.allowed("BitCast", 0))
    same = [e for e in ALL if DTYPES[e].itemsize == DTYPES[x.elem].itemsize and e != BOOL]
    if x.elem == BOOL:
        raise Reject("bits of bool")
    g.node("BitCast", [x], to=g.choice(same))


@maker("is_inf", 0.7)
def _is_inf(g: Builder) -> None:
    flags = {k: g.integer(0, 1) for k in ("detect_positive", "detect_negative") if g.chance(0.5)}
    g.node("IsInf", [g.pick(g.allowed("IsInf", 0))], **flags)


@maker("chain", 3)
def _chain(g: Builder) -> None:
    """A long chain of elementwise operators of one value, with side inputs."""
    x = g.pick((g.style.float_type,))
    for _ in range(g.integer(3, 12)):
        try:
            if g.chance(0.55):
                y = broadcast_partner(g, x, (x.elem,), one_way=True)
                x = g.node(
                    g.choice(("Add", "Mul", "Sub", "Max", "Min")),
                    [x, y] if g.chance(0.7) else [y, x],
                )[0]
            else:
                x = unary(
                    g,
                    g.choice(
                        (
                            "Tanh",
                            "Sigmoid",
                            "Relu",
                            "Abs",
                            "Neg",
                            "Sin",
                            "Erf",
                            "Softsign",
                            "Exp",
                            "Sqrt",
                            "Floor",
                        )
                    ),
                    x,
                )
        except Reject:
            continue


_ = INTS

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Computes random models in float64, with a bound on every element's error.

The bounds are those of `fusion_values`: every rounding that the operators' dtypes allow is counted
(a sum of K products in float32: K times its unit, of the sum of the absolute values). With
`precision="tf32"`, each factor of a product may be rounded to 11 bits before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from verify.fusion import tensors
from verify.fusion.scalars import BINARY, UNARY, cast, compare, select, wide
from verify.fusion.values import Known, exact
from verify.random_models import layers, moves
from verify.random_models.case import Case, Step

__all__ = ["expected"]

Operands = Sequence[Known]
_TF32 = 2.0**-11
_UNARY = {
    "Neg": "neg", "Abs": "abs", "Relu": "relu", "Exp": "exp", "Log": "log", "Sqrt": "sqrt",
    "Tanh": "tanh", "Erf": "erf", "Sin": "sin", "Cos": "cos", "Floor": "floor",
    "Sigmoid": "sigmoid", "Not": "not", "BitwiseNot": "not",
}  # fmt: skip
_BINARY = {
    "Add": "add", "Sub": "sub", "Mul": "mul", "Div": "div", "Max": "max", "Min": "min",
    "And": "and", "Or": "or", "Xor": "xor",
    "BitwiseAnd": "and", "BitwiseOr": "or", "BitwiseXor": "xor",
}  # fmt: skip
_COMPARISONS = {
    "Less": "lt", "LessOrEqual": "le", "Greater": "gt", "Equal": "eq"
}  # fmt: skip
_REDUCTIONS = {"ReduceSum": "sum", "ReduceMax": "max", "ReduceMin": "min"}
_NAMED = {
    "Softmax": "softmax", "LogSoftmax": "log_softmax", "Gelu": "gelu",
    "LayerNormalization": "layer_norm", "RMSNormalization": "rms_norm",
}  # fmt: skip


def expected(case: Case) -> list[Known]:
    """The outputs of a case."""
    values: dict[str, Known] = {}
    for role in ("input", "weight"):
        values |= {name: exact(array) for name, array in case.arrays(role).items()}
    for step in case.steps:
        operands = [values[name] for name in step.inputs if name]
        for name, value in zip(step.outputs, _apply(step, operands, case.precision), strict=True):
            values[name] = value
    return [values[name] for name in case.outputs]


def _apply(step: Step, x: Operands, precision: str) -> Sequence[Known]:
    if step.op in _PRODUCTS:
        if precision == "tf32" and x[0].dtype == "float32":
            x = [_loosened(x[0]), _loosened(x[1]), *x[2:]]
        return [_PRODUCTS[step.op](step, x)]
    if step.op in moves.SEVERAL:
        return moves.SEVERAL[step.op](step, x)
    with np.errstate(all="ignore"):
        return [_OPERATORS[step.op](step, x)]


def _loosened(x: Known) -> Known:
    size = np.where(np.isfinite(x.value), np.abs(x.value), 0.0)
    return Known(x.dtype, x.value, x.error + _TF32 * size)


def _unary(step: Step, x: Operands) -> Known:
    return UNARY[_UNARY[step.op]].refer(x[0])


def _reduce(step: Step, x: Operands) -> Known:
    axes = tuple(step.constants["1"])
    kind, keep = _REDUCTIONS.get(step.op, "sum"), bool(step.attributes.get("keepdims", 1))
    result = tensors.reduce(cast(x[0], wide(x[0].dtype)), kind, axes, keep)
    if step.op == "ReduceMean":
        count = float(np.prod([x[0].shape[axis] for axis in axes]))
        result = BINARY["div"].refer(result, exact(np.array(count, result.dtype)))
    return cast(result, x[0].dtype)


def _named(step: Step, x: Operands) -> Known:
    rank = x[0].value.ndim
    axis = int(step.attributes.get("axis", -1)) % max(rank, 1)
    return tensors.named(_NAMED[step.op], x, axis, float(step.attributes.get("epsilon", 1e-5)))


def _swish(_: Step, x: Operands) -> Known:
    return tensors.named("silu", x, 0, 0.0)


def _concatenated(step: Step, x: Operands) -> Known:
    axis = step.attributes["axis"]
    values = [part.value for part in x]
    errors = [part.error for part in x]
    return Known(x[0].dtype, np.concatenate(values, axis), np.concatenate(errors, axis))


def _matmul(_: Step, x: Operands) -> Known:
    a, b = x[0], x[1]
    depth = a.shape[-1]
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    names = "abcdefgh"[: len(batch)]
    terms = [names[len(batch) - (k.value.ndim - 2) :] for k in (a, b)]
    stretched = [
        k.move(lambda v, n=n: np.broadcast_to(v, (*batch[len(batch) - len(n) :], *v.shape[-2:])))
        for k, n in zip((a, b), terms, strict=True)
    ]
    equation = f"{terms[0]}mk,{terms[1]}kn->{names}mn"
    dtype = a.dtype
    if depth == 0:
        shape = (*batch, a.shape[-2], b.shape[-1])
        return Known(dtype, np.zeros(shape), np.zeros(shape))
    product = tensors.contract(equation, *(cast(k, wide(dtype)) for k in stretched))
    return cast(product, dtype)


def _gemm(step: Step, x: Operands) -> Known:
    swapped = [
        k.move(lambda v: v.T) if step.attributes.get(name) else k
        for k, name in zip(x, ("transA", "transB"), strict=False)
    ]
    dtype = x[0].dtype
    factors = [cast(k, wide(dtype)) for k in swapped]
    result = tensors.contract("mk,kn->mn", *factors)
    for name, operand in (("alpha", result), ("beta", None)):
        if operand is not None and name in step.attributes:
            number = exact(np.array(step.attributes[name], result.dtype))
            result = BINARY["mul"].refer(operand, number)
    if len(x) > 2:
        result = BINARY["add"].refer(result, cast(x[2], result.dtype))
    return cast(result, dtype)


def _einsum(step: Step, x: Operands) -> Known:
    dtype = x[0].dtype
    factors = [cast(k, wide(dtype)) for k in x]
    return cast(tensors.contract(step.attributes["equation"], *factors), dtype)


def _integer_matmul(_: Step, x: Operands) -> Known:
    value = np.matmul(x[0].value.astype(np.int64), x[1].value.astype(np.int64))
    return Known("int32", value.astype(np.int32), np.zeros(value.shape))


_PRODUCTS: dict[str, Callable[[Step, Operands], Known]] = {
    "MatMul": _matmul,
    "Gemm": _gemm,
    "Einsum": _einsum,
    "MatMulInteger": _integer_matmul,
    "Conv": layers.convolution,
    "ConvTranspose": layers.transposed_convolution,
    "Attention": layers.attention,
}
_OPERATORS: dict[str, Callable[[Step, Operands], Known]] = {
    **dict.fromkeys(_UNARY, _unary),
    **{
        op: lambda _, x, name=name: BINARY[name].refer(*x)  # type: ignore[misc]
        for op, name in _BINARY.items()
    },
    **{
        op: lambda _, x, name=name: compare(name, *x)  # type: ignore[misc]
        for op, name in _COMPARISONS.items()
    },
    **dict.fromkeys((*_REDUCTIONS, "ReduceMean"), _reduce),
    **dict.fromkeys(_NAMED, _named),
    "Swish": _swish,
    "Where": lambda _, x: select(*x),
    "Cast": lambda step, x: cast(x[0], step.attributes["dtype"]),
    "ArgMax": lambda step, x: tensors.arg_max(x[0], step.attributes["axis"]),
    "Concat": _concatenated,
    "MaxPool": layers.pool,
    "AveragePool": layers.pool,
    "GlobalAveragePool": layers.global_average,
    "BatchNormalization": layers.batch_norm,
    **moves.MOVES,
}

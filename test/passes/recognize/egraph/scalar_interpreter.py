# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs functions of elementwise linalg.generic ops with numpy, rounding as each type does."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from torch_mlir import ir

Array = np.ndarray
DTYPES: dict[str, Any] = {
    "f16": np.float16, "f32": np.float32, "f64": np.float64, "i1": np.bool_, "i8": np.int8,
    "i16": np.int16, "i32": np.int32, "i64": np.int64,
}  # fmt: skip


def _elementwise(function: Callable[..., float]) -> Callable[..., Array]:
    def apply(*arrays: Array) -> Array:
        wide = np.frompyfunc(function, len(arrays), 1)(*(a.astype(np.float64) for a in arrays))
        return np.asarray(wide, dtype=np.float64).astype(arrays[0].dtype)

    return apply


def _exp(x: float) -> float:
    return math.inf if x > 709 else math.exp(x)


def _log(x: float) -> float:
    return math.log(x) if x > 0 else (-math.inf if x == 0 else math.nan)


def _gelu(x: float) -> float:
    return x / 2 * (1 + math.erf(x / math.sqrt(2)))


def _gelu_tanh(x: float) -> float:
    return x / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def _signed_bits(function: Callable[..., Array]) -> Callable[..., Array]:
    """Of booleans, `true` is -1."""

    def apply(a: Array, b: Array) -> Array:
        if a.dtype != np.bool_:
            return function(a, b)
        return function(-a.astype(np.int8), -b.astype(np.int8)) != 0

    return apply


def _wrapping(function: Callable[..., Array]) -> Callable[..., Array]:
    def apply(a: Array, b: Array) -> Array:
        if a.dtype != np.bool_:
            return function(a, b)
        return (function(a.astype(np.int8), b.astype(np.int8)) & 1).astype(np.bool_)

    return apply


def _remainder(a: Array, b: Array) -> Array:
    if a.dtype == np.bool_:
        return np.zeros_like(a)
    return np.where(b == 0, 0, np.fmod(a, np.where(b == 0, 1, b))).astype(a.dtype)


def _signed_quotient(a: Array, b: Array) -> Array:
    if a.dtype == np.bool_:
        return a & b
    return np.trunc(a.astype(np.float64) / np.where(b == 0, 1, b)).astype(a.dtype)


def _extreme(pick: Callable[..., Array], positive_wins: bool) -> Callable[..., Array]:
    def apply(a: Array, b: Array) -> Array:
        negative = np.signbit(a)
        tie = np.where(negative != positive_wins, a, b)
        return np.where((a == b), tie, pick(a, b)).astype(a.dtype)

    return apply


def _unsigned(function: Callable[..., Array]) -> Callable[..., Array]:
    def apply(*arrays: Array) -> Array:
        return function(*map(as_unsigned, arrays)).astype(arrays[0].dtype)

    return apply


def as_unsigned(array: Array) -> Array:
    """The same bits as unsigned integers."""
    return array if array.dtype == np.bool_ else array.view(f"u{array.dtype.itemsize}")


def _shift(function: Callable[..., Array]) -> Callable[..., Array]:
    def apply(a: Array, b: Array) -> Array:
        if a.dtype == np.bool_:
            return a & ~b
        width = 8 * a.dtype.itemsize
        amount = as_unsigned(b)
        shifted = function(as_unsigned(a), np.minimum(amount, width - 1))
        return np.where(amount < width, shifted, 0).astype(a.dtype)

    return apply


def _quotient(function: Callable[..., Array]) -> Callable[..., Array]:
    def apply(a: Array, b: Array) -> Array:
        if a.dtype == np.bool_:
            a, b = a.astype(np.uint8), b.astype(np.uint8)
        return np.where(b == 0, 0, function(a, np.where(b == 0, 1, b))).astype(a.dtype)

    return apply


OPERATIONS: dict[str, Callable[..., Array]] = {
    "arith.addf": np.add, "arith.subf": np.subtract, "arith.mulf": np.multiply,
    "arith.divf": np.divide, "arith.negf": np.negative, "math.absf": np.abs,
    "math.sqrt": np.sqrt, "math.rsqrt": lambda x: (1 / np.sqrt(x)).astype(x.dtype),
    "arith.maximumf": _extreme(np.maximum, True), "arith.minimumf": _extreme(np.minimum, False),
    "math.exp": _elementwise(_exp), "math.log": _elementwise(_log),
    "math.tanh": _elementwise(math.tanh), "math.erf": _elementwise(math.erf),
    "math.powf": np.power,
    "arith.addi": _wrapping(np.add), "arith.subi": _wrapping(np.subtract),
    "arith.muli": _wrapping(np.multiply), "math.absi": np.abs,
    "arith.andi": np.bitwise_and, "arith.ori": np.bitwise_or, "arith.xori": np.bitwise_xor,
    "arith.maxsi": _signed_bits(np.maximum), "arith.minsi": _signed_bits(np.minimum),
    "arith.maxui": _unsigned(np.maximum), "arith.minui": _unsigned(np.minimum),
    "arith.shli": _shift(np.left_shift), "arith.shrui": _shift(np.right_shift),
    "arith.divui": _unsigned(_quotient(np.floor_divide)),
    "arith.remui": _unsigned(_quotient(np.remainder)), "arith.remsi": _remainder,
    "arith.divsi": _signed_quotient, "arith.shrsi": np.right_shift,
    "arith.maxnumf": np.fmax, "arith.minnumf": np.fmin,
    "xyntra.gelu": _elementwise(_gelu), "gelu_tanh": _elementwise(_gelu_tanh),
    "xyntra.silu": _elementwise(lambda x: x / (1 + _exp(-x))),
    "arith.select": np.where,
}  # fmt: skip

_ORDERS = {"eq": np.equal, "gt": np.greater, "ge": np.greater_equal, "lt": np.less,
           "le": np.less_equal, "ne": np.not_equal}  # fmt: skip
_CMPF = "false oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno true".split()
_CMPI = "eq ne slt sle sgt sge ult ule ugt uge".split()


def compare(code: int, a: Array, b: Array) -> Array:
    """Compare by a predicate of arith.cmpf, or of arith.cmpi where `code` is 16 or more."""
    if code >= 16:
        name = _CMPI[code - 16]
        if name in ("eq", "ne"):
            return np.asarray(_ORDERS[name](a, b))
        arrays = map(as_unsigned, (a, b)) if name[0] == "u" else (a, b)
        return np.asarray(_ORDERS[name[1:]](*arrays))
    name = _CMPF[code]
    unordered = np.isnan(a) | np.isnan(b)
    if name in ("false", "true"):
        return np.full(a.shape, name == "true")
    if name in ("ord", "uno"):
        return unordered if name == "uno" else ~unordered
    return np.where(unordered, name[0] == "u", _ORDERS[name[1:]](a, b))


def _cast(op: ir.Operation, a: Array) -> Array:
    dtype = DTYPES[str(op.results[0].type)]
    if op.name in ("arith.extui", "arith.uitofp"):
        return as_unsigned(a).astype(dtype)
    if op.name == "arith.trunci" and dtype is np.bool_:
        return (a & 1).astype(dtype)
    return a.astype(dtype)


def _constant(op: ir.Operation) -> Array:
    attribute = op.attributes["value"]
    dtype = DTYPES[str(op.results[0].type)]
    text = str(attribute).split()[0]
    if text.startswith("0x"):
        bits: Array = np.array(int(text, 16), f"u{np.dtype(dtype).itemsize}")
        return bits.view(dtype)
    return np.array(attribute.value).astype(dtype)


def run(function: ir.Operation, inputs: list[Array]) -> list[Array]:
    """What `function` returns; every tensor of it has the shape of the inputs."""
    block = function.regions[0].blocks[0]
    values: dict[ir.Value, Array] = dict(zip(block.arguments, inputs, strict=True))
    with np.errstate(all="ignore"):
        for view in block.operations:
            op = view.operation
            if op.name == "func.return":
                return [values[value] for value in op.operands]
            if op.name == "arith.constant":
                values[op.results[0]] = _constant(op)
            elif op.name == "linalg.generic":
                values[op.results[0]] = _generic(op, values, inputs[0].shape)
            elif op.name != "tensor.empty":
                raise ValueError(op.name)
    raise ValueError("no terminator")


def _generic(op: ir.Operation, values: dict[ir.Value, Array], shape: tuple[int, ...]) -> Array:
    block = op.regions[0].blocks[0]
    scalars = dict(values)
    for argument, operand in zip(list(block.arguments)[:-1], op.operands, strict=False):
        scalars[argument] = values[operand]
    for view in block.operations:
        scalar = view.operation
        operands = [scalars[value] for value in scalar.operands]
        if scalar.name == "linalg.yield":
            return np.broadcast_to(operands[0], shape)
        scalars[scalar.results[0]] = _apply(scalar, operands)
    raise ValueError("no terminator")


def _apply(op: ir.Operation, operands: list[Array]) -> Array:
    if op.name in ("arith.cmpf", "arith.cmpi"):
        first = 16 if op.name == "arith.cmpi" else 0
        return compare(first + op.attributes["predicate"].value, *operands)
    if op.name in OPERATIONS:
        result = OPERATIONS[op.name](*operands)
        return np.asarray(result, dtype=DTYPES[str(op.results[0].type)])
    return _cast(op, operands[0])

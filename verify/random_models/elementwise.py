# SPDX-License-Identifier: MIT OR Apache-2.0
"""Random models of arithmetic and data movement, without reductions."""

from __future__ import annotations

from math import prod

from verify.random_models.case import Case
from verify.random_models.maker import CaseMaker, Value
from xyntra.dialects.dtypes import is_float

__all__ = ["elementwise"]

_SIZES = (1, 2, 3, 5, 7, 8, 9, 16, 17, 31, 32, 33, 64, 100, 127, 128, 129, 256, 1000)
_LARGEST = 1 << 16
_DTYPES = ("float32",) * 5 + ("float16", "float16", "bfloat16", "bfloat16", "float64",
                              "int32", "int64", "int8", "uint8", "bool")  # fmt: skip
_FLOAT_UNARY = ("Neg", "Abs", "Relu", "Exp", "Tanh", "Erf", "Sigmoid", "Sin", "Cos", "Gelu",
                "Swish", "Sqrt", "Log")  # fmt: skip
_FLOAT_BINARY = ("Add", "Sub", "Mul", "Div", "Max", "Min")
_INTEGER_BINARY = ("Add", "Sub", "Mul", "Max", "Min", "BitwiseAnd", "BitwiseOr", "BitwiseXor")


def elementwise(seed: int) -> Case:
    """One to six operators on tensors of up to five dimensions."""
    m = CaseMaker("elementwise", seed)
    dtype = m.pick(*_DTYPES)
    value = m.leaf(dtype, _shape(m))
    values = [value]
    for _ in range(m.random.randint(1, 6)):
        value = _grown(m, value, values)
        values.append(value)
    if value.startswith(("i", "w")):
        value = _unary(m, value, values)
    outputs = [value]
    other = m.pick(*values)
    if m.chance(0.3) and other.startswith("v") and other != value:
        outputs.append(other)
    return m.finish(*outputs, label=f"{dtype}{list(values[0].shape)}")


def _shape(m: CaseMaker) -> list[int]:
    rank = m.pick(0, 1, 2, 2, 3, 3, 4, 5)
    if rank == 1 and m.chance(0.3):
        return [m.pick(1, 4095, 4096, 4097, 33333, 65536)]
    sizes = [m.pick(*_SIZES) for _ in range(rank)]
    while prod(sizes) > _LARGEST:
        sizes[sizes.index(max(sizes))] = m.pick(2, 3, 5)
    if sizes and m.chance(0.03):
        sizes[m.random.randrange(rank)] = 0
    return sizes


def _grown(m: CaseMaker, x: Value, earlier: list[Value]) -> Value:
    recipe = m.pick(_unary, _unary, _unary, _binary, _binary, _binary, _binary, _where, _cast,
                    _transpose, _reshape, _expand, _slice, _concat)  # fmt: skip
    grown: Value = recipe(m, x, earlier)
    return grown


def _unary(m: CaseMaker, x: Value, _: list[Value]) -> Value:
    if x.dtype == "bool":
        return m.step("Not", [x], x.shape)
    if x.dtype == "float64":
        return m.step(m.pick("Neg", "Abs", "Relu"), [x], x.shape)
    if is_float(x.dtype):
        return m.step(m.pick(*_FLOAT_UNARY), [x], x.shape)
    return m.step("BitwiseNot", [x], x.shape)


def _binary(m: CaseMaker, x: Value, earlier: list[Value]) -> Value:
    found = [v for v in earlier if (v.dtype, v.shape) == (x.dtype, x.shape)]
    other = m.pick(*found) if found and m.chance(0.3) else _partner(m, x)
    pair = [x, other]
    m.random.shuffle(pair)
    if x.dtype == "bool":
        return m.step(m.pick("And", "Or", "Xor"), pair, x.shape)
    return m.step(m.pick(*(_FLOAT_BINARY if is_float(x.dtype) else _INTEGER_BINARY)), pair, x.shape)


def _partner(m: CaseMaker, x: Value) -> Value:
    """A new leaf that broadcasts to `x`."""
    kept = [n if m.chance(0.6) else 1 for n in x.shape]
    first = m.pick(0, 0, m.random.randint(0, len(kept)))
    return m.leaf(x.dtype, kept[first:], m.pick("input", "input", "weight"))


def _where(m: CaseMaker, x: Value, _: list[Value]) -> Value:
    condition = m.leaf("bool", [n if m.chance(0.7) else 1 for n in x.shape], high=50)
    return m.step("Where", [condition, x, _partner(m, x)], x.shape, x.dtype)


def _cast(m: CaseMaker, x: Value, _: list[Value]) -> Value:
    if is_float(x.dtype) and x.dtype != "float64":
        dtype = m.pick(*(d for d in ("float32", "float16", "bfloat16") if d != x.dtype))
    elif x.dtype == "float64":
        dtype = "float32"
    else:
        dtype = m.pick("float32", "int32", "int64", "float16")
    return m.step("Cast", [x], x.shape, dtype, dtype=dtype)


def _transpose(m: CaseMaker, x: Value, _: list[Value]) -> Value:
    if not x.shape:
        return x
    order = list(range(len(x.shape)))
    m.random.shuffle(order)
    return m.step("Transpose", [x], [x.shape[i] for i in order], perm=order)


def _reshape(m: CaseMaker, x: Value, _: list[Value]) -> Value:
    shape = list(x.shape)
    if len(shape) > 1 and m.chance(0.6):
        at = m.random.randrange(len(shape) - 1)
        shape[at : at + 2] = [shape[at] * shape[at + 1]]
    else:
        shape.insert(m.random.randint(0, len(shape)), 1)
    return m.step("Reshape", [x], shape, constants={"1": shape}, allowzero=1)


def _expand(m: CaseMaker, x: Value, _: list[Value]) -> Value:
    shape = [m.pick(2, 3, 7) if n == 1 and prod(x.shape) < 9000 else n for n in x.shape]
    if len(shape) < 5 and prod(shape) * 3 < _LARGEST:
        shape.insert(0, m.pick(2, 3))
    return m.step("Expand", [x], shape, constants={"1": shape})


def _slice(m: CaseMaker, x: Value, _: list[Value]) -> Value:
    if not x.shape or 0 in x.shape:
        return x
    axis = m.random.randrange(len(x.shape))
    size, stride = x.shape[axis], m.pick(1, 1, 2, 3)
    start = m.random.randint(0, size - 1)
    end = m.random.randint(start + 1, size)
    shape = list(x.shape)
    shape[axis] = -(-(end - start) // stride)
    limits = {"1": [start], "2": [end], "3": [axis], "4": [stride]}
    if m.chance(0.25):
        limits = {"1": [size - 1], "2": [-size - 1], "3": [axis], "4": [-stride]}
        shape[axis] = -(-size // stride)
    return m.step("Slice", [x], shape, constants=limits)


def _concat(m: CaseMaker, x: Value, earlier: list[Value]) -> Value:
    if not x.shape or prod(x.shape) > _LARGEST // 2:
        return x
    axis = m.random.randrange(len(x.shape))
    other = list(x.shape)
    other[axis] = m.pick(1, 2, 5, max(x.shape[axis], 1))
    parts = [x, m.leaf(x.dtype, other)]
    m.random.shuffle(parts)
    shape = list(x.shape)
    shape[axis] += other[axis]
    return m.step("Concat", parts, shape, axis=axis)

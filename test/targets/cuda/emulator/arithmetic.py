# SPDX-License-Identifier: MIT OR Apache-2.0
"""Arithmetic, comparisons and bits, on integers, floats and pairs of narrower numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from emulator.errors import require
from emulator.instructions import instruction
from emulator.machine import Machine, parts_of
from emulator.parse import Instruction
from emulator.types import NUMPY, Array, halves, joined

_Function = Callable[..., Array]
_PAIRS = {"f16x2": "b32", "bf16x2": "b32", "s16x2": "b32", "u16x2": "b32", "f32x2": "b64"}
_NARROW = ("f16", "bf16")
_SMALLEST_NORMAL = 2.0**-126


def _apply(m: Machine, op: Instruction, function: _Function) -> None:
    """Write `function` of all operands of the type that the opcode ends with.

    Behind f32, a narrower type is that of all operands but the last (PTX ISA, "Mixed Precision
    Floating-Point Instructions"): they are widened, which is exact.
    """
    kind = op.parts[-1]
    if op.parts[-2] == "f32" and kind in _NARROW:
        *narrow, last = op.operands[1:]
        wide = [m.read(each, kind).astype(np.float32) for each in narrow]
        m.write(op.operands[0], function(*wide, m.read(last, "f32")))
        return
    if kind in _PAIRS:
        pairs = [halves(m.whole(each, _PAIRS[kind]), kind[:-2]) for each in op.operands[1:]]
        m.write(op.operands[0], joined(function(*pairs).astype(NUMPY[kind[:-2]])))
        return
    values = [m.read(each, kind) for each in op.operands[1:]]
    m.write(op.operands[0], function(*values).astype(NUMPY[kind], copy=False))


def _fused(x: Array, y: Array, z: Array) -> Array:
    """x * y + z, rounded once but for f64, where the sum of a rounded product will do."""
    if x.dtype == np.float64:
        return np.asarray(x * y + z)
    wide = x.astype(np.float64) * y.astype(np.float64) + z.astype(np.float64)
    return wide.astype(x.dtype)


def _truncated(x: Array, y: Array) -> Array:
    """Division of integers towards zero."""
    require((y != 0).all(), "a division by zero")
    if x.dtype.kind == "u":
        return np.asarray(x // y)
    quotient = np.abs(x) // np.abs(y)
    return np.where((x < 0) != (y < 0), -quotient, quotient)


_NAMES: dict[str, _Function] = {
    "add": np.add, "sub": np.subtract, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor, "not": np.invert, "abs": np.abs, "neg": np.negative,
    "fma": _fused, "copysign": lambda x, y: np.copysign(y, x), "sqrt": np.sqrt,
}  # fmt: skip


@instruction(*_NAMES)
def plain(m: Machine, op: Instruction) -> None:
    if op.parts[0] == "neg" and op.parts[-1][0] in "sb":
        _apply(m, op, lambda x: np.negative(x) if x.dtype != np.bool_ else x)
        return
    _apply(m, op, _NAMES[op.parts[0]])


@instruction("div")
def divide(m: Machine, op: Instruction) -> None:
    _apply(m, op, np.divide if "f" in op.parts[-1] else _truncated)


@instruction("rem")
def remainder(m: Machine, op: Instruction) -> None:
    _apply(m, op, lambda x, y: x - _truncated(x, y) * y)


@instruction("max", "min")
def extreme(m: Machine, op: Instruction) -> None:
    """Of floats, the number where one is NaN; with the suffix NaN, NaN."""
    names = {
        "max": (np.maximum, np.fmax),
        "min": (np.minimum, np.fmin),
    }
    with_nan, without = names[op.parts[0]]
    is_float = "f" in op.parts[-1]
    _apply(m, op, without if is_float and "NaN" not in op.parts else with_nan)


@instruction("mul", "mad")
def multiply(m: Machine, op: Instruction) -> None:
    """The low or high half of the product, or all of it; mad adds a third operand to that."""
    kind = op.parts[-1]
    if "f" in kind:
        _apply(m, op, np.multiply)
        return
    bits = 8 * NUMPY[kind].itemsize
    x, y = (m.read(each, kind) for each in op.operands[1:3])
    if op.parts[1] == "lo":
        product, result = x * y, kind
    else:
        whole = _product(x, y, bits)
        is_wide = op.parts[1] == "wide"
        result = f"{kind[0]}{2 * bits}" if is_wide else kind
        product = (whole if is_wide else whole >> bits).astype(NUMPY[result])
    if op.parts[0] == "mad":
        product = product + m.read(op.operands[3], result)
    m.write(op.operands[0], np.asarray(product).astype(NUMPY[result], copy=False))


def _product(x: Array, y: Array, bits: int) -> Array:
    """All bits of a product."""
    if bits == 64:
        return np.asarray(x.astype(object) * y.astype(object))
    wide: Any = np.int64 if x.dtype.kind == "i" else np.uint64
    return np.asarray(x.astype(wide) * y.astype(wide))


@instruction("shl", "shr")
def shift(m: Machine, op: Instruction) -> None:
    """Shifts by as many bits as there are, or more, leave zeros, or the sign."""
    kind = op.parts[-1]
    x, count = m.read(op.operands[1], kind), m.read(op.operands[2], "u32")
    bits = 8 * x.dtype.itemsize
    by = np.minimum(count, bits - 1).astype(x.dtype)
    if op.parts[0] == "shl":
        result = np.where(count < bits, x << by, x.dtype.type(0))
    elif kind[0] == "s":
        result = x >> by
    else:
        result = np.where(count < bits, x >> by, x.dtype.type(0))
    m.write(op.operands[0], np.asarray(result).astype(x.dtype, copy=False))


@instruction("shf")
def funnel_shift(m: Machine, op: Instruction) -> None:
    low, high, count = (m.read(each, "u32").astype(np.uint64) for each in op.operands[1:])
    require("wrap" in op.parts, "funnel shifts that clamp are not known to the emulator")
    both, by = low | (high << np.uint64(32)), count & np.uint64(31)
    result = (both << by) >> np.uint64(32) if op.parts[1] == "l" else both >> by
    m.write(op.operands[0], result.astype(np.uint32))


@instruction("bfe")
def extract_bits(m: Machine, op: Instruction) -> None:
    """Bits of a number; signed ones are extended by the last."""
    kind = op.parts[-1]
    x = m.read(op.operands[1], kind)
    first, count = (m.read(each, "u32").astype(np.int64) for each in op.operands[2:])
    total = 8 * x.dtype.itemsize
    require((first + count <= total).all() and (count > 0).all(), "bits that are not there")
    left = (total - first - count).astype(x.dtype)
    m.write(op.operands[0], (x << left) >> (total - count).astype(x.dtype))


@instruction("bfi")
def insert_bits(m: Machine, op: Instruction) -> None:
    """The second number with bits of the first, from a place on."""
    kind = op.parts[-1]
    source, target = (m.read(each, kind) for each in op.operands[1:3])
    first, count = (m.read(each, "u32").astype(source.dtype) for each in op.operands[3:])
    require((first + count < 8 * source.dtype.itemsize + 1).all(), "bits that are not there")
    mask = ((source.dtype.type(1) << count) - source.dtype.type(1)) << first
    m.write(op.operands[0], (target & ~mask) | ((source << first) & mask))


@instruction("lop3")
def logic(m: Machine, op: Instruction) -> None:
    """Any function of three bits: bit 4 a + 2 b + c of the table says what it is."""
    values = [m.read(each, "b32") for each in op.operands[1:4]]
    table, result = int(m.read(op.operands[4], "u32")), np.uint32(0)
    for index in range(8):
        if table >> index & 1:
            term = np.uint32(0xFFFFFFFF)
            for bit, value in zip((4, 2, 1), values, strict=True):
                term = term & (value if index & bit else ~value)
            result = result | term
    m.write(op.operands[0], np.asarray(result))


def _power_of_two(x: Array) -> Array:
    """2^x; results below the normal numbers of f32 are zero."""
    result = np.exp2(x)
    return np.where(np.abs(result) < _SMALLEST_NORMAL, 0.0, result)


_FUNCTIONS: dict[str, _Function] = {
    "ex2": _power_of_two,
    "rcp": lambda x: 1 / x,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "lg2": np.log2,
    "tanh": np.tanh,
    "sin": np.sin,
    "cos": np.cos,
}


@instruction(*_FUNCTIONS)
def function(m: Machine, op: Instruction) -> None:
    """Approximations are exact here, but for the last rounding."""
    exact = _FUNCTIONS[op.parts[0]]
    _apply(m, op, lambda x: exact(x.astype(np.float64)))


_RELATIONS: dict[str, _Function] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal, "lo": np.less, "ls": np.less_equal, "hi": np.greater,
    "hs": np.greater_equal,
}  # fmt: skip


@instruction("setp")
def compare(m: Machine, op: Instruction) -> None:
    """Comparisons of NaN are false; those with the suffix u are true. Pairs have two results."""
    kind, relation = op.parts[-1], op.parts[1]
    if kind in _PAIRS:
        x, y = (halves(m.whole(each, _PAIRS[kind]), kind[:-2]) for each in op.operands[1:3])
        for number, target in enumerate(parts_of(op.operands[0])):
            m.write(target, _compared(relation, x[:, number], y[:, number]))
        return
    x, y = (m.read(each, kind) for each in op.operands[1:3])
    m.write(op.operands[0], _compared(relation, x, y))


def _compared(relation: str, x: Array, y: Array) -> Array:
    if x.dtype.kind in "iub":
        return np.asarray(_RELATIONS[relation](x, y))
    unordered = np.isnan(x) | np.isnan(y)
    if relation in ("nan", "num"):
        return unordered if relation == "nan" else ~unordered
    if relation not in _RELATIONS:  # eq and equ, lt and ltu, …
        return np.asarray(_RELATIONS[relation[:-1]](x, y) | unordered)
    return np.asarray(_RELATIONS[relation](x, y) & ~unordered)


_ROUNDINGS: dict[str, _Function] = {
    "rni": np.rint,
    "rzi": np.trunc,
    "rmi": np.floor,
    "rpi": np.ceil,
}


_FLOAT8 = {"e4m3x2": ml_dtypes.float8_e4m3fn, "e5m2x2": ml_dtypes.float8_e5m2}


def _saturated(x: Array, dtype: Any) -> Array:
    """Rounded; infinities and what is too large become the largest number, NaN stays."""
    largest = float(ml_dtypes.finfo(dtype).max)
    return np.clip(x, -largest, largest).astype(dtype)


@instruction("cvt")
def convert(m: Machine, op: Instruction) -> None:
    target, source = op.parts[-2:]
    if target in _FLOAT8:
        high, low = (_saturated(m.whole(each, "f32"), _FLOAT8[target]) for each in op.operands[1:])
        m.write(op.operands[0], joined(np.stack([low, high], -1)))
        return
    if source in _FLOAT8:
        pairs = halves(m.whole(op.operands[1], "b16"), source[:-2]).astype(np.float16)
        m.write(op.operands[0], joined(pairs))
        return
    if target in _PAIRS:
        high, low = (m.whole(each, "f32").astype(NUMPY[target[:-2]]) for each in op.operands[1:])
        m.write(op.operands[0], joined(np.stack([low, high], -1)))
        return
    x = m.read(op.operands[1], source)
    if target == "tf32":
        bits = np.asarray(x).view(np.uint32) + np.uint32(0x1000)  # the middle goes away from zero
        m.write(op.operands[0], bits & np.uint32(0xFFFFE000))
        return
    rounding = next((_ROUNDINGS[part] for part in op.parts if part in _ROUNDINGS), None)
    if rounding is not None:
        x = rounding(x.astype(np.float64))
    m.write(op.operands[0], _converted(x, NUMPY[target], from_float="f" in source))


def _converted(x: Array, dtype: np.dtype[Any], *, from_float: bool) -> Array:
    """To integers, floats saturate, and NaN becomes zero."""
    if not from_float or dtype.kind == "f" or dtype == ml_dtypes.bfloat16:
        return x.astype(dtype)
    limits = np.iinfo(dtype)
    inside = np.clip(np.nan_to_num(x, nan=0.0), float(limits.min), float(limits.max))
    found = np.where(x >= float(limits.max), limits.max, inside.astype(dtype))
    return found.astype(dtype)

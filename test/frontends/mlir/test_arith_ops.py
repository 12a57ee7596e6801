# SPDX-License-Identifier: MIT OR Apache-2.0
"""Operations of arith and math on tensors, each against its definition in numpy or Python.

One function holds an operation on every type that it has: on random values and the special ones,
on a ragged shape, an empty one and one of rank 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from mlir_programs import DTYPES, Array, check, element, function, type_of

Settings = dict[str, object]
Case = tuple[str, list[Array], list[Array]]

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -2.5, 3.5, math.inf, -math.inf, math.nan, 1e-6, 100.0]
UNARY: dict[str, Callable[[Any], Any]] = {
    "arith.negf": np.negative,
    "math.absf": np.abs,
    "math.acos": np.arccos,
    "math.acosh": np.arccosh,
    "math.asin": np.arcsin,
    "math.asinh": np.arcsinh,
    "math.atan": np.arctan,
    "math.atanh": np.arctanh,
    "math.cbrt": np.cbrt,
    "math.ceil": np.ceil,
    "math.cos": np.cos,
    "math.cosh": np.cosh,
    "math.erf": np.vectorize(math.erf, [float]),
    "math.erfc": np.vectorize(math.erfc, [float]),
    "math.exp": np.exp,
    "math.exp2": np.exp2,
    "math.expm1": np.expm1,
    "math.floor": np.floor,
    "math.log": np.log,
    "math.log10": np.log10,
    "math.log1p": np.log1p,
    "math.log2": np.log2,
    "math.round": lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x),
    "math.roundeven": np.rint,
    "math.rsqrt": lambda x: 1 / np.sqrt(x),
    "math.sin": np.sin,
    "math.sinh": np.sinh,
    "math.sqrt": np.sqrt,
    "math.tan": np.tan,
    "math.tanh": np.tanh,
    "math.trunc": np.trunc,
}
BINARY: dict[str, Callable[..., Any]] = {
    "arith.addf": np.add,
    "arith.subf": np.subtract,
    "arith.mulf": np.multiply,
    "arith.divf": np.divide,
    "arith.remf": np.fmod,
    "arith.maximumf": np.maximum,
    "arith.minimumf": np.minimum,
    "arith.maxnumf": np.fmax,
    "arith.minnumf": np.fmin,
    "math.atan2": np.arctan2,
    "math.copysign": np.copysign,
    "math.powf": np.power,
}
CLASSES: dict[str, Callable[[Any], Any]] = {
    "math.isfinite": np.isfinite,
    "math.isinf": np.isinf,
    "math.isnan": np.isnan,
}
ROUGH = {"math.powf": 20.0, "math.remf": 20.0, "math.tan": 8.0}


def wrapped(values: Any, dtype: Any) -> Array:
    """Integers of any size, cut to the bits of `dtype`."""
    bits = np.dtype(dtype).itemsize * 8
    half = 1 << (bits - 1)
    cut = [((int(each) + half) % (1 << bits)) - half for each in np.ravel(values)]
    return np.array(cut, np.int64).astype(dtype).reshape(np.shape(values))


def floats(name: str, count: int) -> list[Array]:
    """`count` arrays of type `name` for each of three shapes."""
    generator = np.random.default_rng()
    arrays = []
    for shape in ((3, 29), (0, 4), ()):
        for position in range(count):
            array = np.asarray(generator.standard_normal(shape) * 3)
            if array.ndim and array.size:
                array.flat[: len(SPECIAL)] = np.roll(SPECIAL, 3 * position)
            arrays.append(array.astype(DTYPES[name]))
    return arrays


def integers(name: str, count: int) -> list[Array]:
    generator = np.random.default_rng()
    arrays = []
    for shape in ((3, 29), (0, 4), ()):
        for position in range(count):
            if name == "i1":
                arrays.append(np.asarray(generator.integers(0, 2, shape)).astype(bool))
                continue
            info = np.iinfo(DTYPES[name])
            array = np.asarray(generator.integers(info.min, info.max, shape, endpoint=True))
            if array.ndim and array.size:
                corners = [0, 1, -1, info.min, info.max, 5, -5, info.min, 0, 3, 31, 7]
                array.flat[: len(corners)] = np.roll(corners, 5 * position)
            arrays.append(array.astype(DTYPES[name]))
    return arrays


def apply(
    op: str, arguments: Sequence[Array], count: int, results: Sequence[Array], attributes: str = ""
) -> str:
    """Apply `op` to each `count` arguments, which give one of `results`."""
    lines = []
    for position, result in enumerate(results):
        given = range(position * count, (position + 1) * count)
        names = ", ".join(f"%{i}" for i in given)
        types = ", ".join(type_of(arguments[i]) for i in given)
        lines.append(
            f'  %r{position} = "{op}"({names}) {attributes} : ({types}) -> {type_of(result)}'
        )
    return function("\n".join(lines), arguments, results)


def grouped(arrays: Sequence[Array], count: int) -> list[Sequence[Array]]:
    return [arrays[i : i + count] for i in range(0, len(arrays), count)]


def wide(array: Array) -> Array:
    return array.astype(np.float64)


def check_all(
    op: str,
    arrays: list[Array],
    count: int,
    reference: Callable[..., Any],
    settings: Settings,
    attributes: str = "",
) -> None:
    with np.errstate(all="ignore"):
        expected = [np.asarray(reference(*group)) for group in grouped(arrays, count)]
    text = apply(op, arrays, count, expected, attributes)
    check(text, arrays, expected, settings, ROUGH.get(op, 4.0))


@pytest.mark.parametrize("op", [*UNARY, *BINARY])
def test_floats(op: str, settings: Settings) -> None:
    count = 1 if op in UNARY else 2
    reference = UNARY.get(op) or BINARY[op]
    arrays = [each for name in ("f64", "f32", "f16", "bf16") for each in floats(name, count)]
    check_all(op, arrays, count, lambda *g: reference(*map(wide, g)).astype(g[0].dtype), settings)


@pytest.mark.parametrize("op", [*CLASSES, "math.isnormal"])
def test_classes_of_floats(op: str, settings: Settings) -> None:
    arrays = [each for name in ("f64", "f32", "f16", "bf16") for each in floats(name, 1)]
    least = {8: 2.0**-1022, 4: 2.0**-126}

    def normal(x: Array) -> Any:
        tiny = 2.0**-14 if x.dtype == np.float16 else least.get(x.dtype.itemsize, 2.0**-126)
        return np.isfinite(wide(x)) & (np.abs(wide(x)) >= tiny)

    check_all(op, arrays, 1, lambda x: CLASSES.get(op, normal)(x), settings)


PREDICATES = "false oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno true".split()
RELATIONS: dict[str, Callable[..., Any]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "lt": np.less,
    "le": np.less_equal,
}


def compared(predicate: str, x: Array, y: Array) -> Any:
    unordered = np.isnan(wide(x)) | np.isnan(wide(y))
    if predicate in ("false", "true"):
        return np.full(x.shape, predicate == "true")
    if predicate in ("ord", "uno"):
        return ~unordered if predicate == "ord" else unordered
    holds = RELATIONS[predicate[1:]](x, y)
    return holds & ~unordered if predicate[0] == "o" else holds | unordered


@pytest.mark.parametrize("number", range(16))
def test_comparisons_of_floats(number: int, settings: Settings) -> None:
    arrays = [each for name in ("f64", "f32", "f16", "bf16") for each in floats(name, 2)]
    reference = lambda x, y: compared(PREDICATES[number], x, y)  # noqa: E731
    check_all("arith.cmpf", arrays, 2, reference, settings, f"{{predicate = {number} : i64}}")


@pytest.mark.parametrize("number", range(10))
def test_comparisons_of_integers(number: int, settings: Settings) -> None:
    names = ["eq", "ne", "lt", "le", "gt", "ge", "lt", "le", "gt", "ge"]
    arrays = [each for name in ("i64", "i32", "i16", "i8") for each in integers(name, 2)]

    def reference(x: Array, y: Array) -> Any:
        unsigned = np.dtype(f"u{x.dtype.name}")
        given = (x.view(unsigned), y.view(unsigned)) if number > 5 else (x, y)
        return RELATIONS[names[number]](*given)

    check_all("arith.cmpi", arrays, 2, reference, settings, f"{{predicate = {number} : i64}}")


def quotient(a: int, b: int) -> int:
    return 0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


SIGNED: dict[str, Callable[..., int]] = {
    "arith.addi": lambda a, b, n: a + b,
    "arith.subi": lambda a, b, n: a - b,
    "arith.muli": lambda a, b, n: a * b,
    "arith.divsi": lambda a, b, n: quotient(a, b),
    "arith.remsi": lambda a, b, n: a - b * quotient(a, b) if b else 0,
    "arith.floordivsi": lambda a, b, n: a // b if b else 0,
    "arith.ceildivsi": lambda a, b, n: -(-a // b) if b else 0,
    "arith.maxsi": lambda a, b, n: max(a, b),
    "arith.minsi": lambda a, b, n: min(a, b),
    "arith.andi": lambda a, b, n: a & b,
    "arith.ori": lambda a, b, n: a | b,
    "arith.xori": lambda a, b, n: a ^ b,
    "arith.shli": lambda a, b, n: a << b if 0 <= b < n else 0,
    "arith.shrsi": lambda a, b, n: a >> (b if 0 <= b < n else n - 1),
}
UNSIGNED: dict[str, Callable[..., int]] = {
    "arith.divui": lambda a, b, n: a // b if b else 0,
    "arith.remui": lambda a, b, n: a % b if b else 0,
    "arith.ceildivui": lambda a, b, n: -(-a // b) if b else 0,
    "arith.maxui": lambda a, b, n: max(a, b),
    "arith.minui": lambda a, b, n: min(a, b),
    "arith.shrui": lambda a, b, n: a >> b if b < n else 0,
}
EXTENDED: dict[str, tuple[bool, Callable[..., int], Callable[..., int]]] = {
    "arith.addui_extended": (False, lambda a, b, n: a + b, lambda a, b, n: (a + b) >> n),
    "arith.subui_extended": (False, lambda a, b, n: a - b, lambda a, b, n: a < b),
    "arith.mulsi_extended": (True, lambda a, b, n: a * b, lambda a, b, n: a * b >> n),
    "arith.mului_extended": (False, lambda a, b, n: a * b, lambda a, b, n: a * b >> n),
}
BITS: dict[str, Callable[..., int]] = {
    "math.absi": lambda a, n: a if a >> (n - 1) == 0 else -a,
    "math.ctlz": lambda a, n: n - a.bit_length(),
    "math.cttz": lambda a, n: (a & -a).bit_length() - 1 if a else n,
    "math.ctpop": lambda a, n: a.bit_count(),
}


def each(function_: Callable[..., int], signed: bool, *arrays: Array) -> Array:
    bits = arrays[0].dtype.itemsize * 8
    views = [x if signed else x.view(f"u{x.dtype.name}") for x in arrays]
    values = zip(*(map(int, np.ravel(x)) for x in views), strict=True)
    found = np.array([function_(*given, bits) for given in values], object)
    return wrapped(found.reshape(arrays[0].shape), arrays[0].dtype)


@pytest.mark.parametrize("op", [*SIGNED, *UNSIGNED])
def test_integers(op: str, settings: Settings) -> None:
    arrays = [each for name in ("i64", "i32", "i16", "i8") for each in integers(name, 2)]
    reference = SIGNED.get(op) or UNSIGNED[op]
    check_all(op, arrays, 2, lambda x, y: each(reference, op in SIGNED, x, y), settings)


@pytest.mark.parametrize("op", BITS)
def test_bits(op: str, settings: Settings) -> None:
    arrays = [each for name in ("i64", "i32", "i16", "i8") for each in integers(name, 1)]
    check_all(op, arrays, 1, lambda x: each(BITS[op], False, x), settings)


@pytest.mark.parametrize("op", EXTENDED)
@pytest.mark.parametrize("name", ["i64", "i32", "i8"])
def test_integers_with_two_results(op: str, name: str, settings: Settings) -> None:
    x, y = integers(name, 2)[:2]
    signed, low, high = EXTENDED[op]
    second = each(high, signed, x, y)
    if op in ("arith.addui_extended", "arith.subui_extended"):
        second = second.astype(bool)
    expected = [each(low, signed, x, y), second]
    types = ", ".join(map(type_of, expected))
    body = f'  %r0, %r1 = "{op}"(%0, %1) : ({type_of(x)}, {type_of(y)}) -> ({types})'
    check(function(body, [x, y], expected), [x, y], expected, settings)


LOGICAL = {
    "andi": np.logical_and, "ori": np.logical_or, "xori": np.logical_xor, "addi": np.logical_xor,
    "muli": np.logical_and, "maxui": np.logical_or, "minui": np.logical_and,
    "maxsi": np.logical_and, "minsi": np.logical_or,
}  # fmt: skip


@pytest.mark.parametrize("op", LOGICAL)
def test_booleans(op: str, settings: Settings) -> None:
    check_all(f"arith.{op}", integers("i1", 2), 2, LOGICAL[op], settings)


def test_powers_of_integers(settings: Settings) -> None:
    arrays = [each for name in ("i64", "i32", "i8") for each in integers(name, 2)]
    arrays[1::2] = [(x % 6).astype(x.dtype) for x in arrays[1::2]]
    power = lambda x, y: each(lambda a, b, n: a**b, True, x, y)  # noqa: E731
    check_all("math.ipowi", arrays, 2, power, settings)


def test_three_floats(settings: Settings) -> None:
    arrays = [each for name in ("f64", "f32", "f16", "bf16") for each in floats(name, 3)]
    fma = lambda x, y, z: (wide(x) * wide(y) + wide(z)).astype(x.dtype)  # noqa: E731
    check_all("math.fma", arrays, 3, fma, settings)
    clamp = lambda x, y, z: np.minimum(np.maximum(wide(x), wide(y)), wide(z)).astype(x.dtype)  # noqa: E731
    check_all("math.clampf", arrays, 3, clamp, settings)


def test_integer_exponents(settings: Settings) -> None:
    exponents = [np.array([[-3, 0, 1, 2, 7] * 17 + [4, 5]], np.int32).reshape(3, 29)]
    x = floats("f32", 1)[0]
    arrays = [x, exponents[0]]
    power = lambda a, b: np.power(wide(a), b).astype(a.dtype)  # noqa: E731
    check_all("math.fpowi", arrays, 2, power, settings)


def test_sine_and_cosine(settings: Settings) -> None:
    for name in ("f64", "f32", "f16"):
        x = floats(name, 1)[0]
        with np.errstate(all="ignore"):
            expected = [np.sin(wide(x)).astype(x.dtype), np.cos(wide(x)).astype(x.dtype)]
        t = type_of(x)
        body = f'  %r0, %r1 = "math.sincos"(%0) : ({t}) -> ({t}, {t})'
        check(function(body, [x], expected), [x], expected, settings, 4)


def test_selections(settings: Settings) -> None:
    arrays = []
    for name in ("f32", "f16", "i64", "i8", "i1"):
        make = floats if name[0] == "f" else integers
        for c, group in zip(integers("i1", 1), grouped(make(name, 2), 2), strict=True):
            arrays += [c, *group]
    check_all("arith.select", arrays, 3, np.where, settings)


def converted(x: Array, to: str, unsigned: bool = False) -> Array:
    """An integer, or a float cut to the range of integers of `to`."""
    if x.dtype == bool or element(x)[0] == "i":
        return x.astype(DTYPES[to])
    bits = np.dtype(DTYPES[to]).itemsize * 8
    low, high = (0, 2**bits - 1) if unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    numbers = [0 if math.isnan(v) else low if v <= low else high if v >= high else int(v)
               for v in wide(x).ravel()]  # fmt: skip
    return wrapped(np.array(numbers, object).reshape(x.shape), DTYPES[to])


CASTS = {
    "extf": [("f16", "f32"), ("bf16", "f32"), ("f32", "f64"), ("f16", "f64")],
    "truncf": [("f64", "f32"), ("f32", "f16"), ("f32", "bf16")],
    "extsi": [("i8", "i16"), ("i16", "i32"), ("i32", "i64"), ("i8", "i64"), ("i1", "i32")],
    "extui": [("i8", "i32"), ("i32", "i64"), ("i1", "i8")],
    "trunci": [("i64", "i32"), ("i32", "i8"), ("i64", "i16")],
    "sitofp": [("i32", "f32"), ("i64", "f64"), ("i8", "f32"), ("i1", "f32"), ("i64", "f32")],
    "uitofp": [("i32", "f32"), ("i64", "f64"), ("i8", "f32"), ("i1", "f32")],
    "fptosi": [("f32", "i32"), ("f64", "i64"), ("f32", "i8"), ("f16", "i32")],
    "fptoui": [("f32", "i32"), ("f64", "i64"), ("f32", "i8")],
    "bitcast": [("f32", "i32"), ("i64", "f64"), ("f16", "i16"), ("bf16", "i16")],
}


@pytest.mark.parametrize("op", CASTS)
def test_conversions(op: str, settings: Settings) -> None:
    for source, to in CASTS[op]:
        arrays = floats(source, 1) if "f" in source else integers(source, 1)

        def reference(x: Array, to: str = to) -> Array:
            if op == "bitcast":
                return x.view(DTYPES[to])
            if op in ("extui", "uitofp") and x.dtype != bool:
                x = x.view(f"u{x.dtype.name}")
            if op in ("extsi", "sitofp") and x.dtype == bool:
                x = -x.astype(np.int8)
            if op == "trunci":
                return wrapped(x, DTYPES[to])
            return converted(x, to, "ui" in op) if op[:2] == "fp" else x.astype(DTYPES[to])

        check_all(f"arith.{op}", arrays, 1, reference, settings)

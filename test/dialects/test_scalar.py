# SPDX-License-Identifier: MIT OR Apache-2.0
"""Scalar arithmetic emits the operations that its dtype asks for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from evaluate import evaluate

from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.scalar import Scalar, constant

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


def apply(body: Callable[..., Scalar], *arrays: np.ndarray, dtype: str | None = None) -> np.ndarray:
    result = dtype or arrays[0].dtype.name
    return evaluate(lambda b, *tensors: b.map(body, *tensors, dtype=result), *arrays)[0]


@pytest.mark.parametrize("dtype", [*INTEGERS, "float32", "float64"])
def test_operators(dtype: str) -> None:
    x, y = np.array([7, 100, 3, 5], dtype), np.array([2, 9, 4, 5], dtype)

    def build(b: TensorBuilder, p: Tensor, q: Tensor) -> list[Tensor]:
        bodies = (
            lambda s, t: s + t, lambda s, t: s * t, lambda s, t: s % t,
            lambda s, t: s.maximum(t), lambda s, t: s.minimum(t), lambda s, t: s * 2 + 1,
        )  # fmt: skip
        return [b.map(body, p, q, dtype=dtype) for body in bodies]

    with np.errstate(over="ignore"):
        wanted = [x + y, x * y, x % y, np.maximum(x, y), np.minimum(x, y), x * 2 + 1]
    for found, expected in zip(evaluate(build, x, y), wanted, strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_comparisons_and_division_know_the_sign(dtype: str) -> None:
    x = np.array([200, 3, 128], np.int64).astype(dtype)
    y = np.array([3, 200, 2], np.int64).astype(dtype)
    np.testing.assert_array_equal(apply(lambda s, t: s > t, x, y, dtype="bool"), x > y)
    wanted = [int(int(a) / int(b)) for a, b in zip(x, y, strict=True)]
    np.testing.assert_array_equal(apply(lambda s, t: s / t, x, y), np.array(wanted, dtype))
    np.testing.assert_array_equal(apply(lambda s: s >> 1, x), x >> 1)


def test_bits() -> None:
    x, y = np.array([0b1100, -1], np.int32), np.array([0b1010, 7], np.int32)
    np.testing.assert_array_equal(apply(lambda s, t: s & t, x, y), x & y)
    np.testing.assert_array_equal(apply(lambda s, t: s | t, x, y), x | y)
    np.testing.assert_array_equal(apply(lambda s, t: (s ^ t) << 2, x, y), (x ^ y) << 2)
    np.testing.assert_array_equal(apply(lambda s: ~s, x), ~x)
    flags = np.array([True, False])
    np.testing.assert_array_equal(apply(lambda s: ~s, flags), ~flags)


def test_negation_and_magnitude() -> None:
    x = np.array([-3, 0, 5, -128], np.int8)
    np.testing.assert_array_equal(apply(lambda s: -s, x), np.negative(x))
    np.testing.assert_array_equal(apply(lambda s: s.absolute(), x), np.abs(x))
    np.testing.assert_array_equal(apply(lambda s: s.absolute(), x.view(np.uint8)), x.view(np.uint8))
    z = np.array([-0.0, np.nan, -np.inf], np.float32)
    np.testing.assert_array_equal(apply(lambda s: s.absolute(), z), np.abs(z))
    assert np.signbit(apply(lambda s: -s, np.array([0.0], np.float32))).all()


def test_nan_in_comparisons_and_extremes() -> None:
    x = np.array([np.nan, 1, np.nan], np.float32)
    y = np.array([1, np.nan, np.nan], np.float32)
    for body in (lambda s, t: s.equals(t), lambda s, t: s < t, lambda s, t: s >= t):
        assert not apply(body, x, y, dtype="bool").any()
    assert apply(lambda s, t: s.differs(t), x, y, dtype="bool").all()
    assert np.isnan(apply(lambda s, t: s.maximum(t), x, y)).all()
    assert np.isnan(apply(lambda s, t: s.minimum(t), x, y)).all()
    assert apply(Scalar.is_nan, x, dtype="bool").tolist() == [True, False, True]


def test_select_and_math() -> None:
    x = np.array([-4.0, 9.0])
    found = apply(lambda s: (s > 0).select(s.math("sqrt"), 0), x)
    np.testing.assert_array_equal(found, [0, 3])
    np.testing.assert_array_equal(apply(lambda s: s.math("copysign", -1), x), [-4, -9])


@pytest.mark.parametrize("value", [300, -1, 2**40 + 5, -(2**63)])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_constants_wrap(value: int, dtype: str) -> None:
    found = evaluate(lambda b: b.map(lambda: constant(value, dtype), dtype=dtype, shape=(1,)))[0]
    bits = np.iinfo(dtype).bits
    assert int(found[0]) % 2**bits == value % 2**bits


def test_boolean_arithmetic_of_numbers() -> None:
    flags = np.array([True, False])
    assert apply(lambda s: s.cast("float32") * 3, flags, dtype="float32").tolist() == [3, 0]
    assert apply(lambda s: s.cast("int8"), flags, dtype="int8").tolist() == [1, 0]


def test_mixed_dtypes_are_refused() -> None:
    with pytest.raises(TypeError, match="float32 and int32"):
        apply(lambda s, t: s + t, np.ones(2, np.float32), np.ones(2, np.int32))


def test_undefined_operators_are_refused() -> None:
    with pytest.raises(TypeError, match="not defined for float32"):
        apply(lambda s: s & s, np.ones(2, np.float32))


def test_floats_to_index_stay_defined() -> None:
    x = np.array([1.9, -1.9, np.nan, np.inf], np.float32)
    found = apply(lambda s: s.cast("index").cast("int64"), x, dtype="int64")
    assert found.tolist() == [1, -1, -(2**63), -(2**63)]


def test_index_to_float() -> None:
    def build(b: TensorBuilder) -> Tensor:
        return b.map(lambda: b.index(0).cast("float16"), dtype="float16", shape=(4,))

    assert evaluate(build)[0].tolist() == [0, 1, 2, 3]

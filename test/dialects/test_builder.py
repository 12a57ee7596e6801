# SPDX-License-Identifier: MIT OR Apache-2.0
"""The numpy-like builder does what numpy does."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from evaluate import build_module, context, evaluate
from torch_mlir import ir

from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.scalar import Scalar
from xyntra.dialects.tensors.broadcasting import broadcast_map, broadcast_shapes


def numbers(*shape: int, dtype: str = "float32") -> np.ndarray:
    return np.arange(np.prod(shape)).reshape(shape).astype(dtype)


@pytest.mark.parametrize(
    "shapes", [[], [(3,)], [(2, 3), (3,)], [(4, 1), (1, 5)], [(0, 3), (1, 1)], [(), (2,)]]
)
def test_broadcast_shapes(shapes: list[tuple[int, ...]]) -> None:
    assert broadcast_shapes(*shapes) == np.broadcast_shapes(*shapes)


@pytest.mark.parametrize("shapes", [[(2,), (3,)], [(2, 3), (2,)], [(0,), (2,)]])
def test_shapes_that_do_not_broadcast(shapes: list[tuple[int, ...]]) -> None:
    with pytest.raises(ValueError, match="do not broadcast"):
        broadcast_shapes(*shapes)


def test_size_1_reads_through_the_identity_where_nothing_broadcasts() -> None:
    with context():
        assert str(broadcast_map((1, 3), (1, 3))) == "(d0, d1) -> (d0, d1)"
        assert str(broadcast_map((1, 3), (2, 3))) == "(d0, d1) -> (0, d1)"
        assert str(broadcast_map((3,), (2, 3))) == "(d0, d1) -> (d1)"


@pytest.mark.parametrize(
    ("left", "right"),
    [((2, 3), (2, 3)), ((2, 1, 4), (3, 1)), ((), (5,)), ((1, 1), (2, 0)), ((), ())],
)
def test_map_broadcasts(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    x, y = numbers(*left), numbers(*right) + 1
    (found,) = evaluate(lambda b, p, q: b.map(lambda s, t: s * 2 + t, p, q, dtype="float32"), x, y)
    np.testing.assert_array_equal(found, x * 2 + y)


def test_map_takes_arrays() -> None:
    x = numbers(2, 3)
    row, one = np.array([1, 2, 3], np.float32), np.array([[10]], np.float32)

    def build(b: TensorBuilder, p: Tensor) -> Tensor:
        return b.map(lambda s, t, u: s * t + u, p, row, one, dtype="float32")

    np.testing.assert_array_equal(evaluate(build, x)[0], x * row + 10)


def test_single_numbers_are_inlined() -> None:
    one = np.array([[10]], np.float32)
    module, _ = build_module(
        lambda b, p: b.map(lambda s, t: s + t, p, one, dtype="float32"), numbers(2, 3)
    )
    assert "arith.constant 1.000000e+01 : f32" in str(module)
    assert "dense" not in str(module)


@pytest.mark.parametrize(
    "array",
    [
        numbers(2, 3), np.zeros((2, 2)), np.array(7, np.int64), np.array([[True, False]]),
        np.ones(3, bool), np.zeros(0, bool), np.zeros((2, 0), np.float32),
        np.array([-1, 200, 3], np.int16),
        np.array([255, 0], np.uint8), np.array([1.5, -2], ml_dtypes.bfloat16),
        np.array([np.inf, -0.0, 1e-8], np.float16),
    ],
)  # fmt: skip
def test_constants_keep_their_bytes(array: np.ndarray) -> None:
    (found,) = evaluate(lambda b: b.constant(array))
    assert found.dtype == array.dtype
    assert found.shape == array.shape
    assert found.tobytes() == array.tobytes()


def test_nan_payloads_survive() -> None:
    array = np.array([0x7FC12345, 0xFF812345], np.uint32).view(np.float32)
    assert evaluate(lambda b: b.constant(array))[0].tobytes() == array.tobytes()


def test_equal_elements_are_stored_once() -> None:
    module, _ = build_module(lambda b: b.constant(np.full((100, 100), 3, np.int64)))
    assert "dense<3>" in str(module)


def test_constants_of_unknown_dtypes() -> None:
    with pytest.raises((TypeError, KeyError), match="complex64"):
        build_module(lambda b: b.constant(np.zeros(2, np.complex64)))


@pytest.mark.parametrize("permutation", [[0, 1, 2], [2, 0, 1], [1, 2, 0], [0, 2, 1]])
def test_transpose(permutation: list[int]) -> None:
    x = numbers(2, 3, 4)
    (found,) = evaluate(lambda b, p: b.transpose(p, permutation), x)
    np.testing.assert_array_equal(found, x.transpose(permutation))


@pytest.mark.parametrize(
    ("starts", "sizes", "steps"),
    [([0, 0], [4, 5], [1, 1]), ([1, 2], [2, 3], [1, 1]), ([3, 4], [4, 3], [-1, -2]),
     ([0, 1], [2, 2], [3, 2]), ([2, 0], [0, 5], [1, 1]), ([3, 0], [1, 5], [-7, 1])],
)  # fmt: skip
def test_slice(starts: list[int], sizes: list[int], steps: list[int]) -> None:
    x = numbers(4, 5)
    (found,) = evaluate(lambda b, p: b.slice(p, starts, sizes, steps), x)
    rows, columns = (
        [a + i * s for i in range(n)] for a, n, s in zip(starts, sizes, steps, strict=True)
    )
    np.testing.assert_array_equal(found, x[np.ix_(rows, columns)])


@pytest.mark.parametrize(
    ("old", "new"),
    [((2, 3, 4), (24,)), ((24,), (4, 6)), ((2, 3, 4), (6, 2, 2)), ((4, 6), (6, 4)), ((1, 1), ()),
     ((), (1, 1)), ((2, 1, 3), (2, 3)), ((3,), (1, 3, 1)), ((0, 3), (3, 0, 2)), ((2, 3), (2, 3)),
     ((1, 128, 12), (128, 3, 4))],
)  # fmt: skip
def test_reshape(old: tuple[int, ...], new: tuple[int, ...]) -> None:
    x = numbers(*old)
    np.testing.assert_array_equal(evaluate(lambda b, p: b.reshape(p, new), x)[0], x.reshape(new))


def test_reshape_keeps_dimensions_apart() -> None:
    module, _ = build_module(lambda b, p: b.reshape(p, (1, 8, 3, 4)), numbers(1, 8, 12))
    assert "tensor.expand_shape" in str(module)
    assert "tensor.collapse_shape" not in str(module)


def test_reshape_refuses_other_sizes() -> None:
    with pytest.raises(ValueError, match="as many elements"):
        build_module(lambda b, p: b.reshape(p, (5,)), numbers(2, 3))


@pytest.mark.parametrize("axes", [[0], [2], [0, 2], [0, 1, 2], []])
@pytest.mark.parametrize("keepdims", [True, False])
def test_reduce(axes: list[int], keepdims: bool) -> None:
    x = np.random.default_rng(0).standard_normal((2, 3, 4))

    def build(b: TensorBuilder, p: Tensor) -> list[Tensor]:
        kinds = ("sum", "prod", "max", "min")
        return [b.reduce(p, axes, kind, keepdims=keepdims) for kind in kinds]  # type: ignore[arg-type]

    functions = (np.sum, np.prod, np.max, np.min)
    for found, function in zip(evaluate(build, x), functions, strict=True):
        np.testing.assert_allclose(found, function(x, axis=tuple(axes), keepdims=keepdims))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "uint16", "float16", "bool"])
def test_reductions_of_nothing_are_neutral(dtype: str) -> None:
    def build(b: TensorBuilder, p: Tensor) -> list[Tensor]:
        return [b.reduce(p, [0], "max"), b.reduce(p, [0], "min")]

    largest, smallest = evaluate(build, np.zeros((0, 1), dtype))
    if dtype == "bool":
        assert (largest.item(), smallest.item()) == (False, True)
    elif dtype == "float16":
        assert (largest.item(), smallest.item()) == (-np.inf, np.inf)
    else:
        assert (largest.item(), smallest.item()) == (np.iinfo(dtype).min, np.iinfo(dtype).max)


def test_reduce_in_a_wider_type_with_a_function_of_the_elements() -> None:
    x = np.full((3000,), 2, np.float16)
    (found,) = evaluate(
        lambda b, p: b.reduce(p, [0], "sum", accumulator="float32", element=lambda v: v * v), x
    )
    assert found.dtype == np.float32
    assert found.item() == 12000


@pytest.mark.parametrize(
    ("equation", "left", "right"),
    [("mk,kn->mn", (3, 4), (4, 5)), ("bmk,bkn->bmn", (2, 3, 4), (1, 4, 5)), ("k,k->", (6,), (6,)),
     ("mk,kn->mn", (3, 1), (1, 5)), ("mk,kn->mn", (1, 1), (1, 1)), ("mk,kn->mn", (3, 0), (0, 5))],
)  # fmt: skip
def test_einsum(equation: str, left: tuple[int, ...], right: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal(left), rng.standard_normal(right)
    spread = np.broadcast_to(y, (left[0], *right[1:])) if left[0] == 2 else y
    (found,) = evaluate(lambda b, p, q: b.einsum(equation, p, q), x, y)
    np.testing.assert_allclose(found, np.einsum(equation, x, spread), atol=1e-12)


def test_einsum_accumulates_wide() -> None:
    x = np.full((1, 300), 100, np.int8)
    (found,) = evaluate(lambda b, p: b.einsum("mk,nk->mn", p, p, accumulator="int32"), x)
    assert found.item() == 3_000_000


def test_index_and_extract() -> None:
    x = numbers(3, 4)

    def build(b: TensorBuilder, p: Tensor) -> Tensor:
        def body() -> Scalar:
            return b.extract(p, [b.index(1), b.index(0)])

        return b.map(body, dtype="float32", shape=(4, 3))

    np.testing.assert_array_equal(evaluate(build, x)[0], x.T)


def test_operations_carry_the_location() -> None:
    def build(b: TensorBuilder, p: Tensor) -> Tensor:
        b.location = ir.Location.name("my node", context=b.context)
        return b.map(lambda s: -s, p, dtype="float32")

    module, _ = build_module(build, numbers(3))
    text = module.operation.get_asm(enable_debug_info=True)
    assert '#loc1 = loc("my node")' in text
    assert "arith.negf %in : f32 loc(#loc1)" in text

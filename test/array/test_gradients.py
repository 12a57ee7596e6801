# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tests gradients against differences of values in float64, and the functions that return them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import xyntra.array as xa
from verify.arrays.check import check_gradients
from verify.arrays.expressions import draw
from xyntra.array.autograd.registry import CONSTANT, RULES
from xyntra.errors import InputError, UnsupportedError
from xyntra.frontends.arrays.lowering import operations

POSITIVE = np.array([0.3, 1.7, 2.2, 0.9])
UNARY = """
    negative square abs relu exp exp2 expm1 log log1p log2 log10 sqrt rsqrt reciprocal sin cos tan
    atan sinh cosh tanh asinh erf sigmoid gelu silu softplus
""".split()
BINARY = """
    add subtract multiply divide pow maximum minimum remainder fmod atan2 hypot logaddexp copysign
""".split()


def difference(function: Any, inputs: list[np.ndarray], directions: list[np.ndarray]) -> float:
    """Return how a function's value changes along directions, by two values in float64."""
    ends = []
    for sign in (1e-6, -1e-6):
        moved = [x + sign * d for x, d in zip(inputs, directions, strict=True)]
        ends.append(float(function(*(xa.asarray(x) for x in moved))))
    return (ends[0] - ends[1]) / 2e-6


def check(function: Any, *inputs: np.ndarray, forward: bool = False) -> None:
    random = np.random.default_rng(3)
    directions = [random.uniform(-1, 1, x.shape) for x in inputs]
    given = tuple(xa.asarray(x) for x in inputs)
    slopes = xa.grad(function, tuple(range(len(inputs))))(*given)
    found = sum(float((s * xa.asarray(d)).sum()) for s, d in zip(slopes, directions, strict=True))
    expected = difference(function, list(inputs), directions)
    assert found == pytest.approx(expected, rel=1e-5, abs=1e-5)
    if forward:
        moved = xa.jvp(function, given, [xa.asarray(d) for d in directions])[1]
        assert float(moved) == pytest.approx(expected, rel=1e-5, abs=1e-5)


def test_every_operation_has_a_rule_or_is_known_to_have_none() -> None:
    assert xa.grad  # loads the rules
    without = {"kernel", "max_pool_gradient"}
    assert set(operations()) - set(RULES) - CONSTANT == without


def test_functions_of_elements() -> None:
    def unary(x: Any) -> Any:
        return sum(
            (xa.sum(getattr(xa, n)(x) * (i + 1.0)) for i, n in enumerate(UNARY)), xa.zeros(())
        )

    def binary(x: Any, y: Any) -> Any:
        return sum((xa.sum(getattr(xa, n)(x, y)) for n in BINARY), xa.zeros(()))

    def bounded(x: Any) -> Any:
        small = x * 0.3
        inside = xa.asin(small) + xa.acos(small) * 2.0 + xa.atanh(small) + xa.acosh(x + 1.5)
        return xa.sum(inside + xa.clip(x, 0.5, 2.0) + xa.where(x > 1, x * x, 3.0 * x))

    check(unary, POSITIVE)
    check(binary, POSITIVE, POSITIVE[::-1].reshape(4, 1) + 0.05)
    check(bounded, POSITIVE, forward=True)


def test_structure_reductions_and_indices() -> None:
    random = np.random.default_rng(1)
    x = random.standard_normal((3, 4))

    def function(x: Any) -> Any:
        w = xa.asarray(np.cos(np.arange(12.0)).reshape(3, 4))
        total = xa.sum(xa.prod(x, axis=1) + xa.var(x, axis=1) + xa.logsumexp(x, axis=1))
        total = total + xa.sum(xa.sort(x, axis=0) * w) + xa.sum(xa.cumulative_prod(x, axis=1) * w)
        total = total + xa.sum(xa.max(x, axis=0)) + xa.sum(xa.top_k(x, 2)[0] * w[:, :2])
        total = total + xa.sum(x[xa.asarray([0, 2, 2])] * w) + xa.sum(xa.log_softmax(x, axis=0) * w)
        total = total + xa.sum(xa.take_along_axis(x, xa.asarray([[1], [0], [3]]), axis=1))
        total = total + xa.sum(xa.pad(x, [(1, 0), (0, 2)])[:3, 2:] * w) + xa.sum(xa.tril(x) * w)
        y = x * 1.0
        y[1:, ::-2] = x[:2, :2] * x[:2, 1:3]
        y[xa.asarray([0]), xa.asarray([1])] = x[2, 3] * 2.0
        return total + xa.sum(y * y * w) + xa.sum(xa.einsum("ij,kj->ik", x, y) * w[:, :3])

    check(function, x)


def test_random_expressions() -> None:
    drawn = [each for each in map(draw, range(20_000, 20_008)) if each.smooth]
    assert check_gradients(drawn) == []


def test_gradients_of_gradients_and_of_trees() -> None:
    x = xa.asarray([0.5, -1.5])
    slope = xa.grad(lambda x: xa.sum(xa.grad(lambda y: xa.sum(y**3))(x) * x))(x)
    np.testing.assert_allclose(slope.numpy(), 9 * x.numpy() ** 2, rtol=1e-6)
    tree = {"w": [x, x * 2.0], "b": (x,)}
    value, slopes = xa.value_and_grad(lambda t: xa.sum(t["w"][0] * t["w"][1] + t["b"][0]))(tree)
    assert float(value) == pytest.approx(4.0)
    np.testing.assert_allclose(slopes["w"][0].numpy(), x.numpy() * 2)
    assert slopes["b"][0].tolist() == [1, 1]
    result, pull = xa.vjp(lambda x: (x * 2.0, xa.exp(x)), x)
    np.testing.assert_allclose(result[1].numpy(), np.exp(x.numpy()), rtol=1e-6)
    np.testing.assert_allclose(pull((x, xa.zeros(2)))[0].numpy(), x.numpy() * 2)


def test_values_may_be_read_and_written_on_the_way() -> None:
    def function(x: Any) -> Any:
        y = xa.exp(x)
        if float(y.sum()) > 0:
            y[0] = x[1] * x[1]
        return xa.sum(y * y)

    check(function, np.array([0.5, 1.5, -0.5]))
    stopped = xa.grad(lambda x: xa.sum(x * xa.stop_gradient(x)))(xa.asarray([3.0]))
    assert stopped.tolist() == [3.0]


def test_what_has_no_gradient_is_refused() -> None:
    with pytest.raises(InputError, match="one float"):
        xa.grad(lambda x: x * 2.0)(xa.ones(3))
    with pytest.raises(InputError, match="of floats"):
        xa.grad(lambda x: xa.sum(x))(xa.ones(3, dtype=xa.int32))
    twice = xa.zeros((1, 1, 4, 4))

    def pooled(x: Any) -> Any:
        from xyntra.nn.functional import max_pool2d

        return xa.sum(xa.grad(lambda y: xa.sum(max_pool2d(y, 2) ** 2))(x))

    with pytest.raises(UnsupportedError, match="has no gradient"):
        xa.grad(pooled)(twice)


def test_a_function_is_recorded_once_for_each_set_of_types() -> None:
    count = []

    @xa.jit
    def step(weights: Any, x: Any, rate: Any) -> Any:
        count.append(1)
        loss, slopes = xa.value_and_grad(lambda w: xa.mean((x @ w["w"] + w["b"] - 1.0) ** 2))(
            weights
        )
        return loss, {name: weights[name] - rate * slopes[name] for name in weights}

    weights = {"w": xa.zeros((4, 3)), "b": xa.zeros(3)}
    x = xa.random.Generator(1).normal((8, 4))
    losses = []
    for rate in (0.1, 0.1, 0.05):
        loss, weights = step(weights, x, rate)
        losses.append(float(loss))
    assert losses == sorted(losses, reverse=True)
    assert len(count) == 1
    step(weights, x[:4], 0.1)
    assert len(count) == 2


def test_recorded_functions_draw_anew_and_refuse_values() -> None:
    drawn = xa.jit(lambda x: x * xa.random.uniform((3,)))
    assert drawn(xa.ones(3)).tolist() != drawn(xa.ones(3)).tolist()
    with pytest.raises(InputError, match="being recorded"):
        xa.jit(lambda x: x if x.sum() > 0 else -x)(xa.ones(3))
    kept: list[Any] = []

    def leaking(x: Any) -> Any:
        kept.append(x * 2.0)
        return x

    xa.jit(leaking)(xa.ones(3))
    with pytest.raises(InputError, match="being recorded"):
        kept[0].numpy()
    with pytest.raises(InputError, match="no argument"):
        xa.jit(lambda x: x)(object())


def test_of_values_for_one_place_the_last_has_the_gradient() -> None:
    def written(x: Any, v: Any, w: Any) -> Any:
        x = x * 1.0
        x[xa.asarray([1, 1, 0, 1])] = v
        y = xa.put_along_axis(x, xa.asarray([2, 2, 0]), w, axis=0)
        return xa.sum(y * xa.asarray([2.0, 3.0, 5.0]))

    x, v, w = (xa.asarray(np.arange(n, dtype=np.float32)) for n in (3, 4, 3))
    slopes = xa.grad(written, (0, 1, 2))(x, v, w)
    assert [each.tolist() for each in slopes] == [[0, 0, 0], [0, 0, 0, 3], [0, 5, 2]]

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Results that are written into an argument's buffer."""

from __future__ import annotations

import numpy as np
import pytest

from xyntra.errors import CompileError

RNG = np.random.default_rng(9)
KIND = "tensor<8x8xf32>"


def kernel(body: str, arguments: int, results: str, pairs: str) -> str:
    names = ", ".join(f"%a{i}: {KIND}" for i in range(arguments))
    count = results.count(",") + 1
    kinds = ", ".join([KIND] * count)
    return f"""
    func.func @k({names}) -> ({kinds}) attributes {{xyntra.inplace = {pairs}}} {{
      %e = tensor.empty() : {KIND}
      {body}
      return {results} : {kinds}
    }}"""


def negate(source: str, result: str) -> str:
    return f"{result} = linalg.negf ins({source}: {KIND}) outs(%e: {KIND}) -> {KIND}\n"


def normal() -> np.ndarray:
    return RNG.standard_normal((8, 8)).astype(np.float32)


def test_an_elementwise_result_needs_no_scratch(compiled):
    k = compiled(kernel(negate("%a0", "%r"), 1, "%r", "[[0, 0]]"))
    x = normal()
    np.testing.assert_array_equal(k(x)[0], -x)
    assert k.lowered.scratch_bytes == 0


def test_an_argument_that_is_read_later_keeps_its_value_until_then(compiled):
    body = (
        negate("%a0", "%n")
        + f"%m = linalg.matmul ins(%n, %a0: {KIND}, {KIND}) outs(%n: {KIND}) -> {KIND}"
    )
    x = normal()
    (result,) = compiled(kernel(body, 1, "%m", "[[0, 0]]"))(x)
    np.testing.assert_allclose(result, -(x @ x) - x, rtol=1e-4, atol=1e-5)


def test_a_transpose_in_place(compiled):
    body = f"%r = linalg.transpose ins(%a0: {KIND}) outs(%e: {KIND}) permutation = [1, 0]"
    x = normal()
    np.testing.assert_array_equal(compiled(kernel(body, 1, "%r", "[[0, 0]]"))(x)[0], x.T)


def test_two_arguments_swap(compiled):
    x, y = normal(), normal()
    first, second = compiled(kernel("", 2, "%a1, %a0", "[[0, 0], [1, 1]]"))(x, y)
    np.testing.assert_array_equal(first, y)
    np.testing.assert_array_equal(second, x)


def test_two_results_of_crossed_arguments(compiled):
    body = negate("%a1", "%r") + negate("%a0", "%s")
    x, y = normal(), normal()
    first, second = compiled(kernel(body, 2, "%r, %s", "[[0, 0], [1, 1]]"))(x, y)
    np.testing.assert_array_equal(first, -y)
    np.testing.assert_array_equal(second, -x)


def test_a_result_in_place_beside_one_that_is_not(compiled):
    body = negate("%a0", "%r") + f"%s = linalg.abs ins(%a1: {KIND}) outs(%e: {KIND}) -> {KIND}"
    x, y = normal(), normal()
    fresh, inplace = compiled(kernel(body, 2, "%r, %s", "[[1, 1]]"))(x, y)
    np.testing.assert_array_equal(fresh, -x)
    np.testing.assert_array_equal(inplace, np.abs(y))


def test_an_update_of_a_few_rows(compiled):
    body = f"""
    %v = tensor.extract_slice %a1[0, 0] [2, 8] [1, 1] : {KIND} to tensor<2x8xf32>
    %r = tensor.insert_slice %v into %a0[3, 0] [2, 8] [1, 1] : tensor<2x8xf32> into {KIND}"""
    x, y = normal(), normal()
    k = compiled(kernel(body, 2, "%r", "[[0, 0]]"))
    expected = x.copy()
    expected[3:5] = y[:2]
    np.testing.assert_array_equal(k(x, y)[0], expected)
    assert k.lowered.scratch_bytes == 0


def test_an_argument_of_another_type_is_refused(compiled):
    text = """
    func.func @k(%a: tensor<4xf32>) -> tensor<2x2xf32> attributes {xyntra.inplace = [[0, 0]]} {
      %r = tensor.expand_shape %a [[0, 1]] output_shape [2, 2] : tensor<4xf32> into tensor<2x2xf32>
      return %r : tensor<2x2xf32>
    }"""
    with pytest.raises(CompileError, match="types differ"):
        compiled(text)

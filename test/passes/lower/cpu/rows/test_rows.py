# SPDX-License-Identifier: MIT OR Apache-2.0
"""Kernels of several loops: which of them may share the loop over the rows, and which may not."""

from __future__ import annotations

import numpy as np
import pytest

from xyntra.errors import CompileError

RNG = np.random.default_rng(23)


def generic(
    result: str,
    inputs: list[tuple[str, str, str]],
    output: tuple[str, str, str],
    body: str,
    loops: str = "i, j",
    reduced: str = "",
) -> str:
    """A linalg.generic: operands are (name, shape, indices); `body` sees %x0, %x1, … and %o."""
    maps = [f"affine_map<({loops}) -> ({each[2]})>" for each in [*inputs, output]]
    kinds = ['"reduction"' if name in reduced else '"parallel"' for name in loops.split(", ")]
    names = ", ".join(each[0] for each in inputs)
    types = ", ".join(f"tensor<{each[1]}xf32>" for each in inputs)
    operands = f"ins({names} : {types}) outs({output[0]} : tensor<{output[1]}xf32>)"
    scalars = ", ".join([f"%x{i}: f32" for i in range(len(inputs))] + ["%o: f32"])
    return f"""
      {result} = linalg.generic {{indexing_maps = [{", ".join(maps)}],
        iterator_types = [{", ".join(kinds)}]}} {operands} {{
      ^bb0({scalars}):
        {body}
        linalg.yield %r : f32
      }} -> tensor<{output[1]}xf32>"""


def filled(result: str, shape: str, value: str) -> str:
    name = result.strip("%")
    return f"""
      %{name}c = arith.constant {value} : f32
      %{name}e = tensor.empty() : tensor<{shape}xf32>
      {result} = linalg.fill ins(%{name}c : f32) outs(%{name}e : tensor<{shape}xf32>)
        -> tensor<{shape}xf32>"""


def negated(result: str, shape: str) -> str:
    """The first step of many: -%a, and %e as its destination."""
    operand, target = [("%a", shape, "i, j")], ("%e", shape, "i, j")
    empty = f"%e = tensor.empty() : tensor<{shape}xf32>"
    return empty + generic(result, operand, target, "%r = arith.negf %x0 : f32")


def kernel(arguments: str, result: str, body: str) -> str:
    return f"func.func @k({arguments}) -> ({result}) {{ {body}\n}}"


def normal(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


MAX = "%r = arith.maximumf %x0, %o : f32"
SUM = "%r = arith.addf %x0, %o : f32"
SUB_EXP = "%s = arith.subf %x0, %x1 : f32\n%r = math.exp %s : f32"
DIV = "%r = arith.divf %x0, %x1 : f32"


def softmax(rows: str, columns: int, axes: str) -> str:
    full, loops = f"{rows}x{columns}", f"{axes}, j"
    kind = f"tensor<{full}xf32>"
    whole = ("%a", full, loops)
    body = (
        filled("%low", rows, "0xFF800000")
        + generic("%m", [whole], ("%low", rows, axes), MAX, loops, "j")
        + f"\n%e = tensor.empty() : {kind}"
        + generic(
            "%p", [("%a", full, loops), ("%m", rows, axes)], ("%e", full, loops), SUB_EXP, loops
        )
        + filled("%zero", rows, "0.0")
        + generic("%t", [("%p", full, loops)], ("%zero", rows, axes), SUM, loops, "j")
        + generic("%q", [("%p", full, loops), ("%t", rows, axes)], ("%e", full, loops), DIV, loops)
        + f"\nreturn %q : {kind}"
    )
    return kernel(f"%a: {kind}", kind, body)


def reference(x: np.ndarray) -> np.ndarray:
    e = np.exp(x.astype(np.float64) - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@pytest.mark.parametrize("columns", [1, 5, 16, 100])
@pytest.mark.parametrize(("rows", "axes"), [("7", "i"), ("2x3x5", "b, h, i"), ("1x4x1", "b, h, i")])
def test_softmax(compiled, rows, axes, columns):
    x = normal(*(int(n) for n in rows.split("x")), columns)
    (result,) = compiled(softmax(rows, columns, axes))(x)
    np.testing.assert_allclose(result, reference(x), rtol=2e-6, atol=1e-7)


def test_softmax_keeps_one_row_of_scratch(compiled):
    assert compiled(softmax("2x3x50", 100, "b, h, i")).lowered.scratch_bytes <= 1024


def test_softmax_of_special_rows(compiled):
    x = normal(7, 16)
    x[0, 3], x[1, 3], x[2, :], x[3, 5] = np.nan, np.inf, -np.inf, -np.inf
    (result,) = compiled(softmax("7", 16, "i"))(x)
    assert np.isnan(result[:3]).all()
    assert result[3, 5] == 0
    np.testing.assert_allclose(result[3:], reference(x[3:]), rtol=2e-6, atol=1e-7)


def two_steps(indices: str, shape: str = "32x32") -> str:
    """-x, then a sum of both, read at other indices."""
    kind = "tensor<32x32xf32>"
    body = (
        f"%e = tensor.empty() : {kind}"
        + generic(
            "%n", [("%a", "32x32", "i, j")], ("%e", "32x32", "i, j"), "%r = arith.negf %x0 : f32"
        )
        + generic(
            "%s",
            [("%a", "32x32", "i, j"), ("%n", shape, indices)],
            ("%e", "32x32", "i, j"),
            "%d = arith.addf %x1, %x1 : f32\n%r = arith.addf %x0, %d : f32",
        )
        + f"\nreturn %s : {kind}"
    )
    return kernel(f"%a: {kind}", kind, body)


def test_a_transposed_reader_waits_for_all_rows(compiled):
    x = normal(32, 32)
    np.testing.assert_allclose(compiled(two_steps("j, i"))(x)[0], x - 2 * x.T, rtol=1e-6)


def test_a_reader_of_the_same_row_in_another_order(compiled):
    x = normal(32, 32)
    text = two_steps("i, 31 - j")
    np.testing.assert_allclose(compiled(text)(x)[0], x - 2 * x[:, ::-1], rtol=1e-6)


def test_a_reader_of_the_row_before(compiled):
    kind = "tensor<32x20xf32>"
    body = (
        f"%e = tensor.empty() : {kind}"
        + generic(
            "%n", [("%a", "32x20", "i, j")], ("%e", "32x20", "i, j"), "%r = arith.negf %x0 : f32"
        )
        + "\n%f = tensor.empty() : tensor<31x20xf32>"
        + generic(
            "%s",
            [("%n", "32x20", "i + 1, j")],
            ("%f", "31x20", "i, j"),
            "%r = arith.addf %x0, %x0 : f32",
        )
        + "\nreturn %s, %n : tensor<31x20xf32>, tensor<32x20xf32>"
    )
    x = normal(32, 20)
    text = kernel(f"%a: {kind}", f"tensor<31x20xf32>, {kind}", body)
    shifted, negated = compiled(text)(x)
    np.testing.assert_array_equal(shifted, -2 * x[1:])
    np.testing.assert_array_equal(negated, -x)


def test_a_sum_over_the_rows_waits_for_all_rows(compiled):
    kind = "tensor<32x20xf32>"
    body = (
        filled("%zero", "20", "0.0")
        + generic("%t", [("%a", "32x20", "i, j")], ("%zero", "20", "j"), SUM, "j, i", "i")
        + f"\n%e = tensor.empty() : {kind}"
        + generic("%q", [("%a", "32x20", "i, j"), ("%t", "20", "j")], ("%e", "32x20", "i, j"), DIV)
        + f"\nreturn %q : {kind}"
    )
    x = np.abs(normal(32, 20)) + 1
    np.testing.assert_allclose(
        compiled(kernel(f"%a: {kind}", kind, body))(x)[0], x / x.sum(0), rtol=1e-5
    )


def test_a_sum_over_everything(compiled):
    kind = "tensor<32x20xf32>"
    body = (
        filled("%zero", "1", "0.0")
        + generic("%t", [("%a", "32x20", "i, j")], ("%zero", "1", "0"), SUM, reduced="ij")
        + f"\n%e = tensor.empty() : {kind}"
        + generic("%q", [("%a", "32x20", "i, j"), ("%t", "1", "0")], ("%e", "32x20", "i, j"), DIV)
        + f"\nreturn %q : {kind}"
    )
    x = np.abs(normal(32, 20)) + 1
    np.testing.assert_allclose(
        compiled(kernel(f"%a: {kind}", kind, body))(x)[0], x / x.sum(), rtol=1e-5
    )


def test_an_intermediate_that_is_also_a_result_is_complete(compiled):
    kind = "tensor<24x20xf32>"
    body = (
        f"%e = tensor.empty() : {kind}"
        + generic(
            "%n", [("%a", "24x20", "i, j")], ("%e", "24x20", "i, j"), "%r = arith.negf %x0 : f32"
        )
        + filled("%zero", "24", "0.0")
        + generic("%t", [("%n", "24x20", "i, j")], ("%zero", "24", "i"), SUM, reduced="j")
        + f"\nreturn %n, %t : {kind}, tensor<24xf32>"
    )
    x = normal(24, 20)
    negated, sums = compiled(kernel(f"%a: {kind}", f"{kind}, tensor<24xf32>", body))(x)
    np.testing.assert_array_equal(negated, -x)
    np.testing.assert_allclose(sums, -x.sum(1), rtol=1e-5, atol=1e-5)


def test_two_results_of_one_operation(compiled):
    kind = "tensor<6x7xf32>"
    body = f"""
      %e = tensor.empty() : {kind}
      %s, %p = linalg.generic {{
        indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>,
                         affine_map<(i, j) -> (j, i)>],
        iterator_types = ["parallel", "parallel"]}}
        ins(%a : {kind}) outs(%e, %f : {kind}, tensor<7x6xf32>) {{
      ^bb0(%x: f32, %o: f32, %q: f32):
        %r = arith.negf %x : f32
        %t = arith.mulf %x, %x : f32
        linalg.yield %r, %t : f32, f32
      }} -> ({kind}, tensor<7x6xf32>)
      return %s, %p : {kind}, tensor<7x6xf32>"""
    x = normal(6, 7)
    body = "%f = tensor.empty() : tensor<7x6xf32>" + body
    text = kernel(f"%a: {kind}", f"{kind}, tensor<7x6xf32>", body)
    negated, squared = compiled(text)(x)
    np.testing.assert_array_equal(negated, -x)
    np.testing.assert_array_equal(squared, (x * x).T)


@pytest.mark.parametrize("shape", [(1, 64, 7, 7), (2, 3, 1, 5), (4, 1, 6, 1)])
def test_small_inner_dimensions_with_a_broadcast(compiled, shape):
    full, channels = "x".join(map(str, shape)), str(shape[1])
    kind = f"tensor<{full}xf32>"
    loops = "n, c, h, w"
    body = f"%e = tensor.empty() : {kind}" + generic(
        "%s",
        [("%a", full, loops), ("%b", channels, "c")],
        ("%e", full, loops),
        "%r = arith.addf %x0, %x1 : f32",
        loops,
    )
    text = kernel(f"%a: {kind}, %b: tensor<{channels}xf32>", kind, f"{body}\nreturn %s : {kind}")
    x, y = normal(*shape), normal(shape[1])
    np.testing.assert_array_equal(compiled(text)(x, y)[0], x + y[:, None, None])


def test_what_has_no_code_is_refused_by_name(compiled):
    text = """
    func.func @k(%a: tensor<4xf32>) -> tensor<4xf32> {
      "vector.print"() {punctuation = #vector.punctuation<newline>} : () -> ()
      "gpu.barrier"() : () -> ()
      return %a : tensor<4xf32>
    }"""
    with pytest.raises(CompileError, match=r"gpu\.barrier"):
        compiled(text)

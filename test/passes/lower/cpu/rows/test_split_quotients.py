# SPDX-License-Identifier: MIT OR Apache-2.0
"""Elements that are repeated: loops whose number is divided, and vectors of copies."""

from __future__ import annotations

import numpy as np
import pytest

from xyntra.passes.lower.cpu import LoweringOptions

RNG = np.random.default_rng(61)
OPTIONS = {
    "narrow": LoweringOptions(vector_bits=128),
    "usual": LoweringOptions(),
    "wide": LoweringOptions(vector_bits=512, vector_registers=32),
}


def elementwise(
    operands: list[tuple[tuple[int, ...], str]],
    shape: tuple[int, ...],
    body: str,
    kind: str = "f32",
) -> str:
    """A kernel that makes %t of %x0 … at every element of a tensor of `shape`."""
    out = f"tensor<{'x'.join(map(str, shape))}x{kind}>"
    kinds = [f"tensor<{'x'.join(map(str, each))}x{kind}>" for each, _ in operands]
    loops = ", ".join(f"d{n}" for n in range(len(shape)))
    maps = ", ".join(f"affine_map<({loops}) -> ({m})>" for m in [*(m for _, m in operands), loops])
    arguments = ", ".join(f"%a{n}: {each}" for n, each in enumerate(kinds))
    names = ", ".join(f"%a{n}" for n in range(len(kinds)))
    scalars = ", ".join(f"%x{n}: {kind}" for n in range(len(kinds)))
    parallel = ", ".join(['"parallel"'] * len(shape))
    return f"""
    func.func @k({arguments}) -> {out} {{
      %e = tensor.empty() : {out}
      %d = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{parallel}]}}
        ins({names} : {", ".join(kinds)}) outs(%e: {out}) {{
      ^bb0({scalars}, %o: {kind}):
        {body}
        linalg.yield %t : {kind}
      }} -> {out}
      return %d : {out}
    }}"""


def arrays(kernel) -> list[np.ndarray]:
    return [RNG.integers(-999, 999, shape).astype(dtype) for shape, dtype in kernel.inputs]


def repeated(x: np.ndarray, *copies: int) -> np.ndarray:
    for axis, count in enumerate(copies, x.ndim - len(copies)):
        x = np.repeat(x, count, axis)
    return x


PLUS = "%t = arith.addf %x0, %x1 : f32"


@pytest.mark.parametrize("machine", OPTIONS)
@pytest.mark.parametrize("copies", [(1, 2), (2, 2), (3, 4), (2, 8), (2, 3), (5, 1)])
@pytest.mark.parametrize("width", [1, 2, 5, 8, 19])
def test_copies_with_another_operand(compiled, copies, width, machine):
    y, x = copies
    shape = (3, 4 * y, width * x)
    index = f"d0, d1 floordiv {y}, d2 floordiv {x}"
    text = elementwise([((3, 4, width), index), (shape, "d0, d1, d2")], shape, PLUS)
    kernel = compiled(text, options=OPTIONS[machine])
    small, large = arrays(kernel)
    np.testing.assert_array_equal(kernel(small, large)[0], repeated(small, y, x) + large)


@pytest.mark.parametrize("channels", [1, 3, 8, 21])
def test_several_divisors_with_channels_last(compiled, channels):
    """As where branches of several sizes meet."""
    shape = (8, 16, channels)
    operands = [(shape, "d0, d1, d2")]
    operands += [
        ((8 // k, 16 // k, channels), f"d0 floordiv {k}, d1 floordiv {k}, d2") for k in (2, 4, 8)
    ]
    body = """%p = arith.addf %x0, %x1 : f32
        %q = arith.addf %p, %x2 : f32
        %t = arith.addf %q, %x3 : f32"""
    kernel = compiled(elementwise(operands, shape, body))
    found = arrays(kernel)
    expected = found[0] + sum(
        repeated(x.transpose(2, 0, 1), k, k).transpose(1, 2, 0)
        for x, k in zip(found[1:], (2, 4, 8), strict=True)
    )
    np.testing.assert_array_equal(kernel(*found)[0], expected)


@pytest.mark.parametrize("scale", ["d1", "0"])
def test_one_factor_for_a_row(compiled, scale):
    shape = (3, 6, 20)
    operands = [((3, 6, 10), "d0, d1, d2 floordiv 2"), ((6,), scale)]
    kernel = compiled(elementwise(operands, shape, "%t = arith.mulf %x0, %x1 : f32"))
    x, factors = arrays(kernel)
    expected = repeated(x, 2) * (factors[:, None] if scale == "d1" else factors[0])
    np.testing.assert_array_equal(kernel(x, factors)[0], expected)


def test_remainders(compiled):
    """Quotients and remainders of one loop, as a tiled pattern with a repeated one has them."""
    shape = (3, 24)
    operands = [((3, 6), "d0, d1 floordiv 4"), ((4,), "d1 mod 4"), ((8,), "d1 mod 8")]
    body = "%p = arith.addf %x0, %x1 : f32\n%t = arith.addf %p, %x2 : f32"
    kernel = compiled(elementwise(operands, shape, body))
    x, four, eight = arrays(kernel)
    expected = repeated(x, 4) + np.tile(four, 6) + np.tile(eight, 3)
    np.testing.assert_array_equal(kernel(x, four, eight)[0], expected)


def test_divisors_that_do_not_divide_each_other(compiled):
    shape = (2, 12)
    operands = [((2, 4), "d0, d1 floordiv 3"), ((2, 3), "d0, d1 floordiv 4")]
    kernel = compiled(elementwise(operands, shape, PLUS))
    first, second = arrays(kernel)
    np.testing.assert_array_equal(
        kernel(first, second)[0], repeated(first, 3) + repeated(second, 4)
    )


def test_the_number_of_a_divided_loop(compiled):
    shape = (4, 16)
    body = """%i = linalg.index 1 : index
        %j = arith.index_cast %i : index to i32
        %f = arith.sitofp %j : i32 to f32
        %t = arith.addf %x0, %f : f32"""
    kernel = compiled(elementwise([((2, 4), "d0 floordiv 2, d1 floordiv 4")], shape, body))
    (x,) = arrays(kernel)
    np.testing.assert_array_equal(kernel(x)[0], repeated(x, 2, 4) + np.arange(16))


@pytest.mark.parametrize("kind", ["f64", "i64", "i8", "f16"])
def test_other_types(compiled, kind):
    shape = (3, 38)
    add = "addf" if kind[0] == "f" else "addi"
    operands = [((3, 19), "d0, d1 floordiv 2"), (shape, "d0, d1")]
    kernel = compiled(elementwise(operands, shape, f"%t = arith.{add} %x0, %x1 : {kind}", kind))
    small, large = (each // 100 for each in arrays(kernel))
    np.testing.assert_array_equal(kernel(small, large)[0], repeated(small, 2) + large)


def test_copies_are_side_by_side_in_vectors(compiled):
    text = elementwise([((3, 19), "d0, d1 floordiv 2")], (3, 38), "%t = arith.negf %x0 : f32")
    kernel = compiled(text)
    assert any(each.startswith("gathered-rows") for each in kernel.lowered.schedules)
    (x,) = arrays(kernel)
    x[0, 3], x[2, 18] = np.nan, np.inf
    np.testing.assert_array_equal(kernel(x)[0], -repeated(x, 2))

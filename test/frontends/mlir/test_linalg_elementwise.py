# SPDX-License-Identifier: MIT OR Apache-2.0
"""Operations of linalg that multiply and add nothing: elementwise, moves, reductions, packing."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from mlir_programs import Array, check, function, run, type_of

Settings = dict[str, object]
X = np.array([[0.5, -1.5, 2.5, math.nan, 3.0], [1.0, -0.0, math.inf, 0.25, -7.0], [4, 9, 1, 2, 6]],
             np.float32)  # fmt: skip
Y = np.array([[2.0, 0.5, -1.0, 1.0, 0.0], [0.0, 3.0, 1.0, math.nan, 2.0], [1, -1, 2, 3, 0.5]],
             np.float32)  # fmt: skip
E = np.zeros((0, 5), np.float32)

UNARY: dict[str, Callable[[Any], Any]] = {
    "exp": np.exp,
    "log": np.log,
    "abs": np.abs,
    "ceil": np.ceil,
    "floor": np.floor,
    "negf": np.negative,
    "reciprocal": lambda x: 1 / x,
    "round": lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x),
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "square": np.square,
    "tanh": np.tanh,
    "erf": np.vectorize(math.erf, [float]),
}
BINARY: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "max": np.maximum,
    "min": np.minimum,
    "powf": np.power,
}


def applied(text: str, *arrays: Array) -> str:
    names = ", ".join(f"%{i}" for i in range(len(arrays)))
    return f"linalg.{text} ins({names} : {', '.join(map(type_of, arrays))})"


KINDS: dict[str, Callable[[Any], Any]] = {
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atanh": np.arctanh,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
}
"""Of linalg.elementwise alone."""
_SPELLINGS = [
    *((op, op) for op in (*UNARY, *BINARY)),
    *((op, {"max": "max_signed", "min": "min_signed"}.get(op, op)) for op in BINARY),
    *((op, op) for op in (*UNARY, *KINDS)),
]


@pytest.mark.parametrize("number", range(len(_SPELLINGS)), ids=[op for op, _ in _SPELLINGS])
def test_elementwise(number: int, settings: Settings) -> None:
    op, kind = _SPELLINGS[number]
    count = 2 if op in BINARY else 1
    with np.errstate(all="ignore"):
        reference = {**UNARY, **BINARY, **KINDS}[op]
        expected = reference(*(x.astype(float) for x in (X, Y)[:count])).astype(np.float32)
    named = number < len(UNARY) + len(BINARY)
    name = op if named else f"elementwise kind=#linalg.elementwise_kind<{kind}>"
    # What it writes to is what it reads.
    t = type_of(X)
    body = f"  %r0 = {applied(name, *(X, Y)[:count])} outs(%0 : {t}) -> {t}"
    check(function(body, [X, Y][:count], [expected]), [X, Y][:count], [expected], settings, 20)


def test_division_of_unsigned_integers(settings: Settings) -> None:
    x, y = np.array([[7, -1, 9]], np.int32), np.array([[2, 3, 0]], np.int32)
    expected = np.array([[3, 0xFFFFFFFF // 3, 0]], np.int32)
    t = type_of(x)
    body = f"  %r0 = {applied('div_unsigned', x, y)} outs(%0 : {t}) -> {t}"
    check(function(body, [x, y], [expected]), [x, y], [expected], settings)


def test_elementwise_with_maps(settings: Settings) -> None:
    row, turned = Y[0].copy(), X.T.copy()
    maps = ", ".join(f"affine_map<(d0, d1) -> ({each})>" for each in ("d1, d0", "d1", "d0, d1"))
    name = f"elementwise kind=#linalg.elementwise_kind<add> indexing_maps = [{maps}]"
    expected = X + row
    body = f"  %e = tensor.empty() : {type_of(X)}\n  %r0 = {applied(name, turned, row)}"
    body += f" outs(%e : {type_of(X)}) -> {type_of(X)}"
    check(function(body, [turned, row], [expected]), [turned, row], [expected], settings)


@pytest.mark.parametrize(
    "spelling", ["select", "elementwise kind=#linalg.elementwise_kind<select>"]
)
def test_selections(spelling: str, settings: Settings) -> None:
    c = X > 1
    expected = np.where(c, X, Y)
    body = f"  %r0 = {applied(spelling, c, X, Y)} outs(%1 : {type_of(X)}) -> {type_of(X)}"
    check(function(body, [c, X, Y], [expected]), [c, X, Y], [expected], settings)


MOVES: dict[str, tuple[str, list[Array], list[Array]]] = {
    "copy": (f"  %r0 = linalg.copy ins(%0 : {type_of(X)}) outs(%1 : {type_of(X)}) -> {type_of(X)}",
             [X, Y], [X]),
    "transpose": (
        "  %e = tensor.empty() : tensor<5x3xf32>\n  %r0 = linalg.transpose"
        " ins(%0 : tensor<3x5xf32>) outs(%e : tensor<5x3xf32>) permutation = [1, 0]",
        [X], [X.T],
    ),
    "transpose of three": (
        "  %e = tensor.empty() : tensor<4x2x3xf32>\n  %r0 = linalg.transpose"
        " ins(%0 : tensor<2x3x4xf32>) outs(%e : tensor<4x2x3xf32>) permutation = [2, 0, 1]",
        [np.arange(24, dtype=np.float32).reshape(2, 3, 4)],
        [np.arange(24, dtype=np.float32).reshape(2, 3, 4).transpose(2, 0, 1)],
    ),
    "broadcast": (
        "  %e = tensor.empty() : tensor<2x3x5xf32>\n  %r0 = linalg.broadcast"
        " ins(%0 : tensor<3x5xf32>) outs(%e : tensor<2x3x5xf32>) dimensions = [0]",
        [X], [np.stack([X, X])],
    ),
    "fill": (
        "  %c = arith.constant 2.5 : f32\n"
        "  %r0 = linalg.fill ins(%c : f32) outs(%0 : tensor<3x5xf32>) -> tensor<3x5xf32>",
        [X], [np.full((3, 5), 2.5, np.float32)],
    ),
    "fill with a computed number": (
        "  %c0 = arith.constant 0 : index\n  %c = tensor.extract %0[%c0, %c0] : tensor<3x5xf32>\n"
        "  %r0 = linalg.fill ins(%c : f32) outs(%0 : tensor<3x5xf32>) -> tensor<3x5xf32>",
        [X], [np.full((3, 5), 0.5, np.float32)],
    ),
    "map": (
        "  %r0 = linalg.map ins(%0, %1 : tensor<3x5xf32>, tensor<3x5xf32>)"
        " outs(%0 : tensor<3x5xf32>)\n  (%a: f32, %b: f32, %o: f32) {\n"
        "    %d = arith.addf %a, %b : f32\n    %f = arith.mulf %d, %a : f32\n"
        "    linalg.yield %f : f32\n  }",
        [X, Y], [(X + Y) * X],
    ),
    "reduce": (
        "  %r0 = linalg.reduce { arith.maximumf } ins(%0 : tensor<3x5xf32>)"
        " outs(%1 : tensor<5xf32>) dimensions = [0]",
        [X, Y[2].copy()], [np.maximum(X.max(0), Y[2])],
    ),
    "reduce two": (
        "  %r0, %r1 = linalg.reduce ins(%0, %1 : tensor<3x5xf32>, tensor<3x5xf32>)"
        " outs(%2, %2 : tensor<3xf32>, tensor<3xf32>) dimensions = [1]\n"
        "  (%a: f32, %b: f32, %p: f32, %q: f32) {\n    %d = arith.maximumf %a, %p : f32\n"
        "    %f = arith.minimumf %b, %q : f32\n    linalg.yield %d, %f : f32, f32\n  }",
        [X, Y, X[:, 0].copy()],
        [np.maximum(X.max(1), X[:, 0]), np.minimum(Y.min(1), X[:, 0])],
    ),
    "softmax": (
        "  %r0 = linalg.softmax dimension(0) ins(%0 : tensor<3x5xf32>) outs(%0 : tensor<3x5xf32>)"
        " -> tensor<3x5xf32>",
        [Y], [np.exp(Y - Y.max(0)) / np.exp(Y - Y.max(0)).sum(0)],
    ),
    "empty": (
        "  %r0 = linalg.exp ins(%0 : tensor<0x5xf32>) outs(%0 : tensor<0x5xf32>)"
        " -> tensor<0x5xf32>\n  %z = arith.constant dense<1.5> : tensor<5xf32>\n"
        "  %r1 = linalg.reduce { arith.addf } ins(%0 : tensor<0x5xf32>) outs(%z : tensor<5xf32>)"
        " dimensions = [0]",
        [E], [E, np.full(5, 1.5, np.float32)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("fuse", [True, False], ids=["fused", "apart"])
@pytest.mark.parametrize("name", MOVES)
def test_moves_and_reductions(name: str, fuse: bool, settings: Settings) -> None:
    body, arguments, expected = MOVES[name]
    config = {**settings, "fuse": fuse}
    check(function(body, arguments, expected), arguments, expected, config, 4)


def packed(x: Array, tiles: dict[int, int], order: list[int], padding: float) -> Array:
    """The definition of linalg.pack: outer dimensions in `order`, then tiles."""
    high = [(0, -n % tiles.get(d, 1)) for d, n in enumerate(x.shape)]
    x = np.pad(x, high, constant_values=padding)
    outer = [x.shape[d] // tiles.get(d, 1) for d in order]
    out = np.zeros([*outer, *tiles.values()], x.dtype)
    for at in np.ndindex(*out.shape):
        place = [0] * x.ndim
        for position, dimension in enumerate(order):
            place[dimension] = at[position] * tiles.get(dimension, 1)
        for position, dimension in enumerate(tiles):
            place[dimension] += at[len(order) + position]
        out[at] = x[tuple(place)]
    return out


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
@pytest.mark.parametrize("tiles", [{0: 4, 1: 2}, {1: 4, 0: 3}, {1: 8}])
def test_packing(tiles: dict[int, int], order: list[int], settings: Settings) -> None:
    x = np.arange(77, dtype=np.float32).reshape(7, 11)
    p = packed(x, tiles, order, -1.5)
    how = f"outer_dims_perm = {order} inner_dims_pos = {[*tiles]} inner_tiles = {[*tiles.values()]}"
    body = (
        f"  %c = arith.constant -1.5 : f32\n  %e = tensor.empty() : {type_of(p)}\n"
        f"  %r0 = linalg.pack %0 padding_value(%c : f32) {how} into %e"
        f" : {type_of(x)} -> {type_of(p)}\n  %d = tensor.empty() : {type_of(x)}\n"
        f"  %r1 = linalg.unpack %r0 {how} into %d : {type_of(p)} -> {type_of(x)}"
    )
    check(function(body, [x], [p, x]), [x], [p, x], settings)


def test_random_numbers(settings: Settings) -> None:
    """Of linalg.fill_rng_2d nothing but the range is stated, and that numbers differ."""
    body = """  %low = arith.constant -2.0 : f64
  %high = arith.constant 3.0 : f64
  %seed = arith.constant 42 : i32
  %e = tensor.empty() : tensor<3x4xf32>
  %r0 = linalg.fill_rng_2d ins(%low, %high, %seed : f64, f64, i32)
      outs(%e : tensor<3x4xf32>) -> tensor<3x4xf32>"""
    (found,) = run(function(body, [], [np.zeros((3, 4), np.float32)]), [], settings)
    assert ((found >= -2) & (found < 3)).all()
    assert len(np.unique(found)) == 12

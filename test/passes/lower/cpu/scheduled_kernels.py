# SPDX-License-Identifier: MIT OR Apache-2.0
"""Kernels of one nest, for the tests of schedules, and what they compute."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Case:
    """A kernel `k`, and what it computes, of arrays and in float64."""

    text: str
    expected: Callable[..., np.ndarray]
    whole: bool = False
    """Inputs are small whole numbers, so that sums are exact."""


def reduction(
    inputs: tuple[str, ...],
    maps: tuple[str, ...],
    shapes: tuple[str, ...],
    body: str = "%m = arith.mulf %x0, %x1 : f32\n%s = arith.addf %o, %m : f32",
    total: str = "f32",
    initial: str = "0.0",
    after: str = "",
) -> str:
    """A kernel that reduces `inputs`; `after` computes %t from each element %s of the result."""
    loops = "n, y, x, m, i, j, c"
    kinds = [f"tensor<{shape}>" for shape in shapes]
    arguments = ", ".join(f"%a{i}: {kind} {inputs[i]}" for i, kind in enumerate(kinds[:-1]))
    names = ", ".join(f"%a{i}" for i in range(len(inputs)))
    scalars = ", ".join(f"%x{i}: {shapes[i].rsplit('x', 1)[1]}" for i in range(len(inputs)))
    indexing = ", ".join(f"affine_map<({loops}) -> ({each})>" for each in maps)
    plain = "affine_map<(n, y, x, m) -> (n, y, x, m)>"
    parallel = ", ".join(['"parallel"'] * 4)
    out = kinds[-1]
    return f"""
    func.func @k({arguments}) -> {out} {{
      %initial = arith.constant {initial} : {total}
      %e = tensor.empty() : {out}
      %f = linalg.fill ins(%initial: {total}) outs(%e: {out}) -> {out}
      %c = linalg.generic {{indexing_maps = [{indexing}],
          iterator_types = [{parallel}, "reduction", "reduction", "reduction"]}}
        ins({names}: {", ".join(kinds[:-1])}) outs(%f: {out}) {{
      ^bb0({scalars}, %o: {total}):
        {body}
        linalg.yield %s : {total}
      }} -> {out}
      %d = linalg.generic {{indexing_maps = [{plain}, {plain}], iterator_types = [{parallel}]}}
        ins(%c: {out}) outs(%e: {out}) {{
      ^bb0(%s: {total}, %o: {total}):
        {after or f"%t = arith.add{total[0]} %s, %s : {total}"}
        linalg.yield %t : {total}
      }} -> {out}
      return %d : {out}
    }}"""


def convolved(image: np.ndarray, weights: np.ndarray) -> np.ndarray:
    image, weights = image.astype(np.float64), weights.astype(np.float64)
    taps = weights.shape[2]
    rows, columns = (extent - taps + 1 for extent in image.shape[1:3])
    total = np.zeros((len(image), rows, columns, len(weights)))
    for i, j in np.ndindex(taps, taps):
        total += image[:, i : i + rows, j : j + columns] @ weights[:, :, i, j].T
    return 2 * total


def depthwise(image: np.ndarray, weights: np.ndarray) -> np.ndarray:
    image, weights = image.astype(np.float64), weights.astype(np.float64)
    rows, columns = (extent - 2 for extent in image.shape[1:3])
    parts = [image[:, i : i + rows, j : j + columns] * weights[i, j] for i, j in np.ndindex(3, 3)]
    return 2 * np.sum(parts, axis=0)


def strided(image: np.ndarray, weights: np.ndarray) -> np.ndarray:
    image, weights = image.astype(np.float64), weights.astype(np.float64)
    rows, columns = ((extent - 1) // 2 for extent in image.shape[2:])
    total = np.zeros((*image.shape[:2], rows, columns))
    for i, j in np.ndindex(3, 3):
        part = image[:, :, i::2, j::2][:, :, :rows, :columns]
        total += part * weights[i, j][:, None, None]
    return 2 * total


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return 2 * (a[0, :, 0].astype(np.float64) @ b.astype(np.float64))[None, :, None]


CONSTANT = "{xyntra.constant}"
CONVOLVED = ("n, y + i, x + j, c", "m, c, i, j", "n, y, x, m")
MATRICES = ("n, y, x, c", "c, m", "n, y, x, m")
NARROW = """%p = arith.extsi %x0 : i8 to i32
%q = arith.extsi %x1 : i8 to i32
%m = arith.muli %p, %q : i32
%s = arith.addi %o, %m : i32"""
SOFT = """
    func.func @k(%a: tensor<12x40xf32>) -> tensor<12x40xf32> {
      %zero = arith.constant 0.0 : f32
      %e = tensor.empty() : tensor<12x40xf32>
      %r = tensor.empty() : tensor<12xf32>
      %f = linalg.fill ins(%zero: f32) outs(%r: tensor<12xf32>) -> tensor<12xf32>
      %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>,
          affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
        ins(%a: tensor<12x40xf32>) outs(%f: tensor<12xf32>) {
      ^bb0(%x: f32, %o: f32):
        %t = arith.addf %o, %x : f32
        linalg.yield %t : f32
      } -> tensor<12xf32>
      %d = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>,
            affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
        ins(%a, %s: tensor<12x40xf32>, tensor<12xf32>) outs(%e: tensor<12x40xf32>) {
      ^bb0(%x: f32, %y: f32, %o: f32):
        %t = arith.subf %x, %y : f32
        linalg.yield %t : f32
      } -> tensor<12x40xf32>
      return %d : tensor<12x40xf32>
    }"""
TRANSPOSED = """
    func.func @k(%a: tensor<37x45xf32>) -> tensor<45x37xf32> {
      %e = tensor.empty() : tensor<45x37xf32>
      %d = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>,
          affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
        ins(%a: tensor<37x45xf32>) outs(%e: tensor<45x37xf32>) {
      ^bb0(%x: f32, %o: f32):
        %t = arith.addf %x, %x : f32
        linalg.yield %t : f32
      } -> tensor<45x37xf32>
      return %d : tensor<45x37xf32>
    }"""
CASES = {
    "convolution": Case(
        reduction(("", CONSTANT), CONVOLVED, ("1x14x13x32xf32", "64x32x3x3xf32", "1x12x11x64xf32")),
        convolved,
    ),
    "convolution-5": Case(
        reduction(("", CONSTANT), CONVOLVED, ("2x9x9x8xf32", "24x8x5x5xf32", "2x5x5x24xf32")),
        convolved,
    ),
    "depthwise": Case(
        reduction(
            ("", CONSTANT),
            ("n, y + i, x + j, m", "i, j, m", "n, y, x, m"),
            ("1x9x11x40xf32", "3x3x40xf32", "1x7x9x40xf32"),
            body="%m = arith.mulf %x0, %x1 : f32\n%s = arith.addf %o, %m : f32",
        )
        .replace("affine_map<(n, y, x, m, i, j, c)", "affine_map<(n, y, x, m, i, j)")
        .replace('"reduction", "reduction", "reduction"', '"reduction", "reduction"'),
        depthwise,
    ),
    "strided": Case(
        reduction(
            ("", CONSTANT),
            ("n, m, y * 2 + i, x * 2 + j", "i, j, m", "n, m, y, x"),
            ("1x3x19x35xf32", "3x3x3xf32", "1x3x9x17xf32"),
            body="%m = arith.mulf %x0, %x1 : f32\n%s = arith.addf %o, %m : f32",
        )
        .replace("affine_map<(n, y, x, m, i, j, c)", "affine_map<(n, y, x, m, i, j)")
        .replace('"reduction", "reduction", "reduction"', '"reduction", "reduction"'),
        strided,
    ),
}


def matrices(a: str, b: str, out: str, weights: str = "", **others: str) -> str:
    """A product of two matrices with twice its result."""
    text = reduction(("", weights), MATRICES, (a, b, out), **others)
    text = text.replace("(n, y, x, m, i, j, c)", "(n, y, x, m, c)")
    return text.replace('"reduction", "reduction", "reduction"', '"reduction"')


CASES |= {
    "product": Case(matrices("1x45x1x70xf32", "70x50xf32", "1x45x1x50xf32"), product),
    "weights": Case(matrices("1x45x1x70xf32", "70x50xf32", "1x45x1x50xf32", CONSTANT), product),
    "streamed": Case(matrices("1x3x1x256xf32", "256x300xf32", "1x3x1x300xf32"), product),
    "integers": Case(
        matrices(
            "1x20x1x36xi8", "36x40xi8", "1x20x1x40xi32", body=NARROW, total="i32", initial="0"
        ),
        product,
        whole=True,
    ),
    "rows": Case(SOFT, lambda a: a - a.astype(np.float64).sum(axis=1, keepdims=True)),
    "transposed": Case(TRANSPOSED, lambda a: 2.0 * a.T),
}

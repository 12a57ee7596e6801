# SPDX-License-Identifier: MIT OR Apache-2.0
"""Convolutions with channels innermost and constant weights, over ragged sizes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

RNG = np.random.default_rng(41)


@dataclass(frozen=True)
class Convolution:
    """Over an image of `height` x `width` x `channels`, without padding."""

    height: int
    width: int
    channels: int
    outputs: int
    taps: int = 3
    stride: int = 1
    dilation: int = 1
    batch: int = 1
    first: bool = False  # the image has its channels first

    @property
    def size(self) -> tuple[int, int]:
        reach = self.dilation * (self.taps - 1) + 1
        return (self.height - reach) // self.stride + 1, (self.width - reach) // self.stride + 1

    @property
    def image(self) -> tuple[int, ...]:
        if self.first:
            return self.batch, self.channels, self.height, self.width
        return self.batch, self.height, self.width, self.channels

    def text(self, following: str) -> str:
        """A kernel that applies `following`, an expression of %s and %b, to every element."""
        loops = "n, y, x, m, i, j, c"
        at = [f"{p} * {self.stride} + {t} * {self.dilation}" for p, t in ("yi", "xj")]
        read = f"n, c, {at[0]}, {at[1]}" if self.first else f"n, {at[0]}, {at[1]}, c"
        maps = [read, "m, c, i, j", "n, y, x, m"]
        indexing = ", ".join(f"affine_map<({loops}) -> ({each})>" for each in maps)
        y, x = self.size
        image = f"tensor<{'x'.join(map(str, self.image))}xf32>"
        weights = f"tensor<{self.outputs}x{self.channels}x{self.taps}x{self.taps}xf32>"
        out = f"tensor<{self.batch}x{y}x{x}x{self.outputs}xf32>"
        plain = "affine_map<(n, y, x, m) -> (n, y, x, m)>"
        parallel = ", ".join(['"parallel"'] * 4)
        return f"""
        func.func @k(%a: {image}, %w: {weights} {{xyntra.constant}}, %r: {out}) -> {out} {{
          %zero = arith.constant 0.0 : f32
          %e = tensor.empty() : {out}
          %f = linalg.fill ins(%zero: f32) outs(%e: {out}) -> {out}
          %c = linalg.generic {{indexing_maps = [{indexing}],
              iterator_types = [{parallel}, "reduction", "reduction", "reduction"]}}
            ins(%a, %w: {image}, {weights}) outs(%f: {out}) {{
          ^bb0(%x: f32, %y: f32, %o: f32):
            %p = arith.mulf %x, %y : f32
            %s = arith.addf %o, %p : f32
            linalg.yield %s : f32
          }} -> {out}
          %d = linalg.generic {{indexing_maps = [{plain}, {plain}, {plain}],
              iterator_types = [{parallel}]}} ins(%c, %r: {out}, {out}) outs(%e: {out}) {{
          ^bb0(%s: f32, %b: f32, %o: f32):
            {following}
            linalg.yield %t : f32
          }} -> {out}
          return %d : {out}
        }}"""

    def expected(self, image: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The convolution in float64."""
        image, weights = image.astype(np.float64), weights.astype(np.float64)
        image = image.transpose(0, 2, 3, 1) if self.first else image
        rows, columns = self.size
        total = np.zeros((self.batch, rows, columns, self.outputs))
        for i, j in np.ndindex(self.taps, self.taps):
            top, left = i * self.dilation, j * self.dilation
            part = image[:, top:, left:][:, :: self.stride, :: self.stride][:, :rows, :columns]
            total += part @ weights[:, :, i, j].T
        return total


ADD = "%t = arith.addf %s, %b : f32"
CASES = {
    "narrow": Convolution(9, 9, 8, 16),
    "ragged": Convolution(7, 11, 5, 21),
    "long": Convolution(9, 8, 36, 24, taps=4),
    "very-long": Convolution(6, 7, 120, 40, taps=4),
    "strided": Convolution(13, 12, 16, 12, stride=2),
    "dilated": Convolution(12, 13, 24, 9, dilation=3),
    "dilated-long": Convolution(9, 9, 80, 17, dilation=2),
    "image": Convolution(19, 20, 3, 32, taps=7, stride=2, first=True),
    "one-tap": Convolution(6, 7, 32, 72, taps=1),
    "one-tap-strided": Convolution(13, 13, 40, 33, taps=1, stride=2),
    "batches": Convolution(6, 7, 12, 10, batch=3),
    "few": Convolution(6, 5, 9, 4),
}


@pytest.mark.parametrize("name", CASES)
def test_sizes(compiled, name):
    case = CASES[name]
    kernel = compiled(case.text(ADD))
    assert kernel.lowered.prepared_bytes
    image, weights, other = inputs(kernel)
    expected = case.expected(image, weights) + other
    bound = case.expected(np.abs(image), np.abs(weights)) + np.abs(other)
    assert (np.abs(kernel(image, weights, other)[0] - expected) <= 2e-6 * bound).all()


@pytest.mark.parametrize("name", ["narrow", "ragged", "long", "one-tap"])
def test_over_the_residual(compiled, name):
    """A result in the memory of what is added: no element may be computed twice."""
    case = CASES[name]
    head, tail = case.text(ADD).split(" {\n", 1)
    kernel = compiled(f"{head} attributes {{xyntra.inplace = [[0, 2]]}} {{\n{tail}")
    image, weights, other = inputs(kernel)
    expected = case.expected(image, weights) + other
    bound = case.expected(np.abs(image), np.abs(weights)) + np.abs(other)
    assert (np.abs(kernel(image, weights, other)[0] - expected) <= 2e-6 * bound).all()


@pytest.mark.parametrize("outputs", [1, 2, 3])
def test_few_outputs_take_lanes_from_another_loop(compiled, outputs):
    case = Convolution(12, 13, 24, outputs)
    kernel = compiled(case.text(ADD))
    assert not any(each.startswith("convolution-tiles") for each in kernel.lowered.schedules)
    image, weights, other = inputs(kernel)
    expected = case.expected(image, weights) + other
    bound = case.expected(np.abs(image), np.abs(weights)) + np.abs(other)
    assert (np.abs(kernel(image, weights, other)[0] - expected) <= 2e-6 * bound).all()


def test_a_long_epilogue(compiled):
    steps = "\n".join(f"%v{i} = arith.mulf %v{i - 1}, %s : f32" for i in range(1, 20))
    kernel = compiled(CASES["narrow"].text(f"%v0 = math.tanh %s : f32\n{steps}\n{last()}"))
    image, weights, other = inputs(kernel)
    x = CASES["narrow"].expected(image * np.float32(0.1), weights)
    result = kernel(image * np.float32(0.1), weights, other)[0]
    assert np.allclose(result, np.tanh(x) * x**19 + other, rtol=1e-3, atol=1e-5)


def test_infinities_and_nan_stay_where_they_are(compiled):
    case = CASES["narrow"]
    kernel = compiled(case.text(ADD))
    image, weights, other = inputs(kernel)
    image[0, 0, 0, 0], image[0, 8, 8, 7] = np.inf, np.nan
    result = kernel(image, weights, other)[0]
    assert np.isinf(result[0, 0, 0]).all()
    assert np.isnan(result[0, 6, 6]).all()
    assert np.isfinite(result[0, 1:6]).all()


def last() -> str:
    return "%t = arith.addf %v19, %b : f32"


def inputs(kernel) -> list[np.ndarray]:
    return [RNG.standard_normal(shape).astype(dtype) for shape, dtype in kernel.inputs]

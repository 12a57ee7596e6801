# SPDX-License-Identifier: MIT OR Apache-2.0
"""Convolutions of 3 x 3 taps by Winograd's algorithm, against sums in float64."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
import pytest

from xyntra.targets.cpu.threads.pool import team

RNG = np.random.default_rng(43)
EXACT = "%t = arith.addf %s, %b : {kind}"


@dataclass(frozen=True)
class Convolution:
    """Over `batch` images of `height` x `width` x `channels`."""

    height: int
    width: int
    channels: int
    outputs: int
    padding: tuple[int, int, int, int] = (0, 0, 0, 0)
    """Rows above, columns left, rows below, columns right."""
    batch: int = 1
    dilation: int = 1
    kind: str = "f32"
    border: float = 0.0
    initial: float = 0.0

    @property
    def padded(self) -> tuple[int, int]:
        top, left, bottom, right = self.padding
        return self.height + top + bottom, self.width + left + right

    @property
    def size(self) -> tuple[int, int]:
        rows, columns = self.padded
        return rows - 2 * self.dilation, columns - 2 * self.dilation

    def text(self, following: str = EXACT, attributes: str = "") -> str:
        """A kernel that applies `following`, an expression of %s and %b, to every element."""
        step, kind = self.dilation, self.kind
        loops = "n, y, x, m, i, j, c"
        read = f"n, y + i * {step}, x + j * {step}, c"
        maps = [read, "m, c, i, j", "n, y, x, m"]
        indexing = ", ".join(f"affine_map<({loops}) -> ({each})>" for each in maps)
        top, left, bottom, right = self.padding
        y, x = self.size
        p, q = self.padded
        image = f"tensor<{self.batch}x{self.height}x{self.width}x{self.channels}x{kind}>"
        wide = f"tensor<{self.batch}x{p}x{q}x{self.channels}x{kind}>"
        weights = f"tensor<{self.outputs}x{self.channels}x3x3x{kind}>"
        out = f"tensor<{self.batch}x{y}x{x}x{self.outputs}x{kind}>"
        plain = "affine_map<(n, y, x, m) -> (n, y, x, m)>"
        parallel = ", ".join(['"parallel"'] * 4)
        return f"""
        func.func @k(%a: {image}, %w: {weights} {{xyntra.constant}}, %r: {out}) -> {out}
            {attributes} {{
          %border = arith.constant {self.border:e} : {kind}
          %initial = arith.constant {self.initial:e} : {kind}
          %p = tensor.pad %a low[0, {top}, {left}, 0] high[0, {bottom}, {right}, 0] {{
          ^bb0(%i0: index, %i1: index, %i2: index, %i3: index):
            tensor.yield %border : {kind}
          }} : {image} to {wide}
          %e = tensor.empty() : {out}
          %f = linalg.fill ins(%initial: {kind}) outs(%e: {out}) -> {out}
          %c = linalg.generic {{indexing_maps = [{indexing}],
              iterator_types = [{parallel}, "reduction", "reduction", "reduction"]}}
            ins(%p, %w: {wide}, {weights}) outs(%f: {out}) {{
          ^bb0(%x: {kind}, %y: {kind}, %o: {kind}):
            %m = arith.mulf %x, %y : {kind}
            %s = arith.addf %o, %m : {kind}
            linalg.yield %s : {kind}
          }} -> {out}
          %d = linalg.generic {{indexing_maps = [{plain}, {plain}, {plain}],
              iterator_types = [{parallel}]}} ins(%c, %r: {out}, {out}) outs(%e: {out}) {{
          ^bb0(%s: {kind}, %b: {kind}, %o: {kind}):
            {following.format(kind=kind)}
            linalg.yield %t : {kind}
          }} -> {out}
          return %d : {out}
        }}"""

    def expected(self, image: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The convolution in float64."""
        top, left, bottom, right = self.padding
        widths = ((0, 0), (top, bottom), (left, right), (0, 0))
        image = np.pad(image.astype(np.float64), widths, constant_values=self.border)
        weights = weights.astype(np.float64)
        rows, columns = self.size
        total = np.full((self.batch, rows, columns, self.outputs), self.initial)
        for i, j in np.ndindex(3, 3):
            part = image[:, i * self.dilation :, j * self.dilation :][:, :rows, :columns]
            total += part @ weights[:, :, i, j].T
        return total

    def largest(self, image: np.ndarray) -> np.ndarray:
        """The largest magnitude among the inputs of the tile that every output is in."""
        top, left, bottom, right = self.padding
        widths = ((0, 0), (top, bottom + 1), (left, right + 1), (0, 0))
        image = np.abs(np.pad(image, widths, constant_values=self.border)).max(axis=3)
        found = np.zeros((self.batch, *self.size, 1))
        for y, x in np.ndindex(self.size):
            corner = y - y % 2, x - x % 2
            tile = image[:, corner[0] : corner[0] + 4, corner[1] : corner[1] + 4]
            found[:, y, x, 0] = tile.max(axis=(1, 2))
        return found


SAME = (1, 1, 1, 1)
CASES = {
    "even": Convolution(10, 12, 32, 32),
    "odd": Convolution(11, 9, 32, 48),
    "same": Convolution(12, 12, 32, 64, SAME),
    "same-odd": Convolution(13, 11, 32, 32, SAME),
    "wide": Convolution(6, 40, 64, 64, SAME),
    "asymmetric": Convolution(10, 9, 40, 32, (2, 0, 1, 3)),
    "ragged-channels": Convolution(12, 12, 37, 53, SAME),
    "few-columns": Convolution(14, 14, 64, 19, SAME),
    "batches": Convolution(7, 7, 48, 64, SAME, batch=3),
    "many-tiles": Convolution(44, 40, 64, 64, SAME),
    "many-channels": Convolution(10, 10, 200, 136, SAME),
    "far-weights": Convolution(7, 7, 136, 150, SAME),
    "wide-padding": Convolution(20, 17, 32, 32, (4, 4, 4, 4)),
    "border": Convolution(12, 12, 32, 32, SAME, border=0.75),
    "initial": Convolution(12, 12, 32, 32, SAME, initial=-2.5),
    "double": Convolution(12, 13, 32, 40, SAME, kind="f64"),
    "narrow-image": Convolution(24, 1, 64, 64, (1, 2, 1, 2)),
}


def inputs(kernel) -> list[np.ndarray]:
    return [RNG.standard_normal(shape).astype(dtype) for shape, dtype in kernel.inputs]


def is_winograd(kernel, case: Convolution) -> bool:
    """Tell by the weights, which take 16 values for 9 taps."""
    plain = case.channels * case.outputs * 9 * (8 if case.kind == "f64" else 4)
    return kernel.lowered.prepared_bytes > 1.5 * plain


@pytest.mark.parametrize("name", CASES)
def test_sizes(compiled, name):
    case = CASES[name]
    kernel = compiled(case.text())
    assert is_winograd(kernel, case)
    image, weights, other = inputs(kernel)
    expected = case.expected(image, weights) + other
    result = kernel(image, weights, other)[0]
    unit = 2.0**-53 if case.kind == "f64" else 2.0**-24
    scale = case.largest(image) * np.abs(weights).sum(axis=(1, 2, 3)) + np.abs(other)
    assert (np.abs(result - expected) <= 16 * unit * scale).all()
    # On average, no worse than sums of as many products.
    assert np.sqrt(np.mean((result - expected) ** 2)) < 2 * unit * np.sqrt(9 * case.channels) * 4


@pytest.mark.parametrize("name", ["same-odd", "asymmetric", "many-tiles"])
def test_over_the_residual(compiled, name):
    """A result in the memory of what is added: no element may be computed twice."""
    case = CASES[name]
    kernel = compiled(case.text(attributes="attributes {xyntra.inplace = [[0, 2]]}"))
    assert is_winograd(kernel, case)
    image, weights, other = inputs(kernel)
    expected = case.expected(image, weights) + other
    assert np.allclose(kernel(image, weights, other)[0], expected, rtol=1e-4, atol=1e-4)


def test_over_the_image(compiled):
    """A result in the memory of the image: its tiles are read until the end, from a copy."""
    case = Convolution(12, 12, 32, 32, SAME)
    kernel = compiled(case.text(attributes="attributes {xyntra.inplace = [[0, 0]]}"))
    image, weights, other = inputs(kernel)
    expected = case.expected(image, weights) + other
    assert np.allclose(kernel(image, weights, other)[0], expected, rtol=1e-4, atol=1e-4)


def test_a_long_epilogue(compiled):
    case = CASES["same-odd"]
    steps = "\n".join(f"%v{i} = arith.mulf %v{i - 1}, %s : f32" for i in range(1, 10))
    end = "%t = arith.addf %v9, %b : f32"
    kernel = compiled(case.text(f"%v0 = math.tanh %s : f32\n{steps}\n{end}"))
    image, weights, other = inputs(kernel)
    image *= np.float32(0.05)
    x = case.expected(image, weights)
    result = kernel(image, weights, other)[0]
    assert np.allclose(result, np.tanh(x) * x**9 + other, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", ["same", "same-odd", "batches", "many-tiles"])
def test_infinities_and_nan_reach_what_the_sum_would(compiled, name):
    case = CASES[name]
    kernel = compiled(case.text())
    image, weights, other = inputs(kernel)
    image[0, 0, 0, 3], image[-1, -1, -1, 7] = np.nan, np.inf
    image[0, 4, 5, 0], image[0, 4, 6, 1] = -np.inf, np.inf
    image[-1, -3, 1, 2] = np.finfo(np.float32).max
    weights[0, :, 1, 1] = 0
    with np.errstate(invalid="ignore"):
        expected = case.expected(image, weights) + other
    with np.errstate(over="ignore"):
        rounded = expected.astype(np.float32)
    result = kernel(image, weights, other)[0]
    assert np.array_equal(np.isnan(result), np.isnan(rounded))
    assert np.array_equal(np.isposinf(result), np.isposinf(rounded))
    assert np.array_equal(np.isneginf(result), np.isneginf(rounded))
    normal = np.isfinite(rounded) & (np.abs(rounded) < 1e30)
    assert np.allclose(result[normal], rounded[normal], rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("name", ["same-odd", "many-tiles", "many-channels"])
def test_the_same_with_any_number_of_threads(compiled, monkeypatch, name):
    kernel = compiled(CASES[name].text())
    arrays = inputs(kernel)
    first = kernel(*arrays)[0]
    assert np.array_equal(first, kernel(*arrays)[0])
    alone = team(1)
    alone.assemble()
    monkeypatch.setattr(sys.modules[type(kernel).__module__], "_team", lambda: alone)
    assert np.array_equal(first, kernel(*arrays)[0])


@pytest.mark.parametrize(
    "case",
    [
        Convolution(12, 12, 8, 64, SAME),
        Convolution(12, 12, 64, 8, SAME),
        Convolution(12, 12, 64, 64, (2, 2, 2, 2), dilation=2),
    ],
    ids=["few-inputs", "few-outputs", "dilated"],
)
def test_others_are_summed_directly(compiled, case):
    kernel = compiled(case.text())
    assert not is_winograd(kernel, case)
    image, weights, other = inputs(kernel)
    expected = case.expected(image, weights) + other
    assert np.allclose(kernel(image, weights, other)[0], expected, rtol=1e-4, atol=1e-4)


def test_a_huge_input_costs_digits_in_its_tile_alone(compiled):
    case = CASES["same"]
    kernel = compiled(case.text())
    image, weights, other = inputs(kernel)
    image[0, 4, 4, 0] = 1e6
    expected = case.expected(image, weights) + other
    error = np.abs(kernel(image, weights, other)[0] - expected)
    scale = case.largest(image) * np.abs(weights).sum(axis=(1, 2, 3)) + np.abs(other)
    assert (error <= 16 * 2.0**-24 * scale).all()
    assert error[0, 8:].max() < 1e-3

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Depthwise convolutions and poolings of images in both layouts, over ragged sizes and paddings."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from xyntra.passes.lower.cpu import LoweringOptions

RNG = np.random.default_rng(43)


@dataclass(frozen=True)
class Window:
    """Windows over every channel of an image; `pads` are top, left, bottom, right."""

    height: int
    width: int
    channels: int
    taps: tuple[int, int] = (3, 3)
    strides: tuple[int, int] = (1, 1)
    dilations: tuple[int, int] = (1, 1)
    pads: tuple[int, int, int, int] = (1, 1, 1, 1)
    batch: int = 1
    kind: str = "convolution"
    channels_first: bool = False

    @property
    def outside(self) -> float:
        return float("-inf") if self.kind == "maximum" else 0.0

    @property
    def size(self) -> tuple[int, int]:
        whole = (
            self.height + self.pads[0] + self.pads[2],
            self.width + self.pads[1] + self.pads[3],
        )
        return tuple(
            (extent - dilation * (taps - 1) - 1) // stride + 1
            for extent, taps, stride, dilation in zip(
                whole, self.taps, self.strides, self.dilations, strict=True
            )
        )

    def order(self, n: object, y: object, x: object, c: object) -> str:
        """List what is given of the dimensions as they lie."""
        found = (n, c, y, x) if self.channels_first else (n, y, x, c)
        return ", ".join(map(str, found))

    def tensor(self, height: int, width: int) -> str:
        """The type of an image."""
        sizes = self.order(self.batch, height, width, self.channels).replace(", ", "x")
        return f"tensor<{sizes}xf32>"

    def text(self) -> str:
        """A kernel that adds a third argument to every element."""
        loops = "n, y, x, c, i, j"
        at = [
            f"{p} * {stride} + {t} * {dilation}"
            for p, t, stride, dilation in zip("yx", "ij", self.strides, self.dilations, strict=True)
        ]
        y, x = self.size
        top, left, bottom, right = self.pads
        image = self.tensor(self.height, self.width)
        padded = self.tensor(self.height + top + bottom, self.width + left + right)
        weights = f"tensor<{self.channels}x{self.taps[0]}x{self.taps[1]}xf32>"
        out = self.tensor(y, x)
        plain = "affine_map<(n, y, x, c) -> (n, y, x, c)>"
        maps = [self.order("n", *at, "c"), "c, i, j", self.order("n", "y", "x", "c")]
        low, high = self.order(0, top, left, 0), self.order(0, bottom, right, 0)
        indexing = ", ".join(f"affine_map<({loops}) -> ({each})>" for each in maps)
        parallel = ", ".join(['"parallel"'] * 4)
        initial = "0xFF800000" if self.kind == "maximum" else "0.0"
        body = {
            "convolution": "%m = arith.mulf %x, %y : f32\n%s = arith.addf %o, %m : f32",
            "maximum": "%s = arith.maximumf %o, %x : f32",
            "sum": "%s = arith.addf %o, %x : f32",
        }[self.kind]
        pad = f"""%p = tensor.pad %a low[{low}] high[{high}] {{
          ^bb0(%i0: index, %i1: index, %i2: index, %i3: index):
            tensor.yield %first : f32
          }} : {image} to {padded}"""
        return f"""
        func.func @k(%a: {image}, %w: {weights} {{xyntra.constant}}, %r: {out}) -> {out} {{
          %first = arith.constant {initial} : f32
          {pad}
          %e = tensor.empty() : {out}
          %f = linalg.fill ins(%first: f32) outs(%e: {out}) -> {out}
          %c = linalg.generic {{indexing_maps = [{indexing}],
              iterator_types = [{parallel}, "reduction", "reduction"]}}
            ins(%p, %w: {padded}, {weights}) outs(%f: {out}) {{
          ^bb0(%x: f32, %y: f32, %o: f32):
            {body}
            linalg.yield %s : f32
          }} -> {out}
          %d = linalg.generic {{indexing_maps = [{plain}, {plain}, {plain}],
              iterator_types = [{parallel}]}} ins(%c, %r: {out}, {out}) outs(%e: {out}) {{
          ^bb0(%s: f32, %b: f32, %o: f32):
            %t = arith.addf %s, %b : f32
            linalg.yield %t : f32
          }} -> {out}
          return %d : {out}
        }}"""

    def expected(self, image: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The result in float64."""
        if self.channels_first:
            return self._expected(image.transpose(0, 2, 3, 1), weights).transpose(0, 3, 1, 2)
        return self._expected(image, weights)

    def _expected(self, image: np.ndarray, weights: np.ndarray) -> np.ndarray:
        top, left, bottom, right = self.pads
        frame = ((0, 0), (top, bottom), (left, right), (0, 0))
        image = np.pad(image.astype(np.float64), frame, constant_values=self.outside)
        rows, columns = self.size
        total = np.full((self.batch, rows, columns, self.channels), self.outside)
        for i, j in np.ndindex(self.taps):
            part = image[:, i * self.dilations[0] :, j * self.dilations[1] :]
            part = part[:, :: self.strides[0], :: self.strides[1]][:, :rows, :columns]
            if self.kind == "maximum":
                total = np.maximum(total, part)
            else:
                total += part * weights[:, i, j] if self.kind == "convolution" else part
        return total


CASES = {
    "plain": Window(9, 11, 16),
    "ragged": Window(7, 10, 21),
    "few": Window(5, 6, 5),
    "strided": Window(12, 13, 24, strides=(2, 2)),
    "uneven": Window(9, 14, 16, strides=(2, 1), pads=(0, 2, 1, 0)),
    "large": Window(11, 12, 20, taps=(5, 5), pads=(2, 2, 2, 2)),
    "dilated": Window(13, 14, 8, dilations=(2, 3), pads=(2, 3, 2, 3)),
    "narrow": Window(3, 2, 16, taps=(3, 5), pads=(1, 2, 1, 2)),
    "outside": Window(3, 3, 8, pads=(4, 1, 4, 1)),
    "no-padding": Window(9, 10, 40, pads=(0, 0, 0, 0)),
    "one-row": Window(1, 17, 16, taps=(1, 3), pads=(0, 1, 0, 1)),
    "batches": Window(6, 7, 12, batch=3),
    "maximum": Window(13, 12, 24, strides=(2, 2), kind="maximum"),
    "maximum-large": Window(10, 10, 16, taps=(5, 5), pads=(2, 2, 2, 2), kind="maximum"),
    "sum": Window(8, 9, 17, strides=(3, 2), taps=(3, 2), pads=(0, 0, 0, 0), kind="sum"),
    "padded-sum": Window(8, 9, 17, kind="sum"),
    "many-taps": Window(1, 40, 77, taps=(1, 31), pads=(0, 15, 0, 15)),
    "many-positions-at-ends": Window(1, 40, 21, taps=(1, 15), strides=(1, 2), pads=(0, 14, 0, 14)),
    "many-edges": Window(4, 16, 21, taps=(3, 15), strides=(2, 1), pads=(1, 7, 1, 7)),
    "many-maximum": Window(9, 24, 40, taps=(3, 19), dilations=(2, 1), kind="maximum"),
}
ROWS = {
    "strided": Window(12, 37, 3, strides=(2, 2)),
    "ragged": Window(21, 19, 2, strides=(2, 2), batch=2),
    "narrow": Window(5, 9, 3, strides=(1, 2), pads=(1, 0, 1, 2)),
    "by-three": Window(17, 61, 2, taps=(5, 5), strides=(3, 3), pads=(2, 2, 2, 2)),
    "by-four": Window(9, 70, 2, taps=(7, 7), strides=(4, 4), pads=(3, 3, 3, 3)),
    "dilated": Window(14, 45, 2, strides=(2, 2), dilations=(3, 2), pads=(3, 2, 3, 2)),
    "an-unread-phase": Window(8, 40, 2, taps=(3, 3), strides=(2, 2), dilations=(1, 2)),
    "no-padding": Window(11, 33, 2, strides=(2, 2), pads=(0, 0, 0, 0)),
    "one-row": Window(1, 35, 3, taps=(3, 3), strides=(2, 2)),
    "outside": Window(3, 20, 2, strides=(2, 2), pads=(5, 1, 5, 1)),
    "long": Window(10, 50, 2),
    "maximum": Window(13, 39, 3, strides=(2, 2), kind="maximum"),
    "sum": Window(13, 40, 3, strides=(2, 2), kind="sum"),
}
"""Windows that stride along contiguous elements."""


@pytest.mark.parametrize("name", CASES)
def test_sizes(compiled, name):
    case = CASES[name]
    kernel = compiled(case.text())
    image, weights, other = inputs(kernel)
    result = kernel(image, weights, other)[0]
    assert np.allclose(result, case.expected(image, weights) + other, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("name", "is_taken"), [("many-taps", True), ("many-edges", False)])
def test_many_taps_along_one_direction_alone_are_loops(compiled, name, is_taken):
    schedules = compiled(CASES[name].text()).lowered.schedules
    assert any(each.startswith("window-tiles") for each in schedules) == is_taken


@pytest.mark.parametrize("bits", [256, 512])
@pytest.mark.parametrize("name", ROWS)
def test_rows(compiled, name, bits):
    case = replace(ROWS[name], channels_first=True)
    kernel = compiled(case.text(), options=LoweringOptions(vector_bits=bits))
    found = [each for each in kernel.lowered.schedules if each.startswith("window-rows")]
    assert found or case.size[1] < 4 * bits // 256
    image, weights, other = inputs(kernel)
    result = kernel(image, weights, other)[0]
    assert np.allclose(result, case.expected(image, weights) + other, rtol=1e-5, atol=1e-5)


def test_padding_is_not_written(compiled):
    kernel = compiled(CASES["plain"].text())
    assert kernel.lowered.scratch_bytes == 0


def test_loops_over_taps_that_padding_shortens_are_unrolled(compiled):
    """Their number is computed, and one takes less time than the end of the loop."""
    assert compiled(CASES["plain"].text()).lowered.plain_loops
    assert not compiled(CASES["no-padding"].text()).lowered.plain_loops


@pytest.mark.parametrize("name", ["plain", "strided", "large", "many-taps", "rows", "even-rows"])
def test_over_the_residual(compiled, name):
    """A result in the memory of what is added: no element may be computed twice."""
    rows = Window(12, 37, 3, strides=(2, 2), channels_first=True)
    others = {"rows": rows, "even-rows": replace(rows, height=21, width=32)}
    case = {**CASES, **others}[name]
    head, tail = case.text().split(" {\n", 1)
    kernel = compiled(f"{head} attributes {{xyntra.inplace = [[0, 2]]}} {{\n{tail}")
    image, weights, other = inputs(kernel)
    expected = case.expected(image, weights) + other
    assert np.allclose(kernel(image, weights, other)[0], expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("channels_first", [False, True])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_maximum_of_special_values(compiled, value, channels_first):
    case = replace(CASES["maximum"], channels_first=channels_first)
    kernel = compiled(case.text())
    image, weights, other = inputs(kernel)
    image[0, 3, 4] = value
    result = kernel(image, weights, other)[0]
    assert np.allclose(result, case.expected(image, weights) + other, equal_nan=True)


def inputs(kernel) -> list[np.ndarray]:
    return [RNG.standard_normal(shape).astype(dtype) for shape, dtype in kernel.inputs]


def test_weights_of_groups(compiled):
    """Elements are neighbours along a loop that is no channel: weights move with other loops."""
    maps = ["g, y + i, x", "g, m, i", "g, m, y, x"]
    indexing = ", ".join(f"affine_map<(g, m, y, x, i) -> ({each})>" for each in maps)
    out = "tensor<4x2x4x19xf32>"
    text = f"""
    func.func @k(%a: tensor<4x5x19xf32>, %w: tensor<4x2x2xf32> {{xyntra.constant}}) -> {out} {{
      %zero = arith.constant 0.0 : f32
      %e = tensor.empty() : {out}
      %f = linalg.fill ins(%zero: f32) outs(%e: {out}) -> {out}
      %c = linalg.generic {{indexing_maps = [{indexing}], iterator_types =
          ["parallel", "parallel", "parallel", "parallel", "reduction"]}}
        ins(%a, %w: tensor<4x5x19xf32>, tensor<4x2x2xf32>) outs(%f: {out}) {{
      ^bb0(%x: f32, %y: f32, %o: f32):
        %p = arith.mulf %x, %y : f32
        %s = arith.addf %o, %p : f32
        linalg.yield %s : f32
      }} -> {out}
      return %c : {out}
    }}"""
    kernel = compiled(text)
    image, weights = (RNG.standard_normal(s).astype(dtype) for s, dtype in kernel.inputs)
    windows = np.lib.stride_tricks.sliding_window_view(image, 2, axis=1)
    expected = np.einsum("gyxi,gmi->gmyx", windows, weights)
    assert np.allclose(kernel(image, weights)[0], expected, rtol=1e-5, atol=1e-5)

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Convolutions whose padding is left out: tiles of positions that meet the same taps."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from torch_mlir import ir

from xyntra.dialects.attributes.schedule import Schedule
from xyntra.passes.analysis.kernel_function import operations_named
from xyntra.passes.lower.cpu import LoweredKernel, LoweringOptions, from_nests, to_nests
from xyntra.passes.lower.cpu.emitters import legal_schedules

RNG = np.random.default_rng(53)
LEFT_OUT = "convolution-tiles"
WIDE = LoweringOptions(vector_bits=512, vector_registers=32)
COPIED, DOUBLED, TURNED = "copied", "doubled", "turned"


@dataclass(frozen=True)
class Padded:
    """A convolution over an image of [N, H, W, C]; `pads` are top, left, bottom, right.

    `inside` says what is padded: the image, the image times 2, or an image of [N, C, H, W].
    """

    height: int
    width: int
    channels: int
    outputs: int
    dilations: tuple[int, int]
    pads: tuple[int, int, int, int]
    taps: tuple[int, int] = (3, 3)
    strides: tuple[int, int] = (1, 1)
    batch: int = 1
    inside: str = COPIED

    @property
    def size(self) -> tuple[int, int]:
        top, left, bottom, right = self.pads
        whole = self.height + top + bottom, self.width + left + right
        fields = zip(whole, self.dilations, self.taps, self.strides, strict=True)
        return tuple((n - d * (taps - 1) - 1) // step + 1 for n, d, taps, step in fields)

    def text(self, attributes: str = "") -> str:
        """A kernel that adds a third argument to every element."""
        at = [
            f"{p} * {step} + {t} * {dilation}"
            for p, t, step, dilation in zip("yx", "ij", self.strides, self.dilations, strict=True)
        ]
        top, left, bottom, right = self.pads
        order = (0, 3, 1, 2) if self.inside == TURNED else (0, 1, 2, 3)
        shape = self.batch, self.height, self.width, self.channels
        image = f"tensor<{'x'.join(str(shape[i]) for i in order)}xf32>"
        inner = f"tensor<{'x'.join(map(str, shape))}xf32>"
        padded = [self.batch, self.height + top + bottom, self.width + left + right, self.channels]
        padded_type = f"tensor<{'x'.join(map(str, padded))}xf32>"
        weights = f"tensor<{self.outputs}x{self.channels}x{self.taps[0]}x{self.taps[1]}xf32>"
        out = f"tensor<{self.batch}x{self.size[0]}x{self.size[1]}x{self.outputs}xf32>"
        loops = "n, y, x, m, i, j, c"
        maps = [f"n, {at[0]}, {at[1]}, c", "m, c, i, j", "n, y, x, m"]
        indexing = ", ".join(f"affine_map<({loops}) -> ({each})>" for each in maps)
        plain = "affine_map<(n, y, x, m) -> (n, y, x, m)>"
        source = "n, m, y, x" if self.inside == TURNED else "n, y, x, m"
        double = "%t = arith.addf %x, %x : f32" if self.inside == DOUBLED else ""
        parallel = ", ".join(['"parallel"'] * 4)
        before = f"""%i = tensor.empty() : {inner}
          %b = linalg.generic {{indexing_maps = [affine_map<(n, y, x, m) -> ({source})>, {plain}],
              iterator_types = [{parallel}]}} ins(%a: {image}) outs(%i: {inner}) {{
          ^bb0(%x: f32, %o: f32):
            {double}
            linalg.yield {"%t" if double else "%x"} : f32
          }} -> {inner}"""
        return f"""
        func.func @k(%a: {image}, %w: {weights} {{xyntra.constant}}, %r: {out}) -> {out}
            {attributes} {{
          %zero = arith.constant 0.0 : f32
          {"" if self.inside == COPIED else before}
          %p = tensor.pad %{"a" if self.inside == COPIED else "b"} low[0, {top}, {left}, 0]
              high[0, {bottom}, {right}, 0] {{
          ^bb0(%i0: index, %i1: index, %i2: index, %i3: index):
            tensor.yield %zero : f32
          }} : {inner} to {padded_type}
          %e = tensor.empty() : {out}
          %f = linalg.fill ins(%zero: f32) outs(%e: {out}) -> {out}
          %c = linalg.generic {{indexing_maps = [{indexing}],
              iterator_types = [{parallel}, "reduction", "reduction", "reduction"]}}
            ins(%p, %w: {padded_type}, {weights}) outs(%f: {out}) {{
          ^bb0(%x: f32, %y: f32, %o: f32):
            %m = arith.mulf %x, %y : f32
            %s = arith.addf %o, %m : f32
            linalg.yield %s : f32
          }} -> {out}
          %d = linalg.generic {{indexing_maps = [{plain}, {plain}, {plain}],
              iterator_types = [{parallel}]}} ins(%c, %r: {out}, {out}) outs(%e: {out}) {{
          ^bb0(%s: f32, %b0: f32, %o: f32):
            %t = arith.addf %s, %b0 : f32
            linalg.yield %t : f32
          }} -> {out}
          return %d : {out}
        }}"""

    def expected(self, image: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The convolution in float64, of taps inside of the image alone."""
        image, weights = image.astype(np.float64), weights.astype(np.float64)
        image = image.transpose(0, 2, 3, 1) if self.inside == TURNED else image
        image = 2 * image if self.inside == DOUBLED else image
        total = np.zeros((self.batch, *self.size, self.outputs))
        for y, x in np.ndindex(*self.size):
            for i, j in np.ndindex(*self.taps):
                row = y * self.strides[0] + i * self.dilations[0] - self.pads[0]
                column = x * self.strides[1] + j * self.dilations[1] - self.pads[1]
                if 0 <= row < self.height and 0 <= column < self.width:
                    total[:, y, x] += image[:, row, column] @ weights[:, :, i, j].T
        return total


CASES = {
    "atrous": Padded(11, 13, 24, 40, (6, 6), (6, 6, 6, 6)),
    "long": Padded(9, 10, 130, 21, (4, 6), (4, 6, 4, 6)),
    "very-long": Padded(7, 8, 500, 33, (5, 5), (5, 5, 5, 5)),
    "one-tap-left": Padded(7, 6, 40, 16, (9, 9), (9, 9, 9, 9)),
    "nothing-met": Padded(5, 4, 96, 16, (1, 1), (0, 9, 0, 9), taps=(1, 3)),
    "uneven": Padded(12, 9, 16, 24, (5, 4), (7, 1, 3, 6)),
    "strided": Padded(13, 12, 20, 16, (4, 4), (4, 4, 4, 4), strides=(2, 3)),
    "batches": Padded(6, 7, 24, 20, (5, 5), (5, 5, 5, 5), batch=3),
    "one-row": Padded(1, 17, 24, 16, (8, 8), (8, 8, 8, 8)),
    "along-one": Padded(8, 16, 64, 17, (1, 7), (0, 14, 0, 14), taps=(1, 5)),
    "doubled": Padded(11, 9, 24, 16, (6, 6), (6, 6, 6, 6), inside=DOUBLED),
    "turned": Padded(10, 11, 24, 16, (6, 6), (6, 6, 6, 6), inside=TURNED),
}


def inputs(kernel) -> list[np.ndarray]:
    return [RNG.standard_normal(shape).astype(dtype) for shape, dtype in kernel.inputs]


def assert_left_out(kernel) -> None:
    (found,) = (each for each in kernel.lowered.schedules if each.startswith(LEFT_OUT))
    assert found.endswith("padding")


def assert_close(kernel, case: Padded, arrays: list[np.ndarray]) -> None:
    image, weights, other = arrays
    bound = case.expected(np.abs(image), np.abs(weights)) + np.abs(other)
    expected = case.expected(image, weights) + other
    assert (np.abs(kernel(*arrays)[0] - expected) <= 2e-6 * bound).all()


@pytest.mark.parametrize("options", [LoweringOptions(), WIDE], ids=["narrow", "wide"])
@pytest.mark.parametrize("name", CASES)
def test_sizes(compiled, name, options):
    kernel = compiled(CASES[name].text(), options=options)
    assert_left_out(kernel)
    assert_close(kernel, CASES[name], inputs(kernel))


@pytest.mark.parametrize("name", ["atrous", "very-long", "turned"])
def test_over_the_residual(compiled, name):
    """A result in the memory of what is added: no element may be computed twice."""
    kernel = compiled(CASES[name].text("attributes {xyntra.inplace = [[0, 2]]}"))
    assert_left_out(kernel)
    assert_close(kernel, CASES[name], inputs(kernel))


def test_weights_outside_of_the_image_do_not_reach_the_result(compiled):
    case = CASES["one-tap-left"]
    kernel = compiled(case.text())
    image, weights, other = inputs(kernel)
    weights[:, :, 0, 0], weights[:, :, 2, 1] = np.nan, np.inf
    assert np.isfinite(kernel(image, weights, other)[0]).all()


def test_infinities_and_nan_stay_where_they_are(compiled):
    case = CASES["atrous"]
    kernel = compiled(case.text())
    image, weights, other = inputs(kernel)
    image[0, 0, 0, 3], image[0, 10, 12, 5] = np.inf, np.nan
    result = kernel(image, weights, other)[0]
    met = case.expected(np.where(np.isfinite(image), 0, 1).astype(np.float32), np.abs(weights))
    assert (np.isfinite(result) == (met == 0)).all()


def test_a_small_frame_is_read(compiled):
    """Few taps are outside: groups would leave tiles with few positions of their own."""
    kernel = compiled(replace(CASES["atrous"], dilations=(1, 1), pads=(1, 1, 1, 1)).text())
    assert not any("convolution-tiles" in s and "padding" in s for s in kernel.lowered.schedules)


@pytest.mark.parametrize("name", ["doubled", "turned"])
def test_text_between_the_halves(lowered_by, name):
    def lower(module: ir.Module, options: LoweringOptions) -> LoweredKernel:
        return from_nests(ir.Module.parse(str(to_nests(module, options))), options)

    kernel = lowered_by(CASES[name].text(), lower, LoweringOptions())
    assert_left_out(kernel)
    assert_close(kernel, CASES[name], inputs(kernel))


def test_other_tiles(lowered_by):
    """Of what is legal, some schedules of either kind, through the text between the halves."""
    case = CASES["atrous"]
    found: set[bool] = set()
    for number in range(0, 200, 23):
        chosen: list[Schedule] = []

        def lower(
            module: ir.Module, options: LoweringOptions, number: int = number, chosen: list = chosen
        ) -> LoweredKernel:
            nests = ir.Module.parse(str(to_nests(module, options)))
            with nests.context:
                nest = operations_named(nests.operation, "linalg.generic")[-2]
                legal = [s for s in legal_schedules(nest, options) if s.emitter == LEFT_OUT]
                chosen.append(legal[number * 7919 % len(legal)])
                chosen[0].attach(nest)
            return from_nests(nests, options)

        kernel = lowered_by(case.text(), lower, LoweringOptions())
        found.add(bool(chosen[0].choices.get("padding")))
        assert_close(kernel, case, inputs(kernel))
    assert found == {False, True}

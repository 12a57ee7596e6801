# SPDX-License-Identifier: MIT OR Apache-2.0
"""`pack-channels`: convolutions compute the same on packed images and filters."""

from __future__ import annotations

import numpy as np
import pytest

import xyntra
from xyntra.dialects import make_context
from xyntra.dialects.mlir import ir
from xyntra.passes.manager import run_pipeline

WEIGHT = ' {xyntra.parameter = "w"}'
CONVOLUTION = """
func.func @main(%x: tensor<{image}xf16>,
                %w: tensor<{weights}xf16>{weight}) -> tensor<{result}xf32> {{
  %zero = arith.constant 0.0 : f32
  %h = arith.constant 0.0 : f16
  %p = tensor.pad %x low[0, 0, {low}, {low}] high[0, 0, {high}, {high}] {{
  ^bb0(%n: index, %c: index, %i: index, %j: index):
    tensor.yield %h : f16
  }} : tensor<{image}xf16> to tensor<{padded}xf16>
  %e = tensor.empty() : tensor<{result}xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<{result}xf32>) -> tensor<{result}xf32>
  %y = linalg.generic {{
    indexing_maps = [
      affine_map<(n, h, w, o, c, i, j) -> (n, c, h * {step} + i, w * {step} + j)>,
      affine_map<(n, h, w, o, c, i, j) -> (o, c, i, j)>,
      affine_map<(n, h, w, o, c, i, j) -> (n, h, w, o)>],
    iterator_types = ["parallel", "parallel", "parallel", "parallel",
                      "reduction", "reduction", "reduction"]}}
    ins(%p, %w : tensor<{padded}xf16>, tensor<{weights}xf16>) outs(%i : tensor<{result}xf32>) {{
  ^bb0(%a: f16, %b: f16, %o: f32):
    %u = arith.extf %a : f16 to f32
    %v = arith.extf %b : f16 to f32
    %m = arith.mulf %u, %v : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  }} -> tensor<{result}xf32>
  return %y : tensor<{result}xf32>
}}"""
RNG = np.random.default_rng(11)


def convolution(
    image: tuple[int, ...], filters: int, taps: int, step: int, pads: tuple[int, int]
) -> str:
    batch, channels, *sizes = image
    padded = [size + sum(pads) for size in sizes]
    result = [(size - taps) // step + 1 for size in padded]
    known = {
        "image": image,
        "weights": (filters, channels, taps, taps),
        "padded": (batch, channels, *padded),
        "result": (batch, *result, filters),
    }
    texts = {name: "x".join(map(str, shape)) for name, shape in known.items()}
    return CONVOLUTION.format(**texts, weight=WEIGHT, low=pads[0], high=pads[1], step=step)


def packed(text: str) -> str:
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        run_pipeline(module, ["pack-channels"])
        return str(module)


@pytest.mark.parametrize(
    ("image", "filters", "taps", "step", "pads"),
    [
        ((2, 3, 11, 9), 16, 7, 2, (3, 3)),
        ((1, 1, 8, 8), 8, 3, 1, (1, 1)),
        ((2, 4, 6, 7), 8, 3, 2, (0, 0)),
        ((1, 5, 9, 6), 8, 2, 3, (0, 1)),
    ],
    ids=["seven-taps", "one-channel", "no-padding", "padding-behind"],
)
def test_packed_convolutions_compute_the_same(image, filters, taps, step, pads, settings):
    text = convolution(image, filters, taps, step, pads)
    after = packed(text)
    assert after.count("tensor.extract ") == 1
    inputs = [
        RNG.standard_normal(shape).astype(np.float16)
        for shape in (image, (filters, image[1], taps, taps))
    ]
    inputs[0].reshape(-1)[0] = np.inf  # what is added must not meet it
    expected, result = (
        xyntra.compile(each.replace(WEIGHT, ""), target="cpu", config=settings)(*inputs)
        for each in (text, after)
    )
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-4)

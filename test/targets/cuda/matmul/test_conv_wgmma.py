# SPDX-License-Identifier: MIT OR Apache-2.0
"""Convolutions on warpgroups: what TMA is told of images and filters, and what ptxas says."""

from __future__ import annotations

import re

import pytest
from gpu_code import assemble, change_devices, compiled

from xyntra.passes.lower.cuda.matmul import select
from xyntra.passes.lower.cuda.matmul.wgmma.tiles import Tile
from xyntra.passes.lower.gpu.device import Feature
from xyntra.targets.cuda.code.kernel_image import KernelImage

CONVOLUTION = """
func.func @k(%x: tensor<{batch}x{size}x{size}x{channels}xf16>, %w: tensor<{filter}xf16>,
             %b: tensor<{columns}xf16>) -> tensor<{batch}x{out}x{out}x{columns}xf16> {{
  %h = arith.constant 0.0 : f16
  %zero = arith.constant 0.0 : f32
  {pad}
  %e = tensor.empty() : tensor<{batch}x{out}x{out}x{columns}xf32>
  %g = tensor.empty() : tensor<{batch}x{out}x{out}x{columns}xf16>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<{batch}x{out}x{out}x{columns}xf32>)
    -> tensor<{batch}x{out}x{out}x{columns}xf32>
  %m = linalg.generic {{
    indexing_maps = [
      affine_map<(n, h, w, o, i, j, c)
        -> (n, h * {step} + i * {spread}, w * {step} + j * {spread}, c)>,
      affine_map<(n, h, w, o, i, j, c) -> ({weights})>,
      affine_map<(n, h, w, o, i, j, c) -> (n, h, w, o)>],
    iterator_types = ["parallel", "parallel", "parallel", "parallel",
                      "reduction", "reduction", "reduction"]}}
    ins({image} : tensor<{batch}x{padded}x{padded}x{channels}xf16>, tensor<{filter}xf16>)
    outs(%f : tensor<{batch}x{out}x{out}x{columns}xf32>) {{
  ^bb0(%u: f16, %v: f16, %o: f32):
    %p = arith.extf %u : f16 to f32
    %q = arith.extf %v : f16 to f32
    %s = arith.mulf %p, %q : f32
    %t = arith.addf %o, %s : f32
    linalg.yield %t : f32
  }} -> tensor<{batch}x{out}x{out}x{columns}xf32>
  %r = linalg.generic {{
    indexing_maps = [affine_map<(n, h, w, o) -> (n, h, w, o)>, affine_map<(n, h, w, o) -> (o)>,
                     affine_map<(n, h, w, o) -> (n, h, w, o)>],
    iterator_types = ["parallel", "parallel", "parallel", "parallel"]}}
    ins(%m, %b : tensor<{batch}x{out}x{out}x{columns}xf32>, tensor<{columns}xf16>)
    outs(%g : tensor<{batch}x{out}x{out}x{columns}xf16>) {{
  ^bb0(%u: f32, %v: f16, %o: f16):
    %t = arith.truncf %u : f32 to f16
    %s = arith.addf %t, %v : f16
    %z = arith.maximumf %s, %h : f16
    linalg.yield %z : f16
  }} -> tensor<{batch}x{out}x{out}x{columns}xf16>
  return %r : tensor<{batch}x{out}x{out}x{columns}xf16>
}}"""
PAD = """%y = tensor.pad %x low[0, {pad}, {pad}, 0] high[0, {pad}, {pad}, 0] {{
  ^bb0(%n: index, %i: index, %j: index, %c: index):
    tensor.yield %h : f16
  }} : tensor<{batch}x{size}x{size}x{channels}xf16>
    to tensor<{batch}x{padded}x{padded}x{channels}xf16>"""


def convolution(
    batch: int = 2,
    size: int = 14,
    channels: int = 64,
    columns: int = 64,
    taps: int = 3,
    *,
    step: int = 1,
    spread: int = 1,
    pad: int = 1,
    innermost: str = "c",
) -> str:
    padded = size + 2 * pad
    order = {"c": "o, i, j, c", "o": "i, j, c, o"}[innermost]
    extents = {"o": columns, "i": taps, "j": taps, "c": channels}
    known = {"batch": batch, "size": size, "channels": channels, "pad": pad, "padded": padded}
    return CONVOLUTION.format(
        **{**known, "pad": PAD.format(**known) if pad else ""},
        columns=columns,
        out=(padded - (taps - 1) * spread - 1) // step + 1,
        step=step,
        spread=spread,
        weights=order,
        filter="x".join(str(extents[each]) for each in order.split(", ")),
        image="%y, %w" if pad else "%x, %w",
    )


@pytest.fixture(autouse=True)
def _selected(monkeypatch):
    monkeypatch.setattr(select, "GATHERS_PIXELS", True)
    change_devices(monkeypatch, Feature.MMA)


@pytest.fixture
def warps(monkeypatch):
    """Let images be read around their padding: that depends on what warps could do."""
    change_devices(monkeypatch)
    plan = select.plan_convolution

    def fixed(*arguments):
        return plan(*arguments[:4], Tile(64, 64))

    monkeypatch.setattr(select, "plan_convolution", fixed)
    monkeypatch.setattr(select, "_is_faster", lambda *_: True)


@pytest.mark.usefixtures("warps")
@pytest.mark.parametrize("step", [1, 2])
def test_padding_is_left_to_the_copies(step):
    image = compiled(convolution(step=step))
    (launch,) = image.launches
    pixels = launch.maps[0]
    assert pixels.sizes == (64, 14, 14, 2)
    assert pixels.strides == (128, 14 * 128, 14 * 14 * 128)
    assert pixels.box == (64, 64)
    assert pixels.lower == (-1, -1)
    # The first tap of the last output is at position 12 or 11, before the end by 2 or 3.
    assert pixels.upper == ((-1, -1) if step == 1 else (-2, -2))
    assert pixels.steps == (1, step, step, 1)
    assert launch.maps[1].box == (64, 1, 1, 64)
    assert image.ptx.count("global.im2col.mbarrier") == 1
    assert KernelImage.from_bytes(image.to_bytes()) == image


def test_taps_that_stay_inside_need_no_windows():
    (launch,) = compiled(convolution(pad=0, spread=2)).launches
    pixels = launch.maps[0]
    assert pixels.sizes == (64, 14, 14, 2)
    assert pixels.lower == (0, 0)
    assert pixels.upper == (-4, -4)


def test_rows_of_taps_next_to_each_other_are_channels():
    (launch,) = compiled(convolution(pad=0)).launches
    pixels = launch.maps[0]
    assert pixels.sizes == (3 * 64, 12, 14, 2)
    assert pixels.strides == (128, 14 * 128, 14 * 14 * 128)
    assert pixels.upper == (0, -2)


@pytest.mark.parametrize("innermost", ["c", "o"])
@pytest.mark.parametrize("tile", [Tile(64, 64), Tile(128, 128), Tile(128, 256)])
def test_no_tile_spills(innermost, tile, monkeypatch, tmp_path):
    plan = select.plan_convolution
    monkeypatch.setattr(select, "plan_convolution", lambda *given: plan(*given[:4], tile))
    image = compiled(convolution(columns=200, channels=72, spread=2, pad=0, innermost=innermost))
    launch = image.launches[-1]
    assert launch.block == tile.threads
    report = assemble(image, "sm_90a", tmp_path)
    assert set(re.findall(r"(\d+) bytes spill", report)) == {"0"}
    assert "C75" not in report  # multiplications that are not run one by one


@pytest.mark.parametrize(
    ("shape", "split"),
    [
        ({"batch": 32, "size": 56}, 1),
        ({"batch": 32, "size": 7, "channels": 512, "columns": 512}, 1),
        ({"batch": 1, "size": 14, "channels": 256, "columns": 256}, 4),
        ({"batch": 1, "size": 7, "channels": 512, "columns": 512}, 8),
        ({"batch": 1, "size": 7, "channels": 64, "columns": 512}, 0),
        ({"batch": 8, "size": 230, "channels": 4, "taps": 7, "step": 2, "pad": 0}, 0),
    ],
    ids=["many-pixels", "many-steps", "few-tiles", "fewer-tiles", "few-steps", "narrow-pixels"],
)
def test_what_takes_less_time_is_chosen(shape, split, monkeypatch, tmp_path):
    change_devices(monkeypatch)
    image = compiled(convolution(**shape))
    (launch,) = image.launches
    assert image.scratch == ()
    assert ("im2col" in image.ptx) == bool(split)
    if split:
        assert launch.cluster == split
        assert set(re.findall(r"(\d+) bytes spill", assemble(image, "sm_90a", tmp_path))) == {"0"}


@pytest.mark.parametrize(
    "shape",
    [{"channels": 60}, {"size": 150, "taps": 70, "spread": 2}, {"size": 28, "step": 9}],
    ids=["rows-of-120-bytes", "corners-beyond-128", "steps-of-nine"],
)
def test_what_copies_cannot_gather_is_left(shape):
    image = compiled(convolution(pad=0, **shape))
    assert "im2col" not in image.ptx

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Products of 8-bit integers for warpgroups: exact sums, both signs, and what follows them."""

from __future__ import annotations

import numpy as np
import pytest
from emulator.launch import run_image
from gpu_code import assert_no_spills, change_devices, compiled

from xyntra.passes.lower.cuda.matmul.wgmma import plan as wgmma_plan
from xyntra.passes.lower.cuda.matmul.wgmma.tiles import Tile
from xyntra.passes.lower.gpu.device import Feature

PRODUCT = """
func.func @k(%a: tensor<{m}x{k}xi8>, %b: tensor<{n}x{k}xi8>, %c: tensor<{n}xf32>)
    -> tensor<{m}x{n}x{result}> {{
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<{m}x{n}xi32>
  %g = tensor.empty() : tensor<{m}x{n}x{result}>
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<{m}x{n}xi32>) -> tensor<{m}x{n}xi32>
  %p = linalg.generic {{
    indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>,
                     affine_map<(i, j, k) -> (i, j)>],
    iterator_types = ["parallel", "parallel", "reduction"]}}
    ins(%a, %b : tensor<{m}x{k}xi8>, tensor<{n}x{k}xi8>) outs(%f : tensor<{m}x{n}xi32>) {{
  ^bb0(%u: i8, %v: i8, %w: i32):
    %x = arith.ext{left}i %u : i8 to i32
    %y = arith.ext{right}i %v : i8 to i32
    %s = arith.muli %x, %y : i32
    %t = arith.addi %w, %s : i32
    linalg.yield %t : i32
  }} -> tensor<{m}x{n}xi32>
  %r = linalg.generic {{
    indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>,
                     affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]}}
    ins(%p, %c : tensor<{m}x{n}xi32>, tensor<{n}xf32>) outs(%g : tensor<{m}x{n}x{result}>) {{
  ^bb0(%u: i32, %v: f32, %o: {result}):
    {finish}
    linalg.yield %z : {result}
  }} -> tensor<{m}x{n}x{result}>
  return %r : tensor<{m}x{n}x{result}>
}}"""
SLICED = """
func.func @k(%a: tensor<{m}x{k}xi8>, %b: tensor<{n}x{k}xi8>)
    -> (tensor<{m}x{half}xf32>, tensor<{m}x{half}xi32>) {{
  %zero = arith.constant 0 : i32
  %three = arith.constant 3 : i32
  %factor = arith.constant 0.5 : f32
  %e = tensor.empty() : tensor<{m}x{n}xi32>
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<{m}x{n}xi32>) -> tensor<{m}x{n}xi32>
  %p = linalg.generic {{
    indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>,
                     affine_map<(i, j, k) -> (i, j)>],
    iterator_types = ["parallel", "parallel", "reduction"]}}
    ins(%a, %b : tensor<{m}x{k}xi8>, tensor<{n}x{k}xi8>) outs(%f : tensor<{m}x{n}xi32>) {{
  ^bb0(%u: i8, %v: i8, %w: i32):
    %x = arith.extsi %u : i8 to i32
    %y = arith.extsi %v : i8 to i32
    %s = arith.muli %x, %y : i32
    %t = arith.addi %w, %s : i32
    linalg.yield %t : i32
  }} -> tensor<{m}x{n}xi32>
  %l = tensor.extract_slice %p[0, 0] [{m}, {half}] [1, 1]
    : tensor<{m}x{n}xi32> to tensor<{m}x{half}xi32>
  %h = tensor.extract_slice %p[0, {half}] [{m}, {half}] [1, 1]
    : tensor<{m}x{n}xi32> to tensor<{m}x{half}xi32>
  %g = tensor.empty() : tensor<{m}x{half}xf32>
  %q = tensor.empty() : tensor<{m}x{half}xi32>
  %r = linalg.generic {{
    indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]}}
    ins(%l : tensor<{m}x{half}xi32>) outs(%g : tensor<{m}x{half}xf32>) {{
  ^bb0(%u: i32, %o: f32):
    %x = arith.sitofp %u : i32 to f32
    %z = arith.mulf %x, %factor : f32
    linalg.yield %z : f32
  }} -> tensor<{m}x{half}xf32>
  %t = linalg.generic {{
    indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]}}
    ins(%h : tensor<{m}x{half}xi32>) outs(%q : tensor<{m}x{half}xi32>) {{
  ^bb0(%u: i32, %o: i32):
    %z = arith.addi %u, %three : i32
    linalg.yield %z : i32
  }} -> tensor<{m}x{half}xi32>
  return %r, %t : tensor<{m}x{half}xf32>, tensor<{m}x{half}xi32>
}}"""
FINISH = {
    "f32": "%x = arith.sitofp %u : i32 to f32\n    %z = arith.mulf %x, %v : f32",
    "f16": "%x = arith.sitofp %u : i32 to f32\n    %y = arith.mulf %x, %v : f32\n"
    "    %z = arith.truncf %y : f32 to f16",
    "i8": "%x = arith.sitofp %u : i32 to f32\n    %y = arith.mulf %x, %v : f32\n"
    "    %z = arith.fptosi %y : f32 to i8",
    "i32": "%x = arith.fptosi %v : f32 to i32\n    %z = arith.addi %u, %x : i32",
}
DTYPES = {"f32": np.float32, "f16": np.float16, "i8": np.int8, "i32": np.int32}


@pytest.fixture(autouse=True)
def _warpgroups(monkeypatch):
    change_devices(monkeypatch, Feature.MMA)


@pytest.fixture
def tiled(monkeypatch):
    """Return a function that fixes the tile of what is compiled."""

    def fix(tile: Tile) -> None:
        monkeypatch.setattr(wgmma_plan, "ranked_tiles", lambda *_, **__: [tile])

    return fix


def text(m: int, n: int, k: int, result: str = "f32", signs: str = "ss") -> str:
    """The text of a product of rows [m, k] and columns [n, k], both with either sign."""
    left, right = signs
    finish = FINISH[result]
    return PRODUCT.format(m=m, n=n, k=k, result=result, left=left, right=right, finish=finish)


def check(image, m: int, n: int, k: int, result: str, signs: str) -> None:
    """Run code without a GPU, and compare its results with integers of 64 bits."""
    draw = np.random.default_rng(3)
    a = draw.integers(-128, 128, (m, k)).astype(np.int8)
    b = draw.integers(-128, 128, (n, k)).astype(np.int8)
    a[0], b[0] = -128, -128
    c = draw.integers(1, 4, n).astype(np.float32) * (2.0**-20 if result == "i8" else 1)
    views = [x.view(np.uint8) if sign == "u" else x for x, sign in zip((a, b), signs, strict=True)]
    total = views[0].astype(np.int64) @ views[1].astype(np.int64).T
    if result == "i32":
        wanted = total + c.astype(np.int64)
    else:
        c = c.astype(np.float32) * np.float32(2.0**-12 if result == "f16" else 1)
        wanted = (total.astype(np.float32) * c).astype(DTYPES[result])
    found = np.zeros((m, n), DTYPES[result])
    arrays = [each.reshape(-1).view(np.uint8) for each in (a, b, c.astype(np.float32), found)]
    run_image(image, arrays)
    np.testing.assert_array_equal(arrays[-1].view(DTYPES[result]).reshape(m, n), wanted)


@pytest.mark.parametrize(
    ("tile", "shape", "result", "signs"),
    [
        (Tile(128, 256), (130, 260, 160), "f32", "us"),
        (Tile(64, 64), (70, 72, 336), "i8", "ss"),
        (Tile(128, 128, turns=True), (140, 136, 288), "f16", "su"),
        (Tile(128, 64), (66, 70, 128), "i32", "uu"),
    ],
    ids=str,
)
def test_results(tile, shape, result, signs, tiled, tmp_path):
    tiled(tile)
    image = compiled(text(*shape, result, signs))
    kinds = ".".join(f"{sign}8" for sign in signs)
    assert f"n{tile.columns}k32.s32.{kinds}" in image.ptx
    assert (".version 8.4" in image.ptx) == (signs[0] != signs[1])
    assert_no_spills(image, "sm_90a", tmp_path)
    check(image, *shape, result, signs)


def test_what_follows_may_differ_by_columns():
    m, n, k = 70, 256, 96
    image = compiled(SLICED.format(m=m, n=n, k=k, half=n // 2))
    assert len(image.launches) == 1
    assert "wgmma.mma_async" in image.ptx
    draw = np.random.default_rng(4)
    a, b = (draw.integers(-128, 128, (size, k)).astype(np.int8) for size in (m, n))
    found = [np.zeros((m, n // 2), np.float32), np.zeros((m, n // 2), np.int32)]
    arrays = [each.reshape(-1).view(np.uint8) for each in (a, b, *found)]
    run_image(image, arrays)
    total = a.astype(np.int64) @ b.astype(np.int64).T
    first, second = total[:, : n // 2], total[:, n // 2 :]
    np.testing.assert_array_equal(arrays[2].view(np.float32).reshape(m, -1), first * 0.5)
    np.testing.assert_array_equal(arrays[3].view(np.int32).reshape(m, -1), second + 3)


def test_steps_that_tma_cannot_copy_stay_with_warps():
    assert "wgmma" not in compiled(text(128, 128, 120)).ptx


def test_blocks_do_not_share_a_reduction():
    """They would send each other sums of f32."""
    product = compiled(text(64, 64, 4096))
    assert product.launches[0].cluster == 1

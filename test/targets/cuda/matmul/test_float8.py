# SPDX-License-Identifier: MIT OR Apache-2.0
"""Products of floats of 8 bits on tensor cores: both formats, scales, NaN, and conversions."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from emulator.launch import run_image
from gpu_code import assemble, assert_no_spills, change_devices, compiled

from xyntra.passes.lower.cuda.matmul.wgmma import plan as wgmma_plan
from xyntra.passes.lower.cuda.matmul.wgmma.tiles import Tile
from xyntra.passes.lower.gpu.device import Feature

PRODUCT = """
func.func @k(%a: tensor<{m}x{k}xi8>, %b: tensor<{n}x{k}xi8>, %r: tensor<{m}xf32>,
             %c: tensor<{n}xf32>) -> tensor<{m}x{n}x{result}> {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<{m}x{n}xf32>
  %g = tensor.empty() : tensor<{m}x{n}x{result}>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<{m}x{n}xf32>) -> tensor<{m}x{n}xf32>
  %p = linalg.generic {{
    indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>,
                     affine_map<(i, j, k) -> (i, j)>],
    iterator_types = ["parallel", "parallel", "reduction"]}}
    ins(%a, %b : tensor<{m}x{k}xi8>, tensor<{n}x{k}xi8>) outs(%f : tensor<{m}x{n}xf32>) {{
  ^bb0(%u: i8, %v: i8, %w: f32):
    %p = arith.bitcast %u : i8 to {left}
    %q = arith.bitcast %v : i8 to {right}
    %x = arith.extf %p : {left} to f32
    %y = arith.extf %q : {right} to f32
    %s = arith.mulf %x, %y : f32
    %t = arith.addf %w, %s : f32
    linalg.yield %t : f32
  }} -> tensor<{m}x{n}xf32>
  %o = linalg.generic {{
    indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>,
                     affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]}}
    ins(%p, %r, %c : tensor<{m}x{n}xf32>, tensor<{m}xf32>, tensor<{n}xf32>)
    outs(%g : tensor<{m}x{n}x{result}>) {{
  ^bb0(%u: f32, %s: f32, %v: f32, %z: {result}):
    %x = arith.mulf %u, %s : f32
    %y = arith.mulf %x, %v : f32
    {finish}
    linalg.yield %t : {result}
  }} -> tensor<{m}x{n}x{result}>
  return %o : tensor<{m}x{n}x{result}>
}}"""
LIMITED = """%low = arith.constant -448.0 : f32
    %high = arith.constant 448.0 : f32
    %i = arith.maximumf %y, %low : f32
    %j = arith.minimumf %i, %high : f32
    %l = arith.truncf %j : f32 to f8E4M3FN
    %t = arith.bitcast %l : f8E4M3FN to i8"""
FINISH = {
    "f32": "%one = arith.constant 1.0 : f32\n    %t = arith.mulf %y, %one : f32",
    "f16": "%t = arith.truncf %y : f32 to f16",
    "i8": LIMITED,
}
FORMATS = {"f8E4M3FN": ml_dtypes.float8_e4m3fn, "f8E5M2": ml_dtypes.float8_e5m2}
RESULTS = {"f32": np.float32, "f16": np.float16, "i8": ml_dtypes.float8_e4m3fn}
E4M3, E5M2 = FORMATS


@pytest.fixture
def tiled(monkeypatch):
    """Return a function that fixes the tile of warpgroups, and leaves out warps."""

    def fix(tile: Tile) -> None:
        change_devices(monkeypatch, Feature.MMA)
        monkeypatch.setattr(wgmma_plan, "ranked_tiles", lambda *_, **__: [tile])

    return fix


def text(m: int, n: int, k: int, result: str = "f32", left: str = E4M3, right: str = E4M3) -> str:
    """The text of a product of rows [m, k] and columns [n, k] with a scale for each of both."""
    finish = FINISH[result]
    return PRODUCT.format(m=m, n=n, k=k, result=result, left=left, right=right, finish=finish)


def check(image, m: int, n: int, k: int, result: str, left: str = E4M3, right: str = E4M3) -> None:
    """Run code without a GPU, and compare its results with sums of float64.

    The last row has a NaN, and one before it is all zeros.
    """
    draw = np.random.default_rng(5)
    a, b = (
        (draw.standard_normal((size, k)) * 4).astype(FORMATS[kind])
        for size, kind in ((m, left), (n, right))
    )
    a[m - 1, k // 2], a[m - 2] = np.nan, 0
    scales = draw.uniform(0.001, 0.05, m + n).astype(np.float32)
    rows, columns = scales[:m], scales[m:]
    rows[0] = 1e4
    total = a.astype(np.float64) @ b.astype(np.float64).T
    wanted = total * rows[:, None].astype(np.float64) * columns.astype(np.float64)
    found = np.zeros((m, n), RESULTS[result])
    arrays = [each.reshape(-1).view(np.uint8) for each in (a, b, rows, columns, found)]
    run_image(image, arrays)
    got = arrays[-1].view(RESULTS[result]).reshape(m, n).astype(np.float64)
    if result == "i8":
        wanted = np.clip(wanted, -448, 448)
        assert np.any(got[0] == 448)
    with np.errstate(over="ignore"):  # of f16
        wanted = wanted.astype(RESULTS[result]).astype(np.float64)
    size = {"f32": 1e-6, "f16": 1e-3, "i8": 2**-3}[result]
    assert np.isnan(got[-1]).all()
    assert not got[-2].any()
    np.testing.assert_allclose(got[:-1], wanted[:-1], rtol=size, atol=size * 0.01)
    assert result == "f32" or np.mean(got[:-1] == wanted[:-1]) > 0.99


@pytest.mark.parametrize(
    ("tile", "shape", "result", "kinds"),
    [
        (Tile(128, 256), (130, 260, 160), "f32", (E4M3, E4M3)),
        (Tile(64, 64), (70, 72, 336), "i8", (E4M3, E5M2)),
        (Tile(128, 128, turns=True), (140, 136, 288), "f16", (E5M2, E4M3)),
        (Tile(64, 64, split=2), (66, 70, 1024), "f16", (E4M3, E4M3)),
    ],
    ids=str,
)
def test_warpgroups(tile, shape, result, kinds, tiled, tmp_path):
    tiled(tile)
    image = compiled(text(*shape, result, *kinds))
    names = ".".join({E4M3: "e4m3", E5M2: "e5m2"}[kind] for kind in kinds)
    assert f"n{tile.columns}k32.f32.{names}" in image.ptx
    assert image.launches[0].cluster == tile.split
    assert_no_spills(image, "sm_90a", tmp_path)
    check(image, *shape, result, *kinds)


@pytest.mark.parametrize(
    ("shape", "result", "kinds"),
    [((70, 40, 96), "f16", (E4M3, E4M3)), ((33, 65, 52), "i8", (E5M2, E4M3))],
    ids=str,
)
def test_warps(shape, result, kinds, tmp_path):
    image = compiled(text(*shape, result, *kinds), "sm_89")
    names = ".".join({E4M3: "e4m3", E5M2: "e5m2"}[kind] for kind in kinds)
    assert f"m16n8k32.row.col.f32.{names}.f32" in image.ptx
    assert ".version 8.4" in image.ptx
    assert_no_spills(image, "sm_89", tmp_path)
    check(image, *shape, result, *kinds)


def test_gpus_without_the_type_compute_in_f32():
    image = compiled(text(24, 20, 36), "sm_80")
    assert "e4m3" not in image.ptx
    check(image, 24, 20, 36, "f32")


CONVERT = """
func.func @k(%a: tensor<{n}x{wide}>) -> tensor<{n}xi8> {{
  %e = tensor.empty() : tensor<{n}xi8>
  %low = arith.constant -{limit} : {wide}
  %high = arith.constant {limit} : {wide}
  %o = linalg.generic {{
    indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
    iterator_types = ["parallel"]}} ins(%a : tensor<{n}x{wide}>) outs(%e : tensor<{n}xi8>) {{
  ^bb0(%u: {wide}, %z: i8):
    {bound}
    %l = arith.truncf %j : {wide} to {kind}
    %t = arith.bitcast %l : {kind} to i8
    linalg.yield %t : i8
  }} -> tensor<{n}xi8>
  return %o : tensor<{n}xi8>
}}"""
BOUND = "%i = arith.maximumf %u, %low : {0}\n    %j = arith.minimumf %i, %high : {0}"
FREE = "%j = arith.addf %u, %u : {0}"
CASES = [(E4M3, "f32", True), (E5M2, "f32", True), (E4M3, "f32", False), (E5M2, "f16", False)]


@pytest.mark.parametrize(("kind", "wide", "bounds"), CASES)
@pytest.mark.parametrize("architecture", ["sm_89", "sm_86"])
def test_narrowing(kind, wide, bounds, architecture, tmp_path):
    """What is too large is the largest number where bounds say so, else NaN or infinity."""
    dtype, limit = FORMATS[kind], float(ml_dtypes.finfo(FORMATS[kind]).max)
    numbers = np.arange(256, dtype=np.uint8).view(dtype).astype(np.float32)
    between = (numbers[:-1] + numbers[1:]) / 2
    x = np.concatenate([numbers, between, numbers * 1.03, [np.inf, -np.inf, 1e9, -1e9, 1e-9, 0]])
    with np.errstate(over="ignore"):
        x = x.astype({"f32": np.float32, "f16": np.float16}[wide])
    given = {"n": len(x), "wide": wide, "kind": kind, "limit": limit}
    bound = (BOUND if bounds else FREE).format(wide)
    image = compiled(CONVERT.format(**given, bound=bound), architecture)
    assert ("x2.f32" in image.ptx) == (bounds and architecture == "sm_89")
    assemble(image, architecture, tmp_path)
    found = np.zeros(len(x), np.uint8)
    arrays = [x.view(np.uint8), found]
    run_image(image, arrays)
    with np.errstate(over="ignore", invalid="ignore"):
        wanted = (np.clip(x, -limit, limit) if bounds else x + x).astype(dtype)
    found, wanted = (each.astype(np.float32) for each in (found.view(dtype), wanted))
    np.testing.assert_array_equal(found, wanted)

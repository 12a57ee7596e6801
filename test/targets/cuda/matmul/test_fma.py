# SPDX-License-Identifier: MIT OR Apache-2.0
"""Contractions in exact f32: what is copied and multiplied, how tiles share work, and ptxas."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from gpu_code import assert_no_spills, compiled, product_shapes

from xyntra.passes.lower.cuda.matmul import select
from xyntra.passes.lower.cuda.matmul.fma.tiles import (
    DEPTH,
    FmaTile,
    choose_fma_tile,
    fma_shapes,
)
from xyntra.passes.lower.gpu.device import DEVICES, Feature, device_of

PRODUCT = """
func.func @k(%a: tensor<{a}xf32>, %b: tensor<{b}xf32>) -> tensor<{o}xf32> {{
  %zero = arith.constant {initial} : f32
  %e = tensor.empty() : tensor<{o}xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<{o}xf32>) -> tensor<{o}xf32>
  %m = linalg.generic {{
    indexing_maps = [affine_map<(i, j, k) -> ({amap})>, affine_map<(i, j, k) -> ({bmap})>,
                     affine_map<(i, j, k) -> (i, j)>],
    iterator_types = ["parallel", "parallel", "reduction"]}}
    ins(%a, %b : tensor<{a}xf32>, tensor<{b}xf32>) outs(%f : tensor<{o}xf32>) {{
  ^bb0(%u: f32, %v: f32, %w: f32):
    %r = arith.mulf %u, %v : f32
    %s = arith.addf %w, %r : f32
    linalg.yield %s : f32
  }} -> tensor<{o}xf32>
  return %m : tensor<{o}xf32>
}}"""
CONVOLUTION = """
func.func @k(%x: tensor<2x14x14x{c}xf32>, %w: tensor<64x3x3x{c}xf32>) -> tensor<2x14x14x64xf32> {{
  %h = arith.constant 0.0 : f32
  %y = tensor.pad %x low[0, 1, 1, 0] high[0, 1, 1, 0] {{
  ^bb0(%n: index, %i: index, %j: index, %c: index):
    tensor.yield %h : f32
  }} : tensor<2x14x14x{c}xf32> to tensor<2x16x16x{c}xf32>
  %e = tensor.empty() : tensor<2x14x14x64xf32>
  %f = linalg.fill ins(%h : f32) outs(%e : tensor<2x14x14x64xf32>) -> tensor<2x14x14x64xf32>
  %r = linalg.generic {{
    indexing_maps = [affine_map<(n, h, w, o, i, j, c) -> (n, h + i, w + j, c)>,
                     affine_map<(n, h, w, o, i, j, c) -> (o, i, j, c)>,
                     affine_map<(n, h, w, o, i, j, c) -> (n, h, w, o)>],
    iterator_types = ["parallel", "parallel", "parallel", "parallel",
                      "reduction", "reduction", "reduction"]}}
    ins(%y, %w : tensor<2x16x16x{c}xf32>, tensor<64x3x3x{c}xf32>)
    outs(%f : tensor<2x14x14x64xf32>) {{
  ^bb0(%u: f32, %v: f32, %o: f32):
    %s = arith.mulf %u, %v : f32
    %t = arith.addf %o, %s : f32
    linalg.yield %t : f32
  }} -> tensor<2x14x14x64xf32>
  return %r : tensor<2x14x14x64xf32>
}}"""


def copied(ptx: str) -> set[str]:
    """Bytes of the copies in the code."""
    return set(re.findall(r"cp\.async\.c[ag].*?\], (\d+)", ptx))


@pytest.fixture
def tiled(monkeypatch):
    """Return a function that fixes the tile of what is compiled."""
    plan = select.plan_fma

    def fix(tile: FmaTile) -> None:
        def fixed(*arguments, **options):
            return plan(*arguments, **{**options, "tile": tile})

        monkeypatch.setattr(select, "plan_fma", fixed)

    return fix


def product(rows: int, columns: int, depth: int, layout: str = "kn", initial: float = 0.0) -> str:
    """The text of a product; `layout` says which dimension is contiguous in each factor."""
    return PRODUCT.format(**product_shapes(rows, columns, depth, layout), initial=initial)


@pytest.mark.parametrize("shape", fma_shapes(), ids=lambda tile: f"{tile.rows}x{tile.columns}")
@pytest.mark.parametrize("layout", ["kn", "mk"])
def test_no_tile_spills(shape, layout, tiled, tmp_path):
    tiled(replace(shape, split=3))
    image = compiled(product(200, 136, 328, layout))
    (launch,) = image.launches
    assert launch.block == shape.threads
    assert launch.cluster == 3
    assert launch.grid == 3 * -(-200 // shape.rows) * -(-136 // shape.columns)
    assert launch.shared >= shape.stages * shape.stage_bytes
    assert image.ptx.count("fma.rn.f32") >= DEPTH * shape.own_rows * shape.own_columns
    assert_no_spills(image, "sm_90a", tmp_path)


@pytest.mark.parametrize("shape", fma_shapes(), ids=lambda tile: f"{tile.rows}x{tile.columns}")
def test_a_convolution_reads_around_its_padding(shape, tiled, tmp_path):
    tiled(shape)
    image = compiled(CONVOLUTION.format(c=32))
    (launch,) = image.launches
    assert launch.block == shape.threads
    assert image.scratch == ()  # there is no padded copy
    assert "ld.global" not in image.ptx
    assert_no_spills(image, "sm_90a", tmp_path)


def test_few_columns_of_a_large_product_are_the_rows_of_low_tiles(tmp_path):
    """Steps of the image, now the right factor, are still copied and read in fours."""
    form = {"amap": "i, k", "bmap": "k, j", "initial": "0.0"}
    text = PRODUCT.format(a="131072x64", b="64x3", o="131072x3", **form)
    image = compiled(text)
    (launch,) = image.launches
    assert launch.schedule.startswith("fma tile [8, 64]")
    assert copied(image.ptx) == {"4", "16"}
    assert_no_spills(image, "sm_90a", tmp_path)


@pytest.mark.parametrize("architecture", DEVICES)
def test_every_architecture_takes_the_code(architecture, tmp_path):
    image = compiled(product(64, 256, 8192), architecture)
    assert "cp.async.cg" in image.ptx
    assert (image.launches[0].cluster > 1) == device_of(architecture).has(Feature.CLUSTERS)
    assert image.launches[0].shared <= 99 << 10
    assert_no_spills(image, architecture, tmp_path)


@pytest.mark.parametrize(
    ("layout", "columns", "widths"),
    [("kn", 64, {"16"}), ("mn", 64, {"16"}), ("kk", 64, {"4", "16"}), ("kn", 66, {"4", "16"})],
)
def test_neighbours_are_copied_together(layout, columns, widths):
    assert copied(compiled(product(64, columns, 64, layout)).ptx) == widths


@pytest.mark.parametrize(("number", "widths"), [(0, {"4"}), (-2, {"4", "16"}), (-1, {"4"})])
def test_steps_lie_side_by_side_where_threads_have_few_sums(number, widths, tiled):
    tiled(fma_shapes()[number])
    assert copied(compiled(product(64, 128, 64, "kk")).ptx) == widths


def test_steps_that_are_no_fours_are_copied_one_by_one():
    assert copied(compiled(product(64, 64, 66, "kk")).ptx) == {"4"}


def test_few_tiles_share_the_reduction_in_a_cluster():
    image = compiled(product(128, 768, 3072))
    (launch,) = image.launches
    assert launch.cluster > 1
    assert launch.grid % launch.cluster == 0
    assert "ld.shared::cluster" in image.ptx
    assert "atom" not in image.ptx


def test_a_reduction_that_is_no_multiple_of_a_part_begins_with_zeros():
    whole, ragged = (compiled(product(64, 64, depth, "mn")).ptx for depth in (64, 65))
    sized = r"cp\.async\.cg.*\], 16, %"
    assert len(re.findall(sized, ragged)) == 2 * len(re.findall(sized, ragged)) // 2 > 0
    assert not re.findall(sized, whole)


def test_steps_that_cross_loops_are_found_one_by_one(tmp_path):
    image = compiled(CONVOLUTION.format(c=3))
    assert len(image.launches) == 1
    assert "fma.rn.f32" in image.ptx
    assert_no_spills(image, "sm_90a", tmp_path)


def test_padding_that_is_no_zero_is_copied():
    text = CONVOLUTION.format(c=32).replace(
        "tensor.yield %h", "%q = arith.constant 1.0 : f32\n    tensor.yield %q"
    )
    assert len(compiled(text).launches) > 1


def test_sums_may_start_from_anything():
    zero, one = (compiled(product(64, 64, 64, initial=value)).ptx for value in (0.0, 1.0))
    assert one.count("add.rn.f32") > zero.count("add.rn.f32")


def test_what_is_no_sum_of_products_stays_with_scalar_code():
    text = product(64, 64, 64).replace("%s = arith.addf %w, %r", "%s = arith.maximumf %w, %r")
    assert "cp.async" not in compiled(text).ptx


def test_tiles_fit_and_are_no_larger_than_needed():
    device = device_of("sm_90a")
    for rows, columns, parts in [(1, 768, 48), (128, 3072, 48), (4096, 4096, 256), (4096, 8, 48)]:
        tile = choose_fma_tile(device, rows, columns, 1, parts)
        assert tile is not None
        assert tile.resident(device) >= 1
        assert tile.rows < 2 * max(rows, 32)
        assert tile.columns < 2 * max(columns, 32)
        assert tile.split <= parts


def test_only_few_rows_take_tiles_of_eight():
    for rows in (1, 16, 17, 100, 784):
        tile = choose_fma_tile(device_of("sm_90a"), rows, 128, 1, 72)
        assert tile.rows >= (8 if rows <= 16 else 16)


def test_the_largest_tile_wants_factors_in_vectors():
    threads = {layout: compiled(product(2048, 2048, 256, layout)).launches[0].block
               for layout in ("mn", "kn")}  # fmt: skip
    assert threads == {"mn": 256, "kn": 128}


def test_without_clusters_no_reduction_is_shared():
    assert choose_fma_tile(device_of("sm_80"), 128, 768, 1, 48).split == 1

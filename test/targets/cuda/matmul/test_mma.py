# SPDX-License-Identifier: MIT OR Apache-2.0
"""Contractions by mma.sync: which instructions there are, what is copied, and what ptxas says."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from gpu_code import assert_no_spills, change_devices, compiled, product_shapes

from xyntra.passes.lower.cuda.matmul import select
from xyntra.passes.lower.cuda.matmul.mma.tiles import (
    MmaTile,
    choose_mma_tile,
    mma_shapes,
)
from xyntra.passes.lower.gpu.device import DEVICES, Feature, device_of

PRODUCT = """
func.func @k(%a: tensor<{a}x{factor}>, %b: tensor<{b}x{factor}>, %c: tensor<{columns}x{result}>)
    -> tensor<{o}x{result}> {{
  %zero = arith.constant {zero} : {total}
  %e = tensor.empty() : tensor<{o}x{total}>
  %g = tensor.empty() : tensor<{o}x{result}>
  %f = linalg.fill ins(%zero : {total}) outs(%e : tensor<{o}x{total}>) -> tensor<{o}x{total}>
  %m = linalg.generic {{
    indexing_maps = [affine_map<(i, j, k) -> ({amap})>, affine_map<(i, j, k) -> ({bmap})>,
                     affine_map<(i, j, k) -> (i, j)>],
    iterator_types = ["parallel", "parallel", "reduction"]}}
    ins(%a, %b : tensor<{a}x{factor}>, tensor<{b}x{factor}>) outs(%f : tensor<{o}x{total}>) {{
  ^bb0(%u: {factor}, %v: {factor}, %w: {total}):
    {widen}
    %r = arith.{multiply} %p, %q : {total}
    %s = arith.{add} %w, %r : {total}
    linalg.yield %s : {total}
  }} -> tensor<{o}x{total}>
  %r = linalg.generic {{
    indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>,
                     affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]}}
    ins(%m, %c : tensor<{o}x{total}>, tensor<{columns}x{result}>) outs(%g : tensor<{o}x{result}>) {{
  ^bb0(%u: {total}, %v: {result}, %o: {result}):
    {narrow}
    %s = arith.{add} %t, %v : {result}
    linalg.yield %s : {result}
  }} -> tensor<{o}x{result}>
  return %r : tensor<{o}x{result}>
}}"""
CONVOLUTION = """
func.func @k(%x: tensor<2x14x14x64xf16>, %w: tensor<64x3x3x64xf16>) -> tensor<2x14x14x64xf32> {
  %h = arith.constant 0.0 : f16
  %zero = arith.constant 0.0 : f32
  %y = tensor.pad %x low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%n: index, %i: index, %j: index, %c: index):
    tensor.yield %h : f16
  } : tensor<2x14x14x64xf16> to tensor<2x16x16x64xf16>
  %e = tensor.empty() : tensor<2x14x14x64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x14x14x64xf32>) -> tensor<2x14x14x64xf32>
  %r = linalg.generic {
    indexing_maps = [affine_map<(n, h, w, o, i, j, c) -> (n, h + i, w + j, c)>,
                     affine_map<(n, h, w, o, i, j, c) -> (o, i, j, c)>,
                     affine_map<(n, h, w, o, i, j, c) -> (n, h, w, o)>],
    iterator_types = ["parallel", "parallel", "parallel", "parallel",
                      "reduction", "reduction", "reduction"]}
    ins(%y, %w : tensor<2x16x16x64xf16>, tensor<64x3x3x64xf16>)
    outs(%f : tensor<2x14x14x64xf32>) {
  ^bb0(%u: f16, %v: f16, %o: f32):
    %p = arith.extf %u : f16 to f32
    %q = arith.extf %v : f16 to f32
    %s = arith.mulf %p, %q : f32
    %t = arith.addf %o, %s : f32
    linalg.yield %t : f32
  } -> tensor<2x14x14x64xf32>
  return %r : tensor<2x14x14x64xf32>
}"""


@pytest.fixture(autouse=True)
def _selected(monkeypatch):
    change_devices(monkeypatch, Feature.WGMMA)


@pytest.fixture
def tiled(monkeypatch):
    """Return a function that fixes the tile of what is compiled."""
    plan = select.plan_mma

    def fix(tile: MmaTile, *, tf32: bool = False) -> None:
        def fixed(*arguments, **options):
            return plan(*arguments, **{**options, "tile": tile, "tf32": tf32})

        monkeypatch.setattr(select, "plan_mma", fixed)

    return fix


def product(rows: int, columns: int, depth: int, *, factor: str = "f16", layout: str = "kk") -> str:
    """The text of a product; `layout` says which dimension is contiguous in each factor."""
    is_integer = factor == "i8"
    total = "i32" if is_integer else "f32"
    result = factor if factor in ("f16", "bf16") else total
    extend = "extsi" if is_integer else "extf"
    widen = "\n    ".join(
        f"%{to} = arith.{extend} %{of} : {factor} to {total}" for to, of in ("pu", "qv")
    )
    body = {"widen": widen, "narrow": f"%t = arith.truncf %u : f32 to {result}"}
    text = PRODUCT
    if factor == "f32":
        text = text.replace("{widen}", "").replace("%p, %q", "%u, %v")
    if result == total:
        text = text.replace("{narrow}", "").replace("%t, %v", "%u, %v")
    return text.format(
        **product_shapes(rows, columns, depth, layout),
        columns=columns,
        factor=factor,
        total=total,
        result=result,
        zero="0" if is_integer else "0.0",
        multiply="muli" if is_integer else "mulf",
        add="addi" if is_integer else "addf",
        **body,
    )


@pytest.mark.parametrize("shape", mma_shapes(), ids=lambda tile: f"{tile.rows}x{tile.columns}")
@pytest.mark.parametrize("layout", ["kk", "mn"])
def test_no_tile_spills(shape, layout, tiled, tmp_path):
    tiled(replace(shape, split=2))
    image = compiled(product(200, 136, 328, layout=layout))
    (launch,) = image.launches
    assert launch.block == shape.threads
    assert launch.cluster == 2
    assert launch.grid == 2 * -(-200 // shape.rows) * -(-136 // shape.columns)
    assert launch.shared >= 3 * shape.stage_bytes
    assert_no_spills(image, "sm_90a", tmp_path)


@pytest.mark.parametrize("architecture", DEVICES)
def test_every_architecture_takes_the_code(architecture, tmp_path):
    image = compiled(product(16, 256, 8192, layout="kn"), architecture)
    for instruction in ("mma.sync.aligned.m16n8k16", "ldmatrix.sync", "cp.async.cg"):
        assert instruction in image.ptx
    assert ".trans" in image.ptx  # the right factor has its columns side by side
    assert (image.launches[0].cluster > 1) == device_of(architecture).has(Feature.CLUSTERS)
    assert_no_spills(image, architecture, tmp_path)


@pytest.mark.parametrize(
    ("factor", "instruction"),
    [
        ("f16", "m16n8k16.row.col.f32.f16.f16.f32"),
        ("bf16", "m16n8k16.row.col.f32.bf16.bf16.f32"),
        ("i8", "m16n8k32.row.col.s32.s8.s8.s32"),
        ("f32", "m16n8k8.row.col.f32.tf32.tf32.f32"),
    ],
)
@pytest.mark.parametrize("layout", ["kk", "mn"])
def test_every_type_has_its_instruction(factor, instruction, layout, tiled, tmp_path):
    tiled(MmaTile(64, 128, 2, 4), tf32=True)
    image = compiled(product(256, 256, 256, factor=factor, layout=layout))
    assert instruction in image.ptx
    assert ("cvt.rna.tf32" in image.ptx) == (factor == "f32")
    assert_no_spills(image, "sm_90a", tmp_path)


@pytest.mark.parametrize("factor", ["bf16", "i8", "f32"])
@pytest.mark.parametrize("architecture", ["sm_80", "sm_89", "sm_90", "sm_100a", "sm_120"])
def test_every_architecture_has_every_instruction(factor, architecture, tiled, tmp_path):
    tiled(MmaTile(64, 64, 2, 2), tf32=True)
    image = compiled(product(256, 256, 256, factor=factor), architecture)
    assert "mma.sync" in image.ptx
    assert_no_spills(image, architecture, tmp_path)


def test_f32_is_multiplied_exactly_unless_it_may_be_rounded():
    assert "mma.sync" not in compiled(product(64, 64, 64, factor="f32")).ptx


@pytest.mark.parametrize(("depth", "nbytes"), [(264, 16), (260, 8), (258, 4)])
def test_copies_are_as_wide_as_rows_are_aligned(depth, nbytes):
    image = compiled(product(64, 64, depth))
    assert set(re.findall(r"cp\.async\.c[ag].*, (\d+)(?:;|, %)", image.ptx)) == {str(nbytes)}


def test_rows_that_begin_anywhere_are_loaded_element_by_element():
    ptx = compiled(product(64, 64, 257)).ptx
    assert "cp.async.c" not in ptx.replace("cp.async.commit_group", "")
    assert "ld.global.b16" in ptx
    assert "st.shared.b16" in ptx
    assert "mma.sync" in ptx


def test_few_rows_share_the_reduction_in_a_cluster():
    image = compiled(product(8, 768, 3072, layout="kn"))
    (launch,) = image.launches
    assert launch.cluster > 1
    assert launch.grid % launch.cluster == 0
    assert "ld.shared::cluster" in image.ptx
    assert image.ptx.count("barrier.cluster.wait") == 2
    assert "atom" not in image.ptx


def test_a_convolution_reads_around_its_padding(tmp_path):
    image = compiled(CONVOLUTION)
    (launch,) = image.launches
    assert launch.block > 0
    assert image.scratch == ()  # there is no padded copy
    assert "cp.async.cg" in image.ptx
    assert "ld.global" not in image.ptx
    assert_no_spills(image, "sm_90a", tmp_path)


def test_padding_that_is_no_zero_is_copied():
    image = compiled(CONVOLUTION.replace("%h = arith.constant 0.0", "%h = arith.constant 1.0"))
    assert len(image.launches) > 1
    assert "mma.sync" in image.ptx


def test_short_reductions_stay_with_the_threads():
    assert "mma.sync" not in compiled(product(64, 64, 8)).ptx


def test_what_is_no_sum_of_products_stays_with_the_threads():
    text = product(64, 64, 64).replace("%s = arith.addf %w, %r", "%s = arith.maximumf %w, %r")
    assert "mma.sync" not in compiled(text).ptx


def test_warps_take_small_tiles_and_warpgroups_large_ones(monkeypatch):
    change_devices(monkeypatch)
    assert "mma.sync" in compiled(product(16, 768, 768, factor="bf16")).ptx
    assert "wgmma" in compiled(product(1024, 1024, 768, factor="bf16")).ptx


def test_tiles_fit_and_are_no_larger_than_needed():
    device = device_of("sm_90a")
    for rows, columns, depth in [(1, 768, 12), (128, 3072, 48), (4096, 4096, 64), (4096, 8, 64)]:
        tile = choose_mma_tile(device, rows, columns, 1, depth)
        assert tile is not None
        assert tile.resident(device) >= 1
        assert tile.rows < 2 * max(rows, 16)
        assert tile.columns < 2 * max(columns, 16)
        assert tile.split <= depth


def test_without_clusters_no_reduction_is_shared():
    assert choose_mma_tile(device_of("sm_80"), 1, 768, 1, 48).split == 1


def test_plans_need_addresses_of_32_bits():
    text = product(1 << 16, 64, 1 << 16)
    assert "mma.sync" not in compiled(text).ptx

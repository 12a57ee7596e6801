# SPDX-License-Identifier: MIT OR Apache-2.0
"""Matrix products for warpgroups: what is copied, what is issued, and what ptxas says."""

from __future__ import annotations

import re

import pytest
from gpu_code import assemble, change_devices, compiled

from xyntra.passes.lower.cuda.matmul.wgmma import plan as wgmma_plan
from xyntra.passes.lower.cuda.matmul.wgmma.tiles import Tile
from xyntra.passes.lower.gpu.device import Feature

PRODUCT = """
func.func @k(%a: tensor<{a}x{dtype}>, %b: tensor<{b}x{dtype}>, %c: tensor<{columns}x{dtype}>)
    -> tensor<{o}x{result}> {{
  %zero = arith.constant {initial} : f32
  %e = tensor.empty() : tensor<{o}xf32>
  %g = tensor.empty() : tensor<{o}x{result}>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<{o}xf32>) -> tensor<{o}xf32>
  %m = linalg.generic {{
    indexing_maps = [affine_map<(x, i, j, k) -> ({amap})>, affine_map<(x, i, j, k) -> ({bmap})>,
                     affine_map<(x, i, j, k) -> (x, i, j)>],
    iterator_types = ["parallel", "parallel", "parallel", "reduction"]}}
    ins(%a, %b : tensor<{a}x{dtype}>, tensor<{b}x{dtype}>) outs(%f : tensor<{o}xf32>) {{
  ^bb0(%u: {dtype}, %v: {dtype}, %w: f32):
    %p = arith.extf %u : {dtype} to f32
    %q = arith.extf %v : {dtype} to f32
    %r = arith.mulf %p, %q : f32
    %s = arith.{combine} %w, %r : f32
    linalg.yield %s : f32
  }} -> tensor<{o}xf32>
  %r = linalg.generic {{
    indexing_maps = [affine_map<(x, i, j) -> (x, i, j)>, affine_map<(x, i, j) -> (j)>,
                     affine_map<(x, i, j) -> (x, i, j)>],
    iterator_types = ["parallel", "parallel", "parallel"]}}
    ins(%m, %c : tensor<{o}xf32>, tensor<{columns}x{dtype}>) outs(%g : tensor<{o}x{result}>) {{
  ^bb0(%u: f32, %v: {dtype}, %o: {result}):
    %t = arith.extf %v : {dtype} to f32
    %s = arith.addf %u, %t : f32
    {finish}
    linalg.yield %y : {result}
  }} -> tensor<{o}x{result}>
  return %r : tensor<{o}x{result}>
}}"""

SLICED = """
func.func @k(%a: tensor<100x64xf16>, %b: tensor<64x384xf16>, %c: tensor<128xf16>)
    -> (tensor<100x128xf16>, tensor<100x{second}xf16>) {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<100x384xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<100x384xf32>) -> tensor<100x384xf32>
  %m = linalg.generic {{
    indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
                     affine_map<(i, j, k) -> (i, j)>],
    iterator_types = ["parallel", "parallel", "reduction"]}}
    ins(%a, %b : tensor<100x64xf16>, tensor<64x384xf16>) outs(%f : tensor<100x384xf32>) {{
  ^bb0(%u: f16, %v: f16, %w: f32):
    %p = arith.extf %u : f16 to f32
    %q = arith.extf %v : f16 to f32
    %r = arith.mulf %p, %q : f32
    %s = arith.addf %w, %r : f32
    linalg.yield %s : f32
  }} -> tensor<100x384xf32>
  %l = tensor.extract_slice %m[0, 0] [100, 128] [1, 1]
    : tensor<100x384xf32> to tensor<100x128xf32>
  %x = tensor.empty() : tensor<100x128xf16>
  %n = linalg.generic {{
    indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>,
                     affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]}}
    ins(%l, %c : tensor<100x128xf32>, tensor<128xf16>) outs(%x : tensor<100x128xf16>) {{
  ^bb0(%u: f32, %v: f16, %o: f16):
    %t = arith.truncf %u : f32 to f16
    %y = arith.addf %t, %v : f16
    linalg.yield %y : f16
  }} -> tensor<100x128xf16>
  %h = tensor.extract_slice %m[0, {start}] [100, {second}] [1, 1]
    : tensor<100x384xf32> to tensor<100x{second}xf32>
  %z = tensor.empty() : tensor<100x{second}xf16>
  %o = linalg.generic {{
    indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]}}
    ins(%h : tensor<100x{second}xf32>) outs(%z : tensor<100x{second}xf16>) {{
  ^bb0(%u: f32, %o: f16):
    %t = arith.truncf %u : f32 to f16
    linalg.yield %t : f16
  }} -> tensor<100x{second}xf16>
  return %n, %o : tensor<100x128xf16>, tensor<100x{second}xf16>
}}"""


def product(
    rows: int,
    columns: int,
    depth: int,
    *,
    batch: int = 1,
    dtype: str = "bf16",
    result: str = "",
    layout: str = "kk",
    initial: str = "0.0",
    combine: str = "addf",
) -> str:
    """The text of a product; `layout` says which dimension is contiguous in each factor."""
    result = result or dtype
    left = (rows, depth) if layout[0] == "k" else (depth, rows)
    right = (columns, depth) if layout[1] == "k" else (depth, columns)
    narrow = f"%y = arith.truncf %s : f32 to {result}"
    return PRODUCT.format(
        a="x".join(map(str, (batch, *left))),
        b="x".join(map(str, (batch, *right))),
        o=f"{batch}x{rows}x{columns}",
        amap="x, i, k" if layout[0] == "k" else "x, k, i",
        bmap="x, j, k" if layout[1] == "k" else "x, k, j",
        columns=columns,
        dtype=dtype,
        result=result,
        initial=initial,
        combine=combine,
        finish=narrow
        if result != "f32"
        else "%zz = arith.constant 0.0 : f32\n    %y = arith.maximumf %s, %zz : f32",
    )


@pytest.fixture(autouse=True)
def _warpgroups(monkeypatch):
    change_devices(monkeypatch, Feature.MMA)


@pytest.mark.parametrize(
    "tile",
    [
        Tile(128, 256),
        Tile(128, 192),
        Tile(64, 64),
        Tile(128, 128, turns=True),
        Tile(128, 192, turns=True),
    ],
    ids=str,
)
@pytest.mark.parametrize("layout", ["kk", "mn"])
def test_tiles_assemble_without_spills_or_serialised_products(tile, layout, monkeypatch, tmp_path):
    monkeypatch.setattr(wgmma_plan, "ranked_tiles", lambda *_: [tile])
    image = compiled(product(512, 768, 512, layout=layout))
    report = assemble(image, "sm_90a", tmp_path)
    assert set(re.findall(r"(\d+) bytes spill", report)) == {"0"}
    assert not re.search(r"C75\d\d|warning", report, re.IGNORECASE)
    registers = int(re.search(r"Used (\d+) registers", report)[1])
    assert registers == 168 if tile.consumers == 2 else registers <= 255
    assert f"wgmma.mma_async.sync.aligned.m64n{tile.columns}k16.f32.bf16.bf16" in image.ptx
    assert image.ptx.count("setmaxnreg") == (2 if tile.consumers == 2 else 0)


@pytest.mark.parametrize("tile", [Tile(64, 64, split=8), Tile(128, 64, split=2)], ids=str)
def test_clusters_share_the_reduction_of_a_tile(tile, monkeypatch, tmp_path):
    monkeypatch.setattr(wgmma_plan, "ranked_tiles", lambda *_: [tile])
    image = compiled(product(100, 136, 1024))
    (launch,) = image.launches
    tiles = -(-100 // tile.rows) * -(-136 // tile.columns)
    assert (launch.cluster, launch.grid) == (tile.split, tiles * tile.split)
    assert len(launch.maps) == 2
    assert image.ptx.count("barrier.cluster.wait") == 2
    assert image.ptx.count("cp.async.bulk.shared::cluster.shared::cta") == 1
    assert "barrier.cluster.arrive.release" not in image.ptx
    assert "setmaxnreg" not in image.ptx
    assert set(re.findall(r"(\d+) bytes spill", assemble(image, "sm_90a", tmp_path))) == {"0"}


def test_every_block_of_a_cluster_has_stages(monkeypatch):
    monkeypatch.setattr(wgmma_plan, "ranked_tiles", lambda *_: [Tile(64, 64, split=8)])
    (launch,) = compiled(product(128, 128, 14 * 64)).launches
    assert launch.cluster == 1  # seven blocks would have them all
    (launch,) = compiled(product(128, 128, 14 * 64 + 8)).launches
    assert launch.cluster == 8


def several_results(count: int) -> str:
    """Return a kernel that stores a product of bf16 in f32, so many times a different number."""
    shape, many = "tensor<3152x768xf32>", range(count)
    same = "affine_map<(i, j) -> (i, j)>"
    lines = "\n".join(
        f"%c{n} = arith.constant {n}.5 : f32\n%y{n} = arith.mulf %x, %c{n} : f32" for n in many
    )
    return f"""
func.func @k(%a: tensor<3152x3072xbf16>, %b: tensor<3072x768xbf16>)
    -> ({", ".join([shape] * count)}) {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : {shape}
  %f = linalg.fill ins(%zero : f32) outs(%e : {shape}) -> {shape}
  %m = linalg.generic {{
    indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
                     affine_map<(i, j, k) -> (i, j)>],
    iterator_types = ["parallel", "parallel", "reduction"]}}
    ins(%a, %b : tensor<3152x3072xbf16>, tensor<3072x768xbf16>) outs(%f : {shape}) {{
  ^bb0(%u: bf16, %v: bf16, %w: f32):
    %p = arith.extf %u : bf16 to f32
    %q = arith.extf %v : bf16 to f32
    %r = arith.mulf %p, %q : f32
    %s = arith.addf %w, %r : f32
    linalg.yield %s : f32
  }} -> {shape}
  %r:{count} = linalg.generic {{indexing_maps = [{", ".join([same] * (count + 1))}],
    iterator_types = ["parallel", "parallel"]}}
    ins(%m : {shape}) outs({", ".join(["%e"] * count)} : {", ".join([shape] * count)}) {{
  ^bb0(%x: f32, {", ".join(f"%o{n}: f32" for n in many)}):
    {lines}
    linalg.yield {", ".join(f"%y{n}" for n in many)} : {", ".join(["f32"] * count)}
  }} -> ({", ".join([shape] * count)})
  return {", ".join(f"%r#{n}" for n in many)} : {", ".join([shape] * count)}
}}"""


@pytest.mark.parametrize("count", [2, 6])
def test_tiles_leave_shared_memory_for_all_results(count, tmp_path):
    image = compiled(several_results(count))
    (launch,) = image.launches
    assert "wgmma.mma_async" in image.ptx
    assert launch.shared <= 227 << 10
    assemble(image, "sm_90a", tmp_path)


def test_few_tiles_are_shared_and_many_are_not():
    assert compiled(product(128, 768, 3072)).launches[0].cluster > 1
    assert compiled(product(4096, 768, 3072)).launches[0].cluster == 1


def test_rows_outside_of_a_factor_are_not_copied():
    (launch,) = compiled(product(40, 512, 128)).launches
    assert launch.maps[0].box == (64, 40)
    assert launch.maps[1].box == (64, 64)


@pytest.mark.parametrize(
    ("sizes", "layout", "rows"),
    [
        ((777, 1001, 513), "kk", (777 * 520, 1001 * 520)),
        ((777, 1001, 512), "kn", (512 * 1008,)),
    ],
)
def test_factors_with_odd_rows_are_copied_to_longer_ones(sizes, layout, rows, monkeypatch):
    change_devices(monkeypatch)
    image = compiled(product(*sizes, layout=layout))
    assert len(image.launches) == 2  # copies of both factors share one
    assert sorted(image.scratch) == [-(-2 * each // 64) * 64 for each in rows]
    assert "wgmma" in image.ptx
    assert image.launches[-1].maps[0].sizes[0] == sizes[2]  # what is behind reads as zeros


def test_small_factors_with_odd_rows_are_loaded_one_by_one(monkeypatch):
    change_devices(monkeypatch)
    image = compiled(product(20, 30, 37))
    assert len(image.launches) == 1
    assert image.scratch == ()


@pytest.mark.parametrize("sizes", [(64, 64, 65536), (100, 40, 32768)])
def test_long_reductions_with_few_outputs_are_summed_in_parts(sizes, monkeypatch):
    change_devices(monkeypatch)
    image = compiled(product(*sizes))
    parts, total = image.launches
    tiles = -(-sizes[0] // 64)
    assert parts.grid == 128 // tiles * tiles
    assert image.scratch == (4 * 128 // tiles * sizes[0] * sizes[1],)
    assert "wgmma" in image.ptx
    assert not total.maps


def test_other_long_reductions_are_not():
    assert len(compiled(product(64, 64, 65536 + 8)).launches) == 1  # no equal parts
    assert len(compiled(product(1024, 1024, 8192)).launches) == 1  # tiles enough


def test_rows_of_both_factors_are_copied_by_tma():
    (launch,) = compiled(product(200, 136, 72, batch=3, dtype="f16")).launches
    left, right, output = launch.maps
    assert (left.element, left.sizes, left.strides) == ("f16", (72, 200, 3), (144, 28800))
    assert (right.sizes, right.strides) == ((72, 136, 3), (144, 19584))
    assert (output.sizes, output.strides) == ((136, 200, 3), (272, 54400))
    assert [each.argument for each in launch.maps] == [0, 1, 3]
    assert {each.swizzle for each in launch.maps} == {128}
    assert launch.shared <= 227 << 10


def test_transposed_factors_are_read_as_they_lie():
    text = compiled(product(128, 128, 128, layout="mn")).ptx
    issued = set(re.findall(r"(?<=, p, )1,  ?1, \d,  \d(?=;)", text))
    assert issued == {"1,  1, 1,  1"}
    text = compiled(product(128, 128, 128, layout="kk")).ptx
    assert set(re.findall(r"(?<=, p, )1,  ?1, \d,  \d(?=;)", text)) == {"1,  1, 0,  0"}


def test_results_of_any_row_length_are_written():
    image = compiled(product(65, 77, 64))
    assert len(image.launches[0].maps) == 2
    assert "st.global.b16" in image.ptx
    image = compiled(product(65, 80, 64, result="f32"))
    assert len(image.launches[0].maps) == 3
    assert "cp.async.bulk.tensor.2d.global.shared::cta" in image.ptx


@pytest.mark.parametrize(
    "text",
    [
        product(128, 128, 68),  # rows of 136 bytes
        product(128, 128, 64, initial="1.0"),
        product(128, 128, 64, combine="maximumf"),
    ],
    ids=["unaligned rows", "another start", "another combination"],
)
def test_what_tensor_cores_or_copies_cannot_do_takes_another_way(text):
    assert "wgmma" not in compiled(text).ptx


def test_factors_of_f32_are_rounded_only_where_that_is_allowed(tmp_path):
    narrow = product(128, 128, 96, layout="kk")
    body = re.sub(r"%[pqt] = arith.extf (%[uv]) : .*", r"", narrow).replace("bf16", "f32")
    body = body.replace("%p, %q", "%u, %v").replace("%u, %t", "%u, %v")
    text = body.replace("arith.truncf %s : f32 to f32", "math.absf %s : f32")
    assert "wgmma" not in compiled(text).ptx
    allowed = text.replace(
        "tensor<1x128x128xf32> {",
        'tensor<1x128x128xf32> attributes {xyntra.precision = "tf32"} {',
        1,
    )
    image = compiled(allowed)
    assert "wgmma.mma_async.sync.aligned.m64n64k8.f32.tf32.tf32" in image.ptx
    assert [each.element for each in image.launches[0].maps] == ["tf32", "tf32", "f32"]
    assert set(re.findall(r"(\d+) bytes spill", assemble(image, "sm_90a", tmp_path))) == {"0"}


def test_what_takes_slices_of_the_columns_is_one_launch(tmp_path):
    image = compiled(SLICED.format(start=128, second=256))
    (launch,) = image.launches
    assert [each.argument for each in launch.maps] == [0, 1, 3, 4]
    assert image.scratch == ()
    assert set(re.findall(r"(\d+) bytes spill", assemble(image, "sm_90a", tmp_path))) == {"0"}


@pytest.mark.parametrize(("start", "second"), [(100, 284), (192, 192)])
def test_slices_that_overlap_or_leave_columns_out_stay_apart(start, second):
    product, slices = compiled(SLICED.format(start=start, second=second)).launches
    assert product.schedule.startswith("wgmma")
    assert slices.schedule.startswith("side-by-side")


def test_other_architectures_take_another_way():
    assert "wgmma" not in compiled(product(128, 128, 64), "sm_80").ptx


@pytest.mark.parametrize(("rows", "expected"), [(4096, "wgmma"), (16, "mma.sync")])
def test_the_faster_of_warps_and_warpgroups_multiplies(rows, expected, monkeypatch):
    change_devices(monkeypatch)
    assert expected in compiled(product(rows, 768, 768)).ptx

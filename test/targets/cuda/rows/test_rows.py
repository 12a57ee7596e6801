# SPDX-License-Identifier: MIT OR Apache-2.0
"""Rows in registers: who shares a row, what is read and written, and what goes another way."""

from __future__ import annotations

import re

import pytest
from gpu_code import assemble, compiled

NORM = """
func.func @k(%x: tensor<{rows}x{size}x{dtype}>, %w: tensor<{size}x{dtype}>)
    -> tensor<{rows}x{size}x{dtype}> {{
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %count = arith.constant {size}.0 : f32
  %e = tensor.empty() : tensor<{rows}x{size}x{dtype}>
  %r = tensor.empty() : tensor<{rows}xf32>
  %f = linalg.fill ins(%zero : f32) outs(%r : tensor<{rows}xf32>) -> tensor<{rows}xf32>
  %s = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
    iterator_types = ["parallel", "reduction"]}}
    ins(%x : tensor<{rows}x{size}x{dtype}>) outs(%f : tensor<{rows}xf32>) {{
  ^bb0(%u: {dtype}, %o: f32):
    {widen}
    %p = arith.mulf %v, %v : f32
    %a = arith.addf %p, %o : f32
    linalg.yield %a : f32
  }} -> tensor<{rows}xf32>
  %q = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>,
    affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]}}
    ins(%x, %s, %w : tensor<{rows}x{size}x{dtype}>, tensor<{rows}xf32>, tensor<{size}x{dtype}>)
    outs(%e : tensor<{rows}x{size}x{dtype}>) {{
  ^bb0(%u: {dtype}, %t: f32, %g: {dtype}, %o: {dtype}):
    {widen}
    %m = arith.divf %t, %count : f32
    %d = math.sqrt %m : f32
    %i = arith.divf %one, %d : f32
    %n = arith.mulf %v, %i : f32
    {narrow}
    %y = arith.mulf %z, %g : {dtype}
    linalg.yield %y : {dtype}
  }} -> tensor<{rows}x{size}x{dtype}>
  return %q : tensor<{rows}x{size}x{dtype}>
}}"""
WIDEN = {
    "f32": "%v = arith.addf %u, %zero : f32",
    "bf16": "%v = arith.extf %u : bf16 to f32",
    "f16": "%v = arith.extf %u : f16 to f32",
}
NARROW = {
    "f32": "%z = arith.addf %n, %zero : f32",
    "bf16": "%z = arith.truncf %n : f32 to bf16",
    "f16": "%z = arith.truncf %n : f32 to f16",
}


def norm(rows, size, dtype="f32", architecture="sm_90a"):
    widen, narrow = WIDEN[dtype], NARROW[dtype]
    text = NORM.format(rows=rows, size=size, dtype=dtype, widen=widen, narrow=narrow)
    return compiled(text, architecture)


@pytest.mark.parametrize(
    ("rows", "size", "dtype", "grid", "block"),
    [(8000, 128, "f32", 2000, 128), (7, 96, "bf16", 7, 32), (5, 33, "f32", 5, 32),
     (100, 4096, "f32", 100, 256), (100, 8192, "bf16", 100, 256), (3, 16384, "f32", 3, 512)],
)  # fmt: skip
def test_short_rows_take_a_warp_and_longer_ones_a_block(rows, size, dtype, grid, block, tmp_path):
    image = norm(rows, size, dtype)
    (launch,) = image.launches
    assert (launch.grid, launch.block) == (grid, block)
    assert image.scratch == ()
    assert set(re.findall(r"(\d+) bytes spill", assemble(image, "sm_90a", tmp_path))) == {"0"}


def test_rows_are_read_and_written_once_in_whole_vectors():
    ptx = norm(100, 4096).ptx
    assert len(re.findall(r"ld\.global\S*\.v4", ptx)) == 8  # 4 of the row, 4 of the weights
    assert len(re.findall(r"st\.global\S*\.v4", ptx)) == 4
    assert not re.findall(r"(?:ld|st)\.global\S*b32 \S* ?%r", ptx)


def test_a_warp_needs_neither_barriers_nor_shared_memory():
    ptx = norm(100, 512).ptx
    assert "bar.sync" not in ptx
    assert ".shared" not in ptx
    assert "shfl.sync.bfly" in ptx


def test_only_the_last_vector_of_a_thread_may_lie_behind_the_row():
    assert "min.u32" not in norm(4, 1024).ptx
    ptx = norm(4, 1000).ptx
    assert len(re.findall(r"min\.u32", ptx)) == 1


@pytest.mark.parametrize("size", [65536, 40001, 1 << 18])
def test_a_cluster_shares_rows_that_no_block_can_hold(size, tmp_path):
    image = norm(3, size)
    (launch,) = image.launches
    assert (launch.grid, launch.cluster) == (24, 8)
    assert image.ptx.count("barrier.cluster.arrive") == 2  # it is there, and the sum
    assert len(re.findall(r"st\.shared::cluster", image.ptx)) == 1
    assert set(re.findall(r"(\d+) bytes spill", assemble(image, "sm_90a", tmp_path))) == {"0"}


@pytest.mark.parametrize(("size", "architecture"), [(1 << 17, "sm_80"), (1 << 20, "sm_90a")])
def test_rows_that_nothing_can_hold_stay_in_memory(size, architecture):
    image = norm(132, size, architecture=architecture)
    (launch,) = image.launches
    assert (launch.grid, launch.cluster) == (132, 1)
    loads = re.findall(r"ld\.global\S*", image.ptx)
    assert all(".v4" in load for load in loads)
    assert 0 < len(loads) < 16  # loops that are not unrolled


def test_few_rows_that_nothing_can_hold_are_reduced_by_all_blocks():
    launches = norm(3, 1 << 20).launches
    assert max(launch.grid for launch in launches) > 132


def test_few_rows_take_a_block_each_and_many_share_blocks():
    def shape(rows, size):
        (launch,) = norm(rows, size, "bf16").launches
        return launch.grid, launch.block

    assert [shape(rows, 96) for rows in (128, 1056, 2112)] == [(128, 32), (132, 128), (264, 128)]
    assert shape(2112, 2048) == (2112, 32)  # a row is enough for a block


def test_weights_are_loaded_first_where_registers_suffice():
    def ahead(*row):
        return norm(3000, *row).ptx.split("shfl")[0].count("ld.global")

    assert ahead(768, "bf16") == 2 * 3
    assert ahead(4096, "bf16") == 2 * 4
    assert ahead(4096, "f32") == 4  # only the row: many threads have few registers each
    assert ahead(1024, "f32") == 8


ARGMAX = """
func.func @k(%x: tensor<9x{size}xf32>) -> tensor<9xi32> {{
  %none = arith.constant {size} : i32
  %low = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<9xf32>
  %f = linalg.fill ins(%low : f32) outs(%e : tensor<9xf32>) -> tensor<9xf32>
  %m = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
    iterator_types = ["parallel", "reduction"]}}
    ins(%x : tensor<9x{size}xf32>) outs(%f : tensor<9xf32>) {{
  ^bb0(%u: f32, %o: f32):
    %a = arith.maximumf %o, %u : f32
    linalg.yield %a : f32
  }} -> tensor<9xf32>
  %d = tensor.empty() : tensor<9xi32>
  %g = linalg.fill ins(%none : i32) outs(%d : tensor<9xi32>) -> tensor<9xi32>
  %r = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>,
    affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}}
    ins(%x, %m : tensor<9x{size}xf32>, tensor<9xf32>) outs(%g : tensor<9xi32>) {{
  ^bb0(%u: f32, %v: f32, %o: i32):
    %c = arith.cmpf oeq, %u, %v : f32
    %j = linalg.index 1 : index
    %n = arith.index_cast %j : index to i32
    %s = arith.select %c, %n, %none : i32
    %a = arith.minsi %o, %s : i32
    linalg.yield %a : i32
  }} -> tensor<9xi32>
  return %r : tensor<9xi32>
}}"""


@pytest.mark.parametrize(("size", "loads"), [(1024, 8), (4096, 4)])
def test_the_place_of_the_largest_element_is_found_in_registers(size, loads):
    image = compiled(ARGMAX.format(size=size))
    assert len(image.launches) == 1
    assert image.scratch == ()
    assert len(re.findall(r"ld\.global\S*\.v4", image.ptx)) == loads  # all of the row, once


@pytest.mark.parametrize("size", [31, 32, 257, 4095])
def test_ragged_rows_assemble_without_spills(size, tmp_path):
    report = assemble(norm(9, size), "sm_90a", tmp_path)
    assert set(re.findall(r"(\d+) bytes spill", report)) == {"0"}


def test_a_single_row_is_one_launch():
    (launch,) = norm(1, 192, "f16").launches
    assert (launch.grid, launch.block) == (1, 32)
    assert len(norm(1, 1 << 16).launches) == 1
    assert len(norm(1, 1 << 16, architecture="sm_80").launches) > 1  # no block holds it


COPY_AND_ADD = """
func.func @k(%x: tensor<{b}x100x192xf16>, %c: tensor<{b}x101x192xf16>, %p: tensor<{b}x101x192xf16>)
    -> tensor<{b}x101x192xf16> {{
  %i = tensor.insert_slice %x into %c[0, 1, 0] [{b}, 100, 192] [1, 1, 1]
    : tensor<{b}x100x192xf16> into tensor<{b}x101x192xf16>
  %e = tensor.empty() : tensor<{b}x101x192xf16>
  %r = linalg.generic {{
    indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, j, k)>,
      affine_map<(i, j, k) -> (i, j, k)>], iterator_types = ["parallel", "parallel", "parallel"]}}
    ins(%i, %p : tensor<{b}x101x192xf16>, tensor<{b}x101x192xf16>)
    outs(%e : tensor<{b}x101x192xf16>) {{
  ^bb0(%u: f16, %v: f16, %o: f16):
    %s = arith.addf %u, %v : f16
    linalg.yield %s : f16
  }} -> tensor<{b}x101x192xf16>
  return %r : tensor<{b}x101x192xf16>
}}"""


@pytest.mark.parametrize("batch", [2, 32])
def test_few_long_rows_are_not_taken_by_few_blocks(batch):
    launches = compiled(COPY_AND_ADD.format(b=batch)).launches
    assert [launch.schedule.split()[0] for launch in launches] == ["side-by-side"]
    assert sum(launch.grid * launch.block for launch in launches) * 64 > batch * 101 * 192

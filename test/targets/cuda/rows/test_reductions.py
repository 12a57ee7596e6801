# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reductions: along columns, with what belongs to them, and in parts where they are long."""

from __future__ import annotations

import re

import numpy as np
import pytest
from gpu_code import assemble, compiled
from one_operator import launches_of, numbers

MEAN = """
func.func @k(%x: tensor<{rows}x{columns}x{dtype}>) -> tensor<{size}xf32> {{
  %zero = arith.constant 0.0 : f32
  %scale = arith.constant 0.125 : f32
  %e = tensor.empty() : tensor<{size}xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<{size}xf32>) -> tensor<{size}xf32>
  %s = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>,
    affine_map<(i, j) -> ({kept})>], iterator_types = [{kinds}]}}
    ins(%x : tensor<{rows}x{columns}x{dtype}>) outs(%f : tensor<{size}xf32>) {{
  ^bb0(%u: {dtype}, %o: f32):
    {widen}
    %a = arith.addf %v, %o : f32
    linalg.yield %a : f32
  }} -> tensor<{size}xf32>
  %m = linalg.generic {{indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
    iterator_types = ["parallel"]}} ins(%s : tensor<{size}xf32>) outs(%e : tensor<{size}xf32>) {{
  ^bb0(%u: f32, %o: f32):
    %a = arith.mulf %u, %scale : f32
    linalg.yield %a : f32
  }} -> tensor<{size}xf32>
  return %m : tensor<{size}xf32>
}}"""
WIDEN = {"f32": "%v = arith.addf %u, %zero : f32", "bf16": "%v = arith.extf %u : bf16 to f32"}


def mean(rows, columns, along, dtype="f32"):
    kinds = ["parallel", "parallel"]
    kinds[along] = "reduction"
    return compiled(
        MEAN.format(
            rows=rows, columns=columns, dtype=dtype, widen=WIDEN[dtype],
            size=(columns, rows)[along], kept="ji"[along],
            kinds=", ".join(f'"{kind}"' for kind in kinds),
        )
    )  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "columns", "dtype", "grid"),
    [(500, 4096, "f32", 128), (500, 4096, "bf16", 64)],
)
def test_columns_are_reduced_with_what_belongs_to_them(rows, columns, dtype, grid, tmp_path):
    image = mean(rows, columns, 0, dtype)
    (launch,) = image.launches
    assert (launch.grid, launch.block) == (grid, 256)
    assert image.scratch == ()
    loads = re.findall(r"ld\.global\S*", image.ptx)
    assert loads
    assert all(".v4" in load for load in loads)
    assert set(re.findall(r"(\d+) bytes spill", assemble(image, "sm_90a", tmp_path))) == {"0"}


@pytest.mark.parametrize(("rows", "columns", "grid"), [(77, 100, 4), (3, 4096, 16)])
def test_few_columns_occupy_more_blocks_by_narrower_loads(rows, columns, grid):
    image = mean(rows, columns, 0)
    (launch,) = image.launches
    assert (launch.grid, launch.block) == (grid, 256)
    assert ".v4" not in " ".join(re.findall(r"ld\.global\S*", image.ptx))


def test_ragged_columns_are_read_one_by_one():
    image = mean(500, 4099, 0)
    (launch,) = image.launches
    assert launch.grid == 513
    assert not re.findall(r"ld\.global\S*\.v4", image.ptx)


@pytest.mark.parametrize(
    ("rows", "columns", "along", "parts"),
    [(1 << 16, 64, 0, 256), (3, 1 << 20, 1, 192), (8192, 4096, 0, 2 * 128)],
)
def test_long_reductions_with_few_outputs_are_split(rows, columns, along, parts):
    image = mean(rows, columns, along)
    assert len(image.launches) == 2
    assert image.launches[0].grid == parts
    assert image.launches[1].grid <= 128
    assert len(image.scratch) == 1


@pytest.mark.parametrize(("rows", "columns", "along"), [(1000, 64, 0), (300, 4096, 1)])
def test_others_are_not_split(rows, columns, along):
    assert len(mean(rows, columns, along).launches) == 1


def test_what_is_left_behind_equal_parts_comes_last():
    parts, _, rest = mean(65537, 64, 0).launches
    assert parts.grid == 264
    assert rest.grid == 2


@pytest.mark.parametrize("shape", [(300, 12), (50, 5), (7, 33, 4)])
def test_few_columns_are_read_side_by_side(shape):
    launches = launches_of("ReduceSum", [numbers(*shape)], np.array([len(shape) - 2]))
    assert len(launches) == 1
    assert launches[0][1] == 256


def test_many_short_rows_of_single_elements_share_warps():
    ((blocks, threads),) = launches_of("ReduceSum", [numbers(65541, 17)], np.array([1]))
    assert blocks * threads < 65541 * 8


def test_norms_of_rows_that_nothing_keeps_are_reduced_by_all_blocks():
    values = numbers(2, (1 << 18) + 3) + 1
    wide = values.astype(np.float64)
    mean_of, deviation = (of(wide, axis=1, keepdims=True) for of in (np.mean, np.std))
    expected = [(wide - mean_of) / (deviation + 1e-9)]
    launches = launches_of("MeanVarianceNormalization", [values], expected=expected, axes=[1])
    many = [blocks for blocks, _ in launches if blocks > 100]
    assert len(many) == 3  # deviations are computed where they are read
    assert all(blocks <= 2 for blocks, _ in launches if blocks not in many)

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Contractions in every type: how many threads share a tile, and what is in shared memory."""

from __future__ import annotations

import re

import pytest
from gpu_code import assemble, compiled

PRODUCT = """
func.func @k(%x: tensor<{m}x{k}x{type}>, %w: tensor<{k}x{n}x{type}>) -> tensor<{m}x{n}x{type}> {{
  %z = arith.constant {zero} : {type}
  %e = tensor.empty() : tensor<{m}x{n}x{type}>
  %f = linalg.fill ins(%z : {type}) outs(%e : tensor<{m}x{n}x{type}>) -> tensor<{m}x{n}x{type}>
  %r = linalg.generic {{
    indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
      affine_map<(i, j, k) -> (i, j)>],
    iterator_types = ["parallel", "parallel", "reduction"]}}
    ins(%x, %w : tensor<{m}x{k}x{type}>, tensor<{k}x{n}x{type}>)
    outs(%f : tensor<{m}x{n}x{type}>) {{
  ^bb0(%p: {type}, %q: {type}, %o: {type}):
    %a = arith.{multiply} %p, %q : {type}
    %b = arith.{combine} %o, %a : {type}
    linalg.yield %b : {type}
  }} -> tensor<{m}x{n}x{type}>
  return %r : tensor<{m}x{n}x{type}>
}}"""


def product(m, n, k, dtype="f32", zero="0.0", multiply="mulf", combine="addf"):
    return compiled(
        PRODUCT.format(m=m, n=n, k=k, type=dtype, zero=zero, multiply=multiply, combine=combine)
    )


def maximum(m, n, k):
    """The largest sum of a row and a column, which has no kernel of its own as sums have."""
    return product(m, n, k, zero="0xFF800000", multiply="addf", combine="maximumf")


@pytest.mark.parametrize(
    ("sizes", "grid", "block"),
    [
        ((128, 768, 3072), 96, 512),  # few tiles and many steps: eight teams
        ((128, 3072, 768), 192, 256),  # two
        ((128, 768, 100), 96, 64),  # steps that teams cannot share evenly
        ((128, 768, 64), 96, 64),  # too few of them
        ((2048, 2048, 2048), 1024, 64),  # tiles for every multiprocessor
    ],
)
def test_teams_share_the_reduction_where_tiles_are_few(sizes, grid, block):
    (launch,) = maximum(*sizes).launches
    assert (launch.grid, launch.block) == (grid, block)


def test_wide_elements_have_teams_that_fit_shared_memory():
    image = product(128, 768, 3072, "f64")
    assert image.launches[0].block == 256
    shared = [int(size) for size in re.findall(r"\.shared .* \w+\[(\d+)\]", image.ptx)]
    assert 0 < sum(shared) <= 48 << 10


def test_a_maximum_is_shared_as_a_sum_is():
    image = maximum(128, 768, 3072)
    assert image.launches[0].block == 512
    assert "max.NaN.f32" in image.ptx


@pytest.mark.parametrize("sizes", [(128, 768, 3072), (128, 3072, 768), (33, 40, 96)])
def test_teams_spill_no_more_than_a_pair_of_registers(sizes, tmp_path):
    report = assemble(maximum(*sizes), "sm_90a", tmp_path)
    assert max(int(each) for each in re.findall(r"(\d+) bytes spill", report)) <= 8

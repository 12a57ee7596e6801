# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tests of the tiles that attention is computed in: as wide as keys, as high as queries."""

from __future__ import annotations

import pytest

from xyntra.passes.lower.cpu.attention.plan import AttentionPlan, plan_attention

WIDE, NARROW = (16, 32), (8, 16)


@pytest.mark.parametrize("keys", [1, 5, 16])
def test_few_keys_take_tiles_of_one_vector(keys):
    choices = plan_attention((1, 8, 64, keys, 64, 64), *WIDE)
    assert (choices.vectors, choices.block[1]) == (1, 16)


def test_keys_that_fill_panels_of_two_vectors_take_these():
    assert plan_attention((1, 8, 64, 256, 64, 64), *NARROW).vectors == 2


@pytest.mark.parametrize("size", [40, 72, 80, 112])
def test_heads_of_odd_width_are_not_padded_to_two_vectors(size):
    assert plan_attention((1, 8, 256, 77, size, size), *WIDE).vectors == 1


@pytest.mark.parametrize("machine", [WIDE, NARROW, (4, 32)])
@pytest.mark.parametrize("queries", [1, 2, 7, 49, 64, 100, 197, 1000])
def test_tiles_fit_into_registers_and_compute_few_rows_in_vain(queries, machine):
    choices = plan_attention((1, 4, queries, 77, 64, 64), *machine)
    vectors, rows = choices.vectors, choices.rows
    assert vectors * rows + vectors + 1 < machine[1]
    plan = AttentionPlan.of(choices, queries, 77)
    assert plan.keys % plan.width == 0
    assert plan.keys * plan.chunks >= 77
    blocks = -(-queries // plan.rows)
    computed = (blocks - 1) * plan.rows_of_tiles(plan.rows) + plan.rows_of_tiles(plan.last_rows)
    assert queries <= computed <= queries * 1.1 + 1

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Random programs keep their numbers, and are left with no more copies than they had."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from linalg_interpreter import run
from torch_mlir import ir
from view_programs import Program, programs

from xyntra.dialects import make_context
from xyntra.passes.manager import run_pipeline
from xyntra.passes.views.movers import moving_map
from xyntra.passes.views.structured import Interned

CI = hypothesis_settings(
    max_examples=150, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)


def copies(module: ir.Module) -> int:
    """Operations that only move data."""
    interned = Interned()
    block = module.body.operations[0].operation.regions[0].blocks[0]
    return sum(moving_map(view.operation, interned) is not None for view in block.operations)


def check(program: Program, seed: int, passes: list[str]) -> tuple[int, int]:
    """Compare the numbers before and after `passes`; the copies that there were and are."""
    arrays = program.arrays(seed)
    with make_context(), ir.Location.unknown():
        module = program.module()
        # What nothing reads disappears first: it would count as a copy.
        run_pipeline(module, ["canonicalize", "cse"])
        before, wanted = copies(module), run(module, arrays)
        run_pipeline(module, passes)
        for mine, reference in zip(run(module, arrays), wanted, strict=True):
            np.testing.assert_allclose(mine, reference, rtol=1e-5, atol=1e-5)
        return before, copies(module)


@CI
@given(program=programs(), seed=st.integers(0, 2**32))
def test_the_numbers_stay(program: Program, seed: int) -> None:
    before, after = check(program, seed, ["fold-transposes", "canonicalize", "cse"])
    assert after <= before

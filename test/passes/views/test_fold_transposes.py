# SPDX-License-Identifier: MIT OR Apache-2.0
"""Random programs keep their numbers, and are left with no more copies than they had."""

from __future__ import annotations

from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from view_programs import Program, check, programs

CI = hypothesis_settings(
    max_examples=100, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)


@CI
@given(program=programs(), seed=st.integers(0, 2**32))
def test_random_programs(program: Program, seed: int) -> None:
    passes = ["fold-transposes", "canonicalize", "cse"]
    before, after = check(program, seed, passes)
    assert after <= before


@CI
@given(
    program=programs(kinds=("transpose", "reshape", "slice", "unary", "softmax", "matmul")),
    seed=st.integers(0, 2**32),
)
def test_chains(program: Program, seed: int) -> None:
    passes = ["fold-transposes", "canonicalize", "cse"]
    before, after = check(program, seed, passes)
    assert after <= before

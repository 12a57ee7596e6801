# SPDX-License-Identifier: MIT OR Apache-2.0
"""Random graphs: fused = unfused = numpy in float64, no illegal region, no cycle.

`python -m verify.fusion` runs the same generator for as many graphs as one likes.
"""

from __future__ import annotations

from random import Random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from verify.fusion.check import Checker
from verify.fusion.random import generate


@settings(
    max_examples=200,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(random=st.randoms(use_true_random=False), size=st.integers(1, 10))
def test_fusion_keeps_what_a_graph_computes(checker: Checker, random: Random, size: int) -> None:
    """`check` raises a Finding where anything differs or is illegal."""
    outcome = checker.check(generate(random, size))
    assert outcome.fused <= outcome.unfused

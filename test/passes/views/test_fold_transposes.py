# SPDX-License-Identifier: MIT OR Apache-2.0
"""Random programs keep their numbers, and are left with no more copies than they had."""

from __future__ import annotations

from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from view_programs import Emit, Program, check, programs, step_of

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


@st.composite
def indexed_products(draw: st.DrawFn) -> Program:
    """A product, transposed and reshaped, which bodies index and others may read as well."""
    b, i, j, k = (draw(st.sampled_from([1, 2, 3, 4])) for _ in range(4))
    order = draw(st.permutations(range(3)))
    shape = [(b, i, j)[axis] for axis in order]
    joined = [*shape]
    if draw(st.booleans()):
        at = draw(st.integers(0, 1))
        joined[at : at + 2] = [joined[at] * joined[at + 1]]
    steps: list[Emit] = [
        lambda b, v: b.einsum("bik,bjk->bij", v[0], v[1]),
        lambda b, v: b.transpose(v[2], order),
        lambda b, v: b.reshape(v[3], joined),
    ]
    shapes = [(b, i, k), (b, j, k), (b, i, j), tuple(shape), tuple(joined)]
    for _ in range(draw(st.integers(1, 3))):
        index = draw(st.integers(2, 4))
        emit, _ = draw(step_of(index, shapes, draw(st.sampled_from(["shift", "gather", "unary"]))))
        steps.append(emit)
    results = {draw(st.integers(2, len(steps) + 1)), *range(5, len(steps) + 2)}
    return Program([(b, i, k), (b, j, k)], steps, sorted(results))


@CI
@given(program=indexed_products(), seed=st.integers(0, 2**32))
def test_bodies_index_what_they_know(program: Program, seed: int) -> None:
    check(program, seed, ["fold-transposes", "canonicalize", "cse"])

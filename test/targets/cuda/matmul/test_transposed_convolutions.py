# SPDX-License-Identifier: MIT OR Apache-2.0
"""Transposed convolutions: phases as loops of one convolution, from images that TMA gathers."""

from __future__ import annotations

from typing import Any

import pytest
from emulator import run_artifact

from verify.random_models.case import Case
from verify.random_models.check import compared
from verify.random_models.compile import compile_case
from verify.random_models.maker import CaseMaker
from verify.random_models.reference import expected
from xyntra.dialects import make_context
from xyntra.dialects.mlir import ir
from xyntra.targets.cuda.code.kernel_image import KernelImage

Shape = tuple[int, ...]


@pytest.fixture(scope="module")
def context() -> ir.Context:
    return make_context()


def transposed(
    shape: Shape, weights: Shape, strides: list[int], pads: list[int], extra: list[int]
) -> Case:
    """A transposed convolution of f16 with a bias and a Relu."""
    m = CaseMaker("convolution", 7)
    m.prefer = "warpgroups"
    rank = len(strides)
    x, w = m.leaf("float16", shape), m.leaf("float16", weights, "weight")
    sizes = [
        strides[d] * (shape[2 + d] - 1) + weights[2 + d] - pads[d] - pads[d + rank] + extra[d]
        for d in range(rank)
    ]
    how: dict[str, Any] = {"kernel_shape": list(weights[2:]), "strides": strides, "pads": pads}
    how |= {"dilations": [1] * rank, "group": 1, "output_padding": extra}
    bias = m.leaf("float16", (weights[1],), "weight")
    y = m.step("ConvTranspose", [x, w, bias], (shape[0], weights[1], *sizes), **how)
    return m.finish(m.step("Relu", [y], y.shape), label="")


CASES: dict[str, tuple[Case, int]] = {
    "halves": (transposed((1, 64, 9, 12), (64, 32, 4, 4), [2, 2], [1, 1, 1, 1], [0, 0]), 3),
    "odd kernel": (transposed((2, 32, 9, 7), (32, 64, 3, 3), [2, 2], [1, 1, 1, 1], [1, 1]), 3),
    "mixed": (transposed((1, 32, 9, 12), (32, 32, 4, 3), [2, 1], [1, 1, 1, 1], [0, 0]), 3),
    "eight phases": (transposed((1, 64, 2, 40), (64, 32, 1, 16), [1, 8], [0, 4, 0, 4], [0, 0]), 3),
    "first phase": (transposed((1, 64, 2, 40), (64, 32, 1, 6), [1, 3], [0, 0, 0, 3], [0, 0]), 3),
    "cut": (transposed((1, 64, 2, 40), (64, 32, 1, 10), [1, 5], [0, 3, 0, 3], [0, 1]), 4),
}


@pytest.mark.parametrize("name", CASES)
def test_phases_are_loops_of_one_convolution(name: str, context: ir.Context) -> None:
    case, launches = CASES[name]
    artifact = compile_case(case, "sm_90a", context)
    inputs = case.arrays("input")
    arrays = [inputs[port.name] for port in artifact.plan.inputs]
    finding = compared(run_artifact(artifact, arrays, case.arrays("weight")), expected(case))
    assert not finding.problem
    assert finding.unknown < finding.elements
    steps = [step.kernel for step in artifact.plan.steps if not step.once]
    found = [
        launch.schedule
        for kernel in steps
        for launch in KernelImage.from_bytes(artifact.objects[kernel]).launches
    ]
    assert len(found) <= launches, found
    assert any(each.startswith("wgmma-gather") for each in found), found

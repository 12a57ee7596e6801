# SPDX-License-Identifier: MIT OR Apache-2.0
"""Kernels of a model alone: their plans, the data that they read, and how results are compared."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import xyntra
from xyntra.plan.check_plan import check_plan
from xyntra.tune.measuring.captured import capture
from xyntra.tune.measuring.comparison import difference, narrowest_rounding
from xyntra.tune.measuring.subject import subject_of

# A softmax of rows, a product with a weight, and a step that writes over what it reads.
MODEL = """
#id = affine_map<(m, n) -> (m, n)>
func.func @main(%x: tensor<40x96xf32>) -> (tensor<40x64xf32>, tensor<40x64xf32>) {
  %w = arith.constant dense<0.25> : tensor<96x64xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<40x64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<40x64xf32>) -> tensor<40x64xf32>
  %r = linalg.matmul ins(%x, %w : tensor<40x96xf32>, tensor<96x64xf32>)
      outs(%f : tensor<40x64xf32>) -> tensor<40x64xf32>
  %i = tensor.empty() : tensor<40x64xf32>
  %s = linalg.softmax dimension(1) ins(%r : tensor<40x64xf32>) outs(%i : tensor<40x64xf32>)
      -> tensor<40x64xf32>
  %t = linalg.exp ins(%s : tensor<40x64xf32>) outs(%i : tensor<40x64xf32>) -> tensor<40x64xf32>
  return %r, %t : tensor<40x64xf32>, tensor<40x64xf32>
}"""


@pytest.mark.parametrize("fuse", [True, False])
def test_each_kernel_is_a_model_of_its_own(*, fuse: bool) -> None:
    executable = xyntra.compile(MODEL, threads=1, config={"fuse": fuse})
    artifact, weights = executable.artifact, executable._weights

    def load(plan):
        from dataclasses import replace

        from xyntra.targets.table import backend_for

        return backend_for("").program(replace(artifact, plan=plan), weights, 0, 1)

    captured = capture(load, artifact.plan, 2)
    assert len(captured.times) == len(artifact.plan.steps)
    kernels = artifact.plan.kernels
    names = {step.kernel for step in artifact.plan.steps if not step.once}
    assert len(names) > 1 or fuse
    for name in names:
        subject = subject_of(artifact, name, weights, captured.arrays, ("", 0, 1))
        check_plan(subject.plan)
        assert subject.launches >= 1
        again = subject_of(artifact, name, weights, captured.arrays, ("", 0, 1), launches=5)
        check_plan(again.plan)
        assert again.launches == (subject.launches if kernels[name].inplace else 5)
        program = load_subject(subject)
        outputs = [np.zeros(port.shape, np.float32) for port in subject.plan.own_outputs]
        inputs = [array.copy() for array in subject.arrays]
        assert sum(program.time_steps(inputs, outputs)) > 0
        results = [*outputs, *(inputs[number] for _, number in subject.plan.aliases)]
        assert results
        # What the launches compute of what the model has read is what it has computed.
        step = next(each for each in artifact.plan.steps if each.kernel == name)
        for buffer, port in zip(step.outputs, subject.plan.outputs, strict=False):
            known = captured.arrays.get(buffer)
            if known is not None and buffer not in step.inputs:
                wanted = known.reshape(-1).view(np.float32).reshape(port.shape)
                assert any(np.array_equal(wanted, each) for each in results)


def load_subject(subject):
    from xyntra.targets.table import backend_for

    return backend_for("").program(subject.artifact(), subject.weights, 0, 1)


ONES = np.ones(1000, np.float32)
NAN = np.array([np.nan, np.inf, -np.inf, 1.0], np.float32)


@pytest.mark.parametrize(
    ("found", "expected", "word"),
    [
        (ONES, ONES, ""),
        (ONES * 1.00005, ONES, ""),
        (ONES * 1.001, ONES, "largest error"),
        (NAN, NAN, ""),
        (NAN[::-1].copy(), NAN, "NaN or infinity"),
        (NAN[:1], ONES[:1], "inf"),
        (ONES[:1], NAN[:1], "NaN or infinity"),
        (ONES.astype(np.float64) + 1e-6, ONES.astype(np.float64), "largest error"),
        ((ONES * 1.02).astype(ml_dtypes.bfloat16), ONES.astype(ml_dtypes.bfloat16), ""),
        (np.zeros(0, np.float32), np.zeros(0, np.float32), ""),
        (np.arange(5), np.arange(5), ""),
        (np.arange(5), np.arange(5) + 1, "5 of 5"),
        (np.eye(1000, dtype=np.int8), np.zeros((1000, 1000), np.int8), ""),
        (2 * np.eye(1000, dtype=np.int8), np.zeros((1000, 1000), np.int8), "1000 of"),
        (np.ones(9, bool), np.zeros(9, bool), "9 of 9"),
    ],
)
def test_differences_beyond_rounding_are_found(
    found: np.ndarray, expected: np.ndarray, word: str
) -> None:
    said = difference(found, expected)
    assert (word in said) if word else not said


@pytest.mark.parametrize(
    ("body", "dtype"),
    [
        ("%1 = arith.extf %in : f16 to f32\n%2 = arith.addf %out, %1 : f32", ""),
        ("%1 = arith.truncf %in : f32 to f16\n%2 = arith.extf %1 : f16 to f32", "float16"),
        ("%1 = arith.addf %in, %in_2 : f16\n%2 = arith.extf %1 : f16 to f32", "float16"),
        ("%1 = math.exp %in : bf16\n%2 = arith.truncf %out : f32 to f16", "bfloat16"),
    ],
)
def test_wide_results_of_rounded_elements_may_differ_by_that_rounding(
    body: str, dtype: str
) -> None:
    assert narrowest_rounding(body) == dtype
    said = difference(ONES * np.float32(1.001), ONES, dtype)
    assert not said if dtype else "largest error" in said
    assert "largest error" in difference(ONES * 1.2, ONES, dtype)

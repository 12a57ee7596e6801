# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tensors put together from others."""

from __future__ import annotations

import numpy as np
import pytest
from evaluate import evaluate

from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.tensors.slices import concatenate, insert_slice


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("lengths", [(2,), (1, 3), (0, 2), (0, 0), (2, 0, 1, 3)])
def test_concatenate(axis: int, lengths: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    shapes = [(n, 4) if axis == 0 else (4, n) for n in lengths]
    parts = [rng.standard_normal(shape) for shape in shapes]
    (found,) = evaluate(lambda b, *tensors: concatenate(b, tensors, axis), *parts)
    np.testing.assert_array_equal(found, np.concatenate(parts, axis))


def test_insert_slice() -> None:
    def build(b: TensorBuilder, x: Tensor) -> Tensor:
        return insert_slice(b, x, b.fill((3, 5), "float32", 9), [1, 2])

    wanted = np.full((3, 5), 9, np.float32)
    wanted[1:3, 2:5] = np.arange(6).reshape(2, 3)
    np.testing.assert_array_equal(evaluate(build, wanted[1:3, 2:5].copy())[0], wanted)

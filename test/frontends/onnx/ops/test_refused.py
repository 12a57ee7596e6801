# SPDX-License-Identifier: MIT OR Apache-2.0
"""Operators that are refused say why."""

from __future__ import annotations

import numpy as np
import pytest
from refusals import check_unsupported

X = np.ones((2, 3), np.float32)


@pytest.mark.parametrize(("op_type", "outputs"), [("NonZero", 1), ("Unique", 4)])
def test_shapes_that_depend_on_the_data(op_type: str, outputs: int) -> None:
    check_unsupported(op_type, {"x": X}, "depends on the data", outputs=outputs)


def test_random_numbers() -> None:
    check_unsupported("RandomNormalLike", {"x": X}, "random")
    check_unsupported("RandomUniform", {}, "random", shape=[2, 3])


def test_an_unknown_operator_names_the_nearest() -> None:
    check_unsupported("Reshapes", {"x": X}, "the nearest supported operator is Reshape")

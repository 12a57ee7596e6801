# SPDX-License-Identifier: MIT OR Apache-2.0
"""Operators that are refused say why."""

from __future__ import annotations

import numpy as np
from refusals import check_unsupported

X = np.ones((2, 3), np.float32)


def test_random_numbers() -> None:
    check_unsupported("RandomNormalLike", {"x": X}, "random")
    check_unsupported("RandomUniform", {}, "random", shape=[2, 3])


def test_an_unknown_operator_names_the_nearest() -> None:
    check_unsupported("Reshapes", {"x": X}, "the nearest supported operator is Reshape")

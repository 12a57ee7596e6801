# SPDX-License-Identifier: MIT OR Apache-2.0
"""NonMaxSuppression against onnxruntime, with limits that are inputs and that are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from harness import compare, node_model, reference, run_compiled
from refusals import check_invalid

LIMITS = {"most": np.array([4], np.int64), "iou": np.array([0.4], np.float32)}


def boxes_of(batches: int, count: int, *, centered: bool = False, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    low, size = rng.uniform(0, 4, (batches, count, 2)), rng.uniform(0, 3, (batches, count, 2))
    if centered:
        return np.concatenate([low, size], -1).astype(np.float32)
    found = np.concatenate([low, low + size], -1).astype(np.float32)
    found[:, ::3] = found[:, ::3][..., [2, 3, 0, 1]]  # the other corner first
    return found


def scores_of(batches: int, classes: int, count: int, seed: int = 0) -> np.ndarray:
    """Scores of which some are equal."""
    rng = np.random.default_rng(seed)
    return (rng.integers(0, 20, (batches, classes, count)) / 20).astype(np.float32)


def check(inputs: dict[str, np.ndarray], constants: Any = None, **options: Any) -> np.ndarray:
    model = node_model("NonMaxSuppression", inputs, constants=constants, **options)
    found = run_compiled(model, inputs)
    compare(found, reference(model, inputs), 0, 0)
    return found[0]


@pytest.mark.parametrize("sizes", [(1, 1, 1), (1, 1, 40), (3, 2, 17), (2, 3, 1)])
@pytest.mark.parametrize("centered", [0, 1])
@pytest.mark.parametrize("least", [None, 0.3])
def test_limits_of_the_call(sizes: tuple[int, int, int], centered: int, least: Any) -> None:
    batches, _, count = sizes
    inputs = {
        "boxes": boxes_of(batches, count, centered=bool(centered)),
        "scores": scores_of(*sizes),
        **LIMITS,
    }
    if least is not None:
        inputs["least"] = np.array([least], np.float32)
    check(inputs, center_point_box=centered)


@pytest.mark.parametrize("most", [0, 1, 3, 100])
def test_known_limits(most: int) -> None:
    inputs = {"boxes": boxes_of(2, 25, seed=1), "scores": scores_of(2, 3, 25, seed=1)}
    constants = {"most": np.array(most, np.int64), "iou": np.array(0.1, np.float32)}
    assert len(check(inputs, constants)) <= most * 6


def test_without_limits_nothing_is_selected() -> None:
    inputs = {"boxes": boxes_of(1, 5), "scores": scores_of(1, 1, 5)}
    assert check(inputs).shape == (0, 3)


def test_boxes_without_area_and_infinite_scores() -> None:
    boxes = boxes_of(1, 6)
    boxes[0, 1] = boxes[0, 2] = [1, 1, 1, 1]
    scores = scores_of(1, 1, 6)
    scores[0, 0, 3:5] = [np.inf, -np.inf]
    check({"boxes": boxes, "scores": scores, **LIMITS})


def test_shapes_that_do_not_fit() -> None:
    inputs = {"boxes": boxes_of(1, 5), "scores": scores_of(1, 1, 6)}
    check_invalid("NonMaxSuppression", inputs, "do not fit")
    check_invalid("NonMaxSuppression", {**inputs, "boxes": np.zeros((1, 6, 3), np.float32)}, "rank")

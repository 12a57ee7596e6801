# SPDX-License-Identifier: MIT OR Apache-2.0
"""GridSample, against onnxruntime."""

from __future__ import annotations

import numpy as np
import pytest
from harness import check_node, node_model, run
from refusals import check_invalid, check_unsupported

PADDINGS = ["zeros", "border", "reflection"]


@pytest.mark.parametrize("align_corners", [0, 1])
@pytest.mark.parametrize("padding_mode", PADDINGS)
@pytest.mark.parametrize("mode", ["linear", "nearest", "cubic"])
def test_images(mode: str, padding_mode: str, align_corners: int) -> None:
    rng = np.random.default_rng(0)
    feeds = {
        "x": rng.standard_normal((2, 3, 4, 5)).astype(np.float32),
        "g": rng.uniform(-1.8, 1.8, (2, 3, 6, 2)).astype(np.float32),
    }
    options = {"mode": mode, "padding_mode": padding_mode, "align_corners": align_corners}
    check_node("GridSample", feeds, rtol=1e-4, atol=1e-5, **options)


@pytest.mark.parametrize("padding_mode", PADDINGS)
@pytest.mark.parametrize("mode", ["linear", "nearest", "cubic"])
@pytest.mark.parametrize("channels", [1, 2, 19])
def test_images_of_several_vectors(channels: int, mode: str, padding_mode: str) -> None:
    rng = np.random.default_rng()
    feeds = {
        "x": rng.standard_normal((2, channels, 9, 7)).astype(np.float32),
        "g": rng.uniform(-1.3, 1.3, (2, 5, 23, 2)).astype(np.float32),
    }
    check_node("GridSample", feeds, rtol=1e-3, atol=1e-4, mode=mode, padding_mode=padding_mode)


@pytest.mark.parametrize("mode", ["linear", "nearest", "cubic"])
def test_no_element_that_lies_elsewhere_counts(mode: str) -> None:
    """Infinities and NaN reach the positions beside them alone, and none outside of the image."""
    rng = np.random.default_rng()
    x = rng.standard_normal((1, 3, 8, 8)).astype(np.float32)
    x[0, 0, 0, 0], x[0, 1, 7, 7], x[0, 2, :, 7] = np.inf, np.nan, -np.inf
    grid = rng.uniform(-3, 3, (1, 20, 20, 2)).astype(np.float32)
    feeds = {"x": x, "g": grid}
    (found,) = run(node_model("GridSample", feeds, mode=mode), feeds)
    is_far = (np.abs(grid) > 1.6).any(-1)
    assert (found[:, :, is_far[0]] == 0).all()
    is_inner = (np.abs(grid[0]) < 0.35).all(-1)  # with cubic taps, two elements from the edge
    assert np.isfinite(found[0][:, is_inner]).all()


@pytest.mark.parametrize("padding_mode", PADDINGS)
@pytest.mark.parametrize("mode", ["linear", "nearest"])
def test_volumes(mode: str, padding_mode: str) -> None:
    rng = np.random.default_rng(1)
    feeds = {
        "x": rng.standard_normal((1, 2, 3, 4, 5)).astype(np.float32),
        "g": rng.uniform(-1.5, 1.5, (1, 2, 3, 2, 3)).astype(np.float32),
    }
    check_node("GridSample", feeds, rtol=1e-4, atol=1e-5, mode=mode, padding_mode=padding_mode)


def test_old_names_of_modes() -> None:
    rng = np.random.default_rng(2)
    feeds = {
        "x": rng.standard_normal((1, 1, 4, 4)).astype(np.float32),
        "g": rng.uniform(-1, 1, (1, 3, 3, 2)).astype(np.float32),
    }
    for mode in ("bilinear", "bicubic"):
        check_node("GridSample", feeds, rtol=1e-4, atol=1e-5, opset=16, mode=mode)


@pytest.mark.parametrize("padding_mode", PADDINGS)
def test_positions_that_are_no_numbers_stay_inside(padding_mode: str) -> None:
    feeds = {
        "x": np.ones((1, 1, 1, 3), np.float32),
        "g": np.array([np.nan, np.inf, -np.inf, 1e30, -1e30, 0], np.float32).reshape(1, 1, 3, 2),
    }
    (found,) = run(
        node_model("GridSample", feeds, padding_mode=padding_mode, align_corners=1), feeds
    )
    assert found.shape == (1, 1, 1, 3)


def test_refusals() -> None:
    x, grid = np.ones((1, 1, 2, 2), np.float32), np.ones((1, 3, 3, 2), np.float32)
    check_invalid("GridSample", {"x": x, "g": grid}, "'mode'", mode="lanczos")
    check_invalid("GridSample", {"x": x, "g": grid}, "'padding_mode'", padding_mode="wrap")
    check_invalid("GridSample", {"x": x, "g": grid[..., :1]}, "does not fit")
    volume = {"x": np.ones((1, 1, 2, 2, 2), np.float32), "g": np.ones((1, 1, 1, 1, 3), np.float32)}
    check_unsupported("GridSample", volume, "cubic", mode="cubic")

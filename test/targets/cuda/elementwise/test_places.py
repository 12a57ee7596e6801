# SPDX-License-Identifier: MIT OR Apache-2.0
"""Kernels whose places are no linear functions, with several neighbouring outputs of a thread."""

from __future__ import annotations

import numpy as np
import pytest
from text_model import run

from xyntra.passes.lower.gpu.elementwise import general


def nearest(sizes: tuple[int, int], scales: tuple[float, float]) -> str:
    """Return a model that resizes an image to the nearest of its elements."""
    height, width = (int(size * scale) for size, scale in zip(sizes, scales, strict=True))
    return f"""
<ir_version: 8, opset_import: ["" : 18]>
graph ({{T}}[1,3,{sizes[0]},{sizes[1]}] x) => ({{T}}[1,3,{height},{width}] y)
<float[4] scales = {{{{1.0, 1.0, {scales[0]:.1f}, {scales[1]:.1f}}}}}>
{{{{
  y = Resize<mode = "nearest", coordinate_transformation_mode = "asymmetric",
             nearest_mode = "floor">(x, , scales)
}}}}
"""


@pytest.mark.parametrize("kind", ["float16", "float"])
@pytest.mark.parametrize(
    ("sizes", "scales"), [((5, 6), (2, 4)), ((4, 8), (3, 2)), ((3, 5), (1, 3)), ((4, 6), (2, 2.5))]
)
def test_resizing_to_nearest(
    kind: str, sizes: tuple[int, int], scales: tuple[float, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(general, "_MANY", 1)  # small images take vectors, too
    found, right, _ = run(nearest(sizes, scales), kind)
    np.testing.assert_array_equal(found[0], right[0].astype(found[0].dtype))


def test_many_outputs_are_stored_in_vectors() -> None:
    found, right, images = run(nearest((40, 48), (4, 8)), "float16")
    np.testing.assert_array_equal(found[0], right[0].astype(found[0].dtype))
    schedules = [launch.schedule for image in images for launch in image.launches]
    assert not any(each in ("outputs", "pointwise") for each in schedules)

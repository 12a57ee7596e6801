# SPDX-License-Identifier: MIT OR Apache-2.0
"""NudeNet 320n: a YOLOv8-nano detector, the usual shape of a detection network."""

from __future__ import annotations

from functools import partial

from bench.models.pictures import picture
from bench.models.spec import InputSpec, ModelSpec
from bench.models.wheels import WheelFile, fetch

__all__ = ["SPECS"]

DETECTOR = WheelFile(
    requirement="nudenet==3.4.2",
    member="nudenet/320n.onnx",
    sha256="c15d8273adad2d0a92f014cc69ab2d6c311a06777a55545f2c4eb46f51911f0f",
)

SPECS = (
    ModelSpec(
        name="nudenet",
        title="NudeNet 320n (YOLOv8n)",
        source="wheel nudenet 3.4.2",
        licence="MIT (the package); AGPL-3.0 (the model file's own metadata)",
        inputs=(InputSpec("images", "float32", (1, 3, 320, 320), picture(0.0, 1.0)),),
        build=partial(fetch, DETECTOR),
        from_wheel=True,
        free_dimensions=("images",),
    ),
)

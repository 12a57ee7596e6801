# SPDX-License-Identifier: MIT OR Apache-2.0
"""PaddleOCR's three mobile models: find text, find its direction, read it."""

from __future__ import annotations

from functools import partial

from bench.models.pictures import picture
from bench.models.spec import InputSpec, ModelSpec
from bench.models.wheels import WheelFile, fetch

__all__ = ["SPECS"]

REQUIREMENT = "rapidocr-onnxruntime==1.4.4"


def _spec(name: str, title: str, shape: tuple[int, ...], member: str, sha256: str) -> ModelSpec:
    source = WheelFile(REQUIREMENT, f"rapidocr_onnxruntime/models/{member}", sha256)
    return ModelSpec(
        name=name,
        title=title,
        source="wheel rapidocr-onnxruntime 1.4.4",
        licence="Apache-2.0",
        # Pixels are scaled to [-1, 1]: mean 0.5 and standard deviation 0.5 in every channel.
        inputs=(InputSpec("x", "float32", shape, picture(-1.0, 1.0)),),
        build=partial(fetch, source),
        from_wheel=True,
        free_dimensions=("x",),
    )


SPECS = (
    _spec(
        "rapidocr-det",
        "PP-OCRv4 text detection",
        (1, 3, 640, 640),
        "ch_PP-OCRv4_det_infer.onnx",
        "d2a7720d45a54257208b1e13e36a8479894cb74155a5efe29462512d42f49da9",
    ),
    _spec(
        "rapidocr-cls",
        "PP-OCR text direction",
        (1, 3, 48, 192),
        "ch_ppocr_mobile_v2.0_cls_infer.onnx",
        "e47acedf663230f8863ff1ab0e64dd2d82b838fceb5957146dab185a89d6215c",
    ),
    _spec(
        "rapidocr-rec",
        "PP-OCRv4 text recognition",
        (1, 3, 48, 320),
        "ch_PP-OCRv4_rec_infer.onnx",
        "48fc40f24f6d2a207a2b1091d3437eb3cc3eb6b676dc3ef9c37384005483683b",
    ),
)

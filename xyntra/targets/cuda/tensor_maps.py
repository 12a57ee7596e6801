# SPDX-License-Identifier: MIT OR Apache-2.0
"""Encodes tensor maps for the tensor memory accelerator (cuTensorMapEncodeTiled of the driver)."""

from __future__ import annotations

import ctypes
from typing import Any

from xyntra.targets.cuda.driver import checked, driver
from xyntra.targets.cuda.kernel_image import ImageMap

MAP_BYTES = 128
MAP_ALIGNMENT = 64
_ELEMENTS = {
    "f16": "FLOAT16",
    "bf16": "BFLOAT16",
    "f32": "FLOAT32",
    "tf32": "TFLOAT32",
    "i8": "UINT8",
    "i32": "INT32",
}


def encode_map(image: ImageMap, address: int, target: int, kernel: str) -> None:
    """Write the 128 bytes of a tensor map; elements outside of the tensor read as zero.

    Args:
        image: what it describes.
        address: of the launch's argument that it is of.
        target: where they are written, a multiple of 64.
        kernel: for messages.

    Raises:
        DeviceError: the driver refuses the description.
    """
    cuda = driver()
    kind = cuda.CUtensorMapDataType
    words, halves = cuda.cuuint64_t, cuda.cuuint32_t
    swizzle = f"CU_TENSOR_MAP_SWIZZLE_{image.swizzle}B" if image.swizzle else ""
    result = cuda.cuTensorMapEncodeTiled(
        getattr(kind, f"CU_TENSOR_MAP_DATA_TYPE_{_ELEMENTS[image.element]}"),
        len(image.sizes),
        address + image.offset,
        [words(size) for size in image.sizes],
        [words(stride) for stride in image.strides],
        [halves(size) for size in image.box],
        [halves(1)] * len(image.sizes),
        cuda.CUtensorMapInterleave.CU_TENSOR_MAP_INTERLEAVE_NONE,
        getattr(cuda.CUtensorMapSwizzle, swizzle or "CU_TENSOR_MAP_SWIZZLE_NONE"),
        cuda.CUtensorMapL2promotion.CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
        cuda.CUtensorMapFloatOOBfill.CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
    )
    encoded: Any = checked(result, "describing a tensor", kernel)
    ctypes.memmove(target, int(encoded.getPtr()), MAP_BYTES)

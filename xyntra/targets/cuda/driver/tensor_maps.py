# SPDX-License-Identifier: MIT OR Apache-2.0
"""Encodes tensor maps for the tensor memory accelerator (cuTensorMapEncode… of the driver)."""

from __future__ import annotations

import ctypes
from typing import Any

from xyntra.targets.cuda.code.kernel_image import ImageMap
from xyntra.targets.cuda.driver.driver import checked, driver

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
    result = (
        _encoded_pixels(cuda, image, address) if image.lower else _encoded(cuda, image, address)
    )
    encoded: Any = checked(result, "describing a tensor", kernel)
    ctypes.memmove(target, int(encoded.getPtr()), MAP_BYTES)


def _encoded(cuda: Any, image: ImageMap, address: int) -> Any:
    halves = cuda.cuuint32_t
    return cuda.cuTensorMapEncodeTiled(
        *_tensor(cuda, image, address),
        [halves(size) for size in image.box],
        [halves(1)] * len(image.sizes),
        *_form(cuda, image),
    )


def _encoded_pixels(cuda: Any, image: ImageMap, address: int) -> Any:
    return cuda.cuTensorMapEncodeIm2col(
        *_tensor(cuda, image, address),
        list(image.lower),
        list(image.upper),
        *image.box,
        [cuda.cuuint32_t(step) for step in image.steps],
        *_form(cuda, image),
    )


def _tensor(cuda: Any, image: ImageMap, address: int) -> tuple[Any, ...]:
    words = cuda.cuuint64_t
    return (
        getattr(cuda.CUtensorMapDataType, f"CU_TENSOR_MAP_DATA_TYPE_{_ELEMENTS[image.element]}"),
        len(image.sizes),
        address + image.offset,
        [words(size) for size in image.sizes],
        [words(stride) for stride in image.strides],
    )


def _form(cuda: Any, image: ImageMap) -> tuple[Any, ...]:
    swizzle = f"CU_TENSOR_MAP_SWIZZLE_{image.swizzle}B" if image.swizzle else ""
    return (
        cuda.CUtensorMapInterleave.CU_TENSOR_MAP_INTERLEAVE_NONE,
        getattr(cuda.CUtensorMapSwizzle, swizzle or "CU_TENSOR_MAP_SWIZZLE_NONE"),
        cuda.CUtensorMapL2promotion.CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
        cuda.CUtensorMapFloatOOBfill.CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
    )

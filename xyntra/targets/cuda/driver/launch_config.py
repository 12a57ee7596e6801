# SPDX-License-Identifier: MIT OR Apache-2.0
"""The driver's description of a launch (CUlaunchConfig of cuda.h), as it lies in memory."""

from __future__ import annotations

import ctypes

from xyntra.targets.cuda.code.kernel_image import ImageLaunch

CLUSTER_DIMENSION, _PROGRAMMATIC_STREAM_SERIALIZATION = 4, 6  # of CUlaunchAttributeID
_Dimensions = ctypes.c_uint32 * 3


class LaunchAttribute(ctypes.Structure):
    """CUlaunchAttribute: one property beyond grid and block."""

    _fields_ = (
        ("id", ctypes.c_int32),
        ("padding", ctypes.c_int32),
        ("value", ctypes.c_uint32 * 16),
    )


class LaunchConfig(ctypes.Structure):
    """CUlaunchConfig: the grid and the stream of a launch."""

    _fields_ = (
        ("grid", _Dimensions),
        ("block", _Dimensions),
        ("shared_bytes", ctypes.c_uint32),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(LaunchAttribute)),
        ("attribute_count", ctypes.c_uint32),
    )


def configured(launch: ImageLaunch) -> LaunchConfig:
    """Return the description of a launch, with no stream yet."""
    attributes = []
    if launch.cluster > 1:
        attributes.append(_attribute(CLUSTER_DIMENSION, launch.cluster, 1, 1))
    if launch.programmatic:
        attributes.append(_attribute(_PROGRAMMATIC_STREAM_SERIALIZATION, 1))
    config = LaunchConfig(
        grid=_Dimensions(launch.grid, 1, 1),
        block=_Dimensions(launch.block, 1, 1),
        shared_bytes=launch.shared,
    )
    if attributes:
        config.attributes = (LaunchAttribute * len(attributes))(*attributes)
        config.attribute_count = len(attributes)
    return config


def _attribute(number: int, *words: int) -> LaunchAttribute:
    return LaunchAttribute(id=number, value=(ctypes.c_uint32 * 16)(*words))

# SPDX-License-Identifier: MIT OR Apache-2.0
"""The description of a launch lies in memory as NVIDIA's bindings lay it out. No GPU is needed."""

from __future__ import annotations

import ctypes

import pytest

from xyntra.targets.cuda.code.kernel_image import ImageLaunch
from xyntra.targets.cuda.driver.launch_config import LaunchAttribute, LaunchConfig, configured

cuda = pytest.importorskip("cuda.bindings.driver")


def words(address, count):
    return list((ctypes.c_uint32 * count).from_address(address))


def theirs(launch, stream):
    """The same description by the bindings, with what it points to."""
    config = cuda.CUlaunchConfig()
    config.gridDimX, config.gridDimY, config.gridDimZ = launch.grid, 1, 1
    config.blockDimX, config.blockDimY, config.blockDimZ = launch.block, 1, 1
    config.sharedMemBytes, config.hStream = launch.shared, stream
    names, attributes = cuda.CUlaunchAttributeID, []
    if launch.cluster > 1:
        attributes.append(cuda.CUlaunchAttribute())
        attributes[-1].id = names.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
        value = attributes[-1].value.clusterDim
        value.x, value.y, value.z = launch.cluster, 1, 1
    if launch.programmatic:
        attributes.append(cuda.CUlaunchAttribute())
        attributes[-1].id = names.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
        attributes[-1].value.programmaticStreamSerializationAllowed = 1
    config.attrs, config.numAttrs = attributes, len(attributes)
    return config


@pytest.mark.parametrize("cluster", [1, 8])
@pytest.mark.parametrize("programmatic", [False, True])
def test_a_launch_is_described_as_the_bindings_do(cluster, programmatic):
    launch = ImageLaunch("k", 7, 256, 4096, cluster=cluster, programmatic=programmatic)
    ours, other = configured(launch), theirs(launch, 0x123456789A)
    ours.stream = 0x123456789A
    place = LaunchConfig.attributes.offset
    assert words(ctypes.addressof(ours), place // 4) == words(int(other.getPtr()), place // 4)
    count = (cluster > 1) + programmatic
    assert ours.attribute_count == count
    if count:
        at = ctypes.c_uint64.from_address(int(other.getPtr()) + place).value
        used = 18 * count  # a description of an attribute has 72 bytes
        assert ctypes.sizeof(LaunchAttribute) == 72
        assert words(ctypes.addressof(ours.attributes.contents), used) == words(at, used)

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads memory of the GPU beside wgpu's Python interface, or through it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from xyntra.targets.webgpu.adapter import open_device, wgpu_module
from xyntra.targets.webgpu.native import mapped_bytes

pytestmark = pytest.mark.usefixtures("has_gpu")


def _readable(data: np.ndarray[Any, Any]) -> tuple[Any, Any]:
    """Return a device, and a buffer that the host may read, into which the GPU copies `data`."""
    usage, device = wgpu_module().BufferUsage, open_device().device
    source = device.create_buffer_with_data(data=data, usage=usage.COPY_SRC)
    buffer = device.create_buffer(size=data.nbytes, usage=usage.MAP_READ | usage.COPY_DST)
    encoder = device.create_command_encoder()
    encoder.copy_buffer_to_buffer(source, 0, buffer, 0, data.nbytes)
    device.queue.submit([encoder.finish()])
    return device, buffer


def test_bytes_are_read_without_the_thread_of_wgpu(monkeypatch: pytest.MonkeyPatch) -> None:
    data = np.arange(64, dtype=np.uint8)
    device, buffer = _readable(data)
    monkeypatch.setattr(type(buffer), "map_sync", lambda *_: pytest.fail("wgpu's way was taken"))
    for _ in range(2):
        with mapped_bytes(device, buffer) as found:
            assert np.array_equal(found, data)


def test_bytes_are_read_where_the_library_is_another_one() -> None:
    class Other:
        """A buffer of which wgpu's Python interface shows no more than WebGPU has."""

        def __init__(self, buffer: Any) -> None:
            self.size, self.map_sync = buffer.size, buffer.map_sync
            self.read_mapped, self.unmap = buffer.read_mapped, buffer.unmap

    data = np.arange(64, dtype=np.uint8)
    device, buffer = _readable(data)
    with mapped_bytes(device, Other(buffer)) as found:
        assert np.array_equal(found, data)


def test_a_buffer_that_is_gone_is_an_error() -> None:
    device, buffer = _readable(np.arange(64, dtype=np.uint8))
    buffer.destroy()
    with (
        pytest.raises(Exception, match=r"(?i)destroyed|could not be read"),
        mapped_bytes(device, buffer),
    ):
        pass

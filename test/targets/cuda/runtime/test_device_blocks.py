# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tests the pool of memory for arrays, on a GPU of 10,000 bytes that only counts."""

from __future__ import annotations

import weakref

import pytest

import xyntra.array as xa
from xyntra.errors import DeviceError, UnsupportedError
from xyntra.targets.cuda.driver import device_blocks
from xyntra.targets.cuda.driver.device_blocks import DeviceBlocks


class CountedMemory:
    """Bytes of a GPU, which has few of them."""

    used = 0

    def __init__(self, nbytes: int) -> None:
        if type(self).used + nbytes > 10_000:
            raise DeviceError("gpu-memory", "allocating failed", cause="CUDA_ERROR_OUT_OF_MEMORY")
        type(self).used += nbytes
        self.nbytes = nbytes
        weakref.finalize(self, self.let_go, nbytes)

    @classmethod
    def let_go(cls, nbytes: int) -> None:
        cls.used -= nbytes


@pytest.fixture
def blocks(monkeypatch: pytest.MonkeyPatch) -> DeviceBlocks:
    monkeypatch.setattr(device_blocks, "DeviceMemory", CountedMemory)
    return DeviceBlocks()


def test_what_is_given_back_is_taken_again_and_counted(blocks: DeviceBlocks) -> None:
    first, second = blocks.take(1000, 0), blocks.take(100, 0)
    assert (blocks.held, blocks.peak, blocks.waiting) == (1536, 1536, 0)
    blocks.give_back(first, 0)
    assert (blocks.held, blocks.peak, blocks.waiting) == (512, 1536, 1024)
    assert blocks.take(1024, 1) is not first  # of another stream
    assert blocks.take(1024, 0) is first
    assert (blocks.held, blocks.waiting) == (2560, 0)
    blocks.give_back(second, 0)
    blocks.release()
    assert (blocks.held, blocks.waiting) == (2048, 0)


def test_what_waits_is_let_go_before_memory_ends(blocks: DeviceBlocks) -> None:
    blocks.give_back(blocks.take(6000, 0), 0)
    assert CountedMemory.used == 6144
    kept = blocks.take(8000, 0)
    assert CountedMemory.used == kept.nbytes == 8192
    with pytest.raises(DeviceError, match="3,072 bytes has no room") as caught:
        blocks.take(3000, 0)
    assert caught.value.code == "gpu-memory"
    assert "arrays hold 8,192 bytes" in (caught.value.cause or "")
    assert "OUT_OF_MEMORY" in (caught.value.cause or "")
    del kept


def test_a_limit_counts_what_waits(blocks: DeviceBlocks) -> None:
    blocks.limit = 5000
    blocks.give_back(blocks.take(2000, 0), 0)
    kept = blocks.take(4000, 0)
    assert blocks.waiting == 0
    with pytest.raises(DeviceError, match="no room") as caught:
        blocks.take(2000, 0)
    assert "the limit is 5,000" in (caught.value.cause or "")
    blocks.limit = None
    assert blocks.take(2000, 0).nbytes == 2048
    del kept


def test_the_host_has_no_pool() -> None:
    with pytest.raises(UnsupportedError, match="memory of the host"):
        xa.memory("cpu")

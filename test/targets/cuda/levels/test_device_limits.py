# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tests that launches keep the limits of each GPU: memory, threads, clusters, features."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from itertools import islice

import pytest
from emulator import run_artifact
from gpu_code import change_devices
from norm_kernels import reader
from test_attention_code import CAUSAL, attention
from test_fma import CONVOLUTION
from test_fma import product as exact_product
from test_mma import product
from test_rows import NARROW, NORM, WIDEN

from verify.random_models.case import contents
from verify.random_models.check import compared
from verify.random_models.command import draw
from verify.random_models.compile import compile_case
from verify.random_models.reference import expected
from xyntra.dialects import make_context
from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cuda import LaunchCode, LoweredCudaKernel, lower_kernel
from xyntra.passes.lower.cuda.matmul.fma.tiles import choose_fma_tile
from xyntra.passes.lower.cuda.matmul.mma.tiles import choose_mma_tile
from xyntra.passes.lower.gpu.device import DEVICES, Feature, GpuDevice

each_device = pytest.mark.parametrize("device", DEVICES.values(), ids=DEVICES)
STATIC = re.compile(r"^@__wg_(\w+)_\d+ = .*addrspace\(3\) global \[(\d+) x (\w+)\]", re.MULTILINE)
ITEMS = {"half": 2, "bfloat": 2, "float": 4, "double": 8, "i8": 1, "i16": 2, "i32": 4, "i64": 8}


def static_bytes(lowered: LoweredCudaKernel, launch: LaunchCode) -> int:
    """Shared memory that the code of a launch has without asking for it."""
    found = STATIC.findall(lowered.llvm_ir)
    return sum(int(n) * ITEMS[kind] for name, n, kind in found if name == launch.entry)


def norm(rows: int, size: int, dtype: str) -> str:
    body = {"widen": WIDEN[dtype], "narrow": NARROW[dtype]}
    return NORM.format(rows=rows, size=size, dtype=dtype, **body)


KERNELS = {
    "few rows": product(8, 4096, 4096, layout="kn"),
    "a square": product(2048, 2048, 1024, factor="bf16"),
    "odd rows": product(777, 1001, 513),
    "integers": product(300, 500, 700, factor="i8"),
    "exact": exact_product(1000, 1000, 500),
    "exact, few rows": exact_product(8, 700, 3000),
    "convolution": CONVOLUTION.format(c=36),
    "norms of a factor": reader(512, [768], 768, "f16"),
    "norms of a factor of several": reader(512, [768, 768, 768], 768, "f16"),
    "one row": norm(1, 200_000, "f32"),
    "many rows": norm(3000, 40_000, "bf16"),
    "short rows": norm(50_000, 256, "f16"),
    "attention": attention((2, 16, 700, 700, 64, 64), "f16", CAUSAL),
    "large heads": attention((1, 4, 500, 500, 256, 256), "bf16"),
    "a cache": attention((1, 8, 1, 4000, 128, 128), "bf16"),
    "a small cache": attention((1, 12, 3, 4000, 64, 64), "f16"),
    "f32 attention": attention((1, 4, 300, 300, 128, 128), "f32"),
}  # fmt: skip
"""Of every kind whose plan asks the device."""


@pytest.fixture(scope="module")
def context() -> ir.Context:
    return make_context()


@each_device
@pytest.mark.parametrize("name", KERNELS)
def test_launches_fit(name: str, device: GpuDevice, context: ir.Context) -> None:
    with context:
        lowered = lower_kernel(ir.Module.parse(KERNELS[name]), device.name)
    assert lowered.launches
    for each in lowered.launches:
        shape = each.shape
        assert shape.shared + static_bytes(lowered, each) <= device.block_shared_bytes
        assert shape.block <= min(1024, device.threads)
        assert shape.cluster == 1 or device.has(Feature.CLUSTERS)
        assert shape.grid % shape.cluster == 0
        assert not shape.maps or device.has(Feature.WGMMA)
        assert not shape.programmatic or device.has(Feature.DEPENDENT_LAUNCH)
        assert shape.resident * shape.block <= device.threads


@each_device
@pytest.mark.parametrize("kind", ["row", "contraction", "attention", "convolution"])
def test_results(kind: str, device: GpuDevice, context: ir.Context) -> None:
    """Small random models, of which each architecture is given others."""
    first = 1000 * list(DEVICES).index(device.name)
    cases = (draw(kind, seed) for seed in range(first, first + 1000))
    small = (case for case in cases if sum(contents(leaf).size for leaf in case.leaves) < 8000)
    for case in islice(small, 3):
        artifact = compile_case(case, device.name, context)
        inputs = case.arrays("input")
        arrays = [inputs[port.name] for port in artifact.plan.inputs]
        found = run_artifact(artifact, arrays, case.arrays("weight"))
        assert not compared(found, expected(case)).problem, case.label


@each_device
def test_tiles_fit(device: GpuDevice) -> None:
    draw = random.Random(3)
    for _ in range(300):
        rows, columns, parts = (draw.randint(1, 1 << draw.randint(1, 13)) for _ in range(3))
        batch = draw.choice([1, 1, draw.randint(2, 5000)])
        for choose in (choose_mma_tile, choose_fma_tile):
            tile = choose(device, rows, columns, batch, parts)
            assert tile is not None
            assert tile.resident(device) >= 1
            assert tile.shared_bytes <= device.block_shared_bytes
            assert tile.split == 1 or (device.has(Feature.CLUSTERS) and tile.split <= parts)


@pytest.mark.parametrize("choose", [choose_mma_tile, choose_fma_tile])
def test_less_shared_memory_leaves_smaller_tiles(choose) -> None:
    device = DEVICES["sm_80"]
    sizes = (4096, 4096, 1, 64)
    large = choose(device, *sizes)
    for nbytes in (large.shared_bytes - 1, 24 << 10, 1):
        small = choose(with_memory(device, nbytes), *sizes)
        assert small is None or small.shared_bytes <= nbytes
        assert (small is None) == (nbytes == 1)


def with_memory(device: GpuDevice, nbytes: int) -> GpuDevice:
    return replace(device, block_shared_bytes=nbytes, shared_bytes=nbytes + device.reserved_bytes)


def test_persistent_blocks_are_no_more_than_multiprocessors(
    context: ir.Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    for count in (16, 100):
        with monkeypatch.context() as patch, context:
            change_devices(patch, multiprocessors=count)
            (launch,) = lower_kernel(ir.Module.parse(KERNELS["a square"]), "sm_90a").launches
        assert (launch.shape.grid, launch.shape.cluster) == (count, 1)

# SPDX-License-Identifier: MIT OR Apache-2.0
"""The table of GPUs: what it says, and that emitters assume nothing of a GPU beside it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from new_process import printed_by

from xyntra.passes.lower.gpu.device import DEVICES, Feature, GpuDevice, device_of
from xyntra.targets.cuda.code.architecture import (
    CudaTarget,
    architecture_of,
    parse_target,
    ptx_feature,
)

TABLE = "passes/lower/gpu/device.py"
NAME = re.compile(r"sm_\d+[af]?")
COUNTS = [each * device_of("sm_90a").multiprocessors for each in range(1, 9)]
"""Blocks that would be so many for each multiprocessor of every GPU, if all were H100s."""
each_device = pytest.mark.parametrize("device", DEVICES.values(), ids=DEVICES)


@each_device
def test_every_name_is_a_target(device: GpuDevice) -> None:
    assert parse_target(f"cuda:{device.name}") == CudaTarget(0, device.name)
    assert ptx_feature(device.name) == device.ptx
    assert re.fullmatch(r"ptx\d\d", device.ptx)
    assert device_of(device.name) is device


@each_device
def test_every_capability_has_one_architecture(device: GpuDevice) -> None:
    assert {architecture_of(each) for each in device.capabilities} <= {device.name}
    for major, minor in device.capabilities:
        number = int(re.sub(r"\D", "", device.name))
        assert number <= 10 * major + minor < 10 * (number // 10) + 10


def test_all_gpus_of_the_data_centre_have_code() -> None:
    for capability, name in {(8, 0): "sm_80", (9, 0): "sm_90a", (10, 0): "sm_100a"}.items():
        assert architecture_of(capability) == name


@each_device
def test_features_agree(device: GpuDevice) -> None:
    number = int(re.sub(r"\D", "", device.name))
    assert device.has(Feature.MMA)
    assert device.has(Feature.CLUSTERS) == device.has(Feature.DEPENDENT_LAUNCH) == (number >= 90)
    if device.has(Feature.WGMMA):
        assert device.has(Feature.MMA)
        assert device.has(Feature.CLUSTERS)
        assert device.name.endswith("a")  # which later GPUs do not run


@each_device
def test_numbers_agree(device: GpuDevice) -> None:
    assert device.block_shared_bytes + device.reserved_bytes <= device.shared_bytes
    assert device.threads % device.subgroup == 0
    assert device.blocks * device.subgroup <= device.threads
    assert device.multiprocessors > 0


@pytest.mark.parametrize(
    ("name", "threads", "shared", "registers", "blocks"),
    [
        ("sm_90a", 256, 0, 64, 4), ("sm_90a", 256, 0, 32, 8), ("sm_90a", 32, 0, 32, 32),
        ("sm_86", 32, 0, 32, 16), ("sm_89", 512, 0, 32, 3), ("sm_90a", 128, 75 << 10, 64, 3),
        ("sm_80", 128, 75 << 10, 64, 2), ("sm_86", 128, 49 << 10, 64, 2),
        ("sm_86", 128, 50 << 10, 64, 1), ("sm_86", 128, 100 << 10, 64, 0),
        ("sm_90a", 384, 227 << 10, 168, 1), ("sm_90a", 1024, 0, 128, 0),
        # What NVIDIA's calculator (cuda_occupancy.h of CUDA 13.0) says: registers are given to
        # warps by 256, warps to partitions, and shared memory to blocks by 128 bytes.
        ("sm_80", 256, 0, 32, 8), ("sm_80", 256, 0, 40, 6), ("sm_80", 128, 0, 37, 12),
        ("sm_80", 1024, 0, 64, 1), ("sm_80", 1024, 0, 65, 0), ("sm_80", 64, 0, 255, 4),
        ("sm_80", 96, 0, 32, 21), ("sm_80", 128, 40 << 10, 64, 4), ("sm_80", 256, 82944, 32, 2),
        ("sm_80", 256, 164 << 10, 32, 0), ("sm_90a", 288, 100 << 10, 96, 2),
        ("sm_90a", 160, 0, 72, 5), ("sm_90a", 32, 0, 16, 32), ("sm_90a", 512, 0, 128, 1),
        ("sm_90a", 1000, 1, 33, 1),
    ],
)  # fmt: skip
def test_blocks_of_a_multiprocessor(
    name: str, threads: int, shared: int, registers: int, blocks: int
) -> None:
    assert device_of(name).resident(threads, shared, registers) == blocks


def test_what_limits_the_blocks_of_a_multiprocessor() -> None:
    limits = device_of("sm_90a").block_limits(288, 100 << 10, 96)
    assert limits == {"registers": 2, "shared memory": 2, "warps": 7, "blocks": 32}


def test_features_can_be_left_out() -> None:
    device = device_of("sm_90a")
    bare = device.without(*Feature)
    assert not any(bare.has(feature) for feature in Feature)
    assert replace(bare, features=device.features) == device
    assert device.without() == device


def test_the_table_loads_no_mlir() -> None:
    program = (
        "import sys, xyntra.passes.lower.gpu.device, xyntra.targets.cuda.code.architecture\n"
        "print(sorted({name.split('.')[0] for name in sys.modules} & {'torch_mlir', 'numpy'}))"
    )
    assert printed_by(program).strip() == "[]"


@each_device
def test_the_documentation_has_the_same_table(device: GpuDevice, root: Path) -> None:
    features = (Feature.MMA, Feature.CLUSTERS, Feature.WGMMA)
    numbers = f"{device.multiprocessors} | {device.block_shared_bytes >> 10} KiB"
    row = "".join(" yes |" if device.has(each) else " |" for each in features)
    text = (root / "docs" / "cuda" / "kernels.md").read_text(encoding="utf-8")
    (line,) = re.findall(rf"^\| {device.name} \|.*$", text, re.MULTILINE)
    assert line.endswith(f"| {numbers} |{row}")


def constants(path: Path) -> Iterator[ast.Constant]:
    """Yield the numbers and strings in a file, without docstrings, which are longer than names."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant):
            yield node


def assumptions(root: Path) -> Iterator[str]:
    """Yield a message for every architecture, and number of multiprocessors, beside the table."""
    for folder in ("passes", "xyntra"):
        for path in sorted((root / folder).rglob("*.py")):
            place = path.relative_to(root).as_posix()
            if place == TABLE:
                continue
            emits = place.startswith(("passes/lower/cuda", "passes/lower/gpu"))
            for each in constants(path):
                value = each.value
                is_name = isinstance(value, str) and NAME.fullmatch(value)
                if is_name or (emits and type(value) is int and value in COUNTS):
                    yield f"{place}:{each.lineno}: {value!r} belongs into {TABLE}"


def test_nothing_else_knows_gpus(root: Path) -> None:
    found = list(assumptions(root))
    if found:
        pytest.fail("\n".join(found), pytrace=False)


@pytest.mark.parametrize(
    ("path", "text", "found"),
    [
        ("passes/lower/cuda/a.py", "X = 2 * 132\n", ["1: 132"]),
        ("passes/lower/cuda/a.py", "\nX = frozenset({'sm_90', 'sm_100a'})\n", ["2: 'sm_90'",
                                                                           "2: 'sm_100a'"]),
        ("passes/lower/cuda/b/a.py", "X = 528\n", ["1: 528"]),
        ("xyntra/a.py", "def f(x):\n    return x == 'sm_80'\n", ["2: 'sm_80'"]),
        ("xyntra/a.py", "'''Such as sm_80.'''\nX = 132\n", []),
        (TABLE, "X = 'sm_80', 132\n", []),
    ],
)  # fmt: skip
def test_what_belongs_into_the_table_is_found(
    path: str, text: str, found: list[str], tmp_path: Path
) -> None:
    (tmp_path / path).parent.mkdir(parents=True)
    (tmp_path / path).write_text(text, encoding="utf-8")
    wanted = [f"{path}:{each} belongs into {TABLE}" for each in found]
    assert list(assumptions(tmp_path)) == wanted

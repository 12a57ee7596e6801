# SPDX-License-Identifier: MIT OR Apache-2.0
"""GPUs as wgpu opens them, beside the compiler in one process."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass

import pytest

from xyntra.errors import UnsupportedError
from xyntra.targets.base import WrongMachine
from xyntra.targets.webgpu.adapter import architecture_of
from xyntra.targets.webgpu.backend import BACKEND

_OPEN_THEN_COMPILE = """
from xyntra.errors import XyntraError
from xyntra.targets.webgpu.adapter import adapters, open_device
try:
    open_device()
except XyntraError as error:
    raise SystemExit(f"skip: {error.message}")
assert all(each.info["backend_type"] != "OpenGL" for each in adapters())
import xyntra.dialects.mlir
print("compiler loaded")
"""


def test_the_compiler_loads_after_a_gpu_was_opened() -> None:
    pytest.importorskip("wgpu")
    done = subprocess.run(
        [sys.executable, "-c", _OPEN_THEN_COMPILE], capture_output=True, text=True, timeout=60
    )
    if "skip: " in done.stderr:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr
    assert "compiler loaded" in done.stdout


@pytest.mark.parametrize(
    ("target", "architecture"),
    [
        ("webgpu", "webgpu"),
        ("webgpu:9999", "webgpu"),  # there is none: portable code
        ("webgpu:webgpu-discrete", "webgpu-discrete"),
    ],
)
def test_targets_name_what_code_is_for(target: str, architecture: str) -> None:
    assert BACKEND.locate(target)[0] == architecture


def test_unknown_kinds_of_adapters_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="webgpu-quantum") as found:
        BACKEND.locate("webgpu:webgpu-quantum")
    assert "webgpu:webgpu-discrete" in str(found.value.hint)


def test_saved_code_says_what_it_is_for() -> None:
    key = BACKEND.machine_key("webgpu-discrete")
    assert BACKEND.locate_saved(key, "auto") == ("webgpu-discrete", 0)
    assert BACKEND.summary_of(key) == "webgpu (webgpu-discrete)"
    with pytest.raises(WrongMachine):
        BACKEND.locate_saved(BACKEND.machine_key("webgpu-quantum"), "auto")


@dataclass
class _Adapter:
    info: dict[str, str]
    limits: dict[str, int]
    features: frozenset[str]


@pytest.mark.parametrize(
    ("kind", "memory", "features", "architecture"),
    [
        ("DiscreteGPU", 48 << 10, "subgroup other", "webgpu-discrete-subgroups"),
        ("DiscreteGPU", 48 << 10, "", "webgpu-discrete"),
        ("DiscreteGPU", 16 << 10, "", "webgpu"),
        ("IntegratedGPU", 48 << 10, "subgroup", "webgpu-subgroups"),
    ],
)
def test_an_adapter_has_code_of_its_kind(
    kind: str, memory: int, features: str, architecture: str
) -> None:
    limits = {"max-compute-workgroup-storage-size": memory}
    adapter = _Adapter({"adapter_type": kind}, limits, frozenset(features.split()))
    assert architecture_of(adapter) == architecture

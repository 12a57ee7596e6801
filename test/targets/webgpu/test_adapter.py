# SPDX-License-Identifier: MIT OR Apache-2.0
"""GPUs as wgpu opens them, beside the compiler in one process."""

from __future__ import annotations

import subprocess
import sys

import pytest

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

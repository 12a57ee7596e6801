# SPDX-License-Identifier: MIT OR Apache-2.0
"""Kernels compiled for a GPU, and what NVIDIA's assembler says of them."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from xyntra.compiler.kernels.kernel import compile_kernel
from xyntra.passes.lower.gpu.device import DEVICES, Feature
from xyntra.targets.cuda.code.kernel_image import KernelImage
from xyntra.targets.kernel import KernelSource

_DEVICES = dict(DEVICES)


def compiled(text: str, architecture: str = "sm_90a") -> KernelImage:
    source = KernelSource("k", text, architecture=architecture)
    return KernelImage.from_bytes(compile_kernel(source).code)


def change_devices(monkeypatch: pytest.MonkeyPatch, *without: Feature, **numbers: int) -> None:
    """Let code be generated as for GPUs without some features, or with other numbers."""

    for name, device in _DEVICES.items():
        monkeypatch.setitem(DEVICES, name, replace(device.without(*without), **numbers))


def ptxas() -> str | None:
    folder = Path(sys.prefix) / "lib"
    found = sorted(folder.glob("python3*/site-packages/nvidia/cu*/bin/ptxas"))
    return str(found[-1]) if found else shutil.which("ptxas")


def assemble(image: KernelImage, architecture: str, folder: Path) -> str:
    """What ptxas reports about the code."""
    program = ptxas()
    if program is None:
        pytest.skip("ptxas is not installed")
    source = folder / "k.ptx"
    source.write_text(image.ptx)
    command = [program, "-v", f"-arch={architecture}", str(source), "-o", str(folder / "k.cubin")]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout + result.stderr


def assert_no_spills(image: KernelImage, architecture: str, folder: Path) -> None:
    report = assemble(image, architecture, folder)
    assert set(re.findall(r"(\d+) bytes spill", report)) == {"0"}


def product_shapes(rows: int, columns: int, depth: int, layout: str) -> dict[str, str]:
    """Shapes and maps of two factors and their product.

    `layout` says which dimension is contiguous in each factor.
    """
    left = (rows, depth) if layout[0] == "k" else (depth, rows)
    right = (columns, depth) if layout[1] == "k" else (depth, columns)
    return {
        "a": f"{left[0]}x{left[1]}",
        "b": f"{right[0]}x{right[1]}",
        "o": f"{rows}x{columns}",
        "amap": "i, k" if layout[0] == "k" else "k, i",
        "bmap": "j, k" if layout[1] == "k" else "k, j",
    }

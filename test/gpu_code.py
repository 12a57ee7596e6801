# SPDX-License-Identifier: MIT OR Apache-2.0
"""Kernels compiled for a GPU, and what NVIDIA's assembler says of them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from xyntra.targets.cuda.kernel_image import KernelImage
from xyntra.targets.cuda.kernels import compile_image


def compiled(text: str, architecture: str = "sm_90a") -> KernelImage:
    return compile_image(text, "kernel 'k'", architecture)


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

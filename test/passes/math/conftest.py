# SPDX-License-Identifier: MIT OR Apache-2.0
"""Makes the helper module of this folder importable and compiles what several tests share."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from math_kernels import UNARY, Compiled, Kernel, compile_kernels


@pytest.fixture(scope="package")
def functions() -> Compiled:
    """Return every function of one or two f32, by its name without the dialect's."""
    kernels = {name: Kernel(f"%y = math.{name} %x0 : f32", ("f32",), "f32") for name in UNARY}
    for name in ("atan2", "powf"):
        kernels[name] = Kernel(f"%y = math.{name} %x0, %x1 : f32", ("f32", "f32"), "f32")
    for name, result in (("sincos_sin", "%y, %z"), ("sincos_cos", "%z, %y")):
        kernels[name] = Kernel(f"{result} = math.sincos %x0 : f32", ("f32",), "f32")
    return compile_kernels(kernels)

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reports versions and settings of the machine, without private paths."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version

from xyntra.version import VERSION

__all__ = ["settings", "versions"]

_NEEDED = ("torch-mlir", "llvmlite", "numpy", "onnx", "ml_dtypes")
_OPTIONAL = ("onnxruntime", "torch", "egglog", "cuda-bindings", "cuda-core", "nvidia-cuda-nvcc")


def versions() -> list[str]:
    """Return a line each for Xyntra, Python, the libraries that are used, and the system."""
    needed = [f"{name} {_version(name) or 'not installed'}" for name in _NEEDED]
    there = [f"{name} {found}" for name in _OPTIONAL if (found := _version(name))]
    python = f"{platform.python_implementation()} {platform.python_version()}"
    system = f"{platform.platform()} {platform.machine()}"
    return [f"xyntra {VERSION}", python, *needed, *there, system]


def settings(environment: Mapping[str, str]) -> list[str]:
    """Return a line for each setting that an environment makes; a path is not shown."""
    return [
        f"{name}={'(a path)' if os.sep in value else value}"
        for name, value in sorted(environment.items())
        if name.startswith("XYNTRA_")
    ]


def _version(library: str) -> str | None:
    try:
        return version(library)
    except PackageNotFoundError:
        return None

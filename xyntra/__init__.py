# SPDX-License-Identifier: MIT OR Apache-2.0
"""Xyntra: a kernel-fusion compiler for machine-learning models.

    exe = xyntra.compile("model.onnx")
    y = exe(x)
    print(exe.explain())

Importing this package loads none of the libraries below it; names are resolved on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xyntra.api import compile, devices, load, trace  # noqa: A004
    from xyntra.config import Config
    from xyntra.errors import XyntraError
    from xyntra.executable import Executable
    from xyntra.kernels.kernel import kernel

__all__ = [
    "Config",
    "Executable",
    "XyntraError",
    "compile",
    "device",
    "devices",
    "kernel",
    "load",
    "trace",
]

_HOMES = {
    "Config": "config",
    "Executable": "executable",
    "XyntraError": "errors",
    "compile": "api",
    "device": "targets.current",
    "devices": "api",
    "kernel": "kernels.kernel",
    "load": "api",
    "trace": "api",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("xyntra.version").VERSION
    if name not in _HOMES:
        raise AttributeError(f"module 'xyntra' has no attribute {name!r}")
    value = getattr(import_module(f"xyntra.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})

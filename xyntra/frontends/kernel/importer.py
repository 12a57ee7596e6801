# SPDX-License-Identifier: MIT OR Apache-2.0
"""Imports a recorded kernel as linalg on tensors: PyTorch's importer with operators of ours."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from torch_mlir import ir

from xyntra.frontends.kernel.ops.registry import HANDLERS
from xyntra.frontends.torch.importer import import_program
from xyntra.frontends.torch.node import Handler
from xyntra.frontends.torch.node import find_handler as find_aten_handler

__all__ = ["import_kernel"]

_MODULES = ("elementwise", "contraction", "combining")


@cache
def _load() -> None:
    for module in _MODULES:
        import_module(f"xyntra.frontends.kernel.ops.{module}")


def _find_handler(operator: str) -> Handler | None:
    """Return the importer of an operator of ours, such as `xyntra.index`, or of ATen's."""
    _load()
    return HANDLERS.get(operator) or find_aten_handler(operator)


def import_kernel(data: bytes, *, context: ir.Context, max_tensor_bytes: int) -> ir.Module:
    """Import a program that a `Recorder` has made.

    Args:
        data: the program.
        context: where to build, with the xyntra dialect loaded.
        max_tensor_bytes: refuse programs with a larger tensor.

    Raises:
        UnsupportedError: a use of an operator is not supported, with the node's name.
    """
    return import_program(
        data, context=context, max_tensor_bytes=max_tensor_bytes, find=_find_handler
    )

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Imports the program of a recorded graph; its operators are those of `xyntra.array`."""

from __future__ import annotations

from torch_mlir import ir

from xyntra.frontends.arrays.lowering import find_lowering
from xyntra.frontends.torch.importer import import_program

__all__ = ["import_arrays"]


def import_arrays(data: bytes, *, context: ir.Context, max_tensor_bytes: int) -> ir.Module:
    """Import a program whose operators are named `array.…`.

    Args:
        data: the program, an `AtenProgram` as bytes.
        context: where to build, with the xyntra dialect loaded.
        max_tensor_bytes: refuse programs with a larger tensor.

    Raises:
        UnsupportedError: an operator, or a use of one, is not supported, with the node's name.
    """
    return import_program(
        data, context=context, max_tensor_bytes=max_tensor_bytes, find=find_lowering
    )

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Imports a recorded kernel as linalg on tensors: PyTorch's importer with operators of ours."""

from __future__ import annotations

from torch_mlir import ir

from xyntra.frontends.kernel.nested import find_handler
from xyntra.frontends.torch.importer import import_program

__all__ = ["import_kernel"]


def import_kernel(data: bytes, *, context: ir.Context, max_tensor_bytes: int) -> ir.Module:
    """Import a program that a `KernelRecorder` has made.

    Args:
        data: the program.
        context: where to build, with the xyntra dialect loaded.
        max_tensor_bytes: refuse programs with a larger tensor.

    Raises:
        UnsupportedError: a use of an operator is not supported, with the node's name.
    """
    return import_program(
        data, context=context, max_tensor_bytes=max_tensor_bytes, find=find_handler
    )

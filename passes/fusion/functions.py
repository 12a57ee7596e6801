# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds the functions of a module that fusion works on."""

from __future__ import annotations

from collections.abc import Iterator

from xyntra.dialects import Kernel
from xyntra.dialects.mlir import ir


def functions(module: ir.Operation) -> Iterator[ir.Operation]:
    """Functions of `module` that have a body and are no kernels."""
    for view in list(module.regions[0].blocks[0].operations):
        op = view.operation
        if op.name == "func.func" and len(op.regions[0].blocks) and Kernel.of(op) is None:
            yield op


def function_blocks(module: ir.Operation) -> Iterator[ir.Block]:
    """The body of every function of `module` that is no kernel and has one block."""
    for function in functions(module):
        if len(function.regions[0].blocks) == 1:
            yield function.regions[0].blocks[0]

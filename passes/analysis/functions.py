# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds the functions of a module that fusion works on."""

from __future__ import annotations

from collections.abc import Iterator

from xyntra.dialects import KernelFacts
from xyntra.dialects.mlir import ir


def functions(module: ir.Operation) -> Iterator[ir.Operation]:
    """Functions of `module` that have a body and are no kernels."""
    for view in list(module.regions[0].blocks[0].operations):
        op = view.operation
        if op.name == "func.func" and len(op.regions[0].blocks) and KernelFacts.of(op) is None:
            yield op


def weight_positions(block: ir.Block) -> set[int]:
    """Positions of the arguments that are weights, of the function with the body `block`."""
    function = block.owner
    if "arg_attrs" not in function.attributes:
        return set()
    return {
        position
        for position, given in enumerate(ir.ArrayAttr(function.attributes["arg_attrs"]))
        if "xyntra.parameter" in ir.DictAttr(given)
    }


def function_blocks(module: ir.Operation) -> Iterator[ir.Block]:
    """The body of every function of `module` that is no kernel and has one block."""
    for function in functions(module):
        if len(function.regions[0].blocks) == 1:
            yield function.regions[0].blocks[0]

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Lets a function take and return tensors of rank 0 in place of scalars."""

from __future__ import annotations

from xyntra.dialects.mlir import ir
from xyntra.passes.generalize.rewriter import Rewriter, is_scalar

__all__ = ["hold_arguments", "hold_results"]


def hold_arguments(rewriter: Rewriter, block: ir.Block) -> None:
    """Let every argument of the function with the body `block` that is a scalar be a tensor."""
    for argument in list(block.arguments):
        if not is_scalar(argument.type) or isinstance(argument.type, ir.IndexType):
            continue
        # Uses of a scalar are rewritten one by one: they need a value of its type until then.
        scalar = argument.type
        argument.set_type(_held(scalar))
        first = block.operations[0]
        with ir.InsertionPoint(first), first.location:
            element = ir.Operation.create("tensor.extract", results=[scalar], operands=[argument])
        argument.replace_all_uses_except(element.results[0], [element])
        rewriter.stored[element.results[0]] = argument
        rewriter.dead.append(element)
    _update_type(block)


def hold_results(rewriter: Rewriter, block: ir.Block) -> None:
    """Let the function with the body `block` return tensors in place of scalars."""
    terminator = list(block.operations)[-1].operation
    for position, value in enumerate(terminator.operands):
        if is_scalar(value.type) and not isinstance(value.type, ir.IndexType):
            terminator.operands[position] = rewriter.held(terminator, value)
    _update_type(block)


def _held(scalar: ir.Type) -> ir.RankedTensorType:
    return ir.RankedTensorType.get([], scalar, loc=ir.Location.unknown(scalar.context))


def _update_type(block: ir.Block) -> None:
    function = block.owner
    terminator = list(block.operations)[-1].operation
    inputs = [argument.type for argument in block.arguments]
    results = [value.type for value in terminator.operands]
    type_ = ir.FunctionType.get(inputs, results, function.context)
    function.attributes["function_type"] = ir.TypeAttr.get(type_)

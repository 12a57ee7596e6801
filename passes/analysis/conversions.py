# SPDX-License-Identifier: MIT OR Apache-2.0
"""Recognises operations that convert every element of a tensor to another type, where it is."""

from __future__ import annotations

from xyntra.dialects.mlir import ir

__all__ = ["converts"]


def converts(op: ir.Operation, conversion: str) -> bool:
    """Whether `op` does nothing but convert every element, where it is."""
    if op.name != "linalg.generic" or list(op.attributes["operandSegmentSizes"]) != [1, 1]:
        return False
    first, second = [attribute.value for attribute in op.attributes["indexing_maps"]]
    body = op.regions[0].blocks[0]
    operations = [view.operation for view in body.operations]
    if len(operations) != 2 or operations[0].name != conversion:
        return False
    identity = ir.AffineMap.get_identity(first.n_dims)
    return bool(first == second == identity and operations[0].operands[0] == body.arguments[0])

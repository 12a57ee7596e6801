# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tells products of two factors, as contractions have them, from other arithmetic of a body."""

from __future__ import annotations

from collections.abc import Sequence

from xyntra.dialects.mlir import ir

__all__ = [
    "PRODUCT_BODY",
    "Inputs",
    "composed_map",
    "inputs_of",
    "map_of",
    "multiplies_factors",
    "reads_of",
]

Inputs = frozenset[tuple[ir.Value, ir.AffineMap]]
"""Operands with the maps by which loops read them."""

_PRODUCTS = frozenset({"arith.mulf", "arith.muli"})
PRODUCT_BODY = _PRODUCTS | {
    "arith.addf",
    "arith.addi",
    "arith.extf",
    "arith.extsi",
    "arith.extui",
    "linalg.yield",
}
"""What stands in the body of a plain sum of products."""


def multiplies_factors(op: ir.Operation) -> bool:
    """Tell whether a linalg.generic multiplies inputs that lie in different places.

    The square of a difference is no such product, though an element and a mean make it.
    """
    reads = [(value, map_of(op, each)) for each, value in enumerate(inputs_of(op))]
    return reads_of(op, [frozenset([each]) for each in reads])[1]


def reads_of(op: ir.Operation, arguments: Sequence[Inputs]) -> tuple[Inputs, bool]:
    """Follow inputs through the body of a linalg.generic.

    Args:
        op: the generic; its body has no regions.
        arguments: what stands for its inputs.

    Returns:
        What the first yielded value comes from, and whether a product has factors from different
        inputs with different maps.
    """
    body = op.regions[0].blocks[0]
    known: dict[ir.Value, Inputs] = dict(zip(body.arguments, arguments, strict=False))
    multiplies = False
    for view in body.operations:
        inner = view.operation
        reads = [known.get(value, frozenset()) for value in inner.operands]
        if inner.name in _PRODUCTS:
            multiplies = multiplies or _are_factors(*reads)
        if inner.name == "linalg.yield":
            return reads[0], multiplies
        known[inner.results[0]] = frozenset[tuple[ir.Value, ir.AffineMap]]().union(*reads)
    raise AssertionError("a body without an end")


def composed_map(map_: ir.AffineMap, along: ir.AffineMap) -> ir.AffineMap:
    """Return where loops read what loops of a map `along` would read by `map_`."""
    return ir.AffineMap.get(along.n_dims, 0, [each.compose(along) for each in map_.results])


def inputs_of(op: ir.Operation) -> list[ir.Value]:
    """Return the operands of a linalg.generic that it does not write to."""
    return list(op.operands)[: len(op.operands) - len(op.results)]


def map_of(op: ir.Operation, position: int) -> ir.AffineMap:
    """Return the map by which a linalg.generic reads an operand."""
    return ir.AffineMapAttr(op.attributes["indexing_maps"][position]).value


def _are_factors(left: Inputs, right: Inputs) -> bool:
    is_apart = bool(left) and bool(right) and not left & right
    return is_apart and {map_ for _, map_ in left} != {map_ for _, map_ in right}

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds contractions of one tensor with several weights, as a query's, a key's and a value's."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xyntra.dialects.mlir import ir
from xyntra.passes.fusion.graph.factors import PRODUCT_BODY
from xyntra.passes.fusion.weights.weights import (
    StaticValues,
    constant_of_fill,
    shape_of,
    tensor_bytes,
)

__all__ = ["Bias", "Sibling", "find_siblings"]

_BODY = PRODUCT_BODY | {"arith.sitofp", "arith.uitofp"}

_CONSTANT, _COMPUTED = -1, -2

Signature = tuple[tuple[object, ...], ...]


@dataclass(frozen=True)
class Bias:
    """An addition of a vector along the last dimension; `position` is that of the vector."""

    op: ir.Operation
    position: int

    @property
    def vector(self) -> ir.Value:
        """Return what is added: static, N elements along its last dimension."""
        return self.op.operands[self.position]


@dataclass(frozen=True)
class Sibling:
    """A `linalg.generic` that contracts a tensor with a weight.

    Attributes:
        index: number of the operation in its block.
        op: the operation: (tensor, weight, initial value) -> one result.
        axis: dimension of the weight that is the last of the result, of N elements.
        bias: what is added to the result, where nothing else reads the result.
    """

    index: int
    op: ir.Operation
    axis: int
    bias: Bias | None

    @property
    def weight(self) -> ir.Value:
        """The second operand: static."""
        return self.op.operands[1]

    @property
    def columns(self) -> int:
        """N."""
        return int(ir.RankedTensorType(self.op.results[0].type).shape[-1])

    @property
    def elements(self) -> int:
        """Elements of the result."""
        return prod(ir.RankedTensorType(self.op.results[0].type).shape)

    @property
    def weight_bytes(self) -> int:
        """Bytes of weight and bias."""
        return tensor_bytes(self.weight) + (tensor_bytes(self.bias.vector) if self.bias else 0)


def find_siblings(block: ir.Block, static: StaticValues) -> list[list[Sibling]]:
    """Groups of at least two contractions that differ in their weights alone.

    They have one first operand, equal indexing maps and bodies, weights of equal extents but for N,
    and one number that all sums start from.
    """
    groups: dict[tuple[object, ...], list[tuple[int, ir.Operation]]] = {}
    for index, view in enumerate(block.operations):
        op = view.operation
        name = op.name
        if static.add(index, op, name) or name != "linalg.generic":
            continue
        if not static.reductions.has(op):
            continue
        operands = list(op.operands)
        if len(operands) != 3 or operands[0] in static or operands[1] not in static:
            continue
        shared = (operands[0], op.attributes["indexing_maps"], op.attributes["iterator_types"])
        groups.setdefault(shared, []).append((index, op))
    found: dict[tuple[object, ...], list[Sibling]] = {}
    for key, entries in groups.items():
        axis = _weight_axis(entries[0][1]) if len(entries) > 1 else None
        for index, op in entries if axis is not None else ():
            details = _details(op, axis)
            if axis is not None and details is not None and not _is_returned(op.results[0]):
                bias = _bias(op, static)
                sibling = Sibling(index, op, axis, bias)
                found.setdefault((*key, *details), []).append(sibling)
    return [siblings for siblings in found.values() if len(siblings) > 1]


def _weight_axis(op: ir.Operation) -> int | None:
    """The weight's dimension for the result's last loop, if no other operand uses that loop."""
    maps = [attribute.value for attribute in op.attributes["indexing_maps"]]
    if len(maps) != 3:
        return None
    tensor, weight, result = ([_loop(e) for e in map_.results] for map_ in maps)
    if not result or _COMPUTED in (*tensor, *weight, *result) or len(set(weight)) < len(weight):
        return None
    last = result[-1]
    return weight.index(last) if last >= 0 and last in weight and last not in tensor else None


def _loop(expression: ir.AffineExpr) -> int:
    if isinstance(expression, ir.AffineDimExpr):
        return int(expression.position)
    return _CONSTANT if isinstance(expression, ir.AffineConstantExpr) else _COMPUTED


def _details(op: ir.Operation, axis: int | None) -> tuple[object, ...] | None:
    """What siblings have in common beyond operand and maps; None for no contraction of ours."""
    signature, start = _signature(op), constant_of_fill(op.operands[2])
    weight, result = shape_of(op.operands[1]), shape_of(op.results[0])
    if signature is None or start is None or weight is None or result is None or axis is None:
        return None
    if prod(result) == 0 or prod(weight) == 0:
        return None
    element = ir.RankedTensorType(op.operands[1].type).element_type
    kind = ir.RankedTensorType(op.results[0].type).element_type
    return signature, start, element, kind, weight[:axis] + weight[axis + 1 :]


def _signature(op: ir.Operation) -> Signature | None:
    """The body as names and wiring; None where it reads anything but its arguments."""
    block = op.regions[0].blocks[0]
    known = {value: number for number, value in enumerate(block.arguments)}
    lines: list[tuple[object, ...]] = []
    for view in block.operations:
        inner = view.operation
        if inner.name not in _BODY or any(value not in known for value in inner.operands):
            return None
        types = tuple(value.type for value in inner.results)
        lines.append((inner.name, types, *(known[value] for value in inner.operands)))
        known.update({value: len(known) for value in inner.results})
    return tuple(lines)


def _bias(op: ir.Operation, static: StaticValues) -> Bias | None:
    uses = list(op.results[0].uses)
    if len(uses) != 1:
        return None
    add = uses[0].owner.operation
    if add.name != "linalg.generic" or len(add.operands) != 3 or uses[0].operand_number == 2:
        return None
    place = 1 - uses[0].operand_number
    vector = add.operands[place]
    if vector not in static or _is_returned(add.results[0]):
        return None
    if add.results[0].type != op.results[0].type or not _adds_along_last(add, place):
        return None
    return Bias(add, place)


def _adds_along_last(add: ir.Operation, place: int) -> bool:
    maps = [attribute.value for attribute in add.attributes["indexing_maps"]]
    rank = maps[2].n_dims
    identity = ir.AffineMap.get_identity(rank, add.context)
    if maps[2] != identity or maps[1 - place] != identity or rank == 0:
        return False
    loops = [_loop(expression) for expression in maps[place].results]
    if not loops or loops[-1] != rank - 1 or rank - 1 in loops[:-1]:
        return False
    body = _signature(add)
    names = [line[0] for line in body or ()]
    return names in (["arith.addf", "linalg.yield"], ["arith.addi", "linalg.yield"]) and bool(
        body and set(body[0][2:]) == {0, 1} and body[1][2:] == (3,)
    )


def _is_returned(value: ir.Value) -> bool:
    return any(use.owner.operation.name == "func.return" for use in value.uses)

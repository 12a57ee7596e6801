# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds the values of a block that depend on weights and constants alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import prod

from xyntra.dialects.dtypes import ITEM_BYTES
from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.functions import weight_positions
from xyntra.passes.analysis.owners import constant_attribute
from xyntra.passes.analysis.reductions import Reductions
from xyntra.passes.analysis.walking import nested_operations

__all__ = [
    "StaticValues",
    "constant_of_fill",
    "erase_with_unused",
    "is_known_at_load",
    "shape_of",
    "starts_from_zero",
    "static_reductions",
    "tensor_bytes",
]


@dataclass(frozen=True)
class WeightMaps:
    """The indexing maps of an operation, and which of them are the identity."""

    maps: tuple[ir.AffineMap, ...]
    are_identity: tuple[bool, ...]


class StaticValues:
    """The values of one block that depend on weights and constants alone, with what computes them.

    `add` must see the block's operations in order. `reductions` tells which of them reduce.
    """

    def __init__(self, block: ir.Block) -> None:
        weights = weight_positions(block)
        self._values = {block.arguments[position] for position in weights}
        self._producers: dict[ir.Value, ir.Operation] = {}
        self._order: dict[ir.Operation, tuple[int, int, int]] = {}
        self._moves = 0
        self._maps: dict[ir.Attribute, WeightMaps] = {}
        self.reductions = Reductions()

    def __contains__(self, value: ir.Value) -> bool:
        return value in self._values

    def add(self, index: int, op: ir.Operation, name: str) -> bool:
        """Note operation number `index`, called `name`; returns whether its results are static."""
        if name not in ("arith.constant", "tensor.empty"):
            operands = op.operands
            # Few operations are static: the first operand tells of most that they are not.
            if not len(operands) or operands[0] not in self._values:
                return False
            if not self._values.issuperset(operands):
                return False
            if not name.startswith(("linalg.", "tensor.")) or _reads_from_around(op):
                return False
        for value in op.results:
            self._values.add(value)
            self._producers[value] = op
        self._order[op] = (index, 0, 0)
        return True

    def maps_of(self, op: ir.Operation) -> WeightMaps:
        """The indexing maps of `op`; those of equal attributes are read once."""
        attribute = op.attributes["indexing_maps"]
        found = self._maps.get(attribute)
        if found is None:
            maps = tuple([entry.value for entry in attribute])
            plain = [ir.AffineMap.get_identity(map_.n_dims, op.context) for map_ in maps]
            equal = tuple([map_ == other for map_, other in zip(maps, plain, strict=True)])
            found = self._maps[attribute] = WeightMaps(maps, equal)
        return found

    def hoist(self, values: Iterable[ir.Value], index: int, place: ir.Operation) -> None:
        """Move what computes `values` before `place`, which is operation number `index`."""
        found: dict[ir.Operation, None] = {}
        waiting = list(values)
        while waiting:
            op = self._producers.get(waiting.pop())
            if op is not None and op not in found and self._order[op] > (index, 0, 0):
                found[op] = None
                waiting += op.operands
        for op in sorted(found, key=self._order.__getitem__):
            op.move_before(place)
            self._moves += 1
            self._order[op] = (index, -1, self._moves)


def static_reductions(block: ir.Block) -> Iterator[tuple[ir.Operation, StaticValues]]:
    """Yield the generic operations of `block` that reduce, with what is static at that place.

    What is created meanwhile is not looked at.
    """
    static = StaticValues(block)
    for index, view in enumerate(list(block.operations)):
        op = view.operation
        name = op.name
        static.add(index, op, name)
        if name == "linalg.generic" and static.reductions.has(op):
            yield op, static


def is_known_at_load(value: ir.Value, static: StaticValues, steps: int = 4) -> bool:
    """Tell whether `value` is static, or what few steps make of weights that were put side by side.

    Args:
        value: a tensor.
        static: what is static at that place.
        steps: operations between these and `value`.
    """
    if value in static:
        return True
    if isinstance(value.owner, ir.Block):
        return False
    op = value.owner.operation
    if op.name == "xyntra.fused":
        return _fuses_static(op, static)
    if not steps or not op.name.startswith(("linalg.", "tensor.")) or _reads_from_around(op):
        return False
    return all(is_known_at_load(each, static, steps - 1) for each in op.operands)


def _fuses_static(op: ir.Operation, static: StaticValues) -> bool:
    inside: set[ir.Value] = set()
    for each in nested_operations(op):
        if len(each.regions) or not all(v in static or v in inside for v in each.operands):
            return False
        inside.update(each.results)
    return True


def erase_with_unused(operations: Iterable[ir.Operation]) -> None:
    """Erase operations without uses, in order, and then what they alone have used.

    Call it after all new operations are there: the bindings may give an operation that is created
    where an erased one was the wrapper of the erased one.
    """
    waiting: list[ir.Value] = []
    gone: set[ir.Value] = set()
    for op in operations:
        waiting += op.operands
        gone.update(op.results)
        op.erase()
    while waiting:
        value = waiting.pop()
        if value in gone or isinstance(value.owner, ir.Block):
            continue
        op = value.owner.operation
        if not op.name.startswith(("linalg.", "tensor.", "arith.")) or _is_used(op):
            continue
        gone.update(op.results)
        waiting += op.operands
        op.erase()


def _is_used(op: ir.Operation) -> bool:
    return any(True for value in op.results for _ in value.uses)


def _reads_from_around(op: ir.Operation) -> bool:
    """Whether operations in the regions of `op` use tensors that are not among its operands."""
    for region in op.regions:
        for block in region.blocks:
            for view in block.operations:
                inner = view.operation
                if len(inner.regions) or any(
                    isinstance(value.type, ir.RankedTensorType) for value in inner.operands
                ):
                    return True
    return False


def constant_of_fill(value: ir.Value) -> ir.Attribute | None:
    """The one number that `value`, a tensor, holds everywhere; None where that is not known."""
    owner = value.owner
    if isinstance(owner, ir.Block):
        return None
    op = owner.operation
    if op.name == "linalg.fill":
        return constant_attribute(op.operands[0])
    if op.name != "linalg.generic" or len(op.operands) != len(op.results):
        return None
    return constant_attribute(list(op.regions[0].blocks[0].operations)[-1].operation.operands[0])


def starts_from_zero(op: ir.Operation) -> bool:
    """Whether the last operand of `op`, to which it adds, is known to be 0 of floats everywhere."""
    start = constant_of_fill(list(op.operands)[-1])
    return isinstance(start, ir.FloatAttr) and float(start.value) == 0.0


def shape_of(value: ir.Value) -> tuple[int, ...] | None:
    """The static shape of a tensor; None for all else."""
    if not isinstance(value.type, ir.RankedTensorType):
        return None
    tensor = ir.RankedTensorType(value.type)
    return tuple(tensor.shape) if tensor.has_static_shape else None


def tensor_bytes(value: ir.Value) -> int:
    """Bytes of a tensor of static shape."""
    tensor = ir.RankedTensorType(value.type)
    elements: int = prod(tensor.shape)
    return elements * ITEM_BYTES[str(tensor.element_type)]

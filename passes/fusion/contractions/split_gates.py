# SPDX-License-Identifier: MIT OR Apache-2.0
"""`split-gates`: computes the gates of a recurrent step as reductions beside each other."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import ClassVar

from xyntra.dialects.dtypes import default_dtype, item_bytes
from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.functions import function_blocks
from xyntra.passes.analysis.reductions import BY_ROWS
from xyntra.passes.fusion.weights.weights import starts_from_zero
from xyntra.passes.registry import register_pass
from xyntra.passes.views.structured import Interned, Item, Map, affine_map, body_uses
from xyntra.passes.views.tensors import MadeOperations, retyped

_MOST_ROWS = 4  # states, for each of which the weights are read again
_MOST_SMALL_ROWS, _SMALL_BYTES = 16, 1 << 21  # likewise, of weights that are read so often from L2
_MOST_GATES = 8
_MOST_STEPS = 1 << 13  # elements of a row, which a block holds


@register_pass
@dataclass(frozen=True)
class SplitGates:
    """Make a reduction of each of the gates that one product of few rows computes.

    A recurrent step multiplies its state, a few rows, by the weights of all gates, and then
    combines the gates of each unit element by element. As a product, that is two launches, of which
    the first has few tiles. Where every reader reads one gate at a time, each gate is a reduction
    of its own along rows of the weights, marked with `xyntra.by_rows`; fusion then takes what
    combines them along.
    """

    name: ClassVar[str] = "split-gates"

    def run(self, module: ir.Operation) -> None:
        """Rewrite every function of `module`."""
        for block in function_blocks(module):
            _rewrite(block)


@dataclass(frozen=True)
class _Gates:
    """A product whose result [..., gates, ...] is read at constant gates.

    Attributes:
        op: the product.
        loop: over gates.
        axis: the dimension of the result that it indexes.
        readers: who reads the result, by which operand, and the gate that each wants.
    """

    op: ir.Operation
    loop: int
    axis: int
    readers: tuple[tuple[ir.Operation, int, int], ...]


def _rewrite(block: ir.Block) -> None:
    interned, tensors = Interned(), MadeOperations()
    ops = [view.operation for view in block.operations]
    found = [gates for op in ops if (gates := _gates_of(op, block, interned)) is not None]
    for gates in found:
        _split(gates, interned, tensors)
    for gates in found:
        gates.op.erase()
    for op in reversed(tensors.replaced):
        if all(next(iter(result.uses), None) is None for result in op.results):
            op.erase()


def _gates_of(op: ir.Operation, block: ir.Block, interned: Interned) -> _Gates | None:
    if op.name != "linalg.generic" or len(op.operands) != 3 or len(op.results) != 1:
        return None
    maps, reductions = interned.maps_of(op), interned.reductions_of(op)
    shape = interned.shape_of(op.results[0])
    if shape is None or not maps.simple or sum(reductions) != 1 or not starts_from_zero(op):
        return None
    if body_uses(op, "linalg.index") or not _is_by_rows(op, interned):
        return None
    readers = _readers(op.results[0], block, interned)
    axes = {axis for *_, axis in readers}
    if len(axes) != 1 or not 1 < shape[next(iter(axes))] <= _MOST_GATES:
        return None
    (axis,) = axes
    loop = maps.items[-1][axis]
    if not isinstance(loop, int) or loop in maps.items[0]:
        return None
    return _Gates(op, loop, axis, tuple(reader[:-1] for reader in readers))


def _is_by_rows(op: ir.Operation, interned: Interned) -> bool:
    """Tell whether few rows meet rows of weights, both contiguous along the reduction."""
    state, weights, result = interned.maps_of(op).items
    inner = interned.reductions_of(op).index(True)
    if state[-1:] != (inner,) or weights[-1:] != (inner,):
        return False
    shape, sizes = interned.shape_of(op.operands[0]), interned.shape_of(op.results[0])
    if shape is None or sizes is None or not shape[-1] <= _MOST_STEPS:
        return False
    again = [size for loop, size in zip(result, sizes, strict=True) if loop not in weights]
    rows, kind = prod(again), ir.RankedTensorType(op.operands[1].type)
    nbytes = rows * prod(kind.shape) * item_bytes(default_dtype(kind.element_type))
    return rows <= _MOST_ROWS or (rows <= _MOST_SMALL_ROWS and nbytes <= _SMALL_BYTES)


def _readers(
    value: ir.Value, block: ir.Block, interned: Interned
) -> list[tuple[ir.Operation, int, int, int]]:
    """Return who reads one gate of `value`: operation, operand, gate and dimension of the gates.

    None, an empty list, where someone reads more than that.
    """
    found = []
    for use in value.uses:
        op, position = use.owner.operation, use.operand_number
        if op.block != block or op.name != "linalg.generic" or any(interned.reductions_of(op)):
            return []
        maps = interned.maps_of(op)
        fixed = [
            (axis, number)
            for axis, item in enumerate(maps.items[position])
            if (number := _constant(item)) is not None
        ]
        if len(fixed) != 1 or position >= len(op.operands) - len(op.results):
            return []
        ((axis, number),) = fixed
        found.append((op, position, number, axis))
    return found


def _constant(item: Item) -> int | None:
    if item is None:
        return 0
    return int(item.value) if isinstance(item, ir.AffineConstantExpr) else None


def _split(gates: _Gates, interned: Interned, tensors: MadeOperations) -> None:
    numbers = sorted({number for *_, number in gates.readers})
    made = {number: _reduction(gates, number, interned, tensors) for number in numbers}
    for reader, position, number in gates.readers:
        _read_gate(reader, position, made[number], gates.axis)


def _read_gate(reader: ir.Operation, position: int, value: ir.Value, axis: int) -> None:
    """Let operand `position` of `reader` be `value`, which has no dimension `axis`."""
    maps = [entry.value for entry in reader.attributes["indexing_maps"]]
    kept = [each for at, each in enumerate(maps[position].results) if at != axis]
    maps[position] = ir.AffineMap.get(maps[position].n_dims, 0, kept)
    reader.operands[position] = value
    reader.attributes["indexing_maps"] = ir.ArrayAttr.get(
        [ir.AffineMapAttr.get(each) for each in maps]
    )


def _reduction(gates: _Gates, number: int, interned: Interned, tensors: MadeOperations) -> ir.Value:
    """Make the reduction of one gate, before the product of all."""
    op, maps = gates.op, interned.maps_of(gates.op)
    shape = interned.shape_of(op.results[0]) or ()
    own = [size for axis, size in enumerate(shape) if axis != gates.axis]
    others = [loop for loop in range(maps.loops) if loop != gates.loop]

    def at_gate(items: Map) -> list[Item]:
        fixed = ir.AffineConstantExpr.get(number)
        return [
            others.index(item)
            if isinstance(item, int) and item in others
            else fixed
            if item == gates.loop
            else item
            for item in items
        ]

    state, weights, result = maps.items
    written = [item for axis, item in enumerate(result) if axis != gates.axis]
    with op.location:
        found = [
            affine_map(len(others), at_gate(each)) for each in (state, weights, tuple(written))
        ]
        destination = tensors.destination(op.operands[2], own, op)
        clone = op.clone(ip=ir.InsertionPoint(op))
        clone.operands[2] = destination
        clone.results[0].set_type(retyped(op.results[0].type, own))
        clone.attributes["indexing_maps"] = ir.ArrayAttr.get(
            [ir.AffineMapAttr.get(each) for each in found]
        )
        kinds = list(op.attributes["iterator_types"])
        clone.attributes["iterator_types"] = ir.ArrayAttr.get([kinds[loop] for loop in others])
        clone.attributes[BY_ROWS] = ir.UnitAttr.get()
    return clone.results[0]

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Transpositions in tiles of registers.

Results are in sequence along one loop, an operand along another one. A square tile of the operand
is loaded in vectors, turned in registers, and stored in vectors, so that neither side is walked
element by element. Two tiles side by side use up whole lines of the operand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.loops import integers
from xyntra.passes.lower.loops.linear_nest import BufferOperand, LinearNest, part
from xyntra.passes.lower.loops.loop_builder import (
    Position,
    index,
    load,
    nested_loops,
    offset,
    plus,
)
from xyntra.passes.lower.loops.memrefs import root
from xyntra.passes.lower.loops.scalar_nest import emit_nest, order_of
from xyntra.passes.lower.loops.vector_body import (
    broadcast,
    emit_results_on_vectors,
    is_vectorizable,
)

_GROUP = 4  # elements of 32 bits that instructions on pairs of registers keep together
EDGES = (4, 8)
"""How many elements an edge of a tile may have."""
_SIDE_BY_SIDE = 2  # tiles that make a line of memory
_ELEMENTS = frozenset({"f32", "i32"})
_SET_BYTES = 4096  # distance of lines that share a set of the first cache


@dataclass(frozen=True)
class _Tiles:
    """Tiles of a nest.

    Attributes:
        nest: the nest.
        along: the loop in which results are in sequence.
        across: the loop in which turned operands are.
        edge: elements of an edge of a tile.
        turned: which inputs are turned.
    """

    nest: LinearNest
    along: int
    across: int
    edge: int
    turned: tuple[bool, ...]

    @property
    def is_crowded(self) -> bool:
        """Tell whether rows of results share one set of the first cache, which holds few of them.

        Tiles then lie side by side along these rows, so that every line is written whole.
        """
        wide = _SIDE_BY_SIDE * self.edge
        rows = (4 * each.strides[self.across] % _SET_BYTES for each in self.nest.outputs)
        return self.nest.loops[self.along].extent % wide == 0 and not any(rows)


def transposes(nest: LinearNest, edge: int) -> bool:
    """Tell whether a nest transposes an operand of `edge` elements each way at least."""
    return _tiles(nest, edge) is not None


def emit_transposed(nest: LinearNest, edge: int) -> None:
    """Emit a nest that satisfies `transposes` in tiles of `edge` by `edge` elements."""
    tiles = _tiles(nest, edge)
    if tiles is None:
        raise ValueError("the nest transposes nothing")
    along, across = tiles.along, tiles.across
    outer, inner = nest.loops[across].extent, nest.loops[along].extent
    done = 0
    for width in (edge,) if tiles.is_crowded else (_SIDE_BY_SIDE * edge, edge):
        blocks = (outer - done) // width
        if blocks:
            _emit_blocks(tiles, done, width)
            done += blocks * width
    if outer > done:
        emit_nest(part(nest, across, done, outer - done), {})
    if inner % edge:
        rest = part(part(nest, across, 0, done), along, inner - inner % edge, inner % edge)
        emit_nest(rest, {})


def _tiles(nest: LinearNest, edge: int) -> _Tiles | None:
    if edge not in EDGES or nest.reductions or nest.indices or not is_vectorizable(nest.body):
        return None
    if any(list(argument.uses) for argument in list(nest.body.arguments)[len(nest.inputs) :]):
        return None
    memory = [each for each in nest.accesses if not each.is_scalar]
    if any(str(each.element_type) not in _ELEMENTS for each in memory):
        return None
    for along in _unit_loops(nest, nest.outputs):
        turned = tuple(not each.is_scalar and each.strides[along] > 1 for each in nest.inputs)
        sources = [each for each, turns in zip(nest.inputs, turned, strict=True) if turns]
        for across in _unit_loops(nest, sources) if sources else []:
            extents = nest.loops[along].extent, nest.loops[across].extent
            if across != along and min(extents) >= edge and _is_apart(nest):
                return _Tiles(nest, along, across, edge, turned)
    return None


def _unit_loops(nest: LinearNest, accesses: Sequence[BufferOperand]) -> list[int]:
    """The loops along which all of `accesses` are in sequence."""
    loops = range(len(nest.loops))
    return [number for number in loops if all(each.strides[number] == 1 for each in accesses)]


def _is_apart(nest: LinearNest) -> bool:
    """Tell whether nothing is read from memory that is written."""
    written = {root(each.value) for each in nest.outputs}
    return not any(root(each.value) in written for each in nest.inputs if not each.is_scalar)


def _emit_blocks(tiles: _Tiles, start: int, width: int) -> None:
    """Emit the blocks of `width` iterations across that begin at `start`."""
    nest, edge = tiles.nest, tiles.edge
    blocks = (nest.loops[tiles.across].extent - start) // width
    others = [n for n in order_of(nest, {}) if n not in (tiles.along, tiles.across)]
    outer = [(number, nest.loops[number].extent) for number in others]

    def block(position: Position) -> None:
        first = plus(integers.muli(position[tiles.across], index(width)), index(start))
        length = _SIDE_BY_SIDE * edge if tiles.is_crowded else edge
        nested_loops(
            [(tiles.along, nest.loops[tiles.along].extent // length)],
            position | {tiles.across: first},
            lambda inside: _emit_tiles(tiles, inside, width, length),
            parallel=True,
        )

    nested_loops([*outer, (tiles.across, blocks)], {}, block, parallel=True)


def _emit_tiles(tiles: _Tiles, position: Position, width: int, length: int) -> None:
    first = integers.muli(position[tiles.along], index(length))
    for across in range(0, width, tiles.edge):
        for along in range(0, length, tiles.edge):
            places = {
                tiles.along: plus(first, index(along)),
                tiles.across: plus(position[tiles.across], index(across)),
            }
            _emit_tile(tiles, position | places)


def _emit_tile(tiles: _Tiles, position: Position) -> None:
    nest, edge = tiles.nest, tiles.edge
    columns = [
        _turned(_vectors(each, tiles.along, position, edge)) if turns else None
        for each, turns in zip(nest.inputs, tiles.turned, strict=True)
    ]
    for number in range(edge):
        here = position | {tiles.across: plus(position[tiles.across], index(number))}
        arguments = [
            column[number] if column else _operand(each, tiles.along, here, edge)
            for each, column in zip(nest.inputs, columns, strict=True)
        ]
        results = emit_results_on_vectors(nest.body, arguments, edge)
        for access, value in zip(nest.outputs, results, strict=True):
            place = offset(access, here)
            ir.Operation.create("vector.store", operands=[value, access.value, place])


def _operand(access: BufferOperand, along: int, position: Position, edge: int) -> ir.Value:
    """Return one vector of an operand that is not turned."""
    if access.is_scalar:
        return broadcast(access.value, edge)
    if access.strides[along] == 0:
        return broadcast(load(access, offset(access, position)), edge)
    return _vector(access, position, edge)


def _vectors(access: BufferOperand, along: int, position: Position, edge: int) -> list[ir.Value]:
    """Load a square tile, one vector for each step along."""
    places = (plus(position[along], index(number)) for number in range(edge))
    return [_vector(access, position | {along: place}, edge) for place in places]


def _vector(access: BufferOperand, position: Position, edge: int) -> ir.Value:
    kind = ir.VectorType.get([edge], access.element_type)
    return emit("vector.load", [access.value, offset(access, position)], kind)


def _turned(rows: Sequence[ir.Value]) -> list[ir.Value]:
    """Return the columns of a square tile.

    Groups of four are turned inside of every 128 bits of registers, then put together.
    """
    edge = len(rows)
    pairs = [_interleaved(a, b) for a, b in zip(rows[::2], rows[1::2], strict=True)]
    quads: list[list[ir.Value]] = []
    for first, second in zip(pairs[::2], pairs[1::2], strict=True):
        quads.append([])
        for one, other in zip(first, second, strict=True):
            quads[-1] += _halves(one, other)
    if edge == _GROUP:
        return quads[0]
    joined = [_joined(*pair) for pair in zip(*quads, strict=True)]
    return [low for low, _ in joined] + [high for _, high in joined]


def _interleaved(a: ir.Value, b: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Interleave the lower halves, and the upper halves, of every group of two vectors."""
    edge = ir.VectorType(a.type).shape[0]
    low = [g + n + s for g in range(0, edge, _GROUP) for n in (0, 1) for s in (0, edge)]
    return _shuffled(a, b, low), _shuffled(a, b, [number + 2 for number in low])


def _halves(a: ir.Value, b: ir.Value) -> list[ir.Value]:
    """Put the lower halves of every group together, and the upper halves."""
    edge = ir.VectorType(a.type).shape[0]
    low = [g + n + s for g in range(0, edge, _GROUP) for s in (0, edge) for n in (0, 1)]
    return [_shuffled(a, b, low), _shuffled(a, b, [number + 2 for number in low])]


def _joined(a: ir.Value, b: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Put the first groups of two vectors together, and the second ones."""
    first = [*range(_GROUP), *range(2 * _GROUP, 3 * _GROUP)]
    return _shuffled(a, b, first), _shuffled(a, b, [number + _GROUP for number in first])


def _shuffled(a: ir.Value, b: ir.Value, places: Sequence[int]) -> ir.Value:
    return emit("vector.shuffle", [a, b], a.type, mask=ir.DenseI64ArrayAttr.get(list(places)))

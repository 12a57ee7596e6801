# SPDX-License-Identifier: MIT OR Apache-2.0
"""Copies of the matrices of one head in panels that a register tile reads from end to end."""

from __future__ import annotations

from dataclasses import dataclass

from torch_mlir.dialects import arith

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.cpu.attention_operands import load_vector, store_vector
from xyntra.passes.lower.cpu.linear_nest import Access
from xyntra.passes.lower.cpu.loop_builder import index, load, loop, plus, store
from xyntra.passes.lower.cpu.vector_body import broadcast

__all__ = ["Source", "pack_columns", "scaled_copy", "zero"]


@dataclass(frozen=True)
class Source:
    """A matrix in a flat buffer: where it starts, its extents and its strides."""

    memory: ir.Value
    start: ir.Value
    rows: int
    columns: int
    row_stride: int
    column_stride: int


def pack_columns(source: Source, target: ir.Value, depth: int, panel: int, lanes: int) -> None:
    """Copy a matrix into panels of `panel` columns, each with `depth` rows.

    Args:
        source: what is copied; its rows may be fewer than `depth`.
        target: a flat buffer, of which the rest is left as it is.
        depth: rows of a panel.
        panel: columns of a panel.
        lanes: elements of a vector, which `panel` is a multiple of.
    """
    whole, rest = divmod(source.columns, panel)
    by_vector = source.column_stride == 1
    by_block = source.row_stride == 1 and source.rows >= lanes
    if whole:
        with loop(whole) as number:
            first = arith.muli(number, index(panel))
            place = arith.muli(number, index(depth * panel))
            if by_vector:
                _copy_vectors(source, target, first, place, panel, lanes)
            elif by_block:
                _copy_transposed(source, target, first, place, panel, lanes)
            else:
                _copy_elements(source, target, first, place, panel, panel)
    if rest:
        place = index(whole * depth * panel)
        _copy_elements(source, target, index(whole * panel), place, panel, rest)


def _place(source: Source, row: ir.Value, column: ir.Value) -> ir.Value:
    down = arith.muli(row, index(source.row_stride))
    return plus(source.start, down, arith.muli(column, index(source.column_stride)))


def _copy_elements(
    source: Source, target: ir.Value, first: ir.Value, place: ir.Value, panel: int, columns: int
) -> None:
    with loop(source.rows) as row, loop(columns) as column:
        value = load(Access(source.memory, 0, ()), _place(source, row, plus(first, column)))
        store(value, Access(target, 0, ()), plus(place, arith.muli(row, index(panel)), column))


def _copy_vectors(
    source: Source, target: ir.Value, first: ir.Value, place: ir.Value, panel: int, lanes: int
) -> None:
    with loop(source.rows) as row:
        start = _place(source, row, first)
        line = plus(place, arith.muli(row, index(panel)))
        for lane in range(0, panel, lanes):
            value = load_vector(source.memory, plus(start, index(lane)), lanes)
            store_vector(value, target, plus(line, index(lane)))


def _copy_transposed(
    source: Source, target: ir.Value, first: ir.Value, place: ir.Value, panel: int, lanes: int
) -> None:
    """Columns of the source lie far apart and rows are neighbours: turn square blocks."""
    blocks, rest = divmod(source.rows, lanes)
    with loop(blocks) as block:
        row = arith.muli(block, index(lanes))
        _turn_block(source, target, (first, row), place, panel, lanes)
    if rest:
        _turn_block(source, target, (first, index(source.rows - lanes)), place, panel, lanes)


def _turn_block(
    source: Source,
    target: ir.Value,
    corner: tuple[ir.Value, ir.Value],
    place: ir.Value,
    panel: int,
    lanes: int,
) -> None:
    first, row = corner
    for start in range(0, panel, lanes):
        vectors = []
        for lane in range(lanes):
            column = plus(first, index(start + lane))
            vectors.append(load_vector(source.memory, _place(source, row, column), lanes))
        for lane, vector in enumerate(_transposed(vectors)):
            line = arith.muli(plus(row, index(lane)), index(panel))
            store_vector(vector, target, plus(place, line, index(start)))


def _transposed(rows: list[ir.Value]) -> list[ir.Value]:
    """Transpose a square of as many vectors as each has lanes, a power of two."""
    lanes, step = len(rows), 1
    while step < lanes:
        rows = list(rows)
        for upper in range(lanes):
            if upper & step:
                continue
            pair = rows[upper], rows[upper | step]
            low = [x if not x & step else lanes + (x ^ step) for x in range(lanes)]
            high = [x | step if not x & step else lanes + x for x in range(lanes)]
            rows[upper], rows[upper | step] = (_shuffle(*pair, mask) for mask in (low, high))
        step *= 2
    return rows


def _shuffle(first: ir.Value, second: ir.Value, mask: list[int]) -> ir.Value:
    return emit("vector.shuffle", [first, second], first.type, mask=ir.DenseI64ArrayAttr.get(mask))


def scaled_copy(source: Source, target: ir.Value, scale: float, lanes: int) -> None:
    """Copy a matrix, row after row, times `scale`."""
    element = ir.MemRefType(target.type).element_type
    factor = arith.constant(element, scale)
    whole = source.columns // lanes if source.column_stride == 1 else 0
    with loop(source.rows) as row:
        line = arith.muli(row, index(source.columns))
        if whole:
            with loop(whole) as number:
                column = arith.muli(number, index(lanes))
                value = load_vector(source.memory, _place(source, row, column), lanes)
                product = arith.mulf(value, broadcast(factor, lanes))
                store_vector(product, target, plus(line, column))
        with loop(source.columns - whole * lanes) as number:
            column = plus(index(whole * lanes), number)
            value = load(Access(source.memory, 0, ()), _place(source, row, column))
            store(arith.mulf(value, factor), Access(target, 0, ()), plus(line, column))


def zero(memory: ir.Value) -> None:
    """Fill a flat buffer with zeros."""
    kind = ir.MemRefType(memory.type)
    with loop(kind.shape[0]) as place:
        store(arith.constant(kind.element_type, 0.0), Access(memory, 0, ()), place)

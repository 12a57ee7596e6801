# SPDX-License-Identifier: MIT OR Apache-2.0
"""Contiguous elements of a dense result that one thread computes, across the ends of rows.

Rows of odd lengths have no vectors: those of a padded or cropped image, say. In the order of memory
its elements do, so that a thread stores 16 aligned bytes, and threads side by side whole sectors. A
thread asks where each of its elements is in its row, or in the next one, and loads it alone, from
lines that its neighbours bring into the first cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from torch_mlir.dialects import arith

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.analysis.cloning import repeat
from xyntra.passes.cost.work import scalar_cost
from xyntra.passes.lower.gpu.emit.thread_grid import (
    MAX_GRID,
    LaunchShape,
    as_index,
    below,
    delinearize,
    global_thread,
    like,
)
from xyntra.passes.lower.gpu.emit.vectors import (
    coalesced_order,
    item_bytes,
    load_vector,
    store_vector,
)
from xyntra.passes.lower.loops import integers
from xyntra.passes.lower.loops.linear_nest import BufferOperand, LinearNest
from xyntra.passes.lower.loops.loop_builder import Position, index, load, offset
from xyntra.passes.lower.loops.scalar_nest import index_at
from xyntra.passes.lower.loops.vector_body import lane_of

_VECTOR_BYTES = 16  # of one store
_WIDEST_ITEM = 2  # bytes: a warp's stores of longer elements fill whole sectors as they are
_LONGEST = 8  # elements of a thread
_SHORTEST = 4
_MOST_COST = 24  # instructions for an element: what takes longer wants more threads


def run_lanes(nest: LinearNest) -> int:
    """Return how many contiguous elements of `nest`, collapsed, a thread can compute; 1 for none.

    They are more than one for dense results of 16 bits or less, whose elements come from places
    that arithmetic on their indices, or steps of one element, tell.
    """
    order = coalesced_order(nest)
    if not order or nest.reads_outputs or not _is_simple(nest, order[-1]):
        return 1
    extents = [nest.loops[number].extent for number in order]
    sizes = {item_bytes(each) for each in nest.outputs}
    if 0 in sizes or max(sizes) > _WIDEST_ITEM:
        return 1
    lanes = min(_VECTOR_BYTES // max(sizes), _LONGEST)
    dense = tuple(prod(extents[place + 1 :]) for place in range(len(extents)))
    for output in nest.outputs:
        if tuple(output.strides[number] for number in order) != dense:
            return 1
    while lanes >= _SHORTEST:
        starts = [each.start % lanes for each in nest.outputs]
        if prod(extents) % lanes == 0 and extents[-1] >= lanes and not any(starts):
            return lanes
        lanes //= 2
    return 1


def emit_runs(
    nest: LinearNest, lanes: int, threads: int, block: ir.Value | None = None
) -> LaunchShape:
    """Emit `nest`, collapsed, for a launch of the returned shape.

    Args:
        nest: the nest.
        lanes: elements of a thread: what `run_lanes` returns.
        threads: of a block.
        block: which one this is, an i32, where the launch does more than this.
    """
    count = prod(loop.extent for loop in nest.loops) // lanes
    shape = LaunchShape(-(-count // threads), threads)
    number = global_thread(shape, block)
    if shape.grid * threads * lanes > MAX_GRID:
        number = _index(number)
    with below(number, count, always=count % threads == 0):
        _emit_run(nest, lanes, arith.muli(number, like(number, lanes)))
    return shape


def _emit_run(nest: LinearNest, lanes: int, first: ir.Value) -> None:
    """Compute the elements of a thread from the first one on, an i32 or index."""
    flat = _index(first)
    run = _Run.of(nest, lanes, first)
    vectors = [_vector(nest, each, lanes, flat) for each in nest.inputs]
    rows = _values_of_rows(nest, run)
    found = [_results(nest, run, lane, vectors, rows) for lane in range(lanes)]
    for output, results in zip(nest.outputs, zip(*found, strict=True), strict=True):
        kind = ir.VectorType.get([lanes], output.element_type)
        whole = emit("vector.from_elements", list(results), kind)
        store_vector(whole, output, lanes, integers.addi(flat, index(output.offset)))


@dataclass(frozen=True)
class _Run:
    """Where the elements of a thread are, of which no more than two rows have any.

    Attributes:
        inner: the loop along rows.
        columns: where the elements are in their rows.
        rows: positions of all other loops: in the row of the first element, and in the next one.
        ahead: whether an element is in the first row, an i1; None for what surely is.
    """

    inner: int
    columns: list[ir.Value]
    rows: tuple[Position, ...]
    ahead: list[ir.Value | None]

    @classmethod
    def of(cls, nest: LinearNest, lanes: int, first: ir.Value) -> _Run:
        """Return the run of `nest` that begins at an element."""
        *outer, inner = coalesced_order(nest)
        extent = nest.loops[inner].extent
        loops = [(number, nest.loops[number].extent) for number in outer]
        count = prod(each for _, each in loops)
        row, start = (first, first) if count == 1 else _split(first, extent)
        columns = [integers.addi(start, like(start, lane)) for lane in range(lanes)]
        here = delinearize(row, loops)
        if count == 1 or extent % lanes == 0:
            return cls(inner, list(map(_index, columns)), (here,), [None] * lanes)
        # The last row has no next one, and no thread that asks for it.
        behind = integers.minui(integers.addi(row, like(row, 1)), like(row, count - 1))
        end, ahead, wrapped = like(start, extent), [], [_index(columns[0])]
        for column in columns[1:]:
            inside = arith.cmpi(arith.CmpIPredicate.ult, column, end)
            ahead.append(inside)
            rest = integers.select(inside, column, integers.subi(column, end))
            wrapped.append(_index(rest))
        return cls(inner, wrapped, (here, delinearize(behind, loops)), [None, *ahead])

    def chosen(self, lane: int, values: Sequence[ir.Value]) -> ir.Value:
        """Return what an element has of values of the rows."""
        inside = self.ahead[lane]
        same = inside is None or values[0] == values[-1]
        return values[0] if same else integers.select(inside, values[0], values[-1])

    def position(self, lane: int) -> Position:
        """Return where an element is."""
        place = {loop: self.chosen(lane, [row[loop] for row in self.rows]) for loop in self.rows[0]}
        return place | {self.inner: self.columns[lane]}


def _split(number: ir.Value, extent: int) -> tuple[ir.Value, ir.Value]:
    size = like(number, extent)
    return arith.divui(number, size), arith.remui(number, size)


def _is_simple(nest: LinearNest, inner: int) -> bool:
    """Tell whether elements side by side come from places side by side, by little arithmetic."""
    if any(abs(each.strides[inner]) > 1 for each in nest.inputs if not each.is_scalar):
        return False
    operations = [view.operation for view in nest.body.operations]
    computing = [op for op in operations if any(map(_is_float, op.results))]
    if sum(scalar_cost(op.name) for op in computing) > _MOST_COST:
        return False
    looked_up = set(nest.body.arguments)
    for op in operations:
        if op.name == "memref.load" and looked_up & set(op.operands):
            return False  # a place that was read may be anywhere
        if op.name == "memref.load" or looked_up & set(op.operands):
            looked_up |= set(op.results)
    return True


def _is_float(value: ir.Value) -> bool:
    return isinstance(value.type, ir.FloatType)


def _index(value: ir.Value) -> ir.Value:
    return value if isinstance(value.type, ir.IndexType) else as_index(value)


def _vector(nest: LinearNest, access: BufferOperand, lanes: int, flat: ir.Value) -> ir.Value | None:
    """Load the elements of an input that lies as the outputs do; None for any other."""
    (output, *_) = nest.outputs
    if access.is_scalar or access.strides != output.strides or access.start % lanes:
        return None
    if item_bytes(access) not in (1, 2, 4) or lanes * item_bytes(access) > _VECTOR_BYTES:
        return None
    return load_vector(access, lanes, integers.addi(flat, index(access.offset)))


def _values_of_rows(nest: LinearNest, run: _Run) -> list[dict[ir.Value, ir.Value]]:
    """Emit what elements of a row have in common, for each row: inputs, and results in the body."""
    found: list[dict[ir.Value, ir.Value]] = []
    for row in run.rows:
        known: dict[ir.Value, ir.Value] = {}
        for argument, access in zip(nest.body.arguments, nest.inputs, strict=False):
            if not access.is_scalar and not access.strides[run.inner]:
                known[argument] = load(access, offset(access, row))
        for view in list(nest.body.operations)[:-1]:
            op = view.operation
            if op.name == "linalg.index":
                dimension = ir.IntegerAttr(op.attributes["dim"]).value
                if not nest.indices[dimension][run.inner]:
                    known[op.result] = index_at(nest, dimension, row)
            elif all(each in known or _is_outside(each, nest.body) for each in op.operands):
                repeat(op, known)
        found.append(known)
    return found


def _results(
    nest: LinearNest,
    run: _Run,
    lane: int,
    vectors: Sequence[ir.Value | None],
    rows: Sequence[dict[ir.Value, ir.Value]],
) -> list[ir.Value]:
    """Emit what the body yields for an element, given what is known of its row."""
    position = run.position(lane)
    known: dict[ir.Value, ir.Value] = {
        value: run.chosen(lane, [row[value] for row in rows]) for value in rows[0]
    }
    inputs = zip(nest.body.arguments, nest.inputs, vectors, strict=False)
    for argument, access, vector in inputs:
        if access.is_scalar:
            known[argument] = access.value
        elif vector is not None:
            known[argument] = lane_of(vector, lane)
        elif argument not in known:
            known[argument] = load(access, offset(access, position))
    *operations, last = (view.operation for view in nest.body.operations)
    for op in operations:
        if op.name == "linalg.index" and op.result not in known:
            number = ir.IntegerAttr(op.attributes["dim"]).value
            known[op.result] = index_at(nest, number, position)
        elif not all(each in known for each in op.results):
            repeat(op, known)
    return [known.get(each, each) for each in last.operands]


def _is_outside(value: ir.Value, body: ir.Block) -> bool:
    owner = value.owner
    return bool((owner if isinstance(owner, ir.Block) else owner.operation.block) != body)

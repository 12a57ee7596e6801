# SPDX-License-Identifier: MIT OR Apache-2.0
"""Chooses which part of a reduction's output is held in vector registers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import gcd, prod

from xyntra.passes.lower.loops.linear_nest import BufferOperand, LinearNest

_LATENCY_CYCLES = 5.2  # of one multiply-add that waits for the one before
_PACK_CYCLES = 2.0  # to copy one element into a panel
_TURN_CYCLES = 0.75  # to do so in a square that is transposed in registers
_SCATTER_CYCLES = 2.0  # to store one lane by itself
_CROWDED_CYCLES = 8.0  # the same where lanes share sets of the first cache, which lose their lines
_SET_BYTES = 4096  # distance of lines that share a set of the first cache
_WAYS = 8  # lines of a set
_LINE_BYTES = 64
_MISS_CYCLES = 4.0  # for a line that comes from the second-level cache, one of several in flight
_PAIR_LOADS = 3
_MIN_LANES = 4
_MIN_REDUCTION = 4
_PACK_ROWS = 8  # fewer rows do not pay for a panel
_FAR_STRIDE_BYTES = 128  # steps beyond it leave the lines that the prefetcher brings


@dataclass(frozen=True)
class TilePlan:
    """A tile of `rows` by `vectors` vectors of `lanes` elements.

    Attributes:
        row_loop: the loop that the rows are taken from; None for one row.
        column_loops: the loops that the lanes are taken from, outermost first. More than one are
            taken as one long loop, which they are for the output.
        packed: the inputs, by number, that are copied into a panel for every tile of columns: all
            that move with the columns, where there is more than one column loop.
        cost: estimated cycles for one step of the reduction over the whole output.
        prepared: the inputs, by number, whose panels are all filled before the kernel runs.
    """

    row_loop: int | None
    column_loops: tuple[int, ...]
    rows: int
    vectors: int
    lanes: int
    packed: frozenset[int]
    cost: float
    prepared: frozenset[int] = frozenset()

    @property
    def columns(self) -> int:
        """Elements of one row of the tile."""
        return self.vectors * self.lanes

    def extent(self, nest: LinearNest) -> int:
        """Return the number of columns in all."""
        return prod(nest.loops[loop].extent for loop in self.column_loops)

    def row_stride(self, access: BufferOperand) -> int:
        """Return how far apart the rows of the tile are in `access`."""
        return 0 if self.row_loop is None else access.strides[self.row_loop]


@dataclass(frozen=True)
class Registers:
    """The vector registers of a processor: how many, and elements in one."""

    count: int
    lanes: int


@dataclass(frozen=True)
class Tiling:
    """A nest to be tiled, with what limits its tiles.

    Attributes:
        nest: a nest with one output; there is nothing to gain without reductions.
        item_bytes: bytes of one element.
        companions: what else is read or written for each element of the output.
        exact: no column may be in two tiles.
        fixed: how many of the first loops no tile may take anything from.
        constant: the inputs, by number, that are known before the kernel runs.
    """

    nest: LinearNest
    item_bytes: int
    companions: Sequence[BufferOperand] = ()
    exact: bool = False
    fixed: int = 0
    constant: frozenset[int] = frozenset()

    def best(self, registers: Registers) -> TilePlan | None:
        """Return the best tile, or None where plain loops do as well."""
        return min(self.plans(registers), key=self._total_cycles, default=None)

    def plans(self, registers: Registers) -> list[TilePlan]:
        """Return all tiles for such registers."""
        return [
            plan
            for row, column_loops in self._loops()
            for plan in _plans(
                self.nest, row, column_loops, registers, self.item_bytes, self.constant
            )
            if not self.exact or plan.extent(self.nest) % plan.columns == 0
        ]

    def told(
        self, row: int | None, column_loops: tuple[int, ...], shape: tuple[int, int, int]
    ) -> TilePlan | None:
        """Return the tile of so many rows, vectors and lanes; None where these loops do not fit."""
        if (row, column_loops) not in self._loops():
            return None
        nest, item_bytes = self.nest, self.item_bytes
        prepared = _prepared_inputs(nest, row, column_loops, self.constant)
        packed = _packed_inputs(nest, row, column_loops, item_bytes, prepared)
        if packed is None:
            return None
        return TilePlan(row, column_loops, *shape, packed, 0.0, prepared)

    def _loops(self) -> list[tuple[int | None, tuple[int, ...]]]:
        """Return the loops that rows and columns may be taken from."""
        nest, outer = self.nest, tuple(range(self.fixed))
        if prod(loop.extent for loop in nest.loops if loop.is_reduction) < _MIN_REDUCTION:
            return []
        return [
            (row, column_loops)
            for column_loops in _column_groups(nest, outer)
            if all(_is_one_walk(nest, column_loops, access) for access in self.companions)
            for row in [None, *_parallel_loops(nest, (*outer, *column_loops))]
        ]

    def _total_cycles(self, plan: TilePlan) -> float:
        if not self.companions:
            return plan.cost
        nest = self.nest
        reduction = prod(loop.extent for loop in nest.loops if loop.is_reduction)
        companions = _companion_cycles(nest, plan, self.companions, self.item_bytes)
        return plan.cost + companions / reduction


def _companion_cycles(
    nest: LinearNest, plan: TilePlan, companions: Sequence[BufferOperand], item_bytes: int
) -> float:
    """Estimate the cycles to load or store, lane by lane, what lies far apart."""
    size = prod(loop.extent for loop in nest.loops if not loop.is_reduction)
    steps = [each.strides[plan.column_loops[-1]] for each in companions]
    far = [step for step in steps if step not in (0, 1)]
    return size * sum(_scatter_cycles(step * item_bytes, plan.columns) for step in far)


def _scatter_cycles(distance: int, columns: int) -> float:
    """Estimate the cycles to store one lane, of `columns` that are `distance` bytes apart."""
    sets = _SET_BYTES // gcd(distance, _SET_BYTES)
    return _CROWDED_CYCLES if columns > _WAYS * sets else _SCATTER_CYCLES


def _is_one_walk(nest: LinearNest, column_loops: tuple[int, ...], access: BufferOperand) -> bool:
    """Tell whether the columns, taken as one long loop, walk through `access` in equal steps."""
    return all(
        access.strides[outer] == nest.loops[inner].extent * access.strides[inner]
        for outer, inner in pairwise(column_loops)
    )


def _column_groups(nest: LinearNest, outer: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Yield every parallel loop, and those that continue the loop with neighbouring outputs."""
    strides = nest.outputs[0].strides
    for first in _parallel_loops(nest, outer):
        group: tuple[int, ...] = (first,)
        yield group
        size = nest.loops[first].extent
        if strides[first] != 1:
            continue
        while following := [
            loop for loop in _parallel_loops(nest, (*outer, *group)) if strides[loop] == size
        ]:
            group = (following[0], *group)
            size *= nest.loops[following[0]].extent
            yield group


def _parallel_loops(nest: LinearNest, excluded: tuple[int, ...]) -> list[int]:
    return [
        number
        for number, loop in enumerate(nest.loops)
        if not loop.is_reduction and number not in excluded
    ]


def _plans(
    nest: LinearNest,
    row: int | None,
    column_loops: tuple[int, ...],
    registers: Registers,
    item_bytes: int,
    constant: frozenset[int],
) -> Iterator[TilePlan]:
    prepared = _prepared_inputs(nest, row, column_loops, constant)
    packed = _packed_inputs(nest, row, column_loops, item_bytes, prepared)
    if packed is None:
        return
    rows = 1 if row is None else nest.loops[row].extent
    columns = prod(nest.loops[loop].extent for loop in column_loops)
    reduction = prod(loop.extent for loop in nest.loops if loop.is_reduction)
    repeats = prod(loop.extent for loop in nest.loops) // (reduction * rows * columns)
    step = nest.outputs[0].strides[column_loops[-1]]
    reads = [
        _Read.of(nest, number, row, column_loops, item_bytes, number in packed | prepared)
        for number in range(len(nest.inputs))
    ]
    copying: dict[int, float] = {}  # an element of every packed input, by lanes
    for height, vectors, lanes in _tile_shapes(rows, columns, registers):
        width = vectors * lanes
        scatter = _scatter_cycles(step * item_bytes, width) / reduction if step != 1 else 0.0
        work = (_cycles(reads, height, vectors) + scatter * height * width) * _tiles(rows, height)
        if lanes not in copying:
            inputs = (nest.inputs[number] for number in packed)
            copying[lanes] = sum(_pack_cycles(nest, each, column_loops, lanes) for each in inputs)
        cost = repeats * _tiles(columns, width) * (work + width * copying[lanes])
        yield TilePlan(row, column_loops, height, vectors, lanes, packed, cost, prepared)


def _pack_cycles(
    nest: LinearNest, access: BufferOperand, column_loops: tuple[int, ...], lanes: int
) -> float:
    """Estimate the cycles to copy one element into a panel."""
    if transposed_loop(nest, access, column_loops, lanes) is not None:
        return _TURN_CYCLES
    return _PACK_CYCLES / column_run(nest, access, column_loops, lanes)


def transposed_loop(
    nest: LinearNest, access: BufferOperand, column_loops: tuple[int, ...], lanes: int
) -> int | None:
    """Return the reduction whose steps are contiguous in `access`, where columns are not.

    Squares of it and of the columns are transposed in registers. None where there are none.
    """
    if len(column_loops) > 1 or access.strides[column_loops[0]] == 1:
        return None
    for number in nest.reductions:
        if access.strides[number] == 1 and nest.loops[number].extent >= lanes:
            return number
    return None


def column_run(
    nest: LinearNest, access: BufferOperand, column_loops: tuple[int, ...], lanes: int
) -> int:
    """Return how many columns at a time are contiguous in `access`, whatever tile they are in.

    A power of two, at most `lanes`, which divides the columns of every tile.
    """
    inner = column_loops[-1]
    if len(column_loops) == 1 or access.strides[inner] != 1:
        return 1
    return gcd(nest.loops[inner].extent, lanes)


def _prepared_inputs(
    nest: LinearNest, row: int | None, column_loops: tuple[int, ...], constant: frozenset[int]
) -> frozenset[int]:
    """Return the constant inputs that have an element for every column and reduction.

    All rows of a tile read one panel: an input that moves with them has none.
    """
    if len(column_loops) > 1:
        return frozenset()
    loops = (*column_loops, *nest.reductions)
    strides = {number: nest.inputs[number].strides for number in constant}
    return frozenset(
        number
        for number, steps in strides.items()
        if all(steps[loop] for loop in loops) and (row is None or not steps[row])
    )


def _packed_inputs(
    nest: LinearNest,
    row: int | None,
    column_loops: tuple[int, ...],
    item_bytes: int,
    prepared: frozenset[int],
) -> frozenset[int] | None:
    """Return the inputs to pack, or None where plain loops read better."""
    packed = set()
    for number, access in enumerate(nest.inputs):
        if number in prepared or not any(access.strides[loop] for loop in column_loops):
            continue
        is_reused = row is not None and not access.strides[row]
        can_pack = is_reused and row is not None and nest.loops[row].extent >= _PACK_ROWS
        is_far = _steps_far(nest, access, item_bytes)
        if is_far and not is_reused:
            return None
        must_pack = len(column_loops) > 1 or access.strides[column_loops[-1]] != 1
        is_pairs = len(column_loops) == 1 and access.strides[column_loops[0]] == 2
        if must_pack and not can_pack and not is_pairs:
            return None
        if can_pack and (must_pack or is_far):
            packed.add(number)
    return frozenset(packed)


def _steps_far(nest: LinearNest, access: BufferOperand, item_bytes: int) -> bool:
    """Tell whether every step of the innermost reduction leaves the cache line's neighbourhood."""
    steps = [
        abs(access.strides[number]) * item_bytes
        for number, loop in enumerate(nest.loops)
        if loop.is_reduction
    ]
    return min(steps) >= _FAR_STRIDE_BYTES


def _tile_shapes(rows: int, columns: int, registers: Registers) -> Iterator[tuple[int, int, int]]:
    """Yield the rows, vectors and lanes of every tile that fits the registers and the output."""
    lanes = registers.lanes
    while lanes >= _MIN_LANES:
        for vectors in (1, 2, 3):
            most = (registers.count - vectors - 1) // vectors
            if vectors * lanes <= columns:
                yield from ((height, vectors, lanes) for height in range(1, min(rows, most) + 1))
        lanes //= 2


def _tiles(extent: int, size: int) -> int:
    return -(-extent // size)


@dataclass(frozen=True)
class _Read:
    """The access of a tile to one input, in one step of the reduction.

    Attributes:
        by_row: it moves with the rows of the tile.
        by_column: it moves with the columns, or is read from a panel.
        loads: of one vector.
        far: bytes from one row to the next where every step is far from the one before, else None.
    """

    by_row: bool
    by_column: bool
    loads: int
    far: int | None

    @classmethod
    def of(
        cls,
        nest: LinearNest,
        number: int,
        row: int | None,
        column_loops: tuple[int, ...],
        item_bytes: int,
        in_panels: bool,
    ) -> _Read:
        """Return how input `number` is read."""
        access = nest.inputs[number]
        row_stride = 0 if row is None else access.strides[row]
        by_column = in_panels or any(access.strides[i] for i in column_loops)
        # Every second element takes two loads and a shuffle.
        is_pairs = not in_panels and access.strides[column_loops[-1]] == 2
        far = not by_column and _steps_far(nest, access, item_bytes)
        return cls(
            bool(row_stride),
            by_column,
            _PAIR_LOADS if is_pairs else 1,
            abs(row_stride) * item_bytes if far else None,
        )


def _cycles(reads: Sequence[_Read], height: int, vectors: int) -> float:
    """Estimate the cycles of one step of the reduction for one tile.

    The largest of multiply-adds (two a cycle), loads, and the latency of a chain of accumulators,
    and the loop itself. The weights fit matrix products measured on Zen 3 to a few per cent.
    """
    loads = misses = 0.0
    for read in reads:
        rows = height if read.by_row else 1
        loads += rows * (vectors if read.by_column else 1) * read.loads
        if read.far is not None:
            misses += 1 + min(rows - 1, rows * read.far // _LINE_BYTES)
    work = max(height * vectors / 2, 0.76 * loads, _LATENCY_CYCLES)
    return work + misses * _MISS_CYCLES + 0.5

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Which rows fit the registers of a warp or a block, and how the threads share them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from xyntra.dialects.dtypes import ITEM_BYTES
from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cpu.linear_nest import Access, LinearNest
from xyntra.passes.lower.cpu.memrefs import is_private, root, view_offset
from xyntra.passes.lower.cpu.vector_body import is_vectorizable
from xyntra.passes.lower.cuda.combiner import Combiner
from xyntra.passes.lower.cuda.pointwise import reads_outputs
from xyntra.passes.lower.cuda.thread_grid import MAX_GRID, WARP

_VECTOR_BYTES = 16  # the widest access of one thread
_REGISTER = 4  # bytes
_GOOD = 16  # registers of a thread for rows: few enough for many threads
_MOST_OF_WARP = 32
_MOST_OF_BLOCK = 36  # 1024 threads have 64 registers each
_BLOCKS = (128, 256, 512, 1024)
WARPS = 4
"""Rows of a block where each takes a warp."""


@dataclass(frozen=True)
class RowPlan:
    """How threads share rows.

    Attributes:
        outer: extents of the loops over rows.
        length: elements of a row.
        lanes: neighbours that a thread loads and stores at once.
        threads: that share a row: a warp, or all of a block.
    """

    outer: tuple[int, ...]
    length: int
    lanes: int
    threads: int

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return prod(self.outer)

    @property
    def vectors(self) -> int:
        """Vectors of a row."""
        return self.length // self.lanes

    @property
    def steps(self) -> int:
        """Vectors of a thread, the last of which may lie behind the row."""
        return -(-self.vectors // self.threads)

    @property
    def of_warps(self) -> bool:
        """Whether a warp takes a row."""
        return self.threads == WARP


def row_plan(
    nests: Sequence[LinearNest], count: int, generics: Sequence[ir.Operation]
) -> RowPlan | None:
    """Return how threads share the rows of `nests`, None where rows must lie in memory.

    Args:
        nests: what shares its `count` outer loops, with as few loops behind them as can be.
        count: the number of loops.
        generics: the operations that they come from.
    """
    lengths = {nest.loops[count].extent for nest in nests if len(nest.loops) > count}
    if len(lengths) != 1 or not all(_is_simple(nest, count) for nest in nests):
        return None
    if not _written_where_read(nests, count):
        return None
    length = lengths.pop()
    outer = tuple(loop.extent for loop in nests[0].loops[:count])
    accesses = [each for nest in nests for each in row_accesses(nest, count)]
    in_memory = [each for each in accesses if not is_private(root(each.value), generics)]
    lanes = _lanes(in_memory, count, length)
    live = _live_bytes(nests, count)
    for threads in (WARP, *_BLOCKS):
        plan = RowPlan(outer, length, lanes, threads)
        registers = plan.steps * lanes * live / _REGISTER
        most = {WARP: _MOST_OF_WARP, _BLOCKS[-1]: _MOST_OF_BLOCK}.get(threads, _GOOD)
        if registers <= most and plan.rows <= MAX_GRID:
            return plan
    return None


def row_accesses(nest: LinearNest, count: int) -> Iterator[Access]:
    """Yield the accesses to memory that move along a row."""
    for access in nest.accesses:
        if is_row(nest, access, count):
            yield access


def is_row(nest: LinearNest, access: Access, count: int) -> bool:
    """Tell whether an access moves along a row."""
    return not access.is_scalar and len(nest.loops) > count and access.strides[count] != 0


def _is_simple(nest: LinearNest, count: int) -> bool:
    """Tell whether `nest` has at most one loop along the row, and arithmetic that takes vectors."""
    inner = nest.loops[count:]
    if len(inner) > 1 or nest.indices or not is_vectorizable(nest.body):
        return False
    if any(loop.is_reduction for loop in inner):
        if Combiner.of(nest) is None or is_row(nest, nest.outputs[0], count):
            return False
    elif inner and not all(is_row(nest, each, count) for each in nest.outputs):
        return False
    return all(
        access.is_scalar or (_item_bytes(access) and (not inner or access.strides[count] in (0, 1)))
        for access in nest.accesses
    )


def _item_bytes(access: Access) -> int:
    kind = str(ir.MemRefType(access.value.type).element_type)
    # In memory a boolean is a byte, in a vector a bit.
    return 0 if kind == "i1" else ITEM_BYTES.get(kind, 0)


def place_of(nest: LinearNest, access: Access, count: int) -> tuple[int, tuple[int, ...], bool]:
    """Return what tells apart the elements of one buffer that two accesses touch."""
    start = access.offset + view_offset(access.value)
    return start, access.strides[:count], is_row(nest, access, count)


def _written_where_read(nests: Sequence[LinearNest], count: int) -> bool:
    """Tell whether every buffer that is written is touched at the same element in every nest."""
    written = {root(each.value) for nest in nests for each in nest.outputs}
    places: dict[ir.Value, set[tuple[int, tuple[int, ...], bool]]] = {}
    for nest in nests:
        for access in nest.accesses:
            if not access.is_scalar and root(access.value) in written:
                found = places.setdefault(root(access.value), set())
                found.add(place_of(nest, access, count))
    return all(len(found) == 1 for found in places.values()) and not _races(nests, count, written)


def _races(nests: Sequence[LinearNest], count: int, written: set[ir.Value]) -> bool:
    """Tell whether threads would read from memory what one of them then writes for the row."""
    known: set[ir.Value] = set()
    for nest in nests:
        is_scalar = len(nest.loops) == count
        read = nest.accesses if reads_outputs(nest) and is_scalar else nest.inputs
        for access in read:
            if access.is_scalar or is_row(nest, access, count):
                continue
            if root(access.value) in written - known:
                return True
        known |= {root(each.value) for each in nest.outputs}
    return False


def _lanes(accesses: Sequence[Access], count: int, length: int) -> int:
    """Return how many neighbours one thread can load and store at once."""
    lanes = _VECTOR_BYTES // max(map(_item_bytes, accesses), default=_VECTOR_BYTES)
    while lanes > 1 and (length % lanes or not all(_fits(a, count, lanes) for a in accesses)):
        lanes //= 2
    return lanes


def _fits(access: Access, count: int, lanes: int) -> bool:
    first = access.offset + view_offset(access.value)
    return all(place % lanes == 0 for place in (first, *access.strides[:count]))


def _live_bytes(nests: Sequence[LinearNest], count: int) -> int:
    """Return the bytes that one element of a row occupies in registers between two nests."""
    first: dict[ir.Value, int] = {}
    last: dict[ir.Value, int] = {}
    size: dict[ir.Value, int] = {}
    for number, nest in enumerate(nests):
        for access in row_accesses(nest, count):
            whole = root(access.value)
            first.setdefault(whole, number)
            last[whole] = number
            size[whole] = _item_bytes(access)
    gaps = range(len(nests) - 1)
    kept = (sum(size[each] for each in first if first[each] <= gap < last[each]) for gap in gaps)
    # What only one nest reads passes through registers all the same.
    return max([max(size.values()), *kept])

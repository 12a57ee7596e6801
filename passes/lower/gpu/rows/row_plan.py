# SPDX-License-Identifier: MIT OR Apache-2.0
"""Plans row kernels that keep rows in registers of a warp, a block or a cluster."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.sizes.size import hint_of, pinned
from xyntra.passes.lower.gpu.device import Feature, GpuDevice
from xyntra.passes.lower.gpu.elementwise.row_gathers import RowGathers, row_gathers
from xyntra.passes.lower.gpu.emit.combiner import Combiner
from xyntra.passes.lower.gpu.emit.vectors import item_bytes
from xyntra.passes.lower.gpu.rows.row_accesses import (
    first_reads,
    is_common,
    is_recomputed,
    is_row,
    is_written_where_read,
    place_of,
    row_accesses,
)
from xyntra.passes.lower.gpu.rows.row_pieces import are_stored_together, first_piece, is_piece
from xyntra.passes.lower.loops.linear_nest import BufferOperand, LinearNest
from xyntra.passes.lower.loops.memrefs import is_private, root
from xyntra.passes.lower.loops.vector_body import is_vectorizable, takes_indices

_VECTOR_BYTES = 16  # the widest access of one thread
_REGISTER = 4  # bytes
_SECTOR = 32  # bytes of memory that are moved together
_RUNS = 16  # elements of a row in runs of less than that, at least
# Threads of a block (0 for those of a warp), blocks of a cluster, and for each thread the most
# registers that rows may take and the most bytes on their way at once. On an H100, fewer threads
# with more each were faster, up to what is said here.
_SHARES = (
    (0, 1, 32, 128),
    (128, 1, 32, 64),
    (256, 1, 32, 64),
    (512, 1, 32, 128),
    (1024, 1, 36, 144),
    (256, 8, 32, 128),
    (512, 8, 64, 256),
)
# The same for rows that are staged in shared memory: threads, blocks, and for each thread the bytes
# that are staged and the registers that the rest of its rows may take.
_STAGED_SHARES = ((256, 1, 256, 0), (256, 4, 128, 0), (256, 8, 256, 0), (512, 8, 176, 24))
# Blocks of each multiprocessor: for fewer, more threads for each row are faster, where there can be
# more.
_MANY_BLOCKS = 2
_COLUMN_REGISTERS = 32  # of a thread, for its part of a column
# Of few columns, those that blocks are made of: a sector of memory of the narrowest elements holds
# sixteen of them, and half a sector comes at once.
_NARROW = 8
_NARROW_BYTES = 16
_NARROW_THREADS = 128  # that share one of these
_MANY_THREADS = 1 << 16  # enough for all multiprocessors
_FEW_STEPS = 4
_SINGLES = 4  # single elements of a row that a thread loads at least
_MANY_ROWS = 1 << 9  # so many may share warps
_SHORT_ROW = 16 << 10  # bytes that are read: registers suffice for that many on their way
_AHEAD = 48  # registers of a thread for what is loaded before anything is computed
_THREADS_AHEAD = 128  # of a block at most: with more, too few blocks find registers
_WARPS = 4  # of a block at most, where each takes a row
_COPIED = (4, 8, 16)  # bytes that one copy to shared memory can have
_WORDS = 2 << 10  # bytes of shared memory for what warps and blocks exchange
# Of an array: more rows do not share a block. Blocks of a warp with less are over before a GPU has
# begun as many more: an H100 begins about three for every two nanoseconds.
_BLOCK_BYTES = 1 << 12
_BLOCKS = 1  # of each multiprocessor: enough for all


@dataclass(frozen=True)
class RowPlan:
    """A division of rows among threads.

    Attributes:
        device: that the code is for.
        outer: extents of the loops over rows.
        length: elements of a row.
        lanes: contiguous elements that a thread loads and stores at once.
        threads: of a block that share a row: a warp, or all.
        cluster: blocks that share a row.
        item: bytes of the widest element in memory.
        ahead: whether arrays that all rows share are loaded before anything is computed, too.
        staged: vectors of a thread that are staged in shared memory, the first of each of its rows.
        beside: rows that neighbouring threads take, where those are contiguous in memory; 0 where
            they are not.
    """

    device: GpuDevice
    outer: tuple[int, ...]
    length: int
    lanes: int
    threads: int
    cluster: int
    item: int
    ahead: bool = False
    staged: int = 0
    beside: int = 0

    @property
    def rows(self) -> int:
        """Return how many rows there are."""
        return prod(self.outer)

    @property
    def vectors(self) -> int:
        """Vectors of a row."""
        return self.length // self.lanes

    @property
    def steps(self) -> int:
        """Vectors of a thread, the last of which may lie behind the row."""
        return pinned(-(-self.vectors // self.sharing))

    @property
    def sharing(self) -> int:
        """Threads that share a row."""
        return self.threads * self.cluster

    @property
    def of_warps(self) -> bool:
        """Tell whether a warp takes a row, or several."""
        return self.threads <= self.device.subgroup and not self.beside

    @property
    def mixes_rows(self) -> bool:
        """Whether threads with different rows exchange values at the same places of the code."""
        if not self.device.warps_alone and self.side_by_side > 1:
            return True
        return self.threads < self.device.subgroup or self.beside > 0

    @property
    def _nbytes(self) -> int:
        return self.length * self.item

    @property
    def side_by_side(self) -> int:
        """Rows of a block."""
        if self.beside:
            return self.beside
        lanes = self.device.subgroup
        if self.threads < lanes:
            return _WARPS * lanes // self.threads
        warps = _WARPS if self.of_warps else 1
        enough = _BLOCKS * self.device.multiprocessors
        rows = hint_of(self.rows)
        while warps > 1 and (rows < warps * enough or warps * self._nbytes > _BLOCK_BYTES):
            warps //= 2
        return warps


def row_plan(
    nests: Sequence[LinearNest], count: int, generics: Sequence[ir.Operation], device: GpuDevice
) -> RowPlan | None:
    """Return how threads should share the rows of `nests`; None where rows must lie in memory.

    Arguments are those of `row_plans`.
    """
    return next(row_plans(nests, count, generics, device), None)


def row_plans(
    nests: Sequence[LinearNest], count: int, generics: Sequence[ir.Operation], device: GpuDevice
) -> Iterator[RowPlan]:
    """Yield every way in which threads may share the rows of `nests`, the best first.

    Args:
        nests: what shares its `count` outer loops, with as few loops behind them as can be.
        count: the number of loops.
        generics: the operations that they come from.
        device: that the code is for.
    """
    lengths = {nest.loops[count].extent for nest in nests if len(nest.loops) > count}
    across = is_across(nests, count)
    if across and any(each.every > 1 or each.jumps for nest in nests for each in nest.accesses):
        return
    if len(lengths) != 1 or not all(_is_simple(nest, count, across=across) for nest in nests):
        return
    if not is_written_where_read(nests, count):
        return
    length = lengths.pop()
    outer = tuple(loop.extent for loop in nests[0].loops[:count])
    accesses = [each for nest in nests for each in row_accesses(nest, count)]
    in_memory = [each for each in accesses if not is_private(root(each.value), generics)]
    found = [row_gathers(nest, count) for nest in nests]
    gathers = [each for each in found if each is not None]
    item = max(map(item_bytes, in_memory), default=_VECTOR_BYTES)
    live = _live_bytes(nests, count)
    if across:
        plan = None if gathers else _columns(RowPlan(device, outer, length, 1, 1, 1, item), live)
        yield from () if plan is None else (plan,)
        return
    lanes = _lanes(in_memory, gathers, count, length)
    own, common = _read_bytes(nests, count)
    own += sum(each.nbytes for each in gathers)
    smallest = RowPlan(device, outer, length, lanes, device.subgroup, 1, item)
    if not gathers:
        yield from _parked_plans(nests, count, generics, smallest)
    yield from _fitting_plans(smallest, live, own, common)


def _fitting_plans(smallest: RowPlan, live: int, own: int, common: int) -> Iterator[RowPlan]:
    """Yield the ways to share a row at which it fits registers, the one with fewest threads first.

    Args:
        smallest: the plan for a warp.
        live: bytes of registers that an element needs.
        own: bytes of it that each row reads.
        common: bytes of it that all rows read.
    """
    for threads, cluster, registers, flying in _SHARES:
        threads = threads or smallest.device.subgroup
        plan = replace(smallest, threads=threads, cluster=cluster)
        if threads > plan.device.block_threads:
            continue
        if cluster > 1 and not plan.device.has(Feature.CLUSTERS):
            break
        elements = plan.steps * plan.lanes
        if elements * live > registers * _REGISTER or elements * own > flying:
            continue
        if plan.rows * cluster <= plan.device.grid:
            if plan.of_warps:
                plan = _of_parts(plan, max(live, own))
            elements = plan.steps * plan.lanes
            fits = elements * (own + common) <= _AHEAD * _REGISTER
            yield replace(plan, ahead=fits and threads <= _THREADS_AHEAD)


def _of_parts(plan: RowPlan, nbytes: int) -> RowPlan:
    """Return a plan of warps, or one in which several rows share each warp.

    Args:
        plan: with a warp for each row.
        nbytes: of registers that an element takes.
    """
    # Loads of single elements do not keep memory busy unless each thread has several.
    few = replace(plan, threads=1 << max(plan.vectors // _SINGLES - 1, 0).bit_length())
    is_short = plan.vectors <= 2 * plan.device.subgroup and few.steps * nbytes <= _AHEAD * _REGISTER
    rows = hint_of(plan.rows)
    if plan.lanes == 1 and is_short and rows >= _MANY_THREADS:
        return few
    if plan.vectors <= plan.device.subgroup // 2 and rows >= _MANY_ROWS:
        return replace(plan, threads=1 << (plan.vectors - 1).bit_length())
    return plan


def is_across(nests: Sequence[LinearNest], count: int) -> bool:
    """Tell whether elements of a row lie apart in memory, and neighbouring rows side by side."""
    found = [each for nest in nests for each in row_accesses(nest, count)]
    apart = [each for each in found if each.strides[count] != 1]
    return count > 0 and bool(apart) and all(each.strides[count - 1] in (0, 1) for each in apart)


def _columns(plan: RowPlan, live: int) -> RowPlan | None:
    """Return `plan` with rows side by side; None where they fit neither registers nor a block."""
    lanes = plan.device.subgroup
    found = _shared_columns(plan, live, lanes, lanes)
    rows = hint_of(found.rows)
    if -(-rows // found.beside) < plan.device.multiprocessors:
        # There are few columns: narrower blocks, of which more work at once, share each with more.
        beside = max(_NARROW, _NARROW_BYTES // plan.item)
        while beside < lanes and rows // beside >= plan.device.multiprocessors:
            beside *= 2
        found = _shared_columns(plan, live, beside, _NARROW_THREADS)
    if found.threads * found.beside > plan.device.block_threads:
        return None
    fits = found.steps * live <= _COLUMN_REGISTERS * _REGISTER
    return found if fits and -(-found.rows // found.beside) <= plan.device.grid else None


def _shared_columns(plan: RowPlan, live: int, beside: int, most: int) -> RowPlan:
    """Return `plan` with at least `beside` rows in a block, and up to `most` threads for each."""
    threads = 1
    while threads < most and not _suits_columns(replace(plan, threads=threads), live):
        threads *= 2
    return replace(plan, threads=threads, beside=max(beside, _THREADS_AHEAD // threads))


def _suits_columns(plan: RowPlan, live: int) -> bool:
    """Tell whether a column fits the registers of its threads, and there are enough of these."""
    fits = plan.steps * live <= _COLUMN_REGISTERS * _REGISTER
    many = hint_of(plan.rows) * plan.threads >= _MANY_THREADS
    return fits and (many or plan.steps <= _FEW_STEPS)


def _parked_plans(
    nests: Sequence[LinearNest],
    count: int,
    generics: Sequence[ir.Operation],
    plan: RowPlan,
) -> Iterator[RowPlan]:
    """Yield `plan` with rows staged in shared memory, where they should, and can."""
    if not plan.device.has(Feature.ASYNC_COPIES):
        return
    reads = [each for _, each in first_reads(nests, count) if not is_common(each, count)]
    if any(plan.lanes * item_bytes(each) not in _COPIED for each in reads):
        return
    if any(is_piece(each, count) for nest in nests for each in row_accesses(nest, count)):
        return
    own, _ = _read_bytes(nests, count)
    if own * plan.length <= _SHORT_ROW or not _writes_rows(nests, count, generics):
        return
    if not _are_read_again(reads, nests, count):
        return
    live = _live_bytes(nests, count)
    anew = [nest for nest in nests if is_recomputed(nest, count, generics)]
    elsewhere = {root(each.value) for each in reads}
    elsewhere |= {root(each.value) for nest in anew for each in nest.outputs}
    kept = _kept_bytes(nests, count, elsewhere)
    for threads, cluster, nbytes, registers in _STAGED_SHARES:
        if threads > plan.device.block_threads:
            continue
        found = replace(plan, threads=threads, cluster=cluster)
        staged = min(found.steps, nbytes // (own * plan.lanes))
        rest = (found.steps - staged) * plan.lanes
        if rest * live + staged * plan.lanes * kept > registers * _REGISTER:
            continue
        if cluster > 1 and not plan.device.has(Feature.CLUSTERS):
            return
        if threads * staged * plan.lanes * own + _WORDS > plan.device.block_shared_bytes:
            continue
        enough = 1 if rest else _MANY_BLOCKS * plan.device.multiprocessors
        if enough <= plan.rows * cluster <= plan.device.grid:
            yield replace(found, staged=staged)


def _writes_rows(nests: Sequence[LinearNest], count: int, generics: Sequence[ir.Operation]) -> bool:
    """Tell whether a row comes of rows: what is only reduced is faster in registers."""
    written = [(nest, each) for nest in nests for each in nest.outputs if is_row(nest, each, count)]
    return any(not is_private(root(each.value), generics) for _, each in written)


def _are_read_again(
    reads: Sequence[BufferOperand], nests: Sequence[LinearNest], count: int
) -> bool:
    """Tell whether several of `nests` look at one of `reads`."""
    seen = [{root(each.value) for each in row_accesses(nest, count)} for nest in nests]
    return any(sum(root(each.value) in one for one in seen) > 1 for each in reads)


def _is_simple(nest: LinearNest, count: int, *, across: bool) -> bool:
    """Tell whether `nest` has at most one loop along the row, and arithmetic that takes vectors."""
    inner = nest.loops[count:]
    if len(inner) > 1 or not _takes_vectors(nest, count, has_row=bool(inner)):
        return False
    if any(loop.is_reduction for loop in inner):
        if Combiner.of(nest) is None or is_row(nest, nest.outputs[0], count):
            return False
    elif inner and not all(is_row(nest, each, count) for each in nest.outputs):
        return False
    if inner and not across and not are_stored_together(nest, count):
        return False
    return all(
        access.is_scalar
        or (item_bytes(access) and (not inner or across or _walks(nest, access, count)))
        for access in nest.accesses
    )


def _walks(nest: LinearNest, access: BufferOperand, count: int) -> bool:
    """Tell whether threads can go along a row, and rows side by side need all that is moved."""
    runs = [length for length, _ in access.jumps]
    if any(length * item_bytes(access) < _SECTOR for length in runs):
        is_beside = count > 0 and access.strides[count - 1] == runs[0]
        if not is_beside or nest.loops[count].extent < _RUNS:
            return False
    return access.strides[count] in (0, 1) or access.every > 1 or is_piece(access, count)


def _takes_vectors(nest: LinearNest, count: int, *, has_row: bool) -> bool:
    """Tell whether the body is arithmetic that vectors can be given, numbers of elements too."""
    if not nest.indices:
        return is_vectorizable(nest.body)
    if row_gathers(nest, count) is not None:
        return True
    return has_row and takes_indices(nest.body)


def _lanes(
    accesses: Sequence[BufferOperand], gathers: Sequence[RowGathers], count: int, length: int
) -> int:
    """Return how many contiguous elements a thread can load and store at once."""
    sizes = [item_bytes(each) * max(each.strides[count], 1) for each in accesses]
    lanes = _VECTOR_BYTES // max(sizes, default=_VECTOR_BYTES)
    while lanes > 1 and not (
        length % lanes == 0
        and all(_fits(access, count, lanes) for access in accesses)
        and all(each.fit(lanes) for each in gathers)
    ):
        lanes //= 2
    return lanes


def _fits(access: BufferOperand, count: int, lanes: int) -> bool:
    if is_piece(access, count):
        width = lanes * access.strides[count]
        return all(
            place % width == 0 for place in (first_piece(access, count), *access.strides[:count])
        )
    jumps = (number for jump in access.jumps for number in jump)
    return all(place % lanes == 0 for place in (access.start, *access.strides[:count], *jumps))


def _read_bytes(nests: Sequence[LinearNest], count: int) -> tuple[int, int]:
    """Return the bytes of memory that are read for an element: of its own row, and of all rows'."""
    own: dict[ir.Value, int] = {}
    common: dict[ir.Value, int] = {}
    for _, access in first_reads(nests, count):
        sizes = common if is_common(access, count) else own
        sizes[root(access.value)] = item_bytes(access)
    return sum(own.values()), sum(common.values())


def _live_bytes(nests: Sequence[LinearNest], count: int) -> int:
    """Return the bytes that one element of a row occupies in registers."""
    sizes = [item_bytes(access) for nest in nests for access in row_accesses(nest, count)]
    # What only one nest reads passes through registers all the same.
    return max([*sizes, _kept_bytes(nests, count, set())])


def _kept_bytes(nests: Sequence[LinearNest], count: int, elsewhere: Collection[ir.Value]) -> int:
    """Return the bytes that one element of a row occupies in registers between two nests.

    What lies `elsewhere` occupies none.
    """
    first: dict[object, int] = {}
    last: dict[object, int] = {}
    size: dict[object, int] = {}
    for number, nest in enumerate(nests):
        for access in row_accesses(nest, count):
            whole = root(access.value), place_of(nest, access, count)
            if whole[0] in elsewhere:
                continue
            first.setdefault(whole, number)
            last[whole] = number
            size[whole] = item_bytes(access)
    gaps = range(len(nests) - 1)
    kept = (sum(size[each] for each in first if first[each] <= gap < last[each]) for gap in gaps)
    return max(kept, default=0)

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Combines one value of every thread of a block."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

from torch_mlir.dialects import arith

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.gpu.device import Feature
from xyntra.passes.lower.gpu.emit.combiner import Combiner
from xyntra.passes.lower.gpu.emit.shared_memory import SharedMemory
from xyntra.passes.lower.gpu.emit.subgroups import reduce_by_subgroups, subgroup_reduction
from xyntra.passes.lower.gpu.emit.thread_grid import (
    as_index,
    barrier,
    i32,
    is_below,
    thread_number,
    when,
)
from xyntra.passes.lower.loops.loop_builder import index

_WORD = 32


def block_reduce(
    value: ir.Value, combiner: Combiner, threads: int, shared: SharedMemory
) -> ir.Value:
    """Return, in every thread, the combination of `value` over the threads of a block.

    Butterflies inside of the warps, then one word of shared memory a warp, read by all; or, where
    warps have no butterflies, subgroups, or two steps through shared memory. Every thread combines
    in the same order, so that all have equal bits.

    Args:
        value: the thread's own.
        combiner: how two are combined.
        threads: of the block, a power of two; up to a warp, as many neighbours of it do so.
        shared: where the warps' results are put.
    """
    lanes = shared.device.subgroup
    if threads > lanes and not shared.device.shuffles:
        kind = subgroup_reduction(combiner) if shared.device.has(Feature.SUBGROUPS) else None
        if kind is not None:
            return reduce_by_subgroups(value, combiner, kind, threads, shared)
        return _reduce_in_memory(value, combiner, threads, shared)
    value = warp_reduce(value, combiner, lanes, threads)
    warps = threads // lanes
    if warps <= 1:
        return value
    words = shared.allocate(warps, value.type)
    number = thread_number()
    first = arith.cmpi(arith.CmpIPredicate.eq, arith.andi(number, i32(lanes - 1)), i32(0))
    with when(first):
        warp = as_index(arith.shrui(number, i32(lanes.bit_length() - 1)))
        ir.Operation.create("memref.store", operands=[value, words, warp])
    barrier()
    values = [emit("memref.load", [words, index(each)], value.type) for each in range(warps)]
    return reduce(combiner.combine, values)


def _reduce_in_memory(
    value: ir.Value, combiner: Combiner, threads: int, shared: SharedMemory
) -> ir.Value:
    """Combine every n-th value in each of n threads, then these n in every thread."""
    parts = 1 << (threads.bit_length() // 2)
    words, partials = shared.kept(threads, value.type), shared.kept(parts, value.type)
    number = thread_number()
    barrier()  # until all have loaded what was there
    ir.Operation.create("memref.store", operands=[value, words, as_index(number)])
    barrier()
    with when(arith.cmpi(arith.CmpIPredicate.ult, number, i32(parts))):
        part = _combined(words, combiner, number, range(0, threads, parts))
        ir.Operation.create("memref.store", operands=[part, partials, as_index(number)])
    barrier()
    return _combined(partials, combiner, i32(0), range(parts))


def _combined(
    words: ir.Value, combiner: Combiner, first: ir.Value, places: Iterable[int]
) -> ir.Value:
    """Return the combination of elements of memory at some places behind the first one."""
    kind = ir.MemRefType(words.type).element_type
    found = [as_index(arith.addi(first, i32(each))) for each in places]
    return reduce(combiner.combine, [emit("memref.load", [words, each], kind) for each in found])


def warp_reduce(
    value: ir.Value, combiner: Combiner, lanes: int, threads: int | None = None
) -> ir.Value:
    """Return, in every thread, the combination of `value` over contiguous lanes of a warp.

    Args:
        value: the thread's own.
        combiner: how two are combined.
        lanes: threads of a warp.
        threads: adjacent ones, at most so many; None for the whole warp.
    """
    distance = min(lanes, threads or lanes) // 2
    while distance:
        value = combiner.combine(value, butterfly(value, distance, lanes))
        distance //= 2
    return value


def column_reduce(
    value: ir.Value, combiner: Combiner, threads: int, beside: int, shared: SharedMemory
) -> ir.Value:
    """Return, in every thread, the combination of `value` over those with its place in a column.

    Args:
        value: the thread's own.
        combiner: how two are combined.
        threads: of a column; each lies `beside` numbers behind the one before.
        beside: columns.
        shared: where the values are put.
    """
    if threads == 1:
        return value
    device, number = shared.device, thread_number()
    alone = device.warps_alone  # elsewhere each butterfly would take two barriers
    together = min(max(device.subgroup // beside, 1), threads) if alone else 1
    value = _neighbours_reduce(value, combiner, beside, together, device.subgroup)
    parts = threads // together
    if parts == 1:
        return value
    words = shared.allocate(parts * beside, value.type)
    if together == 1:
        ir.Operation.create("memref.store", operands=[value, words, as_index(number)])
    else:
        run = together * beside
        is_first = is_below(arith.andi(number, i32(run - 1)), beside)
        with when(is_first):
            part = arith.shrui(number, i32(run.bit_length() - 1))
            place = arith.addi(arith.muli(part, i32(beside)), arith.andi(number, i32(beside - 1)))
            ir.Operation.create("memref.store", operands=[value, words, as_index(place)])
    barrier()
    column = as_index(arith.andi(number, i32(beside - 1)))
    places = [arith.addi(column, index(each * beside)) for each in range(parts)]
    values = [emit("memref.load", [words, place], value.type) for place in places]
    return reduce(combiner.combine, values)


def _neighbours_reduce(
    value: ir.Value, combiner: Combiner, beside: int, together: int, lanes: int
) -> ir.Value:
    """Return the combination over `together` threads of a warp, each `beside` from the next."""
    distance = beside
    while distance < together * beside:
        value = combiner.combine(value, butterfly(value, distance, lanes))
        distance *= 2
    return value


def butterfly(value: ir.Value, distance: int, lanes: int) -> ir.Value:
    """Return the value of the thread whose number differs in the bit `distance`.

    Args:
        value: the thread's own.
        distance: less than `lanes`.
        lanes: threads of a warp.
    """
    kind = value.type
    bits = kind.width
    integer = ir.IntegerType.get_signless(bits)
    word = ir.IntegerType.get_signless(_WORD)
    raw = value if isinstance(kind, ir.IntegerType) else emit("arith.bitcast", [value], integer)
    if bits < _WORD:
        moved = emit(
            "arith.trunci", [_exchange(emit("arith.extui", [raw], word), distance, lanes)], integer
        )
    elif bits == _WORD:
        moved = _exchange(raw, distance, lanes)
    else:
        moved = _exchange_double(raw, distance, lanes)
    return moved if isinstance(kind, ir.IntegerType) else emit("arith.bitcast", [moved], kind)


def _exchange(word: ir.Value, distance: int, lanes: int) -> ir.Value:
    """Return the i32 of the thread of the warp whose number differs in the bit `distance`."""
    mode = ir.Attribute.parse("#gpu<shuffle_mode xor>")
    built = ir.Operation.create(
        "gpu.shuffle",
        results=[word.type, ir.IntegerType.get_signless(1)],
        operands=[word, i32(distance), i32(lanes)],
        attributes={"mode": mode},
    )
    return built.results[0]


def _exchange_double(raw: ir.Value, distance: int, lanes: int) -> ir.Value:
    word, wide = (ir.IntegerType.get_signless(bits) for bits in (_WORD, 2 * _WORD))
    shift = emit("arith.constant", [], wide, value=ir.IntegerAttr.get(wide, _WORD))
    halves = [raw, arith.shrui(raw, shift)]
    low, high = (
        emit("arith.extui", [_exchange(emit("arith.trunci", [half], word), distance, lanes)], wide)
        for half in halves
    )
    return arith.ori(arith.shli(high, shift), low)

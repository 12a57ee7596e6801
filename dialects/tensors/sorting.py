# SPDX-License-Identifier: MIT OR Apache-2.0
"""The k best elements along an axis, through keys that hold a value's rank and its position.

A key has 64 bits: above, the value as an unsigned integer that grows from the best value to the
worst, NaN being the worst; below, the position. Keys are distinct, one comparison of integers
orders them, and of equal values the one of lower position comes first.

A few elements are kept in a sorted list: a block of the axis is looked at again only if its best
value may enter. More are gathered: what may still be among the best is appended to a buffer, and
whenever that is full, the best of it are found by bisection of their values, and stay. Many are
sorted: runs of a few keys by a network, several runs side by side, then merged from both of their
ends at a time, which needs no bounds (I. van den Hoven, *quadsort*, 2021).
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, log, prod

from torch_mlir import ir

from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.dtypes import bit_width, is_float, is_unsigned
from xyntra.dialects.scalar import Scalar, constant, emit
from xyntra.dialects.tensors.loops import Carried, carry_range, for_each, for_range, insert, when

__all__ = ["BEST", "best_along", "has_keys", "rank_of"]

BEST = "xyntra.best"
"""Attribute of a loop that finds the best elements: their axis, dtype, and which are better."""

_BLOCK = 32  # elements that are looked at together
_RUN = 8  # keys that a network sorts, at most
_WORST = (1 << 64) - 1
_LOW = (1 << 32) - 1
_SORT_COST = 1.2  # of a key in one merge, in steps of an insertion
_LOOK_COST = 1.5  # of an element that may enter the buffer
_CUT_COST = 2.5  # of a key when the buffer is cut
_LEAST_BUFFER = 512

Read = Callable[[Scalar], Scalar]


def has_keys(dtype: str, length: int) -> bool:
    """Tell whether values of `dtype` and positions below `length` fit into keys."""
    return bit_width(dtype) <= 32 and length < _LOW


def best_along(b: TensorBuilder, x: Tensor, axis: int, k: int, largest: bool) -> list[Tensor]:
    """The `k` largest or smallest elements of `x` along `axis`, and their positions (int64).

    Args:
        b: where to build.
        x: a tensor that is not empty, of a dtype that `has_keys` accepts.
        axis: a dimension, not negative.
        k: from 1 to the extent of `axis`.
        largest: whether larger values are better.
    """
    shape = [k if d == axis else n for d, n in enumerate(x.shape)]
    best = [Tensor(b.fill(shape, dtype, 0), dtype) for dtype in (x.dtype, "int64")]
    length = x.shape[axis]
    keys_of = _cheapest(length, k)

    def body(row: list[Scalar], state: list[Tensor]) -> list[Tensor]:
        def read(place: Scalar) -> Scalar:
            return b.extract(x, [*row[:axis], place, *row[axis:]])

        keys = keys_of(b, read, length, k, largest)

        def write(slot: Scalar, inner: list[Tensor]) -> list[Tensor]:
            position = b.extract(keys, [slot]) & _LOW
            found = (read(position.cast("index")), position.cast("int64"))
            there = [*row[:axis], slot, *row[axis:]]
            return [insert(value, t, there) for value, t in zip(found, inner, strict=True)]

        return for_range(k, state, write)

    rows = [n for d, n in enumerate(x.shape) if d != axis]
    if prod(rows) > 1:
        return _named(for_each(b, rows, best, body, range(len(rows))), x, axis, largest)

    def only(indices: list[Scalar], state: list[Tensor]) -> list[Tensor]:
        zeros = [constant(0, "index") for _ in rows]
        return when(indices[0].equals(0), state, lambda: body(zeros, state))

    # Simplification would take a loop of one iteration apart, and a kernel is one operation.
    return _named(for_each(b, [2], best, only), x, axis, largest)


def _cheapest(length: int, k: int) -> Callable[..., Tensor]:
    """The way to the best keys that takes the fewest steps."""
    entering = k * (1 + log(length / k))  # of elements in random order
    size = _buffer_size(k)
    looked_at = min(length, _BLOCK * entering)
    # All elements enter until the buffer is full for the first time.
    cuts = 1 + (length > size) + max(0.0, entering - size) / (size - k)
    gathered = _LOOK_COST * looked_at + _CUT_COST * min(length, size) * cuts
    costs = {
        _few_keys: k * entering,
        _gathered_keys: gathered + _sort_cost(k),
        _sorted_keys: _sort_cost(length),
    }
    return min(costs, key=lambda each: costs[each])


def _sort_cost(length: int) -> float:
    return _SORT_COST * length * max(1.0, log(length / _RUN, 2))


def _buffer_size(k: int) -> int:
    return max(4 * k, _LEAST_BUFFER)


def _named(best: list[Tensor], x: Tensor, axis: int, largest: bool) -> list[Tensor]:
    """Say at a loop what it computes, for targets that have another way to do so."""
    loop, i64 = best[0].value.owner.operation, ir.IntegerType.get_signless(64, x.value.context)
    described = {
        "axis": ir.IntegerAttr.get(i64, axis),
        "dtype": ir.StringAttr.get(x.dtype, x.value.context),
        "largest": ir.BoolAttr.get(largest, x.value.context),
    }
    loop.attributes[BEST] = ir.DictAttr.get(described, x.value.context)
    return best


def rank_of(value: Scalar, largest: bool, *, nan_is_best: bool = False) -> Scalar:
    """A uint32 that is the smaller the better `value` is; NaN is the worst, or the best."""
    if not is_float(value.dtype):
        wide = value.cast("uint32" if is_unsigned(value.dtype) else "int32")
        ordered = wide if is_unsigned(value.dtype) else wide ^ -(1 << 31)
        return (~ordered if largest else ordered).cast("uint32")
    number = value.cast("float32") + 0.0  # both zeros are equal
    bits = Scalar(emit("arith.bitcast", [number.value], constant(0, "int32").value.type), "int32")
    ordered = bits ^ ((bits >> 31) | -(1 << 31))
    rank = (~ordered if largest else ordered).cast("uint32")
    return number.is_nan().select(constant(0 if nan_is_best else _LOW, "uint32"), rank)


def _key(read: Read, place: Scalar, largest: bool) -> Scalar:
    rank = rank_of(read(place), largest).cast("uint64")
    return (rank << 32) | place.cast("int64").cast("uint64")


def _all_worst(b: TensorBuilder, length: int) -> Tensor:
    empty = _empty(b, length)
    worst = constant(_WORST, "uint64")
    return for_range(length, [empty], lambda place, keys: [insert(worst, keys[0], [place])])[0]


def _empty(b: TensorBuilder, length: int) -> Tensor:
    """Keys at the current place, where `b.empty` would make them outside of all loops."""
    op = ir.Operation.create("tensor.empty", results=[b.tensor_type([length], "uint64")])
    return Tensor(op.results[0], "uint64")


def _insert_key(b: TensorBuilder, keys: Tensor, key: Scalar, start: Scalar, count: int) -> Tensor:
    """Sort `key` into the `count` sorted keys from `start` on; the worst of them drops out."""

    def body(slot: Scalar, inner: list[Tensor], new: list[Scalar]) -> Carried:
        old = b.extract(inner[0], [start + slot])
        kept = insert(new[0].minimum(old), inner[0], [start + slot])
        return [kept], [new[0].maximum(old)]

    return carry_range(constant(count, "index"), [keys], [key], body)[0][0]


def _few_keys(b: TensorBuilder, read: Read, length: int, k: int, largest: bool) -> Tensor:
    """The `k` best keys, sorted."""
    zero, last = constant(0, "index"), constant(k - 1, "index")

    def element(place: Scalar, keys: list[Tensor]) -> list[Tensor]:
        key = _key(read, place, largest)
        may_enter = key < b.extract(keys[0], [last])
        return when(may_enter, keys, lambda: [_insert_key(b, keys[0], key, zero, k)])

    def block(first: Scalar, count: int, keys: list[Tensor]) -> list[Tensor]:
        def better(step: Scalar, _: list[Tensor], best: list[Scalar]) -> Carried:
            return [], [best[0].minimum(rank_of(read(first + step), largest))]

        size = constant(count, "index")
        best = carry_range(size, [], [constant(_LOW, "uint32")], better)[1][0]
        may_enter = best <= (b.extract(keys[0], [last]) >> 32).cast("uint32")
        return when(
            may_enter,
            keys,
            lambda: for_range(count, keys, lambda step, inner: element(first + step, inner)),
        )

    blocks, left = divmod(length, _BLOCK)
    keys = [_all_worst(b, k)]
    if blocks:
        keys = for_range(blocks, keys, lambda i, inner: block(i * _BLOCK, _BLOCK, inner))
    return block(constant(blocks * _BLOCK, "index"), left, keys)[0] if left else keys[0]


def _gathered_keys(b: TensorBuilder, read: Read, length: int, k: int, largest: bool) -> Tensor:
    """The `k` best keys, sorted, out of a buffer of those that may be among them.

    Beside the buffer there are two numbers: how many keys are in it, and the rank below which
    elements enter.
    """
    size = _buffer_size(k)

    def element(place: Scalar, keys: list[Tensor], marks: list[Scalar]) -> Carried:
        count, limit = marks
        key = _key(read, place, largest)
        keys = [insert(key, keys[0], [count.cast("index")])]
        return keys, [count + ((key >> 32) < limit).cast("uint64"), limit]

    def block(first: Scalar, count: int, state: list[Tensor]) -> list[Tensor]:
        steps = constant(count, "index")

        def better(step: Scalar, _: list[Tensor], best: list[Scalar]) -> Carried:
            return [], [best[0].minimum(rank_of(read(first + step), largest))]

        def look() -> list[Tensor]:
            def append(step: Scalar, inner: list[Tensor], marks: list[Scalar]) -> Carried:
                return element(first + step, inner, marks)

            found = carry_range(steps, state[:1], _marks(b, state), append)
            full = found[1][0] > size
            return when(full, _marked(found, state), lambda: _cut(b, _marked(found, state), k))

        best = carry_range(steps, [], [constant(_LOW, "uint32")], better)[1][0]
        return when(best.cast("uint64") < _marks(b, state)[1], state, look)

    # Every element enters at first, and there is always place for one block more.
    state = [_empty(b, size + _BLOCK + 1), _empty(b, 2)]
    state = _marked((state[:1], [constant(0, "uint64"), constant(_LOW + 1, "uint64")]), state)
    blocks, left = divmod(length, _BLOCK)
    if blocks:
        state = for_range(blocks, state, lambda i, inner: block(i * _BLOCK, _BLOCK, inner))
    if left:
        state = block(constant(blocks * _BLOCK, "index"), left, state)
    more = _marks(b, state)[0] > k
    buffer = when(more, state, lambda: _cut(b, state, k))[0]
    return _sorted(b, lambda place: b.extract(buffer, [place]), k)


def _marks(b: TensorBuilder, state: list[Tensor]) -> list[Scalar]:
    return [b.extract(state[1], [constant(place, "index")]) for place in range(2)]


def _marked(found: Carried, state: list[Tensor]) -> list[Tensor]:
    """The buffer and the numbers beside it, after a loop that carried them."""
    buffer, values = found
    marks = state[1]
    for place, value in enumerate(values):
        marks = insert(value, marks, [constant(place, "index")])
    return [buffer[0], marks]


def _cut(b: TensorBuilder, state: list[Tensor], k: int) -> list[Tensor]:
    """Keep the `k` best keys of the buffer, in their order; of equal values the first ones."""
    buffer, count = state[0], _marks(b, state)[0].cast("index")

    def number_below(limit: Scalar, steps: Scalar = count) -> Scalar:
        def add(step: Scalar, _: list[Tensor], total: list[Scalar]) -> Carried:
            return [], [total[0] + (b.extract(buffer, [step]) < limit).cast("uint64")]

        return carry_range(steps, [], [constant(0, "uint64")], add)[1][0]

    def halve(_: Scalar, __: list[Tensor], bounds: list[Scalar]) -> Carried:
        low, high = bounds  # the rank of the last key to keep is from `low` to `high`
        middle = (low + high) >> 1
        known = low.equals(high)  # nothing is counted any more
        below = number_below((middle + 1) << 32, known.select(constant(0, "index"), count))
        enough, exact = below >= k, below.equals(k)
        low = exact.select(middle, (known | enough).select(low, middle + 1))
        return [], [low, enough.select(middle, high)]

    def spread(step: Scalar, _: list[Tensor], ends: list[Scalar]) -> Carried:
        key = b.extract(buffer, [step])
        return [], [ends[0].minimum(key), ends[1].maximum(key)]

    ends = [constant(_WORST, "uint64"), constant(0, "uint64")]
    bounds = [each >> 32 for each in carry_range(count, [], ends, spread)[1]]
    last = carry_range(constant(32, "index"), [], bounds, halve)[1][0]
    equal = constant(k, "uint64") - number_below(last << 32)

    def keep(step: Scalar, keys: list[Tensor], carried: list[Scalar]) -> Carried:
        place, left = carried
        key = b.extract(keys[0], [step])
        rank = key >> 32
        is_last = rank.equals(last)
        stays = (rank < last) | (is_last & (left > 0))
        drawn = (is_last & stays).cast("uint64")
        kept = [insert(key, keys[0], [place])]
        return kept, [place + stays.cast("uint64").cast("index"), left - drawn]

    kept = carry_range(count, [buffer], [constant(0, "index"), equal], keep)[0]
    return _marked((kept, [constant(k, "uint64"), last]), state)


def _sorted_keys(b: TensorBuilder, read: Read, length: int, k: int, largest: bool) -> Tensor:
    """All keys, sorted, and some that are the worst behind them."""
    return _sorted(b, lambda place: _key(read, place, largest), length)


def _sorted(b: TensorBuilder, key_at: Read, length: int) -> Tensor:
    """The keys at places below `length`, sorted, and some that are the worst behind them."""
    levels = max(0, ceil(log(length / _RUN, 2)))
    run = -(-length >> levels)
    runs = 1 << levels
    keys, spare = _empty(b, run * runs), _empty(b, run * runs)

    def fill(place: Scalar, inner: list[Tensor]) -> list[Tensor]:
        return [insert(key_at(place), inner[0], [place])]

    def pad(place: Scalar, inner: list[Tensor]) -> list[Tensor]:
        return [insert(constant(_WORST, "uint64"), inner[0], [place + length])]

    (keys,) = for_range(length, [keys], fill)
    if run * runs > length:
        (keys,) = for_range(run * runs - length, [keys], pad)
    keys, spare = _sorted_runs(b, keys, spare, run)
    for level in range(levels):
        keys, spare = _merged(b, keys, spare, run << level), keys
    return keys


def _sorted_runs(b: TensorBuilder, keys: Tensor, spare: Tensor, run: int) -> tuple[Tensor, Tensor]:
    """Sort runs of `run` keys each; returns the tensor that holds them, and the other one.

    Runs are columns at first, so that vectors exchange keys of several of them.
    """
    columns = keys.shape[0] // run

    def exchange(column: Scalar, inner: list[Tensor]) -> list[Tensor]:
        places = [[column + row * columns] for row in range(run)]
        found = [b.extract(keys, place) for place in places]
        for low, high in _network(run):
            pair = found[low], found[high]
            found[low], found[high] = pair[0].minimum(pair[1]), pair[0].maximum(pair[1])
        target = inner[0]
        for key, place in zip(found, places, strict=True):
            target = insert(key, target, place)
        return [target]

    (sorted_,) = for_range(columns, [spare], exchange)
    if columns == 1 or run == 1:
        return sorted_, keys

    def turn(column: Scalar, inner: list[Tensor]) -> list[Tensor]:
        target = inner[0]
        for row in range(run):
            key = b.extract(sorted_, [column + row * columns])
            target = insert(key, target, [column * run + row])
        return [target]

    return for_range(columns, [keys], turn)[0], sorted_


def _network(size: int) -> list[tuple[int, int]]:
    """Places to compare and exchange, in order (K. Batcher, "Sorting networks", 1968)."""
    whole = 1 << (size - 1).bit_length()
    found = []
    block = 1
    while block < whole:
        step = block
        while step:
            for start in range(step % block, whole - step, 2 * step):
                for low in range(start, start + step):
                    if low // (2 * block) == (low + step) // (2 * block):
                        found.append((low, low + step))
            step //= 2
        block *= 2
    return [(low, high) for low, high in found if high < size]


def _merged(b: TensorBuilder, keys: Tensor, target: Tensor, run: int) -> Tensor:
    """Merge neighbouring sorted runs of `run` keys into `target`.

    Two pairs of runs at a time, where there are as many: each step waits for the one before it.
    """
    pairs = keys.shape[0] // (2 * run)
    together = 2 if pairs % 2 == 0 else 1

    def merge(number: Scalar, outer: list[Tensor]) -> list[Tensor]:
        lows = [(number * together + each) * (2 * run) for each in range(together)]

        def step(i: Scalar, inner: list[Tensor], at: list[Scalar]) -> Carried:
            into, after = inner[0], list[Scalar]()
            for each, low in enumerate(lows):
                into, moved = _merge_step(b, keys, into, (low, run, i), at[2 * each : 2 * each + 2])
                after += moved
            return [into], after

        starts = [place for low in lows for place in (low, low + (run - 1))]
        return carry_range(constant(run, "index"), outer, starts, step)[0]

    return for_range(pairs // together, [target], merge)[0]


def _merge_step(
    b: TensorBuilder,
    keys: Tensor,
    target: Tensor,
    where: tuple[Scalar, int, Scalar],
    at: list[Scalar],
) -> tuple[Tensor, list[Scalar]]:
    """Take the best and the worst key of what is left of two runs; returns where the first goes on.

    As many keys have been taken as there were steps, which says where the second run is. Two values
    that are carried, and move in opposite directions, also keep LLVM from making one gather of the
    four loads, which takes several times as long.

    Args:
        b: where to build.
        keys: the runs.
        target: where they are merged.
        where: the first run, the keys of a run, and the number of the step.
        at: the next keys of the first run, from its front and from behind.
    """
    low, run, number = where
    front, behind = at
    first = b.extract(keys, [front])
    second = b.extract(keys, [low * 2 + run + number - front])
    one = b.extract(keys, [behind])
    other = b.extract(keys, [low * 2 + (3 * run - 2) - number - behind])
    into = insert(first.minimum(second), target, [low + number])
    into = insert(one.maximum(other), into, [low + (2 * run - 1) - number])
    takes_first, takes_one = first < second, one > other
    return into, [
        takes_first.select(front + 1, front),
        takes_one.select(behind - 1, behind),
    ]

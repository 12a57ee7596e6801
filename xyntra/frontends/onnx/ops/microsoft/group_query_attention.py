# SPDX-License-Identifier: MIT OR Apache-2.0
"""GroupQueryAttention (domain com.microsoft): how exporters of language models write attention.

Its definition is that of onnxruntime's docs/ContribOperators.md. Query i of a sequence stands
behind the keys of the cache that are its past, whose number each sequence has for itself.

Where the total number of positions is an input, the past is a buffer of its final length, which the
caches that are returned have, too. If the total does not fit into it, the result is NaN. Zeros are
what such a cache holds behind the last position; where it is written over the past, it keeps what
that held there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt

import numpy as np

from xyntra.dialects import named
from xyntra.dialects.builder import Operand, Tensor
from xyntra.dialects.scalar import Scalar, constant
from xyntra.dialects.tensors.slices import concatenate
from xyntra.frontends.onnx.node import Node, handles
from xyntra.frontends.onnx.ops.elementwise.precision import accumulator_of, cast
from xyntra.frontends.onnx.ops.microsoft.embedding import angles, rotated
from xyntra.frontends.onnx.ops.nn.attention import soft_cap
from xyntra.frontends.onnx.opsets import MICROSOFT

_PAST, _LENGTHS, _TOTAL, _COSINE, _SINE, _PLACES, _BIAS, _SINK = 3, 5, 6, 7, 8, 9, 10, 11


@dataclass(frozen=True)
class _Sequences:
    """Queries, keys and values, and where they stand.

    Attributes:
        query: [batch, positions, heads, size].
        key: [batch, positions, groups, size], the new ones.
        value: likewise.
        before: how many keys precede the first query of each sequence, int64 of [batch]; an array
            where that is known, the same for all.
        total: keys of the longest sequence; where only the data tells, as many as the past has room
            for.
        left: how many keys a query sees up to its own position, or -1 for all.
    """

    query: Tensor
    key: Tensor
    value: Tensor
    before: Operand
    total: int
    left: int

    @property
    def sizes(self) -> tuple[int, int, int, int, int]:
        """Batch, positions, heads, groups of heads that share keys, and size."""
        batch, length, heads, size = self.query.shape
        return batch, length, heads, self.key.shape[2], size

    @property
    def sees_all(self) -> bool:
        """Tell whether every query sees all keys."""
        if not isinstance(self.before, np.ndarray) or 0 <= self.left < self.total:
            return False
        return self.query.shape[1] == 1 and int(self.before[0]) + 1 == self.total


@handles("GroupQueryAttention", domain=MICROSOFT)
def group_query_attention(node: Node) -> list[Tensor | None]:
    _refuse(node)
    given = _with_rotation(node, _sequences(node))
    key, value = _caches(node, given)
    if _is_state(node):
        result = _attend(node, _seeing_what_fits(node, given), key, value)
    else:
        result = _where_it_fits(node, given, _attend(node, given, key, value))
    wanted = [i < len(node.proto.output) and bool(node.proto.output[i]) for i in (1, 2)]
    caches = [x if want else None for x, want in zip((key, value), wanted, strict=True)]
    return [result, *caches]


def _refuse(node: Node) -> None:
    if int(node.attribute("qk_output", 0)) > 0:
        raise node.unsupported("attribute 'qk_output'")
    for name in ("k_quant_type", "v_quant_type"):
        if node.attribute(name, "NONE") != "NONE":
            raise node.unsupported(f"attribute '{name}'")


def _sequences(node: Node) -> _Sequences:
    heads, groups = int(node.required("num_heads")), int(node.required("kv_num_heads"))
    query, counts = node.tensor(0), (heads, groups, groups)
    if groups < 1 or heads < 1 or heads % groups or query.rank != 3:
        raise node.invalid(f"{heads} heads and {groups} groups of a query {query.shape}")
    parts = [query]
    if node.has(1):
        parts += [node.tensor(1), node.tensor(2)]
    else:
        parts = _unpacked(node, query, counts)
    split = []
    for part, count in zip(parts, counts, strict=True):
        if part.rank != 3 or part.shape[:2] != query.shape[:2] or part.shape[2] % count:
            raise node.invalid(f"an input {part.shape} does not split into {count} heads")
        split.append(node.b.reshape(part, [*part.shape[:2], count, part.shape[2] // count]))
    if len({part.shape[3] for part in split}) > 1:
        raise node.invalid(f"heads have the sizes {[part.shape[3] for part in split]}")
    total = _total(node, query.shape[1])
    left = int(node.attribute("local_window_size", -1))
    before = _before(node, query.shape[0], query.shape[1], total)
    return _Sequences(split[0], split[1], split[2], before, total, left)


def _unpacked(node: Node, packed: Tensor, counts: tuple[int, ...]) -> list[Tensor]:
    """The parts of [batch, positions, (heads + 2 groups) * size]."""
    if packed.shape[2] % sum(counts):
        raise node.invalid(f"a packed input {packed.shape} for {counts} heads")
    size, start, parts = packed.shape[2] // sum(counts), 0, []
    for count in counts:
        spans = [*packed.shape[:2], count * size]
        parts.append(node.b.slice(packed, [0, 0, start], spans, [1] * 3))
        start += count * size
    return parts


def _is_state(node: Node) -> bool:
    """Tell whether the caches are inputs that the results are written over."""
    return bool(_past_length(node)) and all(
        node.states.holds(node.tensor(_PAST + which)) for which in (0, 1)
    )


def _seeing_what_fits(node: Node, given: _Sequences) -> _Sequences:
    """No key is seen, and the result NaN, where the caches have no room for the new positions."""
    length, room = given.query.shape[1], _past_length(node)

    def body(first: Scalar) -> Scalar:
        return (first <= room - length).select(first, constant(-length, "int64"))

    before = node.b.map(body, node.b.tensor(given.before), dtype="int64")
    return replace(given, before=before)


def _past_length(node: Node) -> int:
    return node.tensor(_PAST).shape[2] if node.has(_PAST) else 0


def _total(node: Node, length: int) -> int:
    """Keys of the longest sequence, the new ones included."""
    if not _past_length(node):
        return length
    known = _known_total(node)
    total = _past_length(node) if known is None or _is_state(node) else known
    if total < length:
        raise node.invalid(f"a total of {total} positions, of which {length} are new")
    return total


def _known_total(node: Node) -> int | None:
    total = node.operand(_TOTAL)
    return int(total.reshape(-1)[0]) if isinstance(total, np.ndarray) else None


def _where_it_fits(node: Node, given: _Sequences, result: Tensor) -> Tensor:
    """NaN where a total that is an input is more than the past has room for."""
    if not _past_length(node) or _known_total(node) is not None:
        return result
    total = node.b.reshape(node.tensor(_TOTAL), [])

    def body(value: Scalar, count: Scalar) -> Scalar:
        return (count <= given.total).select(value, constant(float("nan"), result.dtype))

    return node.b.map(body, result, total, dtype=result.dtype)


def _before(node: Node, batch: int, length: int, total: int) -> Operand:
    """Return how many keys precede the first query of each sequence."""
    fixed = not _past_length(node) or _known_total(node) is not None
    if not _is_state(node) and fixed and (total == length or batch == 1):
        return np.full(batch, total - length, np.int64)
    last = node.operand(_LENGTHS)
    if isinstance(last, np.ndarray):
        known = last.reshape(-1).astype(np.int64) + (1 - length)
        if (known == known[0]).all():
            if int(known[0]) + length > total:
                raise node.invalid(f"sequences of {int(known[0]) + length} in {total} positions")
            return np.maximum(known, 0)
    flat = node.b.reshape(node.b.tensor(last), [batch])
    return node.b.map(lambda v: (v.cast("int64") + (1 - length)).maximum(0), flat, dtype="int64")


def _with_rotation(node: Node, given: _Sequences) -> _Sequences:
    if not node.attribute("do_rotary", 0):
        return given
    where = _places(node, given)
    tables = [angles(node, place, where, by_head=False) for place in (_COSINE, _SINE)]
    query, key = (rotated(node, x, tables[0], tables[1]) for x in (given.query, given.key))
    return replace(given, query=query, key=key)


def _places(node: Node, given: _Sequences) -> Operand:
    """The position of every query, [batch, positions]."""
    batch, length = given.query.shape[:2]
    if node.has(_PLACES):
        return node.operand(_PLACES)
    if isinstance(given.before, np.ndarray):
        return given.before.reshape(batch, 1) + np.arange(length)
    b, first = node.b, node.b.reshape(node.b.tensor(given.before), [batch, 1])
    shape = [batch, length]
    return b.map(lambda v: v + b.index(1).cast("int64"), first, dtype="int64", shape=shape)


def _caches(node: Node, given: _Sequences) -> list[Tensor]:
    """The past and the new keys, and values, [batch, groups, positions, size]."""
    news = [given.key, given.value]
    if not _is_state(node):
        return [_cached(node, given, i, new) for i, new in enumerate(news)]
    pasts = [_past(node, given, i) for i in range(len(news))]
    if pasts[0].shape != pasts[1].shape:
        raise node.invalid(f"pasts of {pasts[0].shape} and {pasts[1].shape}")
    fresh = [node.b.transpose(new, [0, 2, 1, 3]) for new in news]
    return node.states.all_appended(node.b, pasts, fresh, node.b.tensor(given.before), 2)


def _past(node: Node, given: _Sequences, which: int) -> Tensor:
    """The past keys (0) or values (1), of which there are some."""
    past, (batch, _, _, groups, size) = node.tensor(_PAST + which), given.sizes
    if past.shape != (batch, groups, past.shape[2], size):
        wanted = (batch, groups, "positions", size)
        raise node.invalid(f"a past of {past.shape} is not of {wanted}")
    return past


def _cached(node: Node, given: _Sequences, which: int, new: Tensor) -> Tensor:
    """The past and the new keys (0) or values (1), [batch, groups, positions, size]."""
    batch, length, _, groups, size = given.sizes
    count = max(_past_length(node), given.total)
    past = _past(node, given, which) if _past_length(node) else None
    if past is not None and not isinstance(given.before, np.ndarray):
        return _joined(node, past, new, node.b.tensor(given.before), count)
    fresh = node.b.transpose(new, [0, 2, 1, 3])
    first = given.total - length
    if isinstance(given.before, np.ndarray):
        first = int(given.before[0])
    parts = [fresh]
    if past is not None and first:
        if first > past.shape[2]:
            raise node.invalid(f"{first} positions of a past of {past.shape[2]}")
        parts = [node.b.slice(past, [0] * 4, [batch, groups, first, size], [1] * 4), fresh]
    whole = concatenate(node.b, parts, 2) if len(parts) > 1 else fresh
    return node.b.pad(whole, [0] * 4, [0, 0, count - whole.shape[2], 0], 0.0)


def _joined(node: Node, past: Tensor, new: Tensor, before: Tensor, count: int) -> Tensor:
    """Each sequence's new positions behind those of its own past, and zeros behind them."""
    b, (batch, groups, old, size), length = node.b, past.shape, new.shape[1]

    def body(first: Scalar) -> Scalar:
        place = b.index(2).cast("int64")
        here = [b.index(d) for d in (0, 1, 3)]
        kept = place.minimum(old - 1).cast("index")
        added = (place - first).maximum(0).minimum(length - 1).cast("index")
        earlier = b.extract(past, [here[0], here[1], kept, here[2]])
        later = b.extract(new, [here[0], added, here[1], here[2]])
        later = (place < first + length).select(later, constant(0, past.dtype))
        return (place < first).select(earlier, later)

    firsts = b.reshape(before, [batch, 1, 1, 1])
    return b.map(body, firsts, dtype=past.dtype, shape=[batch, groups, count, size])


def _attend(node: Node, given: _Sequences, key: Tensor, value: Tensor) -> Tensor:
    """The result, [batch, positions, heads * size]."""
    b, dtype, wide = node.b, given.query.dtype, accumulator_of(given.query.dtype)
    batch, length, heads, groups, size = given.sizes
    spans = [batch, groups, given.total, size]
    key, value = (b.slice(x, [0] * 4, spans, [1] * 4) for x in (key, value))
    query = b.reshape(given.query, [batch, length, groups, heads // groups, size])
    scale = float(node.attribute("scale", 0.0)) or 1 / sqrt(size)  # 0 stands for the default
    scores = b.einsum("bqgrd,bgkd->bgrqk", query, key, wide)
    scores = b.map(lambda v: v * scale, scores, dtype=wide)
    scores = soft_cap(b, scores, float(node.attribute("softcap", 0.0)))
    if node.has(_BIAS):
        bias = _bias(node, given)
        scores = b.map(lambda v, c: v + c.cast(wide), scores, bias, dtype=wide)
    weights = _softmax(node, given, _masked(node, given, scores))
    result = cast(b, b.einsum("bgrqk,bgke->bqgre", weights, value, wide), dtype)
    return b.reshape(result, [batch, length, heads * size])


def _softmax(node: Node, given: _Sequences, scores: Tensor) -> Tensor:
    """The softmax along the keys, and a score of each head that has no value, if there is one."""
    b, (_, _, heads, groups, _) = node.b, given.sizes
    if not node.has(_SINK) and int(node.attribute("smooth_softmax", 0)) <= 0:
        return named.softmax(b, scores, 4)
    column = [*scores.shape[:4], 1]
    if node.has(_SINK):
        sink = node.tensor(_SINK)
        if sink.shape != (heads,):
            raise node.invalid(f"a sink of shape {sink.shape} for {heads} heads")
        sink = b.reshape(sink, [1, groups, heads // groups, 1, 1])
        extra = b.map(lambda v: v.cast(scores.dtype), sink, dtype=scores.dtype, shape=column)
    else:
        extra = b.map(lambda: constant(0.0, scores.dtype), dtype=scores.dtype, shape=column)
    weights = named.softmax(b, concatenate(b, [scores, extra], 4), 4)
    return b.slice(weights, [0] * 5, scores.shape, [1] * 5)


def _bias(node: Node, given: _Sequences) -> Tensor:
    """Return what is added to the scores, with groups and their heads as dimensions."""
    bias, (batch, length, heads, groups, _) = node.tensor(_BIAS), given.sizes
    expected = ((1, batch), (1, heads), (length,), (given.total,))
    if bias.rank != 4 or any(
        n not in wanted for n, wanted in zip(bias.shape, expected, strict=True)
    ):
        raise node.invalid(f"a bias of shape {bias.shape}")
    split = [groups, heads // groups] if bias.shape[1] == heads else [1, 1]
    return node.b.reshape(bias, [bias.shape[0], *split, *bias.shape[2:]])


def _masked(node: Node, given: _Sequences, scores: Tensor) -> Tensor:
    """Scores of keys behind the query, or too far before it, become -inf."""
    if given.sees_all:
        return scores
    if isinstance(given.before, np.ndarray) and given.left < 0:
        first = int(given.before[0])

        def causal(value: Scalar) -> Scalar:
            return _seen(node, constant(first, "int64"), -1).select(value, float("-inf"))

        return node.b.map(causal, scores, dtype=scores.dtype)
    keep = _keep(node, given)
    return node.b.map(lambda v, m: m.select(v, float("-inf")), scores, keep, dtype=scores.dtype)


def _keep(node: Node, given: _Sequences) -> Tensor:
    """Return which queries see which keys, [1 or batch, 1, 1, queries, keys]."""
    b, shape = node.b, [1, 1, 1, given.query.shape[1], given.total]
    if isinstance(given.before, np.ndarray):
        first = int(given.before[0])
        return b.map(
            lambda: _seen(node, constant(first, "int64"), given.left), dtype="bool", shape=shape
        )
    firsts = b.reshape(b.tensor(given.before), [given.query.shape[0], 1, 1, 1, 1])
    shape[0] = given.query.shape[0]
    return b.map(lambda f: _seen(node, f, given.left), firsts, dtype="bool", shape=shape)


def _seen(node: Node, before: Scalar, left: int) -> Scalar:
    """Tell whether the query of dimension 3 sees the key of dimension 4; only in a body."""
    here = node.b.index(3).cast("int64") + before
    key = node.b.index(4).cast("int64")
    seen = key <= here
    return seen & (key > here - left) if left >= 0 else seen

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Products of rows with one matrix out of several each, as layers with experts compute them.

Rows come sorted by matrix, and how many each has is known at run time only. Where there are more
rows than matrices, they are laid into blocks that have one matrix each: `rows / block + matrices`
blocks are always enough.
"""

from __future__ import annotations

import numpy as np

from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.scalar import Scalar
from xyntra.frontends.onnx.ops.elementwise.precision import accumulator_of, cast
from xyntra.frontends.torch.node import AtenNode, handles

_MOST_OF_A_BLOCK = 64
_INDEX = "int64"


@handles("histc")
def histogram(node: AtenNode) -> Tensor:
    """Count the elements that fall into bins of equal width; the last bin has both its ends."""
    b, x, bins = node.b, node.tensor("self"), int(node["bins"])
    low, high = node["min"], node["max"]
    if low == high:
        raise node.unsupported("a range that the elements decide")
    x = b.reshape(x, [int(np.prod(x.shape, dtype=np.int64))])

    def place(v: Scalar) -> Scalar:
        found: Scalar = ((v - low) * bins / (high - low)).cast(_INDEX)
        last = (found < bins).select(found, bins - 1)
        inside: Scalar = ((v >= low) & (v <= high)).select(last, -1)
        return inside

    places = b.map(place, x, dtype=_INDEX)
    columns = b.reshape(places, [1, x.shape[0]])
    numbers = np.arange(bins, dtype=np.int64)[:, None]
    hits = b.map(lambda n, p: n.equals(p).cast("int32"), numbers, columns, dtype="int32")
    return cast(b, b.reduce(hits, [1], "sum", keepdims=False), node.dtype)


@handles("transformers.grouped_mm_fallback", "_grouped_mm")
def grouped_product(node: AtenNode) -> Tensor:
    """Rows [S, K], matrices [E, K, N], ends [E] of the rows of each: [S, N], 0 behind the last."""
    names = ("input", "weight") if node.has("weight") else ("self", "mat2")
    rows, matrices = (node.tensor(name) for name in names)
    if rows.rank != 2 or matrices.rank != 3 or not node.has("offs") or node.has("bias"):
        raise node.unsupported("another form than rows [S, K] by matrices [E, K, N]")
    if 0 in rows.shape or 0 in matrices.shape:
        raise node.unsupported("a product without elements")
    groups = _Groups(node, rows.shape[0], matrices.shape[0])
    count, total = rows.shape[0], accumulator_of(rows.dtype)
    size = groups.block
    if size == 1:
        own = node.by_onnx("Gather", matrices, groups.of_rows, axis=0)[0]
        found = node.b.einsum("sk,skn->sn", rows, own, total)
    else:
        laid = node.by_onnx("Gather", rows, groups.row_at, axis=0)[0]
        own = node.by_onnx("Gather", matrices, groups.of_blocks, axis=0)[0]
        blocks = node.b.einsum("pbk,pkn->pbn", laid, own, total)
        flat = node.b.reshape(blocks, [blocks.shape[0] * size, blocks.shape[2]])
        found = node.by_onnx("Gather", flat, groups.place_of, axis=0)[0]
    numbers = np.arange(count, dtype=np.int64)[:, None]
    last = node.b.slice(groups.ends, [groups.count - 1], [1], [1])
    kept = node.b.map(
        lambda row, end, v: (row < end).select(v, 0), numbers, last, found, dtype=found.dtype
    )
    return cast(node.b, kept, node.dtype)


class _Groups:
    """Which rows have which matrix, and blocks of rows with one matrix.

    Attributes:
        ends: [E], the first row behind those of each matrix.
        count: E, the number of matrices.
        block: the rows of a block.
        of_rows: [S], the matrix of each row.

    Args:
        node: of the product.
        rows: S, how many there are.
        matrices: how many there are.
    """

    def __init__(self, node: AtenNode, rows: int, matrices: int) -> None:
        self._node, self._rows, self.count = node, rows, matrices
        self.ends = cast(node.b, node.tensor("offs"), _INDEX)
        self.block = 1
        while 2 * self.block * matrices <= rows and self.block < _MOST_OF_A_BLOCK:
            self.block *= 2
        self.of_rows = self._group_of(rows, self.ends)
        if self.block > 1:
            self._lay()

    def _lay(self) -> None:
        """Find out which rows each block has, and where each row lies in the blocks."""
        b, node, size = self._b, self._node, self.block
        ends = self.ends
        zero = np.zeros(1, np.int64)
        heads = b.slice(ends, [0], [self.count - 1], [1])
        starts = node.by_onnx("Concat", zero, heads, axis=0)[0]
        used = b.map(lambda e, s: (e - s + (size - 1)) / size, ends, starts, dtype=_INDEX)
        (block_ends,) = node.by_onnx("CumSum", used, np.array(0, np.int64))
        block_starts = b.map(lambda e, n: e - n, block_ends, used, dtype=_INDEX)
        blocks = -(-self._rows // size) + self.count
        self.of_blocks = self._group_of(blocks, block_ends)
        start, first = (self._taken(each, self.of_blocks) for each in (starts, block_starts))
        numbers = np.arange(blocks, dtype=np.int64)
        heads = b.map(lambda p, s, f: s + (p - f) * size, numbers, start, first, dtype=_INDEX)
        self.row_at = b.map(
            lambda head, n: (head + n < self._rows).select(head + n, self._rows - 1),
            b.reshape(heads, [blocks, 1]),
            np.arange(size, dtype=np.int64),
            dtype=_INDEX,
        )
        start, first = (self._taken(each, self.of_rows) for each in (starts, block_starts))
        rows = np.arange(self._rows, dtype=np.int64)
        self.place_of = b.map(lambda r, s, f: f * size + (r - s), rows, start, first, dtype=_INDEX)

    @property
    def _b(self) -> TensorBuilder:
        return self._node.b

    def _group_of(self, count: int, ends: Tensor) -> Tensor:
        """Return for each of `count` numbers how many groups end before it, at most the last."""
        numbers = np.arange(count, dtype=np.int64)[:, None]
        before = self._b.map(lambda n, e: (e <= n).cast(_INDEX), numbers, ends, dtype=_INDEX)
        found = self._b.reduce(before, [1], "sum", keepdims=False)
        return self._b.map(
            lambda n: (n < self.count).select(n, self.count - 1), found, dtype=_INDEX
        )

    def _taken(self, values: Tensor, places: Tensor) -> Tensor:
        return self._node.by_onnx("Gather", values, places, axis=0)[0]

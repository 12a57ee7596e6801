# SPDX-License-Identifier: MIT OR Apache-2.0
"""Describes an attention on buffers: its sizes, masks, and where operands lie in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xyntra.dialects.attention import Access as Operand
from xyntra.dialects.attention import Attention
from xyntra.dialects.attention_layout import BATCH, HEAD, KEY, KEY_SIZE, QUERY, VALUE_SIZE
from xyntra.dialects.dtypes import ITEM_BYTES, default_dtype
from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import Scalar
from xyntra.dialects.tensors.positions import Position
from xyntra.passes.lower.gpu.attention.group import AttentionGroup
from xyntra.passes.lower.gpu.attention.values import number
from xyntra.passes.lower.gpu.emit.scalar_body import indices_of
from xyntra.passes.lower.kernels.attention_carrier import attention_of
from xyntra.passes.lower.kernels.attention_operands import Matrix, locate
from xyntra.passes.lower.loops.linear_nest import BufferOperand as NestAccess
from xyntra.passes.lower.loops.linear_nest import LinearNest, linear_nest
from xyntra.passes.lower.loops.memrefs import view_offset

_WIDEST = 16
"""Bytes that one thread moves at once."""

Outer = dict[int, Scalar]
"""The batch and the head, int32, of a block."""


@dataclass(frozen=True)
class Located:
    """A matrix of one head in global memory, with rows along `row` and columns along `column`.

    Attributes:
        matrix: the operand.
        row: the loop over its rows.
        column: the loop over its columns.
        places: the dtype that elements are counted in.
    """

    matrix: Matrix
    row: int
    column: int
    places: str = "uint64"

    @property
    def dtype(self) -> str:
        """The type of its elements."""
        return default_dtype(ir.MemRefType(self.matrix.memory.type).element_type)

    @property
    def item_bytes(self) -> int:
        """Bytes of an element."""
        return ITEM_BYTES[str(ir.MemRefType(self.matrix.memory.type).element_type)]

    @property
    def strides(self) -> tuple[int, int]:
        """Elements from row to row, and from column to column."""
        return self.matrix.stride(self.row), self.matrix.stride(self.column)

    @property
    def access_bytes(self) -> int:
        """The most bytes that neighbouring columns can be moved in; one element if they are apart.

        Every buffer starts at a multiple of 16 bytes.
        """
        down, along = self.strides
        first = self.matrix.first + view_offset(self.matrix.memory)
        places = [first, down, *(factor for _, factor in self.matrix.outer)]
        nbytes = _WIDEST if along == 1 else self.item_bytes
        while nbytes > self.item_bytes and any(p * self.item_bytes % nbytes for p in places):
            nbytes //= 2
        return nbytes

    def start(self, outer: Outer) -> Scalar:
        """Return the element at which the matrix of one head starts, within its buffer."""
        total = number(self.matrix.first, self.places)
        for digit, factor in self.matrix.outer:
            value = outer[digit.loop].cast("uint32")
            if digit.divisor > 1:
                value = value / digit.divisor
            total = total + (value % digit.extent).cast(self.places) * factor
        return total


@dataclass(frozen=True)
class MaskTerm:
    """A mask or bias: an operand, or what `body` computes from several.

    Attributes:
        inputs: matrices over queries and keys, or scalars.
        body: scalar code on one element of each; None where the only input is the term itself.
        indices: for every linalg.index of the body, the number that it is, as the element of a
            matrix that holds its own places.
    """

    inputs: tuple[Located | ir.Value, ...]
    body: ir.Block | None = None
    indices: tuple[Located, ...] = ()

    @property
    def has_pairs(self) -> bool:
        """Whether the values of two neighbouring keys can be read at once from an even key on."""
        located = [each for each in self.inputs if isinstance(each, Located)]
        return all(
            each.strides[1] == 0
            or (each.item_bytes > 1 and each.access_bytes >= 2 * each.item_bytes)
            for each in located
        )

    @property
    def moves_with_queries(self) -> bool:
        """Tell whether queries have different values."""
        located = (each for each in self.inputs if isinstance(each, Located))
        return any(each.strides[0] for each in (*located, *self.indices))


@dataclass(frozen=True)
class Problem:
    """One attention on buffers.

    Attributes:
        op: its sizes and attributes.
        query: rows of `op.sizes[QUERY]`.
        key: rows of keys.
        value: rows of values.
        result: what is written.
        keep: where scores are kept, if there is such a mask.
        bias: what is added to scores, if anything.
        queries: row i is that of query `i % queries` where rows are those of several heads; 0 where
            rows are queries.
        limit: how many keys masks leave to a head, an i64 for each batch; None where not known.
    """

    op: Attention
    query: Located
    key: Located
    value: Located
    result: Located
    keep: MaskTerm | None
    bias: MaskTerm | None
    queries: int = 0
    limit: Located | None = None

    @property
    def dtype(self) -> str:
        """The type of queries, keys, values and the result."""
        return self.query.dtype

    @property
    def sizes(self) -> tuple[int, int, int, int, int, int]:
        """Batches, heads, queries, keys, elements of a key and of a value."""
        b, h, s, t, d, e = self.op.sizes
        return b, h, s, t, d, e

    @property
    def skips_keys(self) -> bool:
        """Tell whether keys behind the last one that a query sees need not be looked at."""
        return self.op.causal_offset is not None and self.op.fill == float("-inf")

    @property
    def is_raw(self) -> bool:
        """Tell whether scores can stay products, to be scaled inside of the exponential."""
        plain = self.op.fill == float("-inf") or (self.keep is None and not self.is_causal)
        is_plain = self.bias is None and plain and not self.op.softcap
        return is_plain and self.op.scale > 0

    @property
    def is_causal(self) -> bool:
        """Whether queries see the keys up to their own position, or one at a fixed distance."""
        return self.op.causal_offset is not None


def describe(
    op: Attention,
    written: ir.Value,
    keep: MaskTerm | None,
    bias: MaskTerm | None,
    places: str = "uint64",
) -> Problem:
    """Locate the operands of an attention on memrefs, at the insertion point.

    Args:
        op: its operands are memrefs of static layout.
        written: the memref of the result.
        keep: the mask where it is computed here; else it is read.
        bias: the bias, likewise.
        places: the dtype that elements are counted in.
    """
    return Problem(
        op,
        Located(locate(op.query), QUERY, KEY_SIZE, places),
        Located(locate(op.key), KEY, KEY_SIZE, places),
        Located(locate(op.value), KEY, VALUE_SIZE, places),
        Located(locate(Operand(written, op.written)), QUERY, VALUE_SIZE, places),
        keep or _read(op.keep, places),
        bias or _read(op.bias, places),
        limit=_limit(op.limit),
    )


def _limit(operand: Operand | None) -> Located | None:
    """Where a limit is read; None where it is not the same for all heads, which may be folded."""
    if operand is None or any(HEAD in position.loops for position in operand.positions):
        return None
    return Located(locate(operand), QUERY, KEY)


def _read(operand: Operand | None, places: str) -> MaskTerm | None:
    return None if operand is None else MaskTerm((Located(locate(operand), QUERY, KEY, places),))


def outer_of(batch: Scalar, head: Scalar) -> Outer:
    """The loops outside of a block, by number."""
    return {BATCH: batch, HEAD: head}


def problem_of(group: AttentionGroup, places: str = "uint64") -> Problem:
    """Return what an attention computes; views of memory are made at the insertion point.

    Args:
        group: a stage's.
        places: the dtype that elements of buffers are counted in.
    """
    op = attention_of(group.carrier)
    written = list(group.carrier.operands)[-1]
    keep = None if op.keep is None else _term(group.keep, op.keep, places)
    bias = None if op.bias is None else _term(group.bias, op.bias, places)
    return describe(op, written, keep, bias, places)


def _term(maker: ir.Operation | None, mask: Operand, places: str) -> MaskTerm | None:
    if maker is None:
        return None
    nest = linear_nest(maker)
    inputs = tuple(_input(each, nest, mask.positions, places) for each in nest.inputs)
    numbers = (int(op.attributes["dim"].value) for op in indices_of(nest.body))
    output = nest.outputs[0].value
    indices = tuple(_located(output, mask.positions[number], places) for number in numbers)
    return MaskTerm(inputs, nest.body, indices)


def _input(
    access: NestAccess, nest: LinearNest, positions: Sequence[Position], places: str
) -> Located | ir.Value:
    """An input of what computes a mask, over the loops of the attention."""
    if access.is_scalar:
        return access.value
    total = Position(constant=access.offset)
    for position, step in zip(positions, access.strides, strict=True):
        total += position * step
    return _located(access.value, total, places)


def _located(memory: ir.Value, total: Position, places: str) -> Located:
    """An element over the loops of the attention."""
    inner = {digit.loop: factor for digit, factor in total.terms if digit.loop >= QUERY}
    outer = tuple(term for term in total.terms if term[0].loop < QUERY)
    return Located(Matrix(memory, total.constant, outer, inner), QUERY, KEY, places)

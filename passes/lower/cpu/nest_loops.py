# SPDX-License-Identifier: MIT OR Apache-2.0
"""`nest-loops`: linalg on memrefs becomes loops over flat buffers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cpu.transposed_tiles import emit_transposed
from xyntra.passes.lower.cpu.vector_nests import Vectors, emit_vector_nest, emit_vector_rows
from xyntra.passes.lower.nests.kernel_function import operations_named
from xyntra.passes.lower.nests.linear_nest import LinearNest, collapsed, is_linear, linear_nest
from xyntra.passes.lower.nests.loop_builder import Position, loop
from xyntra.passes.lower.nests.memrefs import VIEWS
from xyntra.passes.lower.nests.row_group import (
    aligned,
    exchange_values,
    shared_loops,
    with_row_buffers,
)
from xyntra.passes.lower.nests.scalar_nest import emit_nest, is_scalar_code
from xyntra.passes.registry import register_pass

_BETWEEN = VIEWS | {"arith.constant", "memref.alloc"}


@register_pass
@dataclass(frozen=True)
class NestLoops:
    """Rewrite every linalg.generic whose accesses are linear in its loops.

    Loops that continue each other become one, so that small inner dimensions do not keep LLVM from
    vectorising. Neighbours that exchange rows share the loop over the rows.
    """

    name: ClassVar[str] = "nest-loops"
    vector_bits: int = 256
    """Width of a vector register; 0 leaves vectors to LLVM."""
    cache_bytes: int = 24 << 20
    """What moves more memory stores its results past the caches."""

    def run(self, module: ir.Operation) -> None:
        """Rewrite what is possible below `module`."""
        vectors = Vectors(self.vector_bits, self.cache_bytes)
        with module.context:
            for group in list(_groups(operations_named(module, "linalg.generic"))):
                _rewrite(group, vectors)


def _groups(generics: Sequence[ir.Operation]) -> Iterator[list[ir.Operation]]:
    """Yield runs of suitable operations with nothing but views and allocations between them."""
    suitable = [op for op in generics if _is_suitable(op)]
    group: list[ir.Operation] = []
    for op in suitable:
        if group and not _follows(group[-1], op):
            yield group
            group = []
        group.append(op)
    if group:
        yield group


def _is_suitable(op: ir.Operation) -> bool:
    return is_linear(op) and is_scalar_code(op.regions[0].blocks[0])


def _follows(first: ir.Operation, second: ir.Operation) -> bool:
    if first.parent != second.parent:
        return False
    passed = False
    for view in first.parent.regions[0].blocks[0].operations:
        op = view.operation
        if op == second:
            return passed
        if passed and op.name not in _BETWEEN:
            return False
        passed = passed or op == first
    return False


def _rewrite(group: list[ir.Operation], vectors: Vectors) -> None:
    """Emit the longest possible runs of `group` with shared loops, the rest by itself."""
    nests = [linear_nest(op) for op in group]
    while group:
        length = _shared_length(nests)
        last = group[length - 1]
        with last.location, ir.InsertionPoint(last):
            _emit(nests[:length], group[:length], vectors)
        for op in group[:length]:
            op.erase()
        group, nests = group[length:], nests[length:]


def _shared_length(nests: Sequence[LinearNest]) -> int:
    length = 1
    while length < len(nests) and shared_loops(aligned(nests[: length + 1])):
        length += 1
    return length if exchange_values(nests[:length]) else 1


def _emit(nests: Sequence[LinearNest], generics: Sequence[ir.Operation], vectors: Vectors) -> None:
    if len(nests) == 1:
        nest = collapsed(nests[0])
        if not emit_vector_nest(nest, vectors) and not emit_transposed(nest, vectors.bits):
            emit_nest(nest, {})
        return
    nests = aligned(nests)
    count = shared_loops(nests)
    nests = with_row_buffers(nests, count, generics)
    nests = [collapsed(nest, fixed=count) for nest in nests]
    if not emit_vector_rows(nests, count, vectors):
        _emit_shared(nests, count, {})


def _emit_shared(nests: Sequence[LinearNest], count: int, position: Position) -> None:
    if len(position) == count:
        for nest in nests:
            emit_nest(nest, position)
        return
    number = len(position)
    with loop(nests[0].loops[number].extent, parallel=True) as step:
        _emit_shared(nests, count, position | {number: step})

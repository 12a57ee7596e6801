# SPDX-License-Identifier: MIT OR Apache-2.0
"""`blocked-attention`: attention on memrefs becomes loops over blocks of queries and of keys."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

from xyntra.dialects.attention import OP, Access, Attention
from xyntra.dialects.attention_layout import KEY, QUERY
from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.sizes.size import Size
from xyntra.passes.diagnostics import PassFailure
from xyntra.passes.lower.cpu.attention.heads import heads_as_queries
from xyntra.passes.lower.cpu.attention.in_place import can_read_in_place, plan_in_place
from xyntra.passes.lower.cpu.attention.plan import AttentionChoices, AttentionPlan, plan_attention
from xyntra.passes.lower.cpu.machine import LoweringOptions
from xyntra.passes.lower.cpu.schedule.emitter import (
    EmitterSweep,
    NestEmitter,
    emit_scheduled,
    require,
)
from xyntra.passes.lower.kernels.attention_carrier import attention_of
from xyntra.passes.lower.kernels.attention_operands import locate
from xyntra.passes.lower.loops.memrefs import has_static_layout
from xyntra.passes.lower.loops.taken import Taken
from xyntra.passes.registry import register_pass

_BITS = 32
_VECTORS = (4, 8, 16)
_WIDTHS = (1, 2, 4)
_TRIED_KEYS = (32, 64, 128, 256)
_TRIED_TILES = (1, 2, 4, 8)  # of queries, in a block


@dataclass(frozen=True)
class _Carrier:
    """A linalg.generic that stands for attention."""

    op: ir.Operation

    @property
    def attention(self) -> Attention:
        return heads_as_queries(attention_of(self.op))


class _BlockedAttention(NestEmitter):
    name = "blocked-attention"
    choices = AttentionChoices

    def choose(self, place: _Carrier, machine: LoweringOptions) -> AttentionChoices:
        op, lanes = place.attention, max(1, machine.vector_bits // _BITS)
        in_place = plan_in_place(op, lanes) if lanes in _VECTORS else None
        if in_place is not None:
            return in_place
        return plan_attention(op.sizes, lanes, machine.vector_registers)

    def check(self, place: _Carrier, choices: AttentionChoices) -> None:
        queries, vector = place.attention.sizes[QUERY], choices.vector
        require(vector in _VECTORS, place, "vector", vector, "allowed are 4, 8 and 16 elements")
        allowed = "allowed are 1, 2 and 4 vectors"
        require(choices.vectors in _WIDTHS, place, "vectors", choices.vectors, allowed)
        rows, block = choices.rows, choices.block
        # Where the number of queries is told, tiles compute rows that are not there beside memory.
        fits = rows > 0 and (isinstance(queries, Size) or rows <= queries)
        require(fits, place, "rows", rows, f"allowed are 1 to {queries}")
        fits = len(block) == 2 and min(block) > 0
        fits = fits and block[0] % rows == 0 and block[1] % choices.panel == 0
        allowed = f"allowed are multiples of {rows} queries and {choices.panel} keys"
        require(fits, place, "block", block, allowed)
        is_legal = not choices.in_place or can_read_in_place(place.attention, choices)
        allowed = "rows of keys or values are not whole vectors, or queries are many"
        require(is_legal, place, "in_place", choices.in_place, allowed)

    def group(self, place: _Carrier, choices: AttentionChoices) -> list[ir.Operation]:
        return [place.op]

    def emit(self, place: _Carrier, choices: AttentionChoices) -> None:
        from xyntra.passes.lower.cpu.attention.blocks import AttentionEmitter

        op = place.attention
        result = locate(Access(list(place.op.operands)[-1], op.written))
        plan = AttentionPlan.of(choices, op.sizes[QUERY], op.sizes[KEY])
        AttentionEmitter(op, result, plan).emit()

    def space(self, place: _Carrier, machine: LoweringOptions) -> Iterator[AttentionChoices]:
        op, lanes = place.attention, max(1, machine.vector_bits // _BITS)
        in_place = plan_in_place(op, lanes)
        if in_place is not None:
            yield in_place
        usual = plan_attention(op.sizes, lanes, machine.vector_registers)
        for tiles in _TRIED_TILES:
            for keys in _TRIED_KEYS:
                yield replace(usual, block=(tiles * usual.rows, keys))


def _find(op: ir.Operation, taken: Taken) -> _Carrier | None:
    if OP not in op.attributes:
        return None
    if not all(has_static_layout(value) for value in op.operands):
        raise PassFailure.at(op, "attention reads or writes memory whose layout is not static")
    return _Carrier(op)


STAGE = EmitterSweep("blocked-attention", _find, (_BlockedAttention(),))


@register_pass
@dataclass(frozen=True)
class BlockedAttention:
    """Rewrite attention, which bufferization leaves as a linalg.generic with its attributes.

    Scores of one block of queries and one chunk of keys exist at a time. Both contractions keep
    their tiles in registers, and exponentials are computed on vectors.
    """

    name: ClassVar[str] = "blocked-attention"

    def run(self, module: ir.Operation) -> None:
        """Rewrite every attention below `module` that is scheduled so."""
        emit_scheduled(module, STAGE)

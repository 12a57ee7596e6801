# SPDX-License-Identifier: MIT OR Apache-2.0
"""`blocked-attention`: attention on memrefs becomes loops over blocks of queries and of keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.attention import Access
from xyntra.dialects.attention_layout import KEY, QUERY
from xyntra.dialects.mlir import ir
from xyntra.passes.diagnostics import PassFailure
from xyntra.passes.lower.cpu.attention_plan import plan_attention
from xyntra.passes.lower.nests.attention_carrier import attention_of, carried
from xyntra.passes.lower.nests.attention_operands import locate
from xyntra.passes.lower.nests.memrefs import has_static_layout
from xyntra.passes.registry import register_pass

_BITS = 32


@register_pass
@dataclass(frozen=True)
class BlockedAttention:
    """Rewrite attention, which bufferization leaves as a linalg.generic with its attributes.

    Scores of one block of queries and one chunk of keys exist at a time. Both contractions keep
    their tiles in registers, and exponentials are computed on vectors.
    """

    name: ClassVar[str] = "blocked-attention"
    vector_bits: int = 256
    vector_registers: int = 16

    def run(self, module: ir.Operation) -> None:
        """Rewrite every attention below `module`.

        Raises:
            PassFailure: an operand's layout is known only at run time.
        """
        for generic in carried(module):
            if not all(has_static_layout(value) for value in generic.operands):
                message = "attention reads or writes memory whose layout is not static"
                raise PassFailure.at(generic, message)
            with generic.context, generic.location, ir.InsertionPoint(generic):
                self._emit(generic)
            generic.erase()

    def _emit(self, generic: ir.Operation) -> None:
        from xyntra.passes.lower.cpu.attention_blocks import AttentionEmitter

        op = attention_of(generic)
        result = locate(Access(list(generic.operands)[-1], op.written))
        lanes = self.vector_bits // _BITS
        queries, keys = op.sizes[QUERY], op.sizes[KEY]
        plan = plan_attention(queries, keys, lanes, self.vector_registers)
        AttentionEmitter(op, result, plan).emit()

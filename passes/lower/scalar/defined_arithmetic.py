# SPDX-License-Identifier: MIT OR Apache-2.0
"""`defined-arithmetic`: gives integer corner cases a value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.kernel_function import operations_named
from xyntra.passes.lower.scalar import guarded_integers
from xyntra.passes.registry import register_pass

_RULES: dict[str, Callable[[ir.Operation], ir.Value]] = {
    "arith.divsi": guarded_integers.signed_quotient,
    "arith.divui": guarded_integers.unsigned_quotient,
    "arith.remsi": guarded_integers.signed_remainder,
    "arith.remui": guarded_integers.unsigned_remainder,
    "arith.floordivsi": guarded_integers.floor_quotient,
    "arith.ceildivsi": guarded_integers.ceiling_quotient,
    "arith.ceildivui": guarded_integers.unsigned_ceiling_quotient,
    "arith.shli": guarded_integers.shift,
    "arith.shrui": guarded_integers.shift,
    "arith.shrsi": guarded_integers.arithmetic_shift,
    "arith.fptosi": guarded_integers.signed_from_float,
    "arith.fptoui": guarded_integers.unsigned_from_float,
}


@register_pass
@dataclass(frozen=True)
class DefinedArithmetic:
    """Define what the hardware traps on, or LLVM leaves undefined, on scalar integers or indices.

    Division and remainder by zero give 0; the smallest integer divided by -1 gives itself, with
    remainder 0. Shifts by the width or more shift everything out. A float outside an integer type
    becomes its nearest value, and NaN becomes 0.
    """

    name: ClassVar[str] = "defined-arithmetic"

    of: Literal["integers", "indices"] = "integers"
    """What is rewritten. Indices that passes compute meet none of these cases; given ones may."""

    def run(self, module: ir.Operation) -> None:
        """Rewrite every operation below `module` that may meet such a case."""
        kind = ir.IndexType if self.of == "indices" else ir.IntegerType
        for op in operations_named(module, *_RULES):
            if not isinstance(op.result.type, kind):
                continue
            with op.context, op.location, ir.InsertionPoint(op):
                value = _RULES[op.name](op)
            if value != op.result:
                op.result.replace_all_uses_with(value)
                op.erase()

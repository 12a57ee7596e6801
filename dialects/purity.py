# SPDX-License-Identifier: MIT OR Apache-2.0
"""Which operations may stand inside `xyntra.fused`: those known to have no side effects.

The bindings do not expose MLIR's memory effects of an op, so this is a list of dialects whose ops
are pure on tensors and scalars.
"""

from __future__ import annotations

from xyntra.dialects.base import ir

__all__ = ["NAMED_OPS", "impurity"]

NAMED_OPS = frozenset(
    f"xyntra.{name}"
    for name in ("attention", "softmax", "log_softmax", "layer_norm", "rms_norm", "gelu", "silu")
)
_ALWAYS = frozenset({"arith", "math", "complex", "index", "tensor", "ub"})
_ON_TENSORS = frozenset({"linalg", "affine", "scf"})
_OTHERS = NAMED_OPS | {"builtin.unrealized_conversion_cast"}


def impurity(operation: ir.Operation) -> str | None:
    """Return why `operation` (its regions aside) may not be fused, or None if it may."""
    name: str = operation.name
    dialect = name.partition(".")[0]
    if dialect in _ALWAYS or name in _OTHERS:
        return None
    if dialect not in _ON_TENSORS:
        return f"'{name}' is not known to have none"
    if any(isinstance(value.type, ir.MemRefType) for value in operation.operands):
        return f"'{name}' accesses a memref"
    return None

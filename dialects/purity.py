# SPDX-License-Identifier: MIT OR Apache-2.0
"""Lists the operations that may stand inside `xyntra.fused`: those known to have no side effects.

The bindings do not expose MLIR's memory effects of an op, so this is a list of dialects whose ops
are pure on tensors and scalars.
"""

from __future__ import annotations

from functools import lru_cache

from xyntra.dialects.base import ir

__all__ = ["NAMED_OPS", "impurity", "is_harmless"]

NAMED_OPS = frozenset(
    f"xyntra.{name}"
    for name in ("attention", "softmax", "log_softmax", "layer_norm", "rms_norm", "gelu", "silu")
)
_WITHOUT_REGIONS = frozenset({"arith", "math", "complex", "index", "ub"})
_ALWAYS = _WITHOUT_REGIONS | {"tensor"}
_ON_TENSORS = frozenset({"linalg", "affine", "scf"})
_OTHERS = NAMED_OPS | {"builtin.unrealized_conversion_cast"}
_IN_BODIES = frozenset({"linalg.index", "linalg.yield", "tensor.extract"})


@lru_cache(maxsize=4096)
def is_harmless(name: str) -> bool:
    """Tell whether all operations of this name are free of side effects and of regions."""
    return name.partition(".")[0] in _WITHOUT_REGIONS or name in _OTHERS or name in _IN_BODIES


def impurity(operation: ir.Operation) -> str | None:
    """Return why `operation` (its regions aside) may not be fused, or None if it may."""
    name: str = operation.name
    dialect = name.partition(".")[0]
    if dialect in _ALWAYS or name in _OTHERS:
        return None
    if dialect not in _ON_TENSORS:
        return f"'{name}' is not known to have none"
    if dialect == "linalg" and len(operation.results):
        return None  # on tensors alone: linalg verifies that they are not mixed with memrefs
    if any(isinstance(value.type, ir.MemRefType) for value in operation.operands):
        return f"'{name}' accesses a memref"
    return None

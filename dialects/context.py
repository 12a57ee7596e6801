# SPDX-License-Identifier: MIT OR Apache-2.0
"""Creates MLIR contexts that know the dialect."""

from __future__ import annotations

from xyntra.dialects.base import Xyntra, ir
from xyntra.dialects.ops import (  # noqa: F401  (importing an op adds it to the dialect)
    attention,
    fused,
    gelu,
    layer_norm,
    log_softmax,
    rms_norm,
    silu,
    softmax,
    stage,
    yield_,
)

from xyntra.dialects.attributes import kernel, schedule  # noqa: F401  # isort: skip

__all__ = ["load", "make_context"]

_BUILT_WITH = (
    "affine", "arith", "bufferization", "cf", "complex", "func", "index", "irdl", "linalg", "llvm",
    "math", "memref", "scf", "tensor", "ub", "vector",
)  # fmt: skip
"""Dialects whose operations our passes create. Parsing loads others when it meets them; loading all
at once would take as long as a small pass."""


def make_context(*, allow_unregistered_dialects: bool = False) -> ir.Context:
    """Return a new context with the dialect loaded and context threading off.

    Threading stays off because a verifier written in Python deadlocks with MLIR's thread pool.
    """
    context = ir.Context(load_on_create_dialects=[])
    for name in _BUILT_WITH:
        context.get_dialect_descriptor(name)
    context.enable_multithreading(False)
    context.allow_unregistered_dialects = allow_unregistered_dialects
    load(context)
    return context


def load(context: ir.Context) -> None:
    """Load the dialect into `context`; a context that has it already is left as it is."""
    if context.is_dialect_loaded(Xyntra.DIALECT_NAMESPACE):
        return
    with context, ir.Location.unknown():
        Xyntra.load()

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Defines the failures by which a module is refused before it is compiled."""

from __future__ import annotations

from xyntra.dialects.mlir import ir
from xyntra.errors import CompileError, ModelError, UnsupportedError, XyntraError
from xyntra.passes.diagnostics import PassFailure

__all__ = ["out_of_bounds", "refusal_of", "too_large", "unsupported"]

_UNSUPPORTED = "mlir-unsupported"
_OUT_OF_BOUNDS = "mlir-out-of-bounds"
_TOO_LARGE = "tensor-too-large"
_LARGE_HINT = "raise max_tensor_bytes if the model really needs it"


def unsupported(op: ir.Operation, message: str) -> PassFailure:
    """Return the failure to raise for what no model needs."""
    return PassFailure.at(op, message, code=_UNSUPPORTED)


def out_of_bounds(op: ir.Operation, message: str) -> PassFailure:
    """Return the failure to raise for an access that is known to leave its tensor."""
    return PassFailure.at(op, message, code=_OUT_OF_BOUNDS)


def too_large(op: ir.Operation, nbytes: int) -> PassFailure:
    """Return the failure to raise for a tensor above the limit."""
    message = f"the model has a tensor of {nbytes:,} bytes"
    return PassFailure.at(op, message, code=_TOO_LARGE)


def refusal_of(error: CompileError) -> XyntraError | None:
    """Return the error for users that a failure of these passes is; None for other failures."""
    if not isinstance(error, PassFailure):
        return None
    found = error.diagnostics[0]
    if error.code == _OUT_OF_BOUNDS:
        return ModelError(error.code, error.message, place=found.place)
    if error.code not in (_UNSUPPORTED, _TOO_LARGE):
        return None
    hint = _LARGE_HINT if error.code == _TOO_LARGE else None
    return UnsupportedError(error.code, error.message, place=found.place, hint=hint)

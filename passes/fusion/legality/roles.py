# SPDX-License-Identifier: MIT OR Apache-2.0
"""Classifies operations by their role in a kernel."""

from __future__ import annotations

from enum import Enum

from xyntra.passes.analysis.views import TENSOR_VIEWS
from xyntra.passes.fusion.legality.facts import BodyFacts, LoopFacts

__all__ = ["ALONG_AXIS", "ANCHORS", "NOTHING", "Role", "role_of"]


class Role(Enum):
    """The value says what an operation of the role does, after its name."""

    FILL = "is one value everywhere"
    VIEW = "shows another tensor"
    POINTWISE = "computes every element by itself"
    MOVES = "moves elements"
    DATA = "places tensors in another"
    ROW = "reduces, or mixes the elements of a row"
    PRODUCT = "is a contraction"
    CONVOLUTION = "is a convolution"
    POOLING = "reduces sliding windows"
    ATTENTION = "is an attention"
    OTHER = "is none of the operations that can share a loop nest"

    __hash__ = object.__hash__  # that of Enum is no built-in function, and sets of roles are many


ANCHORS = frozenset({Role.PRODUCT, Role.CONVOLUTION, Role.POOLING, Role.ATTENTION})
NOTHING = frozenset({"arith.constant", "tensor.empty"})
"""Operations that only say what an operand is; they cost nothing."""

ALONG_AXIS = frozenset(
    {"xyntra.softmax", "xyntra.log_softmax", "xyntra.layer_norm", "xyntra.rms_norm"}
)
_NAMED = {
    "linalg.copy": Role.MOVES,
    "linalg.fill": Role.FILL,
    "linalg.transpose": Role.MOVES,
    "xyntra.attention": Role.ATTENTION,
    "xyntra.gelu": Role.POINTWISE,
    "xyntra.silu": Role.POINTWISE,
    **dict.fromkeys(ALONG_AXIS, Role.ROW),
    **dict.fromkeys(TENSOR_VIEWS, Role.VIEW),
}


def role_of(name: str, loops: LoopFacts | None, body: int, inputs: int) -> Role:
    """The role of an operation that gives a tensor.

    Args:
        name: that of the operation.
        loops: those of a `linalg.generic`.
        body: what a generic's scalar operations do, as bits of `BodyFacts`.
        inputs: number of operands that it does not write to.
    """
    if loops is not None:
        return _role_of_generic(loops, body, inputs)
    found = _NAMED.get(name)
    if found is not None:
        return found
    if name.startswith("tensor."):
        return Role.DATA
    if name.startswith(("linalg.conv", "linalg.depthwise")):
        return Role.CONVOLUTION
    if name.startswith("linalg.pooling"):
        return Role.POOLING
    is_product = "matmul" in name or name in ("linalg.contract", "linalg.matvec", "linalg.dot")
    return Role.PRODUCT if is_product else Role.OTHER


def _role_of_generic(loops: LoopFacts, body: int, inputs: int) -> Role:
    if body & BodyFacts.NESTS:
        return Role.OTHER
    if not loops.reduces:
        if inputs == 0 and not body:
            return Role.FILL
        writes_numbers = bool(body & BodyFacts.INDEXES) and not body & BodyFacts.GATHERS
        return Role.POINTWISE if body & BodyFacts.COMPUTES or writes_numbers else Role.MOVES
    multiplies = inputs >= 2 and bool(body & BodyFacts.MULTIPLIES)
    if loops.are_plain:
        return Role.PRODUCT if multiplies else Role.ROW
    return Role.CONVOLUTION if multiplies else Role.POOLING

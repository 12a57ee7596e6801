# SPDX-License-Identifier: MIT OR Apache-2.0
"""Importers of the ONNX operators, one file a family, each loaded when a model needs it."""

from __future__ import annotations

from xyntra.errors import UnsupportedError, XyntraError
from xyntra.frontends.onnx.node import supported_operators


def unknown_operator(domain: str, op_type: str, opset: int, place: str) -> XyntraError:
    """The error for an operator without an importer, with the nearest one that has one."""
    import difflib

    names = [name for other, name in supported_operators() if other == domain]
    near = difflib.get_close_matches(op_type, names, n=1, cutoff=0.7)
    return UnsupportedError(
        "operator-unsupported",
        f"operator {domain + '::' if domain else ''}{op_type} is not supported",
        place=place,
        cause=f"it comes from operator set {opset} of domain '{domain or 'ai.onnx'}'",
        hint=f"the nearest supported operator is {near[0]}"
        if near
        else "docs/operators.md lists the operators that are",
    )

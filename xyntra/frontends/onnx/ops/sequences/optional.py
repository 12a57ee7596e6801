# SPDX-License-Identifier: MIT OR Apache-2.0
"""Imports operators on optionals: one with an element is that element."""

from __future__ import annotations

import numpy as np

from xyntra.frontends.onnx.node import Node, handles
from xyntra.frontends.onnx.values import Absent, Value


def _given(node: Node) -> Value | None:
    return node.operands[0] if node.operands else None


@handles("Optional")
def optional(node: Node) -> Value:
    given = _given(node)
    return Absent() if given is None else given


@handles("OptionalHasElement")
def optional_has_element(node: Node) -> np.ndarray:
    given = _given(node)
    return np.array(given is not None and not isinstance(given, Absent))


@handles("OptionalGetElement")
def optional_get_element(node: Node) -> Value:
    given = _given(node)
    if given is None or isinstance(given, Absent):
        raise node.invalid("the optional has no element")
    return given

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Operators that are not compiled, because the data decides their shapes or for want of a seed.

Where all inputs are known at compile time they are evaluated then, and never come here.
"""

from __future__ import annotations

from xyntra.frontends.onnx.node import Node, handles
from xyntra.frontends.onnx.values import Result


@handles(
    "Bernoulli",
    "Multinomial",
    "RandomNormal",
    "RandomNormalLike",
    "RandomUniform",
    "RandomUniformLike",
)
def random(node: Node) -> Result:
    raise node.unsupported("random numbers are not supported", hint="pass them in as an input")

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Operators that are not compiled, because the data decides their shapes or for want of a seed.

Where all inputs are known at compile time they are evaluated then, and never come here.
"""

from __future__ import annotations

from xyntra.frontends.onnx.node import Node, Result, handles


@handles("NonZero", "Unique", "NonMaxSuppression")
def data_dependent_shape(node: Node) -> Result:
    raise node.unsupported(
        "the shape of the result depends on the data",
        hint="cut the model before this node and do the rest on the host",
    )


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

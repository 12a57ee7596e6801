# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads names of dimensions that are sums or products of others, such as "past + seq"."""

from __future__ import annotations

from collections.abc import Sequence

import onnx

from xyntra.dialects.sizes import Expr, parse
from xyntra.frontends.onnx.inputs.interface import declared_shape

__all__ = ["related_sizes", "related_sizes_of"]


def related_sizes(names: Sequence[str]) -> dict[str, Expr]:
    """Return the expressions that some names of dimensions are, of other names."""
    found: dict[str, Expr] = {}
    for name in names:
        if not name.isidentifier():
            try:
                found[name] = parse(name)
            except ValueError:
                continue
    return {name: each for name, each in found.items() if each.symbols}


def related_sizes_of(skeleton: bytes) -> dict[str, Expr]:
    """Return `related_sizes` of the dimensions of a model's inputs."""
    inputs = onnx.load_model_from_string(skeleton).graph.input
    shapes = [declared_shape(value) or [] for value in inputs if value.type.HasField("tensor_type")]
    names = [dim for shape in shapes for dim in shape if isinstance(dim, str) and dim != "?"]
    return related_sizes(list(dict.fromkeys(names)))

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Records in the module in which type each product is computed, and why some stay in f32."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from xyntra.dialects.mlir import ir

__all__ = [
    "PART",
    "PRECISIONS",
    "QUANTIZED_FROM",
    "ROUNDED",
    "NodePrecision",
    "precisions_of",
    "record_precisions",
]

PRECISIONS = "xyntra.precisions"
"""Module attribute: an array of [nodes, type, reason] for what was lowered, or was to be."""

ROUNDED = "xyntra.rounded"
"""Attribute of a parameter: its dtype in the model, from which it is rounded at load."""


QUANTIZED_FROM = "xyntra.quantized_from"
"""Attribute of a parameter that is a part of a quantized weight: the name of that weight."""

PART = "xyntra.part"
"""Attribute of such a parameter: which part it is."""


class NodePrecision(NamedTuple):
    """One decision.

    Attributes:
        nodes: what it is about, as the model calls it.
        type: "f16", "bf16", "int8", "int8 by rows", "w4", "w8" or "f32".
        reason: why not a shorter type; "" for one of these.
    """

    nodes: str
    type: str
    reason: str


def record_precisions(module: ir.Operation, found: Iterable[NodePrecision]) -> None:
    """Set the attribute of `module`."""
    with module.context:
        entries = [
            ir.ArrayAttr.get([ir.StringAttr.get(text) for text in (e.nodes, e.type, e.reason)])
            for e in found
        ]
        module.attributes[PRECISIONS] = ir.ArrayAttr.get(entries)


def precisions_of(module: ir.Operation) -> tuple[NodePrecision, ...]:
    """Return what `record_precisions` has recorded; entries that are none are left out."""
    attribute = module.attributes.get(PRECISIONS, None)
    found = []
    for entry in attribute if isinstance(attribute, ir.ArrayAttr) else ():
        texts = list(entry) if isinstance(entry, ir.ArrayAttr) else []
        if len(texts) == 3 and all(isinstance(text, ir.StringAttr) for text in texts):
            found.append(NodePrecision(*(text.value for text in texts)))
    return tuple(found)

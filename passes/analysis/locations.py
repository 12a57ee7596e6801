# SPDX-License-Identifier: MIT OR Apache-2.0
"""Locations of what stands for several operations, and the nodes that a location names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xyntra.dialects.mlir import ir

__all__ = ["MAX_LOCATIONS", "fused_location", "source_nodes"]

MAX_LOCATIONS = 256


def fused_location(locations: Sequence[ir.Location]) -> ir.Location:
    """One location that names all of `locations`, the first ones where there are many."""
    distinct = list(dict.fromkeys(locations))[:MAX_LOCATIONS]
    if len(distinct) == 1:
        return distinct[0]
    return ir.Location.fused(distinct, context=distinct[0].context)


def source_nodes(location: ir.Location) -> list[str]:
    """Names of the nodes (or lines of MLIR text) in a location, each once, in order."""
    return list(dict.fromkeys(_names(location)))


def _names(location: ir.Location) -> Iterator[str]:
    if isinstance(location, ir.NameLoc):
        yield location.name_str
    elif isinstance(location, ir.FileLineColLoc) and location.start_line:
        yield f"line {location.start_line}"
    elif isinstance(location, ir.FusedLoc):
        for inner in location.locations:
            yield from _names(inner)

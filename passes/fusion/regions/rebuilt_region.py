# SPDX-License-Identifier: MIT OR Apache-2.0
"""Gives a `xyntra.fused` other results."""

from __future__ import annotations

from collections.abc import Sequence

from xyntra.dialects import FusedOp
from xyntra.dialects.mlir import ir

__all__ = ["rebuilt"]

_OWN = frozenset({"kind", "resultSegmentSizes"})


def rebuilt(
    old: ir.Operation, results: Sequence[ir.Value], without: Sequence[ir.Operation]
) -> list[ir.OpResult]:
    """Move what the region `old` holds, except for `without`, to one that gives `results`.

    Nothing reads the new results yet; whoever reads those of `old`, which is left with `without`,
    must be given them before it is erased.
    """
    with old.location:
        new = FusedOp.build(
            [value.type for value in results],
            ir.StringAttr(old.attributes["kind"]).value,
            ip=ir.InsertionPoint(old),
        )
        for name in old.attributes:
            if name not in _OWN:
                new.operation.attributes[name] = old.attributes[name]
        for op in [view.operation for view in old.regions[0].blocks[0].operations]:
            if op not in without:
                new.block.append(op)
        new.finish(results)
    return new.results

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Goes through nested operations."""

from __future__ import annotations

from collections.abc import Iterator

from xyntra.dialects.mlir import ir

__all__ = ["nested_operations", "outside_bodies"]


def nested_operations(op: ir.Operation) -> Iterator[ir.Operation]:
    """Yield the operations in the regions of `op`, at any depth."""
    for region in op.regions:
        for block in region.blocks:
            for view in block.operations:
                yield view.operation
                yield from nested_operations(view.operation)


def outside_bodies(op: ir.Operation) -> Iterator[ir.Operation]:
    """As `nested_operations`, without the scalar operations in bodies of a `linalg.generic`."""
    for region in op.regions:
        for block in region.blocks:
            for view in block.operations:
                inner = view.operation
                yield inner
                if inner.name != "linalg.generic":
                    yield from outside_bodies(inner)

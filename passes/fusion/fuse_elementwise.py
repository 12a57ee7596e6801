# SPDX-License-Identifier: MIT OR Apache-2.0
"""`fuse-elementwise`: groups pointwise operations over one iteration space."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.mlir import ir
from xyntra.passes.fusion.block_graph import BlockGraph
from xyntra.passes.fusion.functions import function_blocks
from xyntra.passes.fusion.grouping import Grouping
from xyntra.passes.fusion.regions import Group, rebuild_block
from xyntra.passes.registry import register_pass


@register_pass
@dataclass(frozen=True)
class FuseElementwise:
    """Group elementwise linalg.generic operations over equal iteration spaces into xyntra.fused.

    A consumer joins its producer where it reads the producer's result element by element; a value
    that is also read elsewhere becomes a result of the region. Broadcast, transposed and sliced
    operands are read through their indexing maps; producers read through such a map stay outside.
    """

    name: ClassVar[str] = "fuse-elementwise"

    max_ops: int = 64
    """Largest number of operations in one region."""

    def run(self, module: ir.Operation) -> None:
        """Rewrite every function of `module`."""
        for block in function_blocks(module):
            _fuse_block(block, self.max_ops)


def _fuse_block(block: ir.Block, max_ops: int) -> None:
    graph = BlockGraph.of(block)
    grouping = Grouping(graph, max_ops)
    members: dict[int, list[int]] = {}
    for index in range(len(graph.items) - 1):
        members.setdefault(grouping.find(index), []).append(index)
    if all(len(indices) == 1 for indices in members.values()):
        return
    ordered = sorted(
        members.values(),
        key=lambda indices: (
            not graph.items[indices[0]].source,
            grouping.level(indices[0]),
            indices[0],
        ),
    )
    rebuild_block(
        graph,
        [
            indices[0] if len(indices) == 1 else Group(tuple(indices), "elementwise")
            for indices in ordered
        ],
    )

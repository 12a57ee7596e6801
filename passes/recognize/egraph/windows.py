# SPDX-License-Identifier: MIT OR Apache-2.0
"""Groups of elementwise operations over one iteration space, with what they compute as terms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from xyntra.dialects.mlir import ir
from xyntra.passes.recognize.egraph.loops import ElementwiseLoop, ElementwiseLoops
from xyntra.passes.recognize.egraph.terms import Node, Terms, operands_of, relabel

__all__ = ["LoopWindow", "windows"]


@dataclass
class LoopWindow:
    """Loops that are rewritten together.

    Attributes:
        loops: in the order of the block.
        terms: every expression of every loop.
        roots: number of the expression that each loop computes.
        bodies: numbers of the operations in each loop's body.
        leaves: tensors that are read, with the map that reads each and whether it is the identity.
    """

    loops: list[ElementwiseLoop]
    terms: Terms = field(default_factory=Terms)
    roots: list[int] = field(default_factory=list)
    bodies: list[tuple[int, ...]] = field(default_factory=list)
    leaves: list[tuple[ir.Value, ir.AffineMap, bool]] = field(default_factory=list)

    def build(self) -> None:
        """Fill in everything but the loops."""
        produced: dict[ir.Value, int] = {}
        leaves: dict[tuple[ir.Value, int], int] = {}
        for loop in self.loops:
            reads = [self._read(loop, i, produced, leaves) for i in range(len(loop.inputs))]
            numbers: list[int] = []
            for node in loop.nodes:
                numbers.append(self._add(node, numbers, reads))
            root = numbers[loop.root]
            produced[loop.result] = root
            self.roots.append(root)
            own = (
                n for n, node in zip(numbers, loop.nodes, strict=True) if node[0] not in ("R", "K")
            )
            self.bodies.append(tuple(dict.fromkeys(own)))

    def _add(self, node: Node, numbers: Sequence[int], reads: Sequence[int]) -> int:
        if node[0] == "R":
            return reads[int(node[1])]
        if node[0] == "K":
            return self.terms.add(node)
        return self.terms.add(relabel(node, [numbers[operand] for operand in operands_of(node)]))

    def _read(
        self,
        loop: ElementwiseLoop,
        position: int,
        produced: dict[ir.Value, int],
        leaves: dict[tuple[ir.Value, int], int],
    ) -> int:
        value, map_, map_number = loop.inputs[position]
        identity = map_number == loop.identity
        if identity and value in produced:
            return produced[value]
        constant = loop.constants.get(position)
        if constant is not None:
            return self.terms.add(("K", *constant))
        leaf = leaves.get((value, map_number))
        if leaf is None:
            leaf = leaves[value, map_number] = len(self.leaves)
            self.leaves.append((value, map_, identity))
        return self.terms.add(("V", loop.input_types[position], leaf))

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for windows that compute the same of other tensors."""
        identities = tuple(identity for *_, identity in self.leaves)
        return tuple(self.terms.nodes), tuple(self.roots), tuple(self.bodies), identities


def windows(loops: ElementwiseLoops, limit: int) -> Iterator[LoopWindow]:
    """Split loops into windows of at most `limit` operations.

    A loop joins the windows of what it reads element by element over its own iteration space, the
    latest first, while there is room.
    """
    groups: list[list[ElementwiseLoop]] = []
    sizes: list[int] = []
    parents: list[int] = []
    member: dict[ir.Value, int] = {}

    def find(group: int) -> int:
        while parents[group] != group:
            parents[group] = parents[parents[group]]
            group = parents[group]
        return group

    for loop in loops.found:
        group = len(groups)
        groups.append([loop])
        sizes.append(loop.size)
        parents.append(group)
        for value, _, map_number in loop.inputs:
            if map_number != loop.identity or value not in member:
                continue
            other = find(member[value])
            if other == group or sizes[other] + sizes[group] > limit:
                continue
            # The smaller list moves, so that a block of n loops moves n log n of them.
            small, large = sorted((group, other), key=lambda g: (len(groups[g]), -g))
            groups[large] += groups[small]
            sizes[large] += sizes[small]
            groups[small] = []
            parents[small] = large
            group = large
        member[loop.result] = group
    for members in groups:
        if members:
            yield LoopWindow(sorted(members, key=lambda loop: loop.index))

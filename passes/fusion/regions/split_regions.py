# SPDX-License-Identifier: MIT OR Apache-2.0
"""`split-regions`: splits every region that breaks a rule of `check-fusion`, until none does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects import Kind
from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.functions import function_blocks
from xyntra.passes.analysis.locations import source_nodes
from xyntra.passes.fallbacks import note_fallback
from xyntra.passes.fusion.graph.classify import classify
from xyntra.passes.fusion.graph.fusion_graph import FusionGraph
from xyntra.passes.fusion.graph.nodes import PASSIVE, FusionNode, KernelRole
from xyntra.passes.fusion.legality.facts import Facts
from xyntra.passes.fusion.legality.members import read_block
from xyntra.passes.fusion.legality.violation import Violation
from xyntra.passes.fusion.regions.check_fusion import violations
from xyntra.passes.fusion.regions.materialize import Region, build_regions
from xyntra.passes.registry import register_pass
from xyntra.passes.targets.table import DEFAULT, TargetName

__all__ = ["SplitRegions"]

_PART = "xyntra.part"
"""Attribute, while the pass runs, of an operation on its way to another region: which one."""

_MOST_ROUNDS = 8
"""Regions that are still refused after so many cuts are taken apart into single operations."""

_NAMES = 3
"""Nodes that a sentence names at most."""


@register_pass
@dataclass(frozen=True)
class SplitRegions:
    """Cut regions that `check-fusion` refuses in two, at the operation that it names.

    The operations before the last one at fault make one region, those from there on another; both
    are checked again. A region of a single operation that is still refused gets the kind `generic`,
    which may hold everything. Each region that was cut is recorded in `xyntra.fallbacks`.

    This is how compiling goes on where the fusion engine and its checker disagree; the two have
    separate rules on purpose, so that one finds the mistakes of the other.
    """

    name: ClassVar[str] = "split-regions"

    target: TargetName = DEFAULT
    """Whose limits apply."""

    def run(self, module: ir.Operation) -> None:
        """Rewrite every function of `module`."""
        for cuts in range(_MOST_ROUNDS + 1):
            if not _take_apart(module, self.target, singly=cuts == _MOST_ROUNDS):
                return
            for block in list(function_blocks(module)):
                _build_parts(block)


def _take_apart(module: ir.Operation, target: TargetName, *, singly: bool) -> bool:
    """Move what refused regions hold to the block around them, marked with the part it is for.

    No Python object that stands for an erased region outlives this function: the bindings would
    give it to the next operation that is created at the same address.

    Returns:
        Whether a region was changed.
    """
    refused: dict[ir.Operation, Violation] = {}
    for region, violation in violations(module, target):
        if region.name == "xyntra.fused":
            refused.setdefault(region, violation)
    sentences = []
    changed = False
    for number, (region, violation) in enumerate(refused.items()):
        contents = read_block(region.regions[0].blocks[0], Facts())
        members = [member.op for member in contents.members]
        if len(members) > 1:
            sentences.append(_sentence(region, len(members), violation))
            _mark(members, 0 if singly else _cut(members, violation), number)
            _hoist(region)
            changed = True
        elif ir.StringAttr(region.attributes["kind"]).value != "generic":
            region.attributes["kind"] = ir.StringAttr.get("generic", region.context)
            changed = True
    for sentence in sentences:
        note_fallback(module, sentence)
    return changed


def _sentence(region: ir.Operation, count: int, violation: Violation) -> str:
    nodes = source_nodes(region.location)
    named = ", ".join(nodes[:_NAMES]) + (", …" if len(nodes) > _NAMES else "")
    place = f" from {named}" if named else ""
    return (
        f"a region of {count} operations{place} was split, because check-fusion refuses it: "
        f"{violation.message} [{violation.code}]"
    )


def _cut(members: Sequence[ir.Operation], violation: Violation) -> int:
    """Return the position of the first member of the second part; neither part is empty."""
    at_fault = [op for op, _ in violation.at_fault]
    positions = [position for position, op in enumerate(members) if op in at_fault]
    return max(positions, default=len(members) // 2) or 1


def _mark(members: Sequence[ir.Operation], cut: int, number: int) -> None:
    """Say of each member which part of region `number` it is for; `cut` 0 parts all of them."""
    for position, op in enumerate(members):
        part = int(position >= cut) if cut else position
        op.attributes[_PART] = ir.StringAttr.get(f"{number}.{part}", op.context)


def _hoist(region: ir.Operation) -> None:
    """Move the operations of `region` before it, let its readers read them, and erase it."""
    *inside, end = [view.operation for view in region.regions[0].blocks[0].operations]
    for op in inside:
        op.move_before(region)
    for result, value in zip(list(region.results), list(end.operands), strict=True):
        result.replace_all_uses_with(value)
    region.erase()


def _build_parts(block: ir.Block) -> None:
    """Put operations that `_mark` has marked alike into one region each."""
    graph = FusionGraph.of(block)
    parts: dict[str, list[int]] = {}
    for index, node in enumerate(graph.nodes):
        if _PART in node.op.attributes:
            part = ir.StringAttr(node.op.attributes[_PART]).value
            del node.op.attributes[_PART]
            if node.role not in PASSIVE:
                parts.setdefault(part, []).append(index)
    if parts:
        build_regions(graph, [_region(graph, members) for members in parts.values()])


def _region(graph: FusionGraph, members: Sequence[int]) -> Region:
    nodes = [graph.nodes[index] for index in members]
    return Region(tuple(members), _kind(nodes))


def _kind(nodes: Sequence[FusionNode]) -> Kind:
    """Return the likely kind; if the checker refuses it, there will be another cut."""
    if len(nodes) == 1:
        return classify(nodes[0].op)
    roles = {node.role for node in nodes}
    if KernelRole.ATTENTION in roles:
        return "attention"
    if KernelRole.CONTRACTION in roles:
        return "contraction"
    windows = [node.op for node in nodes if node.role is KernelRole.WINDOW]
    if windows:
        return "conv" if any(classify(op) == "conv" for op in windows) else "generic"
    if all(node.moves_only for node in nodes):
        return "data"
    if KernelRole.DATA in roles:
        return "generic"
    return "row" if KernelRole.ROW in roles else "elementwise"

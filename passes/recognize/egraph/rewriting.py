# SPDX-License-Identifier: MIT OR Apache-2.0
"""Solves windows and writes what is cheaper; equal windows are solved once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from xyntra.dialects.mlir import ir
from xyntra.passes.recognize.egraph.extraction import Solution, solve
from xyntra.passes.recognize.egraph.rebuild import Writer, is_placeable
from xyntra.passes.recognize.egraph.rules.all_rules import rules_of
from xyntra.passes.recognize.egraph.rules.rule import Tier
from xyntra.passes.recognize.egraph.saturation import Refused, Saturation, SaturationLimits
from xyntra.passes.recognize.egraph.terms import is_leaf, opcode, type_of
from xyntra.passes.recognize.egraph.windows import LoopWindow

__all__ = ["rewrite"]


def rewrite(
    found: Sequence[tuple[ir.Block, list[LoopWindow]]], tier: Tier, iterations: int, nodes: int
) -> None:
    """Rewrite the windows of each block that can be made cheaper.

    Args:
        found: blocks and their windows.
        tier: which rules to apply.
        iterations: how often they are applied to a window, at most.
        nodes: size of an e-graph at which it stops growing.
    """
    windows = [window for _, candidates in found for window in candidates]
    solver = _Solver(windows, tier, SaturationLimits(iterations, nodes))
    writers = [_rewrite_block(block, candidates, solver) for block, candidates in found]
    for writer in writers:
        writer.erase()


@dataclass
class _Solver:
    windows: list[LoopWindow]
    tier: Tier
    limits: SaturationLimits
    _saturations: dict[Tier, Saturation] = field(default_factory=dict)
    _known: dict[object, Solution | Refused | None] = field(default_factory=dict)

    def solution(self, window: LoopWindow) -> Solution | None:
        """The cheaper form of a window, or None.

        Raises:
            Refused: there is none that can be relied on.
        """
        needed = list(_needed(window))
        key = (window.key, tuple(needed))
        if key not in self._known:
            self._known[key] = self._solve(window, needed)
        found = self._known[key]
        if isinstance(found, Refused):
            raise found
        return found

    def _solve(self, window: LoopWindow, needed: list[bool]) -> Solution | Refused | None:
        try:
            return solve(window, self._engine(self.tier).classes(window.terms), needed)
        except Refused as refusal:
            if self.tier != Tier.FAST:
                return refusal
        # Fast math contradicts itself where a constant is divided by zero and the like.
        try:
            return solve(window, self._engine(Tier.REORDER).classes(window.terms), needed)
        except Refused as refusal:
            return refusal

    def _engine(self, tier: Tier) -> Saturation:
        if tier not in self._saturations:
            nodes = {node for window in self.windows for node in window.terms.nodes}
            codes = {opcode(node) for node in nodes if not is_leaf(node)}
            types = set(map(type_of, nodes))
            self._saturations[tier] = Saturation(rules_of(tier), codes, types, self.limits)
        return self._saturations[tier]


def _rewrite_block(block: ir.Block, windows: list[LoopWindow], solver: _Solver) -> Writer:
    writer = Writer(block)
    positions: dict[ir.Value, int] = {}
    remarks: list[str] = []
    for window in windows:
        try:
            solution = solver.solution(window)
            if solution is None:
                continue
            positions = positions or _positions(block)
            if not is_placeable(window, solution, positions):
                raise Refused("the cheaper form reads a value that is defined later")
            writer.write(window, solution)
        except Refused as refusal:
            remarks.append(_remark(window, refusal))
    if remarks:
        owner = block.owner
        texts = [ir.StringAttr.get(text, owner.context) for text in remarks]
        owner.attributes["xyntra.remarks"] = ir.ArrayAttr.get(texts, owner.context)
    return writer


def _remark(window: LoopWindow, refusal: Refused) -> str:
    place = str(window.loops[0].op.location).removeprefix("loc(").removesuffix(")")
    return f"simplify-expressions left {len(window.loops)} operations from {place}: {refusal}"


def _needed(window: LoopWindow) -> Iterator[bool]:
    """For each loop whether anything but an input of another loop of the window reads it."""
    own = {loop.op for loop in window.loops}
    for loop in window.loops:
        yield any(
            use.owner.operation not in own
            or use.operand_number == len(use.owner.operation.operands) - 1
            for use in loop.result.uses
        )


def _positions(block: ir.Block) -> dict[ir.Value, int]:
    """For every result of an operation of `block` the position of the operation."""
    return {
        result: index
        for index, view in enumerate(block.operations)
        for result in view.operation.results
    }

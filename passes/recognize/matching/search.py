# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds the matches of many patterns in one block."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from xyntra.dialects.mlir import ir
from xyntra.passes.recognize.matching.adjacent import Around, Neighbours
from xyntra.passes.recognize.matching.anchors import Anchor, anchor_of
from xyntra.passes.recognize.matching.expressions import Expression, ExpressionGraph
from xyntra.passes.recognize.matching.forms import Form
from xyntra.passes.recognize.matching.match import Match
from xyntra.passes.recognize.matching.matcher import Matcher, State, can_be
from xyntra.passes.recognize.matching.opcodes import mlir_names
from xyntra.passes.recognize.matching.pattern import Pattern, Spelling

__all__ = ["Found", "Index", "Search"]

_EPSILON = {"f64": 2.0**-52, "f32": 2.0**-23, "f16": 2.0**-10, "bf16": 2.0**-7}
_UNITS = 4
"""Constants may differ by so many units in the last place."""

_MOST_VISITED = 32
"""How many operations are looked at on the way from an anchor to roots."""

_MOST_OTHERS = 3
"""How many operations with a constant there may be in one stage."""

_SKIPPED = frozenset({"tensor.empty", "arith.constant", "tensor.expand_shape"})


@dataclass(frozen=True)
class Found:
    """A match, the pattern that it is of, and what becomes superfluous."""

    pattern: Pattern
    match: Match
    operations: tuple[ir.Operation, ...]


@dataclass(frozen=True)
class _Entry:
    """A spelling; those of equal `group` ask the same of what is below their anchor."""

    pattern: Pattern
    spelling: Spelling
    anchor: Anchor
    group: int
    around: Around


class Index:
    """Patterns by the operations that they are anchored at."""

    def __init__(self, patterns: Iterable[Pattern]) -> None:
        self._by_name: dict[str, list[_Entry]] = {}
        groups: list[tuple[Form, bool, float | None]] = []
        for pattern in patterns:
            for spelling in pattern.spellings:
                anchor = anchor_of(spelling.form)
                key = anchor.inner, anchor.below, pattern.tolerance
                if key not in groups:
                    groups.append(key)
                around = Around.of(anchor)
                entry = _Entry(pattern, spelling, anchor, groups.index(key), around)
                for name in {n for code in entry.anchor.opcodes for n in mlir_names(code)}:
                    self._by_name.setdefault(name, []).append(entry)

    def anchors(
        self, operations: Iterable[ir.OpView]
    ) -> Iterator[tuple[ir.Operation, list[_Entry]]]:
        """Yield the operations that could be anchors, with what they could be anchors of."""
        by_name = self._by_name
        for operation in operations:
            name = operation.name
            if name in _SKIPPED:
                continue
            if name != "linalg.generic":
                entries = by_name.get(name)
                if entries is not None:
                    yield operation.operation, entries
                continue
            for scalar in operation.regions[0].blocks[0].operations:
                entries = by_name.get(scalar.name)
                if entries is not None:
                    close = Neighbours(operation.operation)
                    fitting = [entry for entry in entries if entry.around.allows(close)]
                    if fitting:
                        yield operation.operation, fitting


@dataclass
class Search:
    """Looks for matches in IR that does not change meanwhile.

    `built` names the pattern that built an operation: a pattern does not match what it built.
    """

    index: Index
    built: dict[ir.Operation, str] = field(default_factory=dict)
    graph: ExpressionGraph = field(default_factory=ExpressionGraph)

    def run(self, operations: Iterable[ir.OpView]) -> list[Found]:
        """Return matches that do not overlap, anchored at one of `operations`."""
        taken: set[ir.Operation] = set()
        found: list[Found] = []
        for operation, entries in self.index.anchors(operations):
            best = max(
                self._around(operation, entries),
                key=lambda each: len(each.match.state.covered),
                default=None,
            )
            if best is None or not taken.isdisjoint(best.operations):
                continue
            taken.update(best.operations)
            found.append(best)
        return found

    def _around(self, operation: ir.Operation, entries: Sequence[_Entry]) -> Iterator[Found]:
        """Yield all matches anchored at an operation."""
        root = self.graph.expression(operation.results[0])
        fitting: dict[int, bool] = {}
        for entry in entries:
            if root.element not in entry.pattern.dtypes and root.element != "i1":
                continue
            if entry.group not in fitting:
                fitting[entry.group] = self._fits(root, entry)
            if fitting[entry.group]:
                candidates = self._climb(operation, entry.anchor)
                found = (each for root in candidates for each in self._at(root, entry))
                # What a spelling covers is the same for all its roots, or nearly so.
                yield from islice(found, 1)

    def _fits(self, expression: Expression, entry: _Entry) -> bool:
        """Tell whether an anchor has around it what its spelling needs, as far as that is cheap."""
        anchor = entry.anchor
        if expression.opcode not in anchor.opcodes:
            # It may be an inner step of a larger body.
            return any(read.source.value is None for read in expression.operands)
        if len(anchor.stages) == 1:
            return True
        if anchor.below:
            expression = expression.operands[0].source
        matcher = _matcher(entry.pattern, expression)
        return any(True for _ in matcher.root(anchor.inner, expression))

    def _climb(self, operation: ir.Operation, anchor: Anchor) -> Iterator[Expression]:
        """Yield what could be the root of a spelling, from its anchor on."""
        waiting = deque((result, 0, 0, 0) for result in operation.results)
        seen: set[tuple[ir.Value, int]] = set()
        roots: set[int] = set()
        while waiting and len(seen) < _MOST_VISITED:
            value, stage, joins, others = waiting.popleft()
            if (value, stage) in seen:
                continue
            seen.add((value, stage))
            expression = self.graph.expression(value)
            reached = [(stage, joins, others)]
            if expression.opcode != "copy":
                reached = list(_stages(anchor, expression, *reached[0]))
                last = reached and reached[-1][0] == len(anchor.stages) - 1
                if last and id(expression) not in roots:
                    roots.add(id(expression))
                    yield expression
            if reached:
                results = [result for use in value.uses for result in use.owner.results]
                waiting.extend((result, *at) for at in reached for result in results)

    def _at(self, root: Expression, entry: _Entry) -> Iterator[Found]:
        """Yield the first match at a root, if it may be replaced."""
        pattern, spelling = entry.pattern, entry.spelling
        if root.element not in pattern.dtypes or not can_be(spelling.form, root):
            return
        operation, value = root.operation, root.value
        if operation is None or value is None or self.built.get(operation) == pattern.name:
            return
        for state in _matcher(pattern, root).root(spelling.form, root):
            match = Match(root, operation, value, state)
            if not all(guard(match) for guard in (pattern.where, spelling.where) if guard):
                continue
            operations = self._covered(root, state, pattern.shared)
            if operations is not None:
                yield Found(pattern, match, operations)
                return

    def _covered(
        self, root: Expression, state: State, shared: bool
    ) -> tuple[ir.Operation, ...] | None:
        """The operations that a match covers, the root last; None if others need their results."""
        operations = [each.operation for each in state.covered if each.operation is not None]
        covered = set(operations)
        for expression in state.covered:
            if expression.value is None or expression is root:
                continue
            if not shared and not self._used_only_by(expression, covered):
                return None
        return tuple(dict.fromkeys(reversed(operations)))

    def _used_only_by(self, expression: Expression, covered: set[ir.Operation]) -> bool:
        waiting = [] if expression.operation is None else list(expression.operation.results)
        while waiting:
            for use in waiting.pop().uses:
                owner = use.owner.operation
                if owner in covered:
                    continue
                results = list(owner.results)
                if not results or any(
                    self.graph.expression(result).opcode != "copy" for result in results
                ):
                    return False
                waiting += results
        return True


def _matcher(pattern: Pattern, root: Expression) -> Matcher:
    default = _UNITS * _EPSILON.get(root.element, 0.0)
    return Matcher(default if pattern.tolerance is None else pattern.tolerance)


def _stages(
    anchor: Anchor, expression: Expression, stage: int, joins: int, others: int
) -> Iterator[tuple[int, int, int]]:
    """Yield the stages that an operation may be in.

    With each come how many operations there were in it that join two tensors, and how many others.
    An operation with a larger body may be several stages further.
    """
    join = sum(read.source.number is None for read in expression.operands) > 1
    for position in range(stage, len(anchor.stages)):
        found = anchor.stages[position]
        if expression.opcode not in found.opcodes:
            continue
        before = (joins, others) if position == stage else (0, 0)
        counts = (before[0] + join, before[1] + (not join))
        if counts[0] <= found.joins and counts[1] <= _MOST_OTHERS:
            yield position, *counts

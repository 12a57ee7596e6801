# SPDX-License-Identifier: MIT OR Apache-2.0
"""Picks the cheapest form of every expression.

The order of classes by cost is Knuth's generalisation of Dijkstra's algorithm ("A generalization of
Dijkstra's algorithm", Information Processing Letters 6, 1977). Costs of trees are integers of any
size, so that shared operands cannot make them wrap around. Equal costs are ordered by structure,
and the form that the input has wins: the result does not depend on how classes are numbered.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import heappop, heappush

from xyntra.passes.recognize.egraph.rules.vocabulary import NAMED
from xyntra.passes.recognize.egraph.saturation import Classes
from xyntra.passes.recognize.egraph.terms import (
    Node,
    Terms,
    cost_of,
    is_leaf,
    opcode,
    operands_of,
    relabel,
)
from xyntra.passes.recognize.egraph.windows import LoopWindow

__all__ = ["Solution", "solve"]


@dataclass
class Solution:
    """The expressions that a window becomes.

    Attributes:
        terms: the new expressions.
        roots: for each loop the number of what it computes; None where nobody needs it.
        kept: for each loop whether its body stays as it is.
        stored: numbers of the expressions that are tensors of their own.
        cost: of one element of the whole window, after.
        saved: by how much that is less than before.
    """

    terms: Terms
    roots: list[int | None]
    kept: list[bool]
    stored: set[int] = field(default_factory=set)
    cost: int = 0
    saved: int = 0


_LAST = 1 << 32
_Entry = tuple[int, bool, Node, tuple[int, ...], int, Node]
"""Cost, whether the input lacks it, operation, ranks of the operands; class and node."""


def _cheapest(classes: Classes, allowed: _Allowed) -> dict[int, Node]:
    """The cheapest node of every class, by the cost of its tree."""
    users: dict[int, list[tuple[int, Node]]] = {}
    waiting: dict[tuple[int, Node], int] = {}
    heap: list[_Entry] = []
    order: dict[int, int] = {}
    costs: dict[int, int] = {}
    chosen: dict[int, Node] = {}

    def push(class_: int, node: Node) -> None:
        operands = operands_of(node)
        cost = cost_of(node) + sum(costs[operand] for operand in operands)
        ranks = tuple(order[operand] for operand in operands)
        plain = node[: len(node) - len(operands)]
        heappush(heap, (cost, not allowed.is_original(node), plain, ranks, class_, node))

    for class_, nodes in classes.members.items():
        for node in nodes:
            if not allowed(class_, node):
                continue
            operands = set(operands_of(node))
            waiting[class_, node] = len(operands)
            for operand in operands:
                users.setdefault(operand, []).append((class_, node))
            if not operands:
                push(class_, node)
    while heap:
        cost, *_, class_, node = heappop(heap)
        if class_ in chosen:
            continue
        chosen[class_], costs[class_] = node, cost
        # Constants last: `a * 2` rather than `2 * a`.
        order[class_] = len(order) + (_LAST if node[0] == "K" else 0)
        for user in users.get(class_, ()):
            waiting[user] -= 1
            if not waiting[user]:
                push(*user)
    return chosen


class _Allowed:
    """The nodes that may be chosen: named operations work on whole tensors alone."""

    def __init__(self, window: LoopWindow, classes: Classes) -> None:
        self.stored = {classes.of[root] for root in window.roots}
        identities = {
            classes.of[number]
            for number, node in enumerate(window.terms.nodes)
            if node[0] == "V" and window.leaves[int(node[2])][2]
        }
        self._tensors = self.stored | identities
        self._originals = {
            relabel(node, [classes.of[n] for n in operands_of(node)]) for node in window.terms.nodes
        }

    def is_original(self, node: Node) -> bool:
        """Tell whether the input has this node."""
        return node in self._originals

    def __call__(self, class_: int, node: Node) -> bool:
        if opcode(node) not in NAMED:
            return True
        return class_ in self.stored and all(n in self._tensors for n in operands_of(node))


def solve(window: LoopWindow, classes: Classes, needed: list[bool]) -> Solution | None:
    """The cheapest form found of a window whose loops are `needed` by others.

    None if that is the form it has. The cheapest tree of every result is a first choice; where
    results share operands, going back to the form of the input may be cheaper for some of them.
    """
    allowed = _Allowed(window, classes)
    chosen = _cheapest(classes, allowed)
    best = _Build(window, classes, chosen, allowed.stored).solution(needed)
    before = _cost_before(window, needed)
    for root in dict.fromkeys(window.roots):
        node = window.terms.nodes[root]
        original = relabel(node, [classes.of[n] for n in operands_of(node)])
        other = {**chosen, classes.of[root]: original}
        if chosen[classes.of[root]] == original or not _is_acyclic(other, classes.of[root]):
            continue
        solution = _Build(window, classes, other, allowed.stored).solution(needed)
        if solution.cost < best.cost:
            chosen, best = other, solution
    best.saved = before - best.cost
    return best if best.saved > 0 else None


def _is_acyclic(chosen: dict[int, Node], class_: int) -> bool:
    """Tell whether nothing that a class is computed from is computed from the class."""
    stack = list(operands_of(chosen[class_]))
    seen = set(stack)
    while stack:
        below = stack.pop()
        if below == class_:
            return False
        news = [n for n in operands_of(chosen[below]) if n not in seen]
        seen.update(news)
        stack += news
    return True


class _Build:
    """Turns choices of classes into terms."""

    def __init__(
        self, window: LoopWindow, classes: Classes, chosen: dict[int, Node], stored: set[int]
    ) -> None:
        self.window = window
        self.classes = classes
        self.chosen = chosen
        self.stored_classes = stored
        self.terms = Terms()
        self.numbers: dict[int, int] = {}
        self.stored: set[int] = set()

    def solution(self, needed: list[bool]) -> Solution:
        of = self.classes.of
        for loop, root in enumerate(self.window.roots):
            if needed[loop]:
                self.number(of[root])
        roots = [self.numbers.get(of[root]) for root in self.window.roots]
        solution = Solution(self.terms, roots, [], self.stored)
        solution.kept = [self._is_kept(loop) for loop in range(len(roots))]
        solution.cost = self._cost(solution)
        return solution

    def number(self, class_: int) -> int:
        """The number of what was chosen for a class."""
        stack = [class_]
        while stack:
            top = stack[-1]
            missing = [n for n in operands_of(self.chosen[top]) if n not in self.numbers]
            if missing and top not in self.numbers:
                stack += missing
                continue
            stack.pop()
            if top not in self.numbers:
                self._add(top)
        return self.numbers[class_]

    def _add(self, class_: int) -> None:
        node = self.chosen[class_]
        number = self.terms.add(relabel(node, [self.numbers[n] for n in operands_of(node)]))
        self.numbers[class_] = number
        if class_ in self.stored_classes and not is_leaf(node):
            self.stored.add(number)

    def _is_kept(self, loop: int) -> bool:
        """Tell whether every operation of the loop's body is what was chosen for its class."""
        window, of = self.window, self.classes.of
        roots = set(window.roots)
        for number in window.bodies[loop]:
            node = window.terms.nodes[number]
            new = self.numbers.get(of[number])
            operands = [self.numbers.get(of[n]) for n in operands_of(node)]
            if new is None or None in operands:
                return False
            if self.terms.nodes[new] != relabel(node, [n for n in operands if n is not None]):
                return False
            if (number in roots) != (new in self.stored):
                return False
            reads = ((n in roots, self.numbers[of[n]] in self.stored) for n in operands_of(node))
            if any(before != after for before, after in reads):
                return False
        return True

    def _cost(self, solution: Solution) -> int:
        total = 0
        for root in sorted({root for root in solution.roots if root is not None}):
            if root in self.stored:
                total += _body_cost(self.terms, root, self.stored)
        return total


def _body_cost(terms: Terms, root: int, stored: set[int]) -> int:
    """Cost of one stored expression, other stored ones being read."""
    seen = {root}
    stack = [root]
    total = 0
    while stack:
        node = terms.nodes[stack.pop()]
        total += cost_of(node)
        news = {n for n in operands_of(node) if n not in seen and n not in stored}
        seen |= news
        stack += news
    return total


def _cost_before(window: LoopWindow, needed: list[bool]) -> int:
    terms = window.terms
    live: set[int] = set()
    stack = [root for root, wanted in zip(window.roots, needed, strict=True) if wanted]
    while stack:
        number = stack.pop()
        if number not in live:
            live.add(number)
            stack += operands_of(terms.nodes[number])
    return sum(
        sum(cost_of(terms.nodes[number]) for number in body)
        for root, body in zip(window.roots, window.bodies, strict=True)
        if root in live
    )

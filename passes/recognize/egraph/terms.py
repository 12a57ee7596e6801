# SPDX-License-Identifier: MIT OR Apache-2.0
"""Expressions as numbered nodes; equal expressions have one number.

A node is a tuple: a letter, numbers that belong to it, and the numbers of its operands. The letters
are those of `rule_text`: `("B", op, type, a, b)`, `("K", type, bits)`, `("V", type, leaf)` …
"""

from __future__ import annotations

from collections.abc import Sequence

from xyntra.passes.recognize.egraph.rules.vocabulary import CMPI, COSTS, OPERATIONS, TYPES

__all__ = ["Node", "Terms", "cost_of", "is_leaf", "opcode", "operands_of", "relabel", "type_of"]

Node = tuple[str | int, ...]

PLAIN = {"V": 3, "K": 3, "U": 3, "B": 3, "T": 3, "S": 2, "Q": 3, "X": 4}
"""How many entries of a node come before its operands."""

_SELECT = OPERATIONS["select"].code
_COMPARE = {False: OPERATIONS["cmpf"].code, True: OPERATIONS["cmpi"].code}


class Terms:
    """Expressions in an order in which operands come before their users."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._numbers: dict[Node, int] = {}

    def add(self, node: Node) -> int:
        """The number of a node."""
        number = self._numbers.get(node)
        if number is None:
            number = self._numbers[node] = len(self.nodes)
            self.nodes.append(node)
        return number


def is_leaf(node: Node) -> bool:
    """Tell whether a node is a tensor that is read, or a constant."""
    return node[0] in ("V", "K")


def operands_of(node: Node) -> tuple[int, ...]:
    """Numbers of the operands."""
    return node[PLAIN[node[0]] :]  # type: ignore[index,return-value]


def relabel(node: Node, operands: Sequence[int]) -> Node:
    """Return the operation on other operands."""
    return (*node[: PLAIN[node[0]]], *operands)  # type: ignore[index]


def opcode(node: Node) -> int:
    """The number of the operation; -1 for a leaf."""
    letter = node[0]
    if letter == "S":
        return _SELECT
    if letter == "Q":
        return _COMPARE[int(node[1]) >= CMPI["eq"]]
    return -1 if letter in ("V", "K") else int(node[1])


def cost_of(node: Node) -> int:
    """Cost of one element, without the operands."""
    return 0 if node[0] in ("V", "K") else COSTS[opcode(node)]


def type_of(node: Node) -> int:
    """The number of the result's type."""
    letter = node[0]
    if letter == "Q":
        return TYPES["i1"]
    if letter == "X":
        return int(node[3])
    return int(node[2] if letter in ("U", "B", "T") else node[1])

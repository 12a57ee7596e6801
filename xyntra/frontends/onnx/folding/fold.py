# SPDX-License-Identifier: MIT OR Apache-2.0
"""Evaluates nodes whose inputs are all known, so that shapes and conditions become constants.

The rules say in numpy what the importers of the operators say in linalg, corner cases included;
for operators without one of their own, ONNX's reference implementation is the rule.
An operator without a rule stays in the program, whatever its inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from math import prod

import numpy as np

from xyntra.frontends.onnx.folding.record import fold_record
from xyntra.frontends.onnx.node import Node

FOLD_LIMIT = 4096
"""Largest array, in elements, that is computed at compile time."""

Rule = Callable[[Node], "np.ndarray | Sequence[np.ndarray]"]

_RULES: dict[str, Rule] = {}
_MODULES = ("elements", "reference", "shapes")
"""Those that have rules; many models need none of them."""


class TooLargeError(Exception):
    """The result has more elements than are computed at compile time, or no rule gives it."""


def folds(*names: str) -> Callable[[Rule], Rule]:
    """Register the decorated function as the evaluation of operators `names`."""

    def register(rule: Rule) -> Rule:
        for name in names:
            _RULES[name] = rule
        return rule

    return register


def folded_operators() -> list[str]:
    """Every operator that has a rule, sorted."""
    return sorted(_rules())


@cache
def _rules() -> dict[str, Rule]:
    """The rules of all modules, which are loaded when the first node is to be evaluated."""
    for name in _MODULES:
        import_module(f"xyntra.frontends.onnx.folding.{name}")
    return _RULES


def fold(node: Node) -> list[np.ndarray] | None:
    """The node's outputs, or None when it stays in the program.

    Args:
        node: a node of the default domain, all of whose inputs are arrays or left out.

    Raises:
        ModelError, UnsupportedError: as the operator's importer would.
    """
    rule = _rules().get(node.op_type)
    inputs = [op for op in node.operands if isinstance(op, np.ndarray)]
    record, names = fold_record(), list(node.proto.output)
    if rule is None or any(array.size > FOLD_LIMIT for array in inputs) or record.keeps(names):
        return None
    try:
        with np.errstate(all="ignore"):
            result = rule(node)
    except TooLargeError:
        return None
    found = [result] if isinstance(result, (np.ndarray, np.generic)) else list(result)
    arrays = [np.asarray(array) for array in found]
    record.note(names, arrays)
    return arrays


def bounded(shape: Sequence[int]) -> tuple[int, ...]:
    """`shape`, which must not have more elements than are computed at compile time."""
    if prod(shape) > FOLD_LIMIT:
        raise TooLargeError
    return tuple(shape)

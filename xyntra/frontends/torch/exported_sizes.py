# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads the sizes that an exported program leaves free: names, ranges, expressions and guards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sympy
import torch
from torch.utils import _sympy

from xyntra.dialects.sizes import Expr, constant, symbol
from xyntra.errors import UnsupportedError
from xyntra.frontends.torch.program import AtenSymbol

__all__ = ["DimensionNames", "ExportedSizes"]

DimensionNames = Mapping[tuple[int, int], str]
"""What users call dimensions, by the number of the input and the axis."""

_RELATIONS = {
    sympy.Eq: ("==", False),
    sympy.Ne: ("!=", False),
    sympy.Lt: ("<", False),
    sympy.Le: ("<=", False),
    sympy.Gt: ("<", True),
    sympy.Ge: ("<=", True),
}
"""Of each relation, what it is called, and whether its sides change places."""


class ExportedSizes:
    """The symbols of an exported program, and its sizes as expressions of them.

    Args:
        constraints: the ranges of symbols.
        inputs: the fake tensors of its inputs, in order, with what they are called.
        names: of dimensions; others are called by their first place, such as "x[0]".
    """

    def __init__(
        self,
        constraints: Mapping[Any, Any],
        inputs: Sequence[tuple[str, torch.Tensor]],
        names: DimensionNames,
    ) -> None:
        self._constraints = constraints
        self._environment: Any = None
        found: dict[Any, str] = {}
        for number, (name, tensor) in enumerate(inputs):
            for axis, size in enumerate(tensor.shape):
                if not isinstance(size, torch.SymInt):
                    continue
                self._environment = size.node.shape_env
                if size.node.expr.is_Symbol:
                    found.setdefault(size.node.expr, names.get((number, axis), f"{name}[{axis}]"))
        for _, tensor in inputs:
            for size in tensor.shape:
                if isinstance(size, torch.SymInt):
                    for each in sorted(size.node.expr.free_symbols, key=str):
                        found.setdefault(each, self._source(each))
        self._symbols = found

    def symbols(self) -> tuple[AtenSymbol, ...]:
        """Return the symbols, with their ranges."""
        found = []
        for each, name in self._symbols.items():
            allowed = self._constraints.get(each)
            low = 1 if allowed is None else max(1, _finite(allowed.lower) or 1)
            high = None if allowed is None else _finite(allowed.upper)
            example = self._hint(each)
            found.append(AtenSymbol(name, str(each), example, low, high))
        return tuple(found)

    @property
    def are_free(self) -> bool:
        """Whether any size is free."""
        return bool(self._symbols)

    def example(self, size: Any) -> int:
        """Return a size in the example."""
        if not isinstance(size, torch.SymInt):
            return int(size)
        return self._hint(size.node.expr)

    def _hint(self, expression: Any) -> int:
        environment = self._environment
        known = getattr(environment, "guarding_hint_or_throw", None) or environment.size_hint
        return int(known(expression))

    def text(self, size: Any, place: str) -> str:
        """Return the expression of a size.

        Raises:
            UnsupportedError: `torch-data-dependent`, values of tensors decide it, or
                `free-dimension`, it is computed in another way than by sums, products and quotients
                of sizes.
        """
        if not isinstance(size, torch.SymInt):
            return str(int(size))
        return str(self._expression(size.node.expr, place))

    def guards(self) -> tuple[tuple[str, str, str], ...]:
        """Return what has to hold of sizes.

        Raises:
            UnsupportedError: as `text`.
        """
        if self._environment is None:
            return ()
        found: dict[tuple[str, str, str], None] = {}
        for each in self._environment.guards:
            relation = self._environment.replace(each.expr)
            if relation in (True, sympy.true):
                continue
            kind = next((k for k in _RELATIONS if isinstance(relation, k)), None)
            if kind is None:
                raise _not_free(str(relation), "a condition on sizes")
            word, is_turned = _RELATIONS[kind]
            sides = [self._expression(side, "a condition on sizes") for side in relation.args]
            left, right = reversed(sides) if is_turned else sides
            found[word, str(left), str(right)] = None
        return tuple(found)

    def _source(self, each: Any) -> str:
        """Return the name of the root of derived dimensions, as in `2 * Dim("half")`."""
        sources = self._environment.var_to_sources.get(each, [])
        return str(getattr(sources[0], "source_name", each)) if sources else str(each)

    def _expression(self, found: Any, place: str) -> Expr:
        if found.is_Integer:
            return constant(int(found))
        if found.is_Symbol:
            if found not in self._symbols:
                raise UnsupportedError(
                    "torch-data-dependent",
                    f"a size, {found}, depends on the values of tensors",
                    place=place,
                    hint="leave that part outside of the module",
                )
            return symbol(str(found))
        parts = [self._expression(each, place) for each in found.args]
        if found.is_Add:
            return sum(parts[1:], parts[0])
        if found.is_Mul or (found.is_Pow and (parts[1].number or 0) > 0):
            factors = parts if found.is_Mul else [parts[0]] * int(parts[1].number or 0)
            total = constant(1)
            for each in factors:
                total = total * each
            return total
        kind = type(found).__name__
        if kind in ("FloorDiv", "CleanDiv"):
            return parts[0] // parts[1]
        if kind in ("Mod", "PythonMod"):
            return parts[0] % parts[1]
        raise _not_free(str(found), place)


def _finite(bound: Any) -> int | None:
    is_infinite = bound in (sympy.oo, -sympy.oo, _sympy.numbers.int_oo, -_sympy.numbers.int_oo)
    return None if is_infinite else int(bound)


def _not_free(text: str, place: str) -> UnsupportedError:
    return UnsupportedError(
        "free-dimension",
        f"a size is computed in a way that free dimensions do not have: {text}",
        place=place,
        hint="give the dimension a size: leave it out of dynamic_shapes, or dims={name: size}",
    )

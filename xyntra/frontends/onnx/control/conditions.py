# SPDX-License-Identifier: MIT OR Apache-2.0
"""Says of booleans what they mean for the model's inputs, such as "sr equals 8000"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from torch_mlir import ir

from xyntra.dialects.builder import Tensor
from xyntra.dialects.dtypes import is_float
from xyntra.frontends.onnx.values import Result

__all__ = ["Condition", "Conditions"]

_EQUALS = "equals"
# Not greater is not the same as at most: a NaN is neither.
_NEGATED = {
    _EQUALS: "does not equal",
    "is greater than": "is not greater than",
    "is at least": "is not at least",
    "is less than": "is not less than",
    "is at most": "is not at most",
    "is true": "is false",
}
_NEGATED |= {negated: relation for relation, negated in _NEGATED.items()}
# The relation of the first input to the second, then that of the second to the first.
_COMPARISONS = {
    "Equal": (_EQUALS, _EQUALS),
    "Greater": ("is greater than", "is less than"),
    "GreaterOrEqual": ("is at least", "is at most"),
    "Less": ("is less than", "is greater than"),
    "LessOrEqual": ("is at most", "is at least"),
}
_SAME = frozenset({"Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze"})


@dataclass(frozen=True)
class Condition:
    """That an input has a relation to a constant.

    Attributes:
        name: of the input.
        relation: such as "equals".
        value: text of the constant, "" where the relation takes none.
    """

    name: str
    relation: str
    value: str = ""

    def __str__(self) -> str:
        return f"{self.name} {self.relation} {self.value}".rstrip()

    @property
    def negated(self) -> Condition:
        """That it is not so."""
        return replace(self, relation=_NEGATED[self.relation])

    @property
    def is_equality(self) -> bool:
        """Tell whether the input has one value alone."""
        return self.relation == _EQUALS


class Conditions:
    """Follows inputs of one element through the nodes of a model, while it is imported."""

    def __init__(self) -> None:
        self._names: dict[ir.Value, str] = {}
        self._known: dict[ir.Value, Condition] = {}

    def name(self, tensor: Tensor, name: str) -> None:
        """Note that `tensor` is an input."""
        if _is_one(tensor):
            self._names[tensor.value] = name

    def note(self, op_type: str, operands: Sequence[Result], results: Sequence[Result]) -> None:
        """Note what the result of an operator of ONNX's own means, where that is plain."""
        if not operands or len(results) != 1:
            return
        result, first = results[0], operands[0]
        if not isinstance(result, Tensor) or not _is_one(result):
            return
        found: Condition | None = None
        if op_type in _COMPARISONS:
            found = self._comparison(op_type, operands)
        elif op_type == "Not" and isinstance(first, Tensor):
            inner = self.of(first)
            found = None if inner is None else inner.negated
        elif isinstance(first, Tensor) and _is_test(op_type, first, result):
            name = self._names.get(first.value)
            found = None if name is None else Condition(name, _NEGATED[_EQUALS], "0")
        elif isinstance(first, Tensor) and _keeps(op_type, first, result):
            found = self._known.get(first.value)
            if first.value in self._names:
                self._names[result.value] = self._names[first.value]
        if found is not None:
            self._known[result.value] = found

    def of(self, tensor: Tensor) -> Condition | None:
        """Return what it means that `tensor` is true; None where that is not known."""
        if tensor.dtype == "bool" and tensor.value in self._names:
            return Condition(self._names[tensor.value], "is true")
        return self._known.get(tensor.value)

    def _comparison(self, op_type: str, operands: Sequence[Result]) -> Condition | None:
        for number, given in enumerate(operands):
            other = operands[1 - number]
            if not isinstance(given, Tensor) or not isinstance(other, np.ndarray):
                continue
            if given.value in self._names and other.size == 1:
                relation = _COMPARISONS[op_type][number]
                return Condition(self._names[given.value], relation, str(other.item()))
        return None


def _is_one(tensor: Tensor) -> bool:
    return all(size == 1 for size in tensor.shape)


def _is_test(op_type: str, given: Tensor, result: Tensor) -> bool:
    """Tell whether `result` is whether the number `given` is not zero."""
    return op_type == "Cast" and result.dtype == "bool" and given.dtype != "bool"


def _keeps(op_type: str, given: Tensor, result: Tensor) -> bool:
    """Tell whether `result` is the number that is `given`; a cast of a float may round it."""
    return op_type in _SAME or (
        op_type == "Cast" and (result.dtype == given.dtype or not is_float(given.dtype))
    )

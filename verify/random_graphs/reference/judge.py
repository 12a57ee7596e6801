# SPDX-License-Identifier: MIT OR Apache-2.0
"""Decides whether results are those of the model, within what its types and values justify.

The expectation is the float64 evaluation with values rounded to their types after each node. The
tolerance of each element is a multiple of how far it moves when nothing is rounded, and when
inexact operators are disturbed by a few units in the last place. So it follows the condition of
the graph; it is 0 where only exact operators are involved. Elements whose kind (finite, +inf,
-inf, NaN) or integer value depends on those disturbances are not compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import onnx

from verify.random_graphs.dtypes import is_float, rounded
from verify.random_graphs.reference.compare import Expectation, difference
from verify.random_graphs.reference.evaluator import Mode, Value, evaluate

__all__ = ["Judge"]

_FACTOR = 8.0
_FEW, _MANY = 3, 25


class Judge:
    """Evaluates a model and compares results with it; more evaluations before it objects."""

    def __init__(self, model: onnx.ModelProto, inputs: Mapping[str, np.ndarray]) -> None:
        self._model, self._inputs = model, inputs
        self._center = evaluate(model, inputs, Mode())
        self._others = [evaluate(model, inputs, Mode(rounding=False))]
        self._more(_FEW)

    def _more(self, count: int) -> None:
        first, failures = len(self._others), 0
        for seed in range(first, first + count):
            mode = Mode(random=np.random.default_rng(seed))
            try:
                found = evaluate(self._model, self._inputs, mode)
            except (IndexError, ValueError):
                # The disturbance has changed an index or a shape, unless it is our mistake.
                failures += 1
                if failures == count > 1 and len(self._others) == first:
                    raise
                continue
            if all(found[name].array.shape == v.array.shape for name, v in self._center.items()):
                self._others.append(found)

    def look_closely(self) -> None:
        """Evaluate as often as before an objection."""
        if len(self._others) < _MANY:
            self._more(_MANY)

    def expectations(self) -> dict[str, Expectation]:
        """What is expected of every output."""
        return {
            name: expectation(value, [each[name] for each in self._others])
            for name, value in self._center.items()
        }

    def complaint(self, results: Mapping[str, np.ndarray]) -> str:
        """What is wrong with results; an empty text if nothing is."""
        text = self._compare(results)
        if text:
            self.look_closely()
            text = self._compare(results)
        return text

    def _compare(self, results: Mapping[str, np.ndarray]) -> str:
        return next(
            (
                f"{name}: {text}"
                for name, each in self.expectations().items()
                if (text := difference(results.get(name), each))
            ),
            "",
        )


def expectation(center: Value, others: Sequence[Value]) -> Expectation:
    """The tolerance that several evaluations of one output show."""
    value, elem = rounded(center.array, center.elem), center.elem
    tolerance = np.zeros(value.shape)
    with np.errstate(all="ignore"):
        for other in others:
            array = rounded(other.array, elem)
            if not is_float(elem):
                tolerance = np.where(array != value, np.inf, tolerance)
                continue
            same = (array == value) | (np.isnan(array) & np.isnan(value))
            apart = np.where(same, 0, _FACTOR * np.abs(array - value))
            # Evaluations that differ in kind say nothing.
            apart = np.where(np.isfinite(apart), apart, np.inf)
            tolerance = np.maximum(tolerance, apart)
    return Expectation(value, tolerance, elem)

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Binds the free dimensions of a plan to the sizes of the arrays of a call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from xyntra.dialects.sizes import Expr
from xyntra.errors import InputError
from xyntra.plan.free import FreeSymbol
from xyntra.plan.plan import Plan, Port

__all__ = ["SizeBinder"]


class SizeBinder:
    """Finds the sizes of a plan's symbols in the shapes of inputs.

    Args:
        plan: with free dimensions.

    Raises:
        ValueError: the plan has none, or no input has one of them.
    """

    def __init__(self, plan: Plan) -> None:
        free = plan.free
        if free is None:
            raise ValueError("no dimension of the plan is free")
        self.symbols = free.symbols
        self._named = {each.identifier: each for each in free.symbols}
        shapes = free.shapes[: len(plan.inputs)]
        self._ports = plan.inputs
        self._shapes = [tuple(free.expression(text) for text in shape) for shape in shapes]
        self._texts = shapes
        found = {text for shape in shapes for text in shape}
        missing = [each.name for each in free.symbols if each.identifier not in found]
        if missing:
            raise ValueError(f"no input has the dimension '{missing[0]}'")

    def sizes(self, arrays: Sequence[Any]) -> tuple[int, ...]:
        """Return the size of each symbol, in order.

        Raises:
            InputError: `input-shape`, a shape does not fit, two contradict each other, or a size is
                out of its range.
        """
        shapes = [_shape(array) for array in arrays]
        bound: dict[str, tuple[int, Port]] = {}
        for port, texts, shape in zip(self._ports, self._texts, shapes, strict=True):
            if len(shape) != len(texts):
                raise self._wrong(port, shape, f"give an array of {len(texts)} dimensions")
            for text, size in zip(texts, shape, strict=True):
                if text in self._named and text not in bound:
                    self._check_range(self._named[text], size, port, shape)
                    bound[text] = size, port
        values = {name: size for name, (size, _) in bound.items()}
        for port, expressions, shape in zip(self._ports, self._shapes, shapes, strict=True):
            for axis, (expression, size) in enumerate(zip(expressions, shape, strict=True)):
                if size != expression.at(values):
                    raise self._contradiction(port, axis, expression, shape, bound)
        return tuple(values[each.identifier] for each in self.symbols)

    def _check_range(
        self, symbol: FreeSymbol, size: int, port: Port, shape: tuple[int, ...]
    ) -> None:
        if size in symbol.sizes:
            return
        steps = f" in steps of {symbol.step}" if symbol.step > 1 else ""
        what, more = "that size", "0"
        if size:
            what = "more sizes"
            more = f"range({min(symbol.low, size)}, {max(symbol.high, size) + 1})"
        raise self._wrong(
            port,
            shape,
            f"compile it for {what}: dims={{{symbol.name!r}: {more}}}",
            f"{symbol.name} = {size} is not in its range, {symbol.low} to {symbol.high}{steps}",
        )

    def _contradiction(
        self,
        port: Port,
        axis: int,
        expression: Expr,
        shape: tuple[int, ...],
        bound: dict[str, tuple[int, Port]],
    ) -> InputError:
        wanted = expression.at({name: size for name, (size, _) in bound.items()})
        text = str(expression)
        causes = [
            f"input '{first.name}' bound {self._named[name].name} = {size}"
            for name, (size, first) in bound.items()
            if name in text
        ]
        named = "" if expression.number is not None else f"{self._shown(text)} = "
        what = f"dimension {axis} has to be {named}{wanted}"
        return self._wrong(port, shape, f"give dimension {axis} the size {wanted}", what, *causes)

    def _wrong(self, port: Port, shape: tuple[int, ...], hint: str, *causes: str) -> InputError:
        texts = self._texts[self._ports.index(port)]
        takes = ", ".join(map(self._shown, texts))
        return InputError(
            "input-shape",
            f"input '{port.name}' has the shape {shape}",
            cause="\n".join([*causes, f"the model takes ({takes})"]),
            hint=hint,
        )

    def _shown(self, text: str) -> str:
        return self._named[text].name if text in self._named else text


def _shape(array: Any) -> tuple[int, ...]:
    shape = getattr(array, "shape", None)
    return tuple(np.shape(array) if shape is None else shape)

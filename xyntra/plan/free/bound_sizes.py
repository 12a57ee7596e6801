# SPDX-License-Identifier: MIT OR Apache-2.0
"""Binds the free dimensions of a plan to the sizes of the arrays of a call."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from xyntra.dialects.sizes import Expr, parse
from xyntra.errors import InputError
from xyntra.plan.free.expressions import FreeSymbol, named_text, with_defined
from xyntra.plan.plan import Plan, Port

__all__ = ["SizeBinder"]


@dataclass(frozen=True)
class _Source:
    """The dimension of an input that is `factor` times a symbol, and `rest`."""

    name: str
    input: int
    axis: int
    factor: Expr
    rest: Expr


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
        self._named = {each.identifier: each for each in free.symbols if not each.definition}
        defined = {e.identifier: parse(e.definition) for e in free.symbols if e.definition}
        self._ports = plan.inputs
        self._shapes = [
            tuple(free.expression(text).replaced(defined) for text in shape)
            for shape in free.shapes[: len(plan.inputs)]
        ]
        self._sources = _sources(self._shapes, self._named)

    def sizes(self, arrays: Sequence[Any]) -> tuple[int, ...]:
        """Return the size of each symbol, in order.

        Raises:
            InputError: `input-shape`, a shape does not fit, two contradict each other, or a size is
                out of its range.
        """
        shapes = [_shape(array) for array in arrays]
        for port, expressions, shape in zip(self._ports, self._shapes, shapes, strict=True):
            if len(shape) != len(expressions):
                raise self._wrong(port, shape, f"give an array of {len(expressions)} dimensions")
        bound: dict[str, tuple[int, Port]] = {}
        values: dict[str, int] = {}
        for source in self._sources:
            port, shape = self._ports[source.input], shapes[source.input]
            size = self._solved(source, shape, values, bound)
            symbol = self._named[source.name]
            if size not in symbol.values:
                raise self._out_of_range(symbol, size * symbol.unit, port, shape)
            bound[source.name], values[source.name] = (size, port), size
        for port, expressions, shape in zip(self._ports, self._shapes, shapes, strict=True):
            for axis, (expression, size) in enumerate(zip(expressions, shape, strict=True)):
                if size != expression.at(values):
                    raise self._contradiction(port, axis, expression, shape, bound)
        return tuple(with_defined(self.symbols, values).values())

    def _solved(
        self,
        source: _Source,
        shape: tuple[int, ...],
        values: Mapping[str, int],
        bound: Mapping[str, tuple[int, Port]],
    ) -> int:
        """Return the size that the dimension of an input gives a symbol."""
        size, factor, rest = shape[source.axis], source.factor.at(values), source.rest.at(values)
        found, left = divmod(size - rest, factor)
        symbol, expression = self._named[source.name], self._shapes[source.input][source.axis]
        if left and named_text(expression, [symbol]) == symbol.name:
            raise self._out_of_range(symbol, size, self._ports[source.input], shape)
        if left or found < 0:
            port = self._ports[source.input]
            what = f"dimension {source.axis} is {size}, which is no {self._shown(expression)}"
            raise self._wrong(port, shape, "give sizes that fit", what, *self._causes(bound))
        return found

    def _out_of_range(
        self, symbol: FreeSymbol, size: int, port: Port, shape: tuple[int, ...]
    ) -> InputError:
        sizes = symbol.sizes
        steps = f" in steps of {sizes.step}" if sizes.step > 1 else ""
        more = f"range({min(sizes[0], size)}, {max(sizes[-1], size) + 1})"
        return self._wrong(
            port,
            shape,
            f"compile it for more sizes: dims={{{symbol.name!r}: {more}}}",
            f"{symbol.name} = {size} is not in its range, {sizes[0]} to {sizes[-1]}{steps}",
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
        known = {name: each for name, each in bound.items() if name in expression.symbols}
        named = "" if expression.number is not None else f"{self._shown(expression)} = "
        what = f"dimension {axis} has to be {named}{wanted}"
        hint = f"give dimension {axis} the size {wanted}"
        return self._wrong(port, shape, hint, what, *self._causes(known))

    def _causes(self, bound: Mapping[str, tuple[int, Port]]) -> list[str]:
        return [
            f"input '{port.name}' bound {self._named[name].name} = {size * self._named[name].unit}"
            for name, (size, port) in bound.items()
        ]

    def _wrong(self, port: Port, shape: tuple[int, ...], hint: str, *causes: str) -> InputError:
        takes = ", ".join(map(self._shown, self._shapes[self._ports.index(port)]))
        return InputError(
            "input-shape",
            f"input '{port.name}' has the shape {shape}",
            cause="\n".join([*causes, f"the model takes ({takes})"]),
            hint=hint,
        )

    def _shown(self, expression: Expr) -> str:
        return named_text(expression, self.symbols)


def _sources(shapes: Sequence[Sequence[Expr]], names: Collection[str]) -> tuple[_Source, ...]:
    """Return where each symbol is found, those first that need no other one.

    Raises:
        ValueError: no dimension of an input tells one of them.
    """
    found: dict[str, _Source] = {}
    while len(found) < len(names):
        source = next(_next_sources(shapes, found), None)
        if source is None:
            missing = [name for name in names if name not in found]
            raise ValueError(f"no input has the dimension '{missing[0]}'")
        found[source.name] = source
    return tuple(found.values())


def _next_sources(
    shapes: Sequence[Sequence[Expr]], found: Mapping[str, _Source]
) -> Iterator[_Source]:
    for number, shape in enumerate(shapes):
        for axis, expression in enumerate(shape):
            unknown = expression.symbols - set(found)
            if len(unknown) == 1:
                (name,) = unknown
                line = expression.line(name)
                if line is not None and all(times > 0 for _, times in line[0].terms):
                    yield _Source(name, number, axis, *line)


def _shape(array: Any) -> tuple[int, ...]:
    shape = getattr(array, "shape", None)
    return tuple(np.shape(array) if shape is None else shape)

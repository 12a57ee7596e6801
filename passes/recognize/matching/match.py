# SPDX-License-Identifier: MIT OR Apache-2.0
"""A match of a pattern: what its parameters stand for, and what builds its replacement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.dtypes import default_dtype
from xyntra.dialects.mlir import ir
from xyntra.passes.recognize.matching.expressions import UNIT, Dims, Expression
from xyntra.passes.recognize.matching.matcher import Bound, State

__all__ = ["Match", "MatchBuilder"]


@dataclass(frozen=True)
class Match:
    """An expression that a pattern describes.

    Attributes:
        root: the expression that would be replaced.
        operation: the operation that computes it.
        value: the tensor that holds it.
        state: what the names of the pattern stand for, and what the match covers.
    """

    root: Expression
    operation: ir.Operation
    value: ir.Value
    state: State

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the root."""
        return self.root.shape

    def has(self, name: str) -> bool:
        """Tell whether the spelling that matched has this parameter."""
        return name in self.state.bindings

    def tensor(self, name: str) -> Expression:
        """The tensor that a variable stands for."""
        return self.bound(name).read.source

    def number(self, name: str) -> float:
        """The constant that a `Number` stands for."""
        value = self.state.bindings[name]
        if not isinstance(value, float | int):
            raise TypeError(f"'{name}' is no Number")
        return float(value)

    def axis(self, name: str) -> Dims:
        """The dimensions of the root that an `Axis` stands for, those of size 1 left out."""
        value = self.state.bindings[name]
        if not isinstance(value, tuple):
            raise TypeError(f"'{name}' is no Axis")
        return value

    def bound(self, name: str) -> Bound:
        """The tensor that a variable stands for, and where it is read."""
        value = self.state.bindings[name]
        if not isinstance(value, Bound):
            raise TypeError(f"'{name}' is no tensor")
        return value

    def whole(self, name: str) -> bool:
        """Tell whether a variable has as many elements as the root and is read once each."""
        dims = [d for d in self.bound(name).read.dims if d != UNIT]
        return sorted(dims) == [d for d, size in enumerate(self.shape) if size != 1]

    def varies_only_along(self, name: str, dims: Sequence[int]) -> bool:
        """Tell whether a variable is the same everywhere but along `dims` of the root."""
        return set(self.bound(name).read.dims) <= {UNIT, *dims}

    def first_of_trailing(self, name: str) -> int | None:
        """The dimension from which on an axis covers all dimensions; None if it is none such.

        Dimensions of size 1 belong to the axis or not, as is needed.
        """
        axis = self.axis(name)
        first = min(axis, default=len(self.shape))
        rest = {d for d in range(first, len(self.shape)) if self.shape[d] != 1}
        return first if axis and rest == set(axis) else None


class MatchBuilder(TensorBuilder):
    """Builds the replacement of a match, before the operation that it replaces."""

    def __init__(
        self, match: Match, location: ir.Location, current: Callable[[ir.Value], ir.Value]
    ) -> None:
        """`current` gives what stands for a value by now, after earlier replacements."""
        super().__init__(ir.InsertionPoint(match.operation), location)
        self.match = match
        self.created: list[ir.Operation] = []
        self._current = current

    def emit(
        self,
        name: str,
        operands: Sequence[ir.Value],
        results: Sequence[ir.Type],
        attributes: dict[str, ir.Attribute] | None = None,
        regions: int = 0,
    ) -> ir.Operation:
        """As `TensorBuilder.emit`; `created` lists what was."""
        made = super().emit(name, operands, results, attributes, regions)
        self.created.append(made)
        return made

    def operand(self, name: str) -> Tensor | tuple[int, ...] | float | None:
        """Return what a parameter stands for, as builders take it."""
        value = self.match.state.bindings.get(name)
        return self.materialise(value) if isinstance(value, Bound) else value

    def materialise(self, bound: Bound) -> Tensor:
        """The tensor as the pattern sees it, broadcast to the frame by numpy's rule."""
        source = Tensor(self._current(bound.value), default_dtype(bound.read.source.element))
        if bound.frame is None:
            return source
        dims = bound.read.dims
        used = [position for position, d in enumerate(bound.frame) if d in dims and d != UNIT]
        first = used[0] if used else len(bound.frame)
        if set(bound.frame) <= {UNIT, *dims}:
            first = 0
        frame = bound.frame[first:]
        sizes = [self.match.state.sizes[d] if d in dims and d != UNIT else 1 for d in frame]
        order = [bound.frame[position] for position in used]
        kept = [d for d in dims if d != UNIT]
        if order != kept:
            squeezed = self.reshape(source, [n for n in source.shape if n != 1])
            source = self.transpose(squeezed, [kept.index(d) for d in order])
        return self.reshape(source, sizes)

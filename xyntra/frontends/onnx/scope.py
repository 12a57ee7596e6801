# SPDX-License-Identifier: MIT OR Apache-2.0
"""Named values of a graph and of the graphs around it."""

from __future__ import annotations

from dataclasses import dataclass, field

from xyntra.errors import ModelError
from xyntra.frontends.onnx.values import Result, Value


@dataclass
class Scope:
    """The values defined so far in one graph; look-ups continue in the enclosing graph.

    A value of None is an optional input that the caller of a function left out.
    """

    parent: Scope | None = None
    values: dict[str, Result] = field(default_factory=dict)

    def define(self, name: str, value: Result, place: str) -> None:
        """Add a value; ModelError when the graph has one of that name already."""
        if name in self.values:
            raise ModelError(
                "duplicate-name",
                f"value '{name}' is defined twice",
                place=place,
                hint="every value of a graph needs a name of its own",
            )
        self.values[name] = value

    def find(self, name: str, place: str) -> Result:
        """The value called `name`, for `place`; ModelError when nothing defines it."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.values:
                return scope.values[name]
            scope = scope.parent
        raise ModelError(
            "undefined-value", f"value '{name}' is used but nothing defines it", place=place
        )

    def require(self, name: str, place: str) -> Value:
        """As `find`; ModelError also when the value is left out."""
        operand = self.find(name, place)
        if operand is None:
            raise ModelError("undefined-value", f"value '{name}' is left out", place=place)
        return operand

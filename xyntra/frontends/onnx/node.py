# SPDX-License-Identifier: MIT OR Apache-2.0
"""Defines the node that an operator's importer sees: operands, attributes, opset and a builder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import onnx

from xyntra.dialects.builder import Operand, Tensor, TensorBuilder
from xyntra.errors import ModelError, UnsupportedError
from xyntra.frontends.onnx.operator_modules import operator_modules
from xyntra.frontends.onnx.states import NO_STATES, States
from xyntra.frontends.onnx.values import Absent, Result, Sized, TensorSequence

Handler = Callable[["Node"], "Result | Sequence[Result]"]


def _no_hint(tensor: Tensor) -> None:
    return None


def _no_values(tensor: Tensor) -> None:
    pass


_UNBOUND = "make it an initializer, bind the free dimensions that it is computed from"
_SPECIALIZE = "specialize= with the values that the inputs behind it will have in calls"
_LARGEST = float(np.finfo(np.float32).max)
_OPERATORS = "xyntra.frontends.onnx.ops"
_HANDLERS: dict[tuple[str, str], Handler] = {}


def handles(*names: str, domain: str = "") -> Callable[[Handler], Handler]:
    """Register the decorated function as the importer of operators `names`.

    Raises:
        ValueError: an operator has two importers, or is not listed under the function's module.
    """

    def register(handler: Handler) -> Handler:
        for name in names:
            listed = operator_modules().get((domain, name))
            if handler.__module__ != f"{_OPERATORS}.{listed}":
                raise ValueError(
                    f"operator {domain}::{name} is imported by {handler.__module__}, "
                    f"but operator_modules.py lists {listed}"
                )
            if (domain, name) in _HANDLERS:
                raise ValueError(f"operator {domain}::{name} has two importers")
            _HANDLERS[domain, name] = handler
        return handler

    return register


def find_handler(domain: str, op_type: str) -> Handler | None:
    """The importer of an operator, or None; loads the module that has it."""
    module = operator_modules().get((domain, op_type))
    if module is None:
        return None
    import_module(f"{_OPERATORS}.{module}")
    return _HANDLERS[domain, op_type]


def load_importers() -> None:
    """Load every operator's importer, in a process that has time."""
    for module in sorted(set(operator_modules().values())):
        import_module(f"{_OPERATORS}.{module}")


def supported_operators() -> list[tuple[str, str]]:
    """Every (domain, operator) that has an importer, sorted."""
    return sorted(operator_modules())


@dataclass(frozen=True)
class Node:
    """One ONNX node during import.

    Attributes:
        proto: the node as the model states it.
        label: the node's name, or its type and first output where it has no name.
        opset: version of the node's operator set.
        operands: its inputs; None where an optional input is left out.
        b: builds IR located at this node.
        binding_hint: how to bind the inputs of the model that a tensor is computed from; None
            where that does not help.
        want: has the model compiled for the values of the inputs that a tensor is computed from,
            where they are known: the import starts again. Returns where they are not.
        states: inputs of the model that outputs are written over.
    """

    proto: onnx.NodeProto
    label: str
    opset: int
    operands: tuple[Result, ...]
    b: TensorBuilder
    binding_hint: Callable[[Tensor], str | None] = _no_hint
    want: Callable[[Tensor], None] = _no_values
    states: States = NO_STATES

    @property
    def op_type(self) -> str:
        """The operator's name."""
        return str(self.proto.op_type)

    def attribute(self, name: str, default: Any = None) -> Any:
        """The value of an attribute; strings are decoded, repeated values are lists.

        A default that is a float is rounded to 32 bits, as one that the model states would be: with
        inputs of 64 bits, the difference shows.
        """
        for attribute in self.proto.attribute:
            if attribute.name == name:
                return _decode(onnx.helper.get_attribute_value(attribute))
        stored = isinstance(default, float) and abs(default) <= _LARGEST
        return float(np.float32(default)) if stored else default

    def required(self, name: str) -> Any:
        """The value of an attribute that the node must have."""
        value = self.attribute(name)
        if value is None:
            raise self.invalid(f"attribute '{name}' is missing")
        return value

    def has(self, position: int) -> bool:
        """Tell whether input `position` is given."""
        return position < len(self.operands) and self.operands[position] is not None

    def operand(self, position: int) -> Operand:
        """Input `position`, which the node must have."""
        operand = self.optional(position)
        if operand is None:
            raise self.invalid(f"input {position} is missing")
        return operand

    def optional(self, position: int) -> Operand | None:
        """Input `position`, or None when it is left out.

        Raises:
            ModelError, UnsupportedError: it is no tensor whose shape is known.
        """
        operand = self.operands[position] if position < len(self.operands) else None
        if isinstance(operand, Sized):
            raise self.unsupported(f"the data decides the size of input {position}")
        if isinstance(operand, (TensorSequence, Absent)):
            raise self.invalid(f"input {position} is not a tensor, but {operand.dtype}")
        return operand

    def shape_of(self, value: Result) -> tuple[int, ...]:
        """The shape of a tensor; UnsupportedError where it is none whose shape is known."""
        if not isinstance(value, (Tensor, np.ndarray)):
            raise self.unsupported("it has values that are no tensors whose shape is known")
        return tuple(value.shape)

    def tensor(self, position: int) -> Tensor:
        """Input `position` as a tensor of the program."""
        return self.b.tensor(self.operand(position))

    def constant(self, position: int) -> np.ndarray:
        """Input `position`, whose value must be known at compile time."""
        operand = self.operand(position)
        if isinstance(operand, Tensor):
            self.want(operand)
            raise self.unsupported(
                f"input {position} decides the shape of the result and must be a constant",
                hint=self.binding_hint(operand) or f"{_UNBOUND}, or {_SPECIALIZE}",
            )
        return operand

    def integers(self, name: str, position: int) -> list[int] | None:
        """A list of integers from attribute `name`, or from constant input `position`.

        Operator sets moved many lists (axes, pads, starts …) from attributes to inputs.
        """
        value = self.attribute(name)
        if value is not None:
            return [int(item) for item in np.atleast_1d(value)]
        if not self.has(position):
            return None
        return [int(item) for item in self.constant(position).reshape(-1)]

    def axis(self, value: int, rank: int, *, insert: bool = False) -> int:
        """`value` as a dimension from 0 to `rank` - 1 (or `rank`, with `insert`)."""
        limit = rank + 1 if insert else rank
        if not -limit <= value < limit:
            raise self.invalid(f"axis {value} is outside [{-limit}, {limit - 1}] for rank {rank}")
        return value % limit

    def axes(self, values: Sequence[int], rank: int) -> list[int]:
        """`values` as distinct dimensions, sorted."""
        axes = sorted(self.axis(value, rank) for value in values)
        if len(set(axes)) != len(axes):
            raise self.invalid(f"axes {list(values)} name a dimension twice")
        return axes

    def invalid(self, message: str) -> ModelError:
        """The error for a node that breaks the operator's specification."""
        return ModelError(
            "node-invalid", f"{self.op_type}: {message}", place=f"node '{self.label}'"
        )

    def unsupported(self, message: str, hint: str | None = None) -> UnsupportedError:
        """The error for a valid node that Xyntra does not compile."""
        return UnsupportedError(
            "operator-unsupported",
            f"{self.op_type}: {message}",
            place=f"node '{self.label}'",
            hint=hint,
        )


def _decode(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, (list, tuple)) or type(value).__name__.startswith("Repeated"):
        return [_decode(item) for item in value]
    return value

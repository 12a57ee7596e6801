# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs the program of a kernel on arrays, which records an operation for each of its operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from xyntra.array.arrays import Array
from xyntra.array.dtypes import ElementType, as_dtype
from xyntra.frontends.torch.program import AtenCall, AtenProgram, AtenTensor

__all__ = ["OPERATORS", "OperatorCall", "Unexpandable", "missing", "operator", "run_on_arrays"]


class Unexpandable(Exception):
    """An operator of a kernel is no operation of arrays."""


class OperatorCall:
    """One operator of a program, with the arrays that it reads.

    Attributes:
        name: of the operator.
        results: the types of its results.
    """

    __slots__ = ("_arguments", "_values", "name", "results")

    def __init__(self, call: AtenCall, values: Mapping[str, Any]) -> None:
        self.name = call.operator
        self._arguments = call.arguments
        self._values = values
        self.results = call.results

    @property
    def dtype(self) -> ElementType:
        """The type of the elements of the first result."""
        return as_dtype(self._type.dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the first result, where the program computes with whole arrays."""
        return tuple(self._type.shape)

    @property
    def _type(self) -> AtenTensor:
        found = self.results[0]
        if found is None:
            raise Unexpandable(self.name)
        return found

    def __getitem__(self, name: str) -> Any:
        """Return an argument: a number, an array, or a list of these."""
        return self._found(self._arguments[name])

    def get(self, name: str, default: Any = None) -> Any:
        """Return an argument that may be missing."""
        return self[name] if name in self._arguments else default

    def _found(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            return self._values[value["value"]]
        if isinstance(value, Sequence) and not isinstance(value, str):
            return [self._found(each) for each in value]
        return value


Rule = Callable[[OperatorCall], Any]
OPERATORS: dict[str, Rule] = {}
"""What records each operator: an array, or a tuple of them."""


def operator(*names: str) -> Callable[[Rule], Rule]:
    """Register the decorated function for operators."""

    def register(rule: Rule) -> Rule:
        for name in names:
            OPERATORS[name] = rule
        return rule

    return register


@lru_cache(maxsize=64)
def _read(text: str) -> AtenProgram:
    return AtenProgram.from_bytes(text.encode())


@lru_cache(maxsize=256)
def missing(text: str) -> str:
    """Return the name of an operator of a program that is no operation of arrays; "" for none."""
    for call in _read(text).calls:
        if call.operator not in OPERATORS and call.operator != "getitem":
            return call.operator
        nested = call.arguments.get("program")
        if isinstance(nested, str) and missing(nested):
            return missing(nested)
    return ""


def run_on_arrays(text: str, inputs: Sequence[Any]) -> list[Array]:
    """Return the outputs of a program for arrays in place of its inputs.

    Raises:
        Unexpandable: an operator has no operation of arrays for its arguments.
    """
    program = _read(text)
    values: dict[str, Any] = {
        port.name: each for port, each in zip(program.inputs, inputs, strict=True)
    }
    for call in program.calls:
        operation = OperatorCall(call, values)
        if call.operator == "getitem":
            values[call.name] = operation["source"][operation["index"]]
            continue
        found = OPERATORS[call.operator](operation)
        if isinstance(found, tuple):
            values[call.name] = found
        else:
            values[call.name] = found.astype(operation.dtype, copy=False)
    return [values[name] for name in program.outputs]

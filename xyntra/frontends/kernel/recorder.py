# SPDX-License-Identifier: MIT OR Apache-2.0
"""Records operators, whose types are known at once, as a program for the importer.

It knows nothing of Python's syntax: whatever computes with arrays step by step can record so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from xyntra.errors import KernelError
from xyntra.frontends.kernel.values import ArrayValue, HostScalar, NeedsConstant
from xyntra.frontends.torch.program import AtenCall, AtenInput, AtenProgram, AtenTensor

__all__ = ["InputSource", "KernelRecorder", "nested_program"]

MOST_CALLS = 20_000
"""Operators of one program."""


@dataclass(frozen=True)
class InputSource:
    """Where an input of a recorded program comes from in a call.

    Attributes:
        kind: "argument", "scalar" or "captured".
        text: the argument's name, or the expression that computes the number.
        dtype: of the input.
        array: what is captured.
    """

    kind: str
    text: str
    dtype: str
    array: Any = None


class KernelRecorder:
    """Collects inputs and operators, each with the `site` that is set when it is recorded."""

    def __init__(self, prefix: str = "") -> None:
        self.site = ""
        self._prefix = prefix
        self.sources: list[InputSource] = []
        self._inputs: list[AtenInput] = []
        self._calls: list[AtenCall] = []
        self._scalars: dict[tuple[str, str], ArrayValue] = {}
        self._captured: dict[int, ArrayValue] = {}
        self._sites: dict[str, int] = {}

    def argument(self, name: str, dtype: str, shape: Sequence[int]) -> ArrayValue:
        """Add an input that a call is given under `name`."""
        return self._input(name, InputSource("argument", name, dtype), shape)

    def scalar(self, number: HostScalar, dtype: str) -> ArrayValue:
        """Return a number of the call as an array of rank 0, an input of its own."""
        if self._prefix:
            raise NeedsConstant(number.parameters)
        key = number.text, dtype
        if key not in self._scalars:
            name = f"{number.text}:{dtype}"
            self._scalars[key] = self._input(name, InputSource("scalar", number.text, dtype), ())
        return self._scalars[key]

    def captured(self, array: np.ndarray[Any, Any], name: str) -> ArrayValue:
        """Return an array that the kernel's function captures: a further input of every call."""
        if self._prefix:
            raise _from_outside(name)
        if id(array) not in self._captured:
            source = InputSource("captured", name, array.dtype.name, array)
            self._captured[id(array)] = self._input(f"captured {name}", source, array.shape)
        return self._captured[id(array)]

    def _input(self, name: str, source: InputSource, shape: Sequence[int]) -> ArrayValue:
        value = ArrayValue(f"{self._prefix}@{len(self._inputs)} {name}", source.dtype, tuple(shape))
        self.sources.append(source)
        self._inputs.append(AtenInput(value.name, AtenTensor(value.dtype, value.shape)))
        return value

    def call(
        self, operator: str, dtype: str, shape: Sequence[int], /, **arguments: Any
    ) -> ArrayValue:
        """Record an operator with one result.

        Args:
            operator: such as `aten.add.Tensor`.
            dtype: of the result.
            shape: of the result.
            arguments: by the names of the operator's schema; numbers, arrays, or lists of these.
        """
        name = self._record(operator, [AtenTensor(dtype, tuple(shape))], arguments)
        return ArrayValue(name, dtype, tuple(shape))

    def calls(
        self, operator: str, types: Sequence[tuple[str, Sequence[int]]], /, **arguments: Any
    ) -> tuple[ArrayValue, ...]:
        """Record an operator with several results, whose dtypes and shapes are `types`."""
        results = [AtenTensor(dtype, tuple(shape)) for dtype, shape in types]
        source = self._record(operator, results, arguments)
        found = []
        for index, type_ in enumerate(results):
            picked = {"source": {"value": source}, "index": index}
            name = self._append("getitem", [type_], picked)
            found.append(ArrayValue(name, type_.dtype, type_.shape))
        return tuple(found)

    def _record(
        self, operator: str, results: Sequence[AtenTensor], arguments: Mapping[str, Any]
    ) -> str:
        return self._append(operator, results, {k: _plain(v) for k, v in arguments.items()})

    def _append(
        self, operator: str, results: Sequence[AtenTensor], arguments: dict[str, Any]
    ) -> str:
        if len(self._calls) >= MOST_CALLS:
            raise KernelError(
                "kernel-limit",
                f"the kernel has more than {MOST_CALLS:,} operators",
                cause="loops are unrolled, and calls of functions inlined",
                hint="compute with whole arrays instead of a loop",
            )
        if self._prefix and any(type_.shape for type_ in results):
            raise KernelError(
                "kernel-shape",
                "a function that combines elements computes with single elements",
                cause=f"here is an array of shape {next(t.shape for t in results if t.shape)}",
            )
        name = f"{self._prefix}%{len(self._calls)}"
        self._calls.append(AtenCall(name, operator, self._label(), arguments, tuple(results)))
        return name

    def _label(self) -> str:
        """Return the site, with a number from its second operator on."""
        count = self._sites.get(self.site, 0) + 1
        self._sites[self.site] = count
        return self.site if count == 1 else f"{self.site}#{count}"

    def program(self, outputs: Sequence[ArrayValue]) -> AtenProgram:
        """Return what was recorded, as far as `outputs` need it; all inputs stay."""
        needed = {value.name for value in outputs}
        known = {each.name for each in self._inputs} | {each.name for each in self._calls}
        kept: list[AtenCall] = []
        for call in reversed(self._calls):
            if call.name in needed:
                kept.append(call)
                needed.update(_names(call.arguments))
        if not needed <= known:
            raise _from_outside("an array")
        return AtenProgram(
            tuple(self._inputs), (), tuple(reversed(kept)), tuple(value.name for value in outputs)
        )

    def nested(self) -> KernelRecorder:
        """Return a recorder for the body of a function that combines elements."""
        inner = KernelRecorder(f"{self._prefix}in")
        inner.site = self.site
        return inner


def _from_outside(name: str) -> KernelError:
    return KernelError(
        "kernel-type",
        f"a function that combines elements uses {name} from outside",
        hint="combine a tuple of arrays: xl.reduce(op, (x, y))",
    )


def nested_program(recorder: KernelRecorder, outputs: Sequence[ArrayValue]) -> dict[str, Any]:
    """Return a program as an argument of an operator."""
    return {"program": recorder.program(outputs).to_bytes().decode()}


def _plain(value: Any) -> Any:
    """Return an argument as JSON."""
    if isinstance(value, ArrayValue):
        return {"value": value.name}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return value


def _names(value: Any) -> list[str]:
    """Return the values of the program that an argument holds."""
    if isinstance(value, dict):
        if isinstance(value.get("value"), str):
            return [value["value"]]
        return [name for each in value.values() for name in _names(each)]
    if isinstance(value, list):
        return [name for each in value for name in _names(each)]
    return []

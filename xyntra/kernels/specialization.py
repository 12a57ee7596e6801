# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs a kernel that is compiled for types of arguments, on arrays of a call."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from xyntra.errors import InputError
from xyntra.executable import Executable
from xyntra.frontends.kernel.language import Function
from xyntra.frontends.kernel.reader.frame import Capture
from xyntra.frontends.kernel.reading import KernelProgram, Output
from xyntra.frontends.weight_types import dtype_of
from xyntra.kernels.arguments import arrays_in

__all__ = ["Specialization"]


class Specialization:
    """A kernel compiled for the types of its arguments.

    Args:
        read: the program.
        make: compiles it, when it is first run by itself.
        names: parameters of the kernel in order.
        constants: parameters that it is compiled for the values of, with these.
    """

    def __init__(
        self,
        read: KernelProgram,
        make: Callable[[], Executable],
        names: Sequence[str],
        constants: Mapping[str, Any],
    ) -> None:
        self._make = make
        self._executable: Executable | None = None
        self._program = read.program
        self._text = ""
        self.constants = dict(constants)
        self._watched = [each for each in read.captures if _may_change(each)]
        self._scalars = _scalar_function(read, names)
        self._dtypes = [dtype_of(each.dtype) for each in read.sources if each.kind == "scalar"]
        self._captured = [each.array for each in read.sources if each.kind == "captured"]
        self._order = _input_order(read)
        self._build = _builder(read.result)

    @property
    def executable(self) -> Executable:
        """What it is compiled to."""
        if self._executable is None:
            self._executable = self._make()
        return self._executable

    def recorded(self, record: Callable[..., Sequence[Any]], values: Sequence[Any]) -> Any:
        """Return what the function returns, recorded on arrays instead of computed.

        Args:
            record: of the class of arrays: takes a program, its inputs, and the types of outputs.
            values: of all parameters in order.
        """
        self._text = self._text or self._program.to_bytes().decode()
        types = {each.name: each.type for each in self._program.inputs}
        for call in self._program.calls:
            if call.results[0] is not None:
                types[call.name] = call.results[0]
        found = [types[name] for name in self._program.outputs]
        pairs = [(each.dtype, each.shape) for each in found]
        return self.result(record(self._text, self.inputs(values), pairs))

    def is_current(self) -> bool:
        """Tell whether what the kernel uses from outside is what it was compiled for."""
        return all(_is_current(each) for each in self._watched)

    @property
    def is_plain(self) -> bool:
        """Tell whether its inputs are its arguments, and it returns one array."""
        return not self._dtypes and not self._captured and self._build is _single

    @property
    def has_numbers(self) -> bool:
        """Tell whether numbers of a call are among its inputs."""
        return bool(self._dtypes)

    @property
    def has_captures(self) -> bool:
        """Tell whether arrays from outside are among its inputs."""
        return bool(self._captured)

    @property
    def watched(self) -> list[Capture]:
        """What it uses from outside that may be another one at the next call."""
        return self._watched

    def inputs(self, values: Sequence[Any]) -> list[Any]:
        """Return the inputs of the program for the values of all parameters.

        Raises:
            InputError: a number cannot be computed, or its dtype cannot hold it.
        """
        return self.inputs_of([a for value in values for a in arrays_in(value)], values)

    def inputs_of(self, given: list[Any], values: Sequence[Any]) -> list[Any]:
        """Return the inputs of the program for a call's arrays and the values of all parameters.

        Raises:
            InputError: as `inputs`.
        """
        if self._dtypes:
            given += self._numbers(values)
        given += self._captured
        return [given[i] for i in self._order]

    def _numbers(self, values: Sequence[Any]) -> list[Any]:
        try:
            numbers = self._scalars(*values)
            return [np.array(n, dtype) for n, dtype in zip(numbers, self._dtypes, strict=True)]
        except (ArithmeticError, TypeError, ValueError) as error:
            raise InputError(
                "kernel-number",
                f"a number that the kernel computes from its arguments is wrong: {error}",
            ) from None

    def result(self, outputs: Sequence[Any]) -> Any:
        """Return what the function returns, with arrays for the outputs."""
        return self._build(outputs)


def _may_change(capture: Capture) -> bool:
    """Tell whether a capture is looked at in every call: modules and functions of ours are not."""
    return not isinstance(capture.value, (ModuleType, Function)) and capture.home is not None


def _is_current(capture: Capture) -> bool:
    home = capture.home
    now = home.get(capture.name) if isinstance(home, dict) else home.cell_contents
    if now is not capture.value:
        return False
    return capture.snapshot is None or bool(now == capture.snapshot)


def _scalar_function(read: KernelProgram, names: Sequence[str]) -> Callable[..., tuple[Any, ...]]:
    """Return the function that computes all numbers of a call from its arguments."""
    texts = [each.text for each in read.sources if each.kind == "scalar"]
    source = f"lambda {', '.join(names)}: ({''.join(f'{text}, ' for text in texts)})"
    # The text is made of numbers and names of parameters alone (reader/host.py).
    function: Callable[..., tuple[Any, ...]] = eval(source, {"math": math})  # noqa: S307
    return function


def _input_order(read: KernelProgram) -> list[int]:
    """Return for each input its place among arguments, then numbers, then captured arrays."""
    kinds = ("argument", "scalar", "captured")
    places: dict[int, int] = {}
    for kind in kinds:
        for index, each in enumerate(read.sources):
            if each.kind == kind:
                places[index] = len(places)
    return [places[index] for index in range(len(read.sources))]


def _single(outputs: Sequence[Any]) -> Any:
    return outputs[0]


def _builder(result: Any) -> Callable[[Sequence[Any]], Any]:
    if isinstance(result, Output):
        return _single
    if isinstance(result, tuple) and all(isinstance(each, Output) for each in result):
        return tuple
    return lambda outputs: _filled(result, outputs)


def _filled(result: Any, outputs: Sequence[Any]) -> Any:
    if isinstance(result, Output):
        return outputs[result.number]
    if isinstance(result, (tuple, list)):
        return type(result)(_filled(each, outputs) for each in result)
    if isinstance(result, dict):
        return {key: _filled(each, outputs) for key, each in result.items()}
    return result

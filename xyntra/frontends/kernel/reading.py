# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads a kernel's function for given types of arguments, as a program to compile."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from xyntra.errors import KernelError
from xyntra.frontends.kernel.reader.frame import Capture, closure_of
from xyntra.frontends.kernel.reader.statements import Reader
from xyntra.frontends.kernel.recorder import InputSource, KernelRecorder
from xyntra.frontends.kernel.values import ArrayValue, HostScalar
from xyntra.frontends.torch.program import AtenProgram

__all__ = ["ArrayType", "KernelProgram", "Output", "read_kernel"]

_NODE = re.compile(r"node '([^']*?)(#\d+)?'")


@dataclass(frozen=True)
class ArrayType:
    """The dtype and the shape of an argument that is an array."""

    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Output:
    """Stands for an output of the program in what the function returns."""

    number: int


@dataclass(frozen=True)
class KernelProgram:
    """A function that was read.

    Attributes:
        program: what is compiled.
        sources: where each of its inputs comes from in a call.
        result: what the function returns, with an `Output` for each array.
        captures: what it uses from outside.
        reader: knows where operators stand.
    """

    program: AtenProgram
    sources: Sequence[InputSource]
    result: Any
    captures: Sequence[Capture]
    reader: Reader

    def located(self, place: str | None) -> str | None:
        """Return the place of an error with the line that it stands for."""
        found = _NODE.search(place or "")
        if found is None or found[1] not in self.reader.sites:
            return place
        file, node, name = self.reader.sites[found[1]]
        return f"{file.place(node)}, in {name}\n{file.excerpt(node)}"


def read_kernel(function: FunctionType, arguments: Mapping[str, Any]) -> KernelProgram:
    """Read a function.

    Args:
        function: the kernel's.
        arguments: by the names of parameters; an `ArrayType` stands for an array, inside of
            tuples, lists and dictionaries as well, and a `HostScalar` for a number of the call.

    Raises:
        KernelError: it is wrong for these arguments, or not a kernel at all.
        NeedsConstant: a number of the call has to be known.
    """
    recorder = KernelRecorder()
    reader = Reader(recorder)
    closure = closure_of(function)
    names = {name: _value(recorder, name, each) for name, each in arguments.items()}
    try:
        returned = reader.enter(closure, (), names)
    except RecursionError:
        raise KernelError(
            "kernel-limit",
            f"{closure.name} nests too deeply",
            place=closure.file.place(closure.node),
            hint="shorter expressions, and calls that end by constants",
        ) from None
    outputs: list[ArrayValue] = []
    result = _result(returned, outputs, recorder)
    if not outputs:
        raise KernelError(
            "kernel-type",
            f"{closure.name} returns no array",
            place=f"{closure.file.place(closure.node)}, in {closure.name}",
            cause=f"it returns {returned!r}",
            hint="a return statement with an array, or a tuple of arrays",
        )
    return KernelProgram(
        recorder.program(outputs), tuple(recorder.sources), result, reader.captures, reader
    )


def _value(recorder: KernelRecorder, name: str, given: Any) -> Any:
    if isinstance(given, ArrayType):
        return recorder.argument(name, given.dtype, given.shape)
    if isinstance(given, (tuple, list)):
        return tuple(_value(recorder, f"{name}.{i}", each) for i, each in enumerate(given))
    if isinstance(given, dict):
        return {key: _value(recorder, f"{name}.{key}", each) for key, each in given.items()}
    return given


def _result(value: Any, outputs: list[ArrayValue], recorder: KernelRecorder) -> Any:
    """Return a result with an `Output` for each array, which is appended to `outputs`."""
    if isinstance(value, HostScalar):
        value = recorder.scalar(value, "float64" if value.kind == "float" else "int64")
    if isinstance(value, ArrayValue):
        outputs.append(value)
        return Output(len(outputs) - 1)
    if isinstance(value, (tuple, list)):
        return type(value)(_result(each, outputs, recorder) for each in value)
    if isinstance(value, dict):
        return {key: _result(each, outputs, recorder) for key, each in value.items()}
    return value

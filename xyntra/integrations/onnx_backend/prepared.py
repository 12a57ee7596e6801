# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compiles a model for the inputs that it is run on, once for each set of their shapes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import onnx
from onnx.backend.base import BackendRep, namedtupledict

import xyntra
from xyntra.errors import InputError
from xyntra.executable import Executable
from xyntra.frontends.onnx.control.specialised import NOT_COMPILED
from xyntra.frontends.onnx.values import part_name

__all__ = ["XyntraBackendRep"]

_MOST_EXECUTABLES = 16
_MOST_BYTES = 8192
"""Largest input that may decide a shape, and that a model is then compiled for the value of."""


class XyntraBackendRep(BackendRep):
    """A model that is compiled when it is run, and again for inputs of other shapes.

    Where the value of an input decides a shape (that of Reshape or Range, say), the model is
    compiled for that value, and again for others. The executables used last are kept.

    Args:
        model: the model.
        options: arguments of `xyntra.compile`.
    """

    def __init__(self, model: onnx.ModelProto, options: Mapping[str, Any]) -> None:
        self._model = model.SerializeToString()
        self._options = options
        given = {each.name for each in model.graph.initializer}
        self._inputs = [each.name for each in model.graph.input if each.name not in given]
        self._outputs = list(model.graph.output)
        self._executables: OrderedDict[Any, Executable] = OrderedDict()

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Run the model.

        Args:
            inputs: arrays in the order of the graph's inputs, by name, or the only one.
            kwargs: none.

        Returns:
            The outputs, in order and by name: a named tuple that also takes names in brackets.

        Raises:
            XyntraError: the inputs do not fit, or the model cannot be compiled for them.
        """
        if kwargs:
            raise InputError("unknown-option", f"run() has no argument '{next(iter(kwargs))}'")
        arrays = dict(_flat(self._by_name(inputs)))
        try:
            found = _run(self._executable(arrays), arrays)
        except InputError as error:
            if error.code != NOT_COMPILED:
                raise
            found = _run(self._compiled(arrays), arrays)
        results = namedtupledict("Outputs", [str(each.name) for each in self._outputs])
        named: tuple[Any, ...] = results(*(_output(each, found) for each in self._outputs))
        return named

    def _by_name(self, inputs: Any) -> dict[str, Any]:
        if isinstance(inputs, Mapping):
            return dict(inputs)
        if not isinstance(inputs, (list, tuple)):
            inputs = [inputs]
        if len(inputs) != len(self._inputs):
            raise InputError(
                "input-count",
                f"the model takes {len(self._inputs)} inputs, {len(inputs)} were given",
                cause=f"its inputs are {', '.join(self._inputs) or 'none'}",
            )
        return dict(zip(self._inputs, inputs, strict=True))

    def _executable(self, arrays: Mapping[str, Any]) -> Executable:
        key = _shapes_of(arrays)
        if key not in self._executables:
            return self._compiled(arrays)
        self._executables.move_to_end(key)
        return self._executables[key]

    def _compiled(self, arrays: Mapping[str, Any]) -> Executable:
        """The model compiled for the shapes of `arrays`, and for values that decide others."""
        small = {
            name: each
            for name, each in arrays.items()
            if isinstance(each, (np.ndarray, np.generic)) and each.nbytes <= _MOST_BYTES
        }
        shapes = {name: np.shape(each) for name, each in arrays.items()}
        found = xyntra.compile(self._model, inputs=shapes, specialize=small, **self._options)
        self._executables[_shapes_of(arrays)] = found
        if len(self._executables) > _MOST_EXECUTABLES:
            self._executables.popitem(last=False)
        return found


_EMPTY = ()
"""The array that stands for a sequence without elements."""


def _flat(inputs: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The tensors of inputs, by name; sequences by element, and nothing for what is absent."""
    for name, each in inputs.items():
        if each is None:
            continue
        if not isinstance(each, (list, tuple)):
            yield name, each
        elif not each:
            yield name, _EMPTY
        else:
            yield from ((part_name(name, n), np.asarray(item)) for n, item in enumerate(each))


def _run(executable: Executable, arrays: Mapping[str, Any]) -> dict[str, Any]:
    return executable.run({name: each for name, each in arrays.items() if each is not _EMPTY})


def _output(declared: onnx.ValueInfoProto, found: Mapping[str, Any]) -> Any:
    """An output as ONNX has it: an array, a list for a sequence, None for what is absent."""
    name, kind = str(declared.name), declared.type
    if name in found:
        return found[name]
    parts: list[Any] = []
    while part_name(name, len(parts)) in found:
        parts.append(found[part_name(name, len(parts))])
    is_optional = kind.WhichOneof("value") == "optional_type"
    return None if is_optional and not parts else parts


def _shapes_of(arrays: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple((name, np.shape(each)) for name, each in arrays.items())

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Holds the names of one call while it is read, and binds its arguments."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

from xyntra.errors import KernelError
from xyntra.frontends.kernel.reader.source import FunctionNode, SourceFile, function_node

__all__ = ["Capture", "Closure", "Frame", "bind", "closure_of"]


@dataclass(frozen=True)
class Capture:
    """Something that a kernel uses and that may be another one at the next call.

    Attributes:
        home: the dictionary, or the cell, that holds it.
        name: its key there; "" for a cell.
        value: what it was.
        snapshot: the contents of a list or a dictionary, which may change; else None.
    """

    home: Any
    name: str
    value: Any
    snapshot: Any = None


@dataclass(eq=False)
class Frame:
    """One call of a function.

    Attributes:
        name: of the function.
        file: that it is in.
        node: its definition.
        names: its variables.
        outer: of the function around it, for functions that a kernel defines.
        function: the function of Python, for others.
    """

    name: str
    file: SourceFile
    node: FunctionNode
    names: dict[str, Any] = field(default_factory=dict)
    outer: Frame | None = None
    function: Any = None

    def find(self, name: str) -> tuple[bool, Any]:
        """Look a variable up here and in the functions around."""
        frame: Frame | None = self
        while frame is not None:
            if name in frame.names:
                return True, frame.names[name]
            frame = frame.outer
        return False, None

    @property
    def root(self) -> Frame:
        """The frame of the function of Python that this one belongs to."""
        frame = self
        while frame.outer is not None:
            frame = frame.outer
        return frame


@dataclass(eq=False)
class Closure:
    """A function that is read when it is called.

    Attributes:
        name: of the function.
        file: that it is in.
        node: its definition.
        outer: the frame that defines it; None for a function of Python.
        function: of Python; None for one that a kernel defines.
        defaults: of the last positional parameters.
        named_defaults: of keyword-only parameters.
    """

    name: str
    file: SourceFile
    node: FunctionNode
    outer: Frame | None
    function: Any
    defaults: Sequence[Any]
    named_defaults: Mapping[str, Any]


def closure_of(function: FunctionType) -> Closure:
    """Return a function of Python with its definition.

    Raises:
        KernelError: `kernel-source`.
    """
    file, node = function_node(function)
    return Closure(
        function.__name__,
        file,
        node,
        None,
        function,
        function.__defaults__ or (),
        function.__kwdefaults__ or {},
    )


def bind(closure: Closure, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a function by name.

    Raises:
        KernelError: `kernel-type`, the arguments do not fit.
    """
    spec = closure.node.args
    positional = [each.arg for each in (*spec.posonlyargs, *spec.args)]
    found = dict(zip(positional, args, strict=False))
    extra = tuple(args[len(positional) :])
    rest = dict(kwargs)
    for name in (*(each.arg for each in spec.args), *(each.arg for each in spec.kwonlyargs)):
        if name in rest:
            if name in found:
                raise _wrong(closure, f"'{name}' is given twice")
            found[name] = rest.pop(name)
    defaults = dict(zip(reversed(positional), reversed(closure.defaults), strict=False))
    for name, value in {**defaults, **closure.named_defaults}.items():
        found.setdefault(name, value)
    missing = [n for n in (*positional, *(e.arg for e in spec.kwonlyargs)) if n not in found]
    if missing:
        raise _wrong(closure, f"'{missing[0]}' is missing")
    if spec.vararg is not None:
        found[spec.vararg.arg] = extra
    elif extra:
        raise _wrong(closure, f"{len(args)} arguments are given")
    if spec.kwarg is not None:
        found[spec.kwarg.arg] = rest
    elif rest:
        raise _wrong(closure, f"it has no parameter '{next(iter(rest))}'")
    return found


def _wrong(closure: Closure, message: str) -> KernelError:
    return KernelError(
        "kernel-type",
        f"{closure.name}: {message}",
        hint=f"{closure.name}({ast.unparse(closure.node.args)})",
    )

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads calls: of the language, of Python's functions on constants, and of functions inlined."""

from __future__ import annotations

import ast
import functools
import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from types import BuiltinMethodType, FunctionType
from typing import Any

from xyntra.errors import KernelError
from xyntra.frontends.kernel.language import Function, function_table
from xyntra.frontends.kernel.reader.expressions import Expressions, Method
from xyntra.frontends.kernel.reader.frame import Closure, Frame, bind, closure_of
from xyntra.frontends.kernel.reader.host import host_call
from xyntra.frontends.kernel.recorder import KernelRecorder
from xyntra.frontends.kernel.values import ArrayValue, HostScalar

__all__ = ["Calls"]

MOST_DEPTH = 40
"""Calls inside of each other."""
_PYTHON = (
    abs, all, any, bool, dict, divmod, enumerate, float, int, isinstance, len, list, max, min, pow,
    range, reversed, round, slice, sorted, str, sum, tuple, zip,
)  # fmt: skip
_OF_ARRAYS = {abs: "abs", round: "round", pow: "pow"}
_INSTEAD = {
    max: "xl.max(x) for the largest element, xl.maximum(a, b) for two arrays",
    min: "xl.min(x) for the smallest element, xl.minimum(a, b) for two arrays",
    sum: "xl.sum(x, axis=…)",
    float: "xl.astype(x, xl.float32)",
    int: "xl.astype(x, xl.int64)",
    bool: "xl.astype(x, xl.bool)",
    any: "xl.any(x)",
    all: "xl.all(x)",
    sorted: "xl.sort(x)",
    divmod: "x // y and x % y",
}
_NO_EFFECTS = {print: "return the value", input: "an argument", open: "an argument"}
_OF_CONSTANTS = (tuple, list, dict, str, int, float, type(range(0)), slice)


class Callback:
    """A function of the kernel that a function of the language calls.

    Args:
        calls: reads it.
        function: what is called.
    """

    def __init__(self, calls: Calls, function: Any) -> None:
        self._calls = calls
        self._function = function

    def __call__(self, recorder: KernelRecorder, *values: Any) -> Any:
        """Call the function with values of a recorder, which takes what it records."""
        before, self._calls.recorder = self._calls.recorder, recorder
        try:
            return self._calls.call(self._function, values, {})
        finally:
            self._calls.recorder = before


class Calls(Expressions):
    """Calls functions; what stands in their bodies is for a class below."""

    @abstractmethod
    def run_body(self, node: ast.FunctionDef) -> Any:
        """Run the statements of the innermost frame's function."""

    def _call(self, node: ast.Call) -> Any:
        function = self.evaluate(node.func)
        args = self.elements(node.args)
        kwargs: dict[str, Any] = {}
        for each in node.keywords:
            value = self.evaluate(each.value)
            kwargs.update(value if each.arg is None else {each.arg: value})
        return self.call(function, args, kwargs, node)

    def call(
        self,
        function: Any,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        node: ast.AST | None = None,
    ) -> Any:
        """Call what an expression has given.

        Args:
            function: a function of the language, of the kernel, or of Python.
            args: its arguments.
            kwargs: its arguments by name.
            node: the call.
        """
        if isinstance(function, Method):
            return self.call(function_table()[function.name], [function.value, *args], kwargs, node)
        if isinstance(function, functools.partial):
            known = {**function.keywords, **kwargs}
            return self.call(function.func, [*function.args, *args], known, node)
        if isinstance(function, Function):
            wrapped = [self._wrapped(each) for each in args]
            named = {name: self._wrapped(each) for name, each in kwargs.items()}
            return function.record(self.recorder, *wrapped, **named)
        plain = getattr(function, "__xyntra_kernel__", function)
        if isinstance(plain, Closure):
            return self.enter(plain, args, kwargs, node)
        if isinstance(plain, FunctionType) and not _is_of_library(plain):
            return self.enter(closure_of(plain), args, kwargs, node)
        return self._python(function, args, kwargs)

    def _wrapped(self, value: Any) -> Any:
        kinds = (Closure, FunctionType, functools.partial, Function)
        if isinstance(value, kinds) or hasattr(value, "__xyntra_kernel__"):
            return Callback(self, value)
        return value

    def enter(
        self,
        closure: Closure,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        node: ast.AST | None = None,
    ) -> Any:
        """Read the body of a function with its parameters bound."""
        if len(self.frames) >= MOST_DEPTH:
            raise KernelError(
                "kernel-limit",
                f"{closure.name}: more than {MOST_DEPTH} calls are inside of each other",
                cause="calls are inlined, so that a recursion has to end by constants alone",
                hint="a loop, or xl.scan and xl.reduce",
            )
        names = bind(closure, args, kwargs)
        frame = Frame(
            closure.name, closure.file, closure.node, names, closure.outer, closure.function
        )
        with self.inside(frame, node):
            if isinstance(closure.node, ast.Lambda):
                return self.evaluate(closure.node.body)
            return self.run_body(closure.node)

    def _python(self, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Call a function of Python on constants, or say what kernels have instead."""
        name = getattr(function, "__name__", type(function).__name__)
        values = [*args, *kwargs.values()]
        if _is_in(function, _NO_EFFECTS):
            raise KernelError(
                "kernel-syntax",
                f"{name} has an effect outside of the kernel, which runs later and elsewhere",
                hint=_NO_EFFECTS[function],
            )
        owner = getattr(function, "__self__", None)
        if isinstance(function, BuiltinMethodType) and isinstance(owner, _OF_CONSTANTS):
            return self._of_constant(function, owner, args, kwargs)
        if any(isinstance(each, ArrayValue) for each in values):
            return self._of_arrays(function, name, args, kwargs)
        is_structure = function in (list, tuple, zip, enumerate, reversed, dict, len, isinstance)
        if any(isinstance(each, HostScalar) for each in values) and not is_structure:
            return host_call(function, values)
        if _is_in(function, _PYTHON) or _is_of_numbers(function):
            result = function(*args, **kwargs)
            return self.made(result) if isinstance(result, (list, dict)) else result
        raise KernelError(
            "kernel-type",
            f"'{name}' is not called in kernels",
            cause="kernels call functions of xyntra.lang, functions that Python has the source of,"
            " and Python's functions of numbers",
            hint=_instead(name),
        )

    def _of_constant(
        self, function: Any, owner: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        changes = isinstance(owner, (list, dict)) and function.__name__ not in (
            "index", "count", "get", "keys", "values", "items", "copy",
        )  # fmt: skip
        if changes and id(owner) not in self.own:
            raise KernelError(
                "kernel-syntax", "a list from outside is changed", hint="make a list in the kernel"
            )
        result = function(*args, **kwargs)
        return self.made(result) if isinstance(result, (list, dict)) else result

    def _of_arrays(
        self, function: Any, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        if _is_in(function, _OF_ARRAYS):
            return self.record(_OF_ARRAYS[function], *args, **kwargs)
        if function is len and isinstance(args[0], ArrayValue):
            if not args[0].shape:
                raise KernelError("kernel-shape", f"len of one element: {args[0]}")
            return args[0].shape[0]
        if function in (list, tuple) and isinstance(args[0], ArrayValue):
            return function(self.iterated(args[0]))
        if function is isinstance:
            return False
        if function in (list, tuple, zip, enumerate, reversed, dict):
            parts = [list(self.iterated(a)) if isinstance(a, ArrayValue) else a for a in args]
            result = function(*parts, **kwargs)
            return self.made(result) if isinstance(result, (list, dict)) else result
        hint = _INSTEAD[function] if _is_in(function, _INSTEAD) else _instead(name)
        raise KernelError("kernel-type", f"'{name}' does not take arrays of kernels", hint=hint)


def _instead(name: str) -> str | None:
    """Return the function of the language that is called like another library's."""
    other = {
        "absolute": "abs", "arctan2": "atan2", "arctan": "atan", "arcsin": "asin",
        "cumsum": "cumulative_sum",
        "arccos": "acos", "concatenate": "concat", "cat": "concat", "transpose": "permute_dims",
        "permute": "permute_dims", "power": "pow", "mod": "remainder", "amax": "max",
        "amin": "min", "dot": "matmul", "mm": "matmul", "cumprod": "cumulative_prod", "fabs": "abs",
        "conv2d": "conv", "scaled_dot_product_attention": "attention", "invert": "bitwise_invert",
    }.get(name, name)  # fmt: skip
    return f"xl.{other}" if other in function_table() else None


def _is_in(function: Any, table: Any) -> bool:
    try:
        return function in table
    except (TypeError, ValueError):
        return False


def _is_of_library(function: FunctionType) -> bool:
    """Tell whether a function is one of a library of arrays, whose source says nothing here."""
    package = (function.__module__ or "").partition(".")[0]
    return package in ("numpy", "torch", "jax", "cupy", "scipy", "math", "functools", "tensorflow")


def _is_of_numbers(function: Any) -> bool:
    """Tell whether a function computes numbers from numbers, and changes nothing."""
    name = getattr(function, "__name__", "")
    if getattr(math, name, None) is function:
        return True
    package = str(getattr(function, "__module__", "")).partition(".")[0]
    return package == "numpy" and name in ("prod", "sqrt", "log", "log2", "exp", "ceil", "floor")

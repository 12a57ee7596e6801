# SPDX-License-Identifier: MIT OR Apache-2.0
"""Defines the object that `@xyntra.kernel` makes of a function."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any, overload

from xyntra.compiler.driver import compile_source, emit_level
from xyntra.compiler.inputs.sizes import Sizes
from xyntra.compiler.inputs.source import ModelSource
from xyntra.config import Config, load_config
from xyntra.errors import InputError, KernelError, XyntraError
from xyntra.frontends.kernel.reading import KernelProgram, read_kernel
from xyntra.frontends.kernel.values import NeedsConstant
from xyntra.kernels.arguments import (
    arrays_in,
    key_of,
    one_device,
    recorder_of,
    type_of,
)
from xyntra.kernels.calling import caller, returned
from xyntra.kernels.specialization import Specialization
from xyntra.kernels.tensor_calls import tensor_caller
from xyntra.targets.current import CurrentDevice

if TYPE_CHECKING:
    from xyntra.executable import Executable

__all__ = ["PythonKernel", "kernel"]

_Kind = inspect.Parameter
MOST_VARIANTS = 512
"""Compiled variants that one kernel keeps in memory."""


@overload
def kernel(function: Callable[..., Any], /) -> PythonKernel: ...
@overload
def kernel(
    *,
    target: str | None = None,
    precision: str | None = None,
    threads: int | None = None,
    config: Any = None,
) -> Callable[[Callable[..., Any]], PythonKernel]: ...
def kernel(
    function: Callable[..., Any] | None = None,
    /,
    *,
    target: str | None = None,
    precision: str | None = None,
    threads: int | None = None,
    config: Any = None,
) -> PythonKernel | Callable[[Callable[..., Any]], PythonKernel]:
    """Compile a function of arrays, written in Python, into fused kernels.

    The function is read from its source when it is first called with arrays of new dtypes and
    shapes, and compiled as a model is. It computes with the functions of `xyntra.lang`, Python's
    operators, and functions that do so as well (docs/kernels.md).

    Args:
        function: takes arrays, numbers and constants, and returns arrays.
        target: where it runs, as for `xyntra.compile`; where its arrays lie, if not given.
        precision: as for `xyntra.compile`.
        threads: as for `xyntra.compile`.
        config: as for `xyntra.compile`.

    Raises:
        KernelError: it is no function of Python.
        ConfigError: a setting is wrong.
    """
    given = {"target": target, "precision": precision, "threads": threads}
    settings = {name: value for name, value in given.items() if value is not None}

    def decorate(function: Callable[..., Any]) -> PythonKernel:
        return PythonKernel(function, settings, config)

    return decorate if function is None else decorate(function)


class PythonKernel:
    """A function of arrays that is compiled for the types of its arguments.

    Args:
        function: of Python.
        settings: arguments of `load_config`.
        config: further settings.
    """

    def __init__(
        self, function: Callable[..., Any], settings: Mapping[str, Any], config: Any = None
    ) -> None:
        if not isinstance(function, FunctionType):
            raise KernelError(
                "kernel-source",
                f"@xyntra.kernel takes a function of Python, not a {type(function).__name__}",
                hint="def f(x): …",
            )
        self.__xyntra_kernel__ = function
        self.__name__ = function.__name__
        self._signature = inspect.signature(function)
        self._names = list(self._signature.parameters)
        self._defaults = function.__defaults__ or ()
        kinds = {each.kind for each in self._signature.parameters.values()}
        self._is_positional = kinds <= {_Kind.POSITIONAL_ONLY, _Kind.POSITIONAL_OR_KEYWORD}
        self._settings = dict(settings)
        self._config = config
        self._statics: dict[Any, frozenset[str]] = {}
        self._variants: dict[Any, Specialization] = {}
        self._fast: tuple[Callable[..., Any] | None, str] = None, ""
        functools.update_wrapper(self, function)
        load_config(config, **self._settings)

    def __repr__(self) -> str:
        return f"<xyntra kernel {self.__xyntra_kernel__.__qualname__}{self._signature}>"

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args: Any, out: Any = None, **named: Any) -> Any:
        """Run the kernel, compiled for these types if it has not been yet.

        Args:
            args: arrays, numbers and constants. Numbers that are only computed with may change
                from call to call; where one decides a shape or a loop, there is one variant of
                the kernel for each value.
            out: an array, or a tuple of them, to write the results into.
            named: arguments by name.

        Returns:
            What the function returns, with arrays of the library that the arguments are of.

        Raises:
            KernelError: the function is wrong for these types.
            InputError: an array does not fit.
            UnsupportedError, CompileError, DeviceError: as for executables.
        """
        fast, device = self._fast
        if fast is not None and out is None and not named and device == CurrentDevice.target:
            found = fast(args)
            if found is not None:
                return found
        values = self._bound(args, named)
        special = self._specialized(values)
        record = recorder_of(values)
        if record is not None and out is None:
            return special.recorded(record, values)
        if self._is_positional:
            now = CurrentDevice.target
            short = tensor_caller(special, values) or caller(special, values, self._defaults)
            self._fast = short or (fast if device == now else None), now
        return returned(special, values, out)

    def compile(self, *args: Any, **named: Any) -> Executable:
        """Return the executable of the variant for these arguments.

        Its inputs are the arrays among them, in order, then numbers and arrays that are captured.
        """
        return self._specialized(self._bound(args, named)).executable

    def explain(self, *args: Any, **named: Any) -> str:
        """Return a report of what was fused into which kernel, as `Executable.explain`."""
        return self.compile(*args, **named).explain()

    def emit(self, level: str, *args: Any, **named: Any) -> str:
        """Return the text of a level ("linalg", "fused", "ptx" …) for these arguments."""
        values = self._bound(args, named)
        read, _ = self._read(values)
        config = self._configured(values)
        work = lambda: emit_level(_source(read), Sizes(), config, level)  # noqa: E731
        return bytes(self._located(read, work)).decode()

    def _bound(self, args: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        """Return the values of all parameters in order."""
        try:
            bound = self._signature.bind(*args, **named)
        except TypeError as error:
            raise InputError(
                "kernel-arguments",
                f"{self.__name__}: {error}",
                hint=f"{self.__name__}{self._signature}",
            ) from None
        bound.apply_defaults()
        return list(bound.arguments.values())

    def _specialized(self, values: Sequence[Any]) -> Specialization:
        try:
            types = tuple([key_of(each) for each in values])
            key = types, self._static_values(types, values), CurrentDevice.target
            found = self._variants.get(key)
        except TypeError as error:
            raise InputError(
                "kernel-arguments",
                f"{self.__name__}: an argument is neither array nor number nor constant",
                cause=str(error),
                hint="a constant can be a key of a dictionary, such as a tuple",
            ) from None
        if found is not None and found.is_current():
            return found
        read, statics = self._read(values)
        config = self._configured(values)
        make = lambda: compile_source(_source(read), Sizes(), config)  # noqa: E731
        fixed = dict(zip(self._names, values, strict=True))
        constants = {name: fixed[name] for name in statics}
        found = Specialization(read, lambda: self._located(read, make), self._names, constants)
        self._statics[types] = self._statics.get(types, frozenset()) | statics
        if len(self._variants) >= MOST_VARIANTS:
            self._variants.pop(next(iter(self._variants)), None)
        self._variants[types, self._static_values(types, values), CurrentDevice.target] = found
        return found

    def _static_values(self, types: Any, values: Sequence[Any]) -> tuple[Any, ...]:
        """Return the values of the parameters that variants of these types are compiled for."""
        statics = self._statics.get(types, ())
        return tuple([v for n, v in zip(self._names, values, strict=True) if n in statics])

    def _read(self, values: Sequence[Any]) -> tuple[KernelProgram, frozenset[str]]:
        """Read the function; numbers that have to be known become constants."""
        statics: frozenset[str] = frozenset()
        pairs = list(zip(self._names, values, strict=True))
        while True:
            given = {n: v if n in statics else type_of(n, v) for n, v in pairs}
            try:
                return read_kernel(self.__xyntra_kernel__, given), statics
            except NeedsConstant as needed:
                if needed.parameters <= statics:
                    raise
                statics |= needed.parameters

    def _configured(self, values: Sequence[Any]) -> Config:
        settings = dict(self._settings)
        if "target" not in settings:
            settings["target"] = one_device([a for each in values for a in arrays_in(each)])
        return load_config(self._config, **settings)

    def _located(self, read: KernelProgram, work: Callable[[], Any]) -> Any:
        """Compile; an error that names a node names the line of the kernel instead."""
        try:
            return work()
        except XyntraError as error:
            error.place = read.located(error.place)
            raise


def _source(read: KernelProgram) -> ModelSource:
    return ModelSource("kernel", read.program.to_bytes(), None, {}, None)

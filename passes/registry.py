# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds passes by name and imports only those that are used.

    @register_pass
    @dataclass(frozen=True)
    class FuseOperations:
        "Put the operations that share a kernel into one `xyntra.fused` region."

        name: ClassVar[str] = "fuse-operations"
        max_ops: int = 64

        def run(self, module: ir.Operation) -> None: ...

Fields are options (`max-ops` on a command line): bool, int, float, str, a Literal, or a tuple of
one of those. The docstring is the help text. `anchors` names the ops that the pass runs on;
`builtin.module` where it is not given.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields, is_dataclass
from functools import cache, wraps
from importlib import import_module
from typing import Any, ClassVar, Protocol, TypeVar

from xyntra.dialects.mlir import ir
from xyntra.errors import ConfigError
from xyntra.passes.suggest import did_you_mean
from xyntra.spans import span

__all__ = [
    "Pass",
    "all_passes",
    "anchors_of",
    "find_pass",
    "help_of",
    "is_pass",
    "likely_names",
    "register_pass",
]

_OFTEN_TYPED = (
    "canonicalize",
    "convert-linalg-to-loops",
    "cse",
    "inline",
    "linalg-fuse-operations-ops",
    "lower-affine",
    "loop-invariant-code-motion",
    "one-shot-bufferize",
    "sccp",
    "strip-debuginfo",
    "symbol-dce",
)
"""Upstream passes to suggest; every other one works too."""

_PACKAGE = "xyntra.passes"
_FOLDER = os.path.dirname(__file__)
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


class Pass(Protocol):
    """The interface of a registered pass."""

    name: ClassVar[str]

    def run(self, module: ir.Operation) -> None:
        """Rewrite `module` in place, or raise an `XyntraError`."""


PassType = TypeVar("PassType", bound=type[Any])
_registered: dict[str, type[Any]] = {}


def register_pass(cls: PassType) -> PassType:
    """Class decorator: make the frozen dataclass `cls` available under its `name`.

    Raises:
        TypeError: the class does not have the form that the module's docstring describes.
    """
    name = getattr(cls, "name", "")
    _require(isinstance(name, str) and _NAME.fullmatch(name), cls, "a kebab-case `name`")
    frozen = is_dataclass(cls) and cls.__dataclass_params__.frozen  # type: ignore[attr-defined]
    _require(frozen, cls, "to be a frozen dataclass")
    _require(all(_has_default(entry) for entry in fields(cls)), cls, "a default for every option")
    _require(_documented(cls), cls, "a docstring")
    _require(callable(getattr(cls, "run", None)), cls, "a method `run`")
    package, _, module = cls.__module__.rpartition(".")
    if package.startswith(_PACKAGE):
        _require(module == name.replace("-", "_"), cls, f"to be in {name.replace('-', '_')}.py")
    known = _registered.setdefault(name, cls)
    _require(known is cls, cls, f"a name of its own: {known.__module__} has '{name}' already")
    if not hasattr(cls.run, "__wrapped__"):
        cls.run = _recorded(cls.run, name)
    return cls


def _recorded(run: Callable[..., None], name: str) -> Callable[..., None]:
    """Return `run`, whose calls are spans of a trace, whoever calls it."""

    @wraps(run)
    def recorded(self: Any, module: ir.Operation) -> None:
        with span(name, "pass"):
            run(self, module)

    return recorded


def find_pass(name: str) -> type[Any]:
    """Return the class registered as `name`, importing its module.

    Raises:
        ConfigError: there is no such pass.
    """
    if not is_pass(name):
        hint = did_you_mean(name, likely_names())
        raise ConfigError("unknown-pass", f"there is no pass '{name}'", hint=hint)
    return _registered[name]


def likely_names() -> set[str]:
    """Return what a mistyped pass name may have meant."""
    ours = (name for name, modules in _candidates().items() if any(map(_has_pass, modules)))
    return {*ours, *_registered, *_OFTEN_TYPED}


def is_pass(name: str) -> bool:
    """Tell whether `name` is a pass of ours, importing the module that bears its name."""
    for module in _candidates().get(name, ()):
        if name in _registered:
            break
        import_module(module)
    return name in _registered


def all_passes() -> list[type[Any]]:
    """Import every pass of this package and return all registered ones, ordered by name."""
    for name, modules in _candidates().items():
        if any(map(_has_pass, modules)):
            is_pass(name)
    return [_registered[name] for name in sorted(_registered)]


def anchors_of(cls: type[Any]) -> tuple[str, ...]:
    """Return the names of the ops that the pass runs on."""
    anchors: tuple[str, ...] = getattr(cls, "anchors", ("builtin.module",))
    return anchors


def help_of(cls: type[Any]) -> str:
    """Return the first line of the pass's docstring."""
    return (cls.__doc__ or "").strip().partition("\n")[0]


@cache
def _candidates() -> dict[str, tuple[str, ...]]:
    """Modules below the package by the pass name that they could hold; nothing is imported."""
    found: dict[str, tuple[str, ...]] = {}
    for module in _modules(_FOLDER, _PACKAGE):
        name = module.rpartition(".")[2].replace("_", "-")
        found[name] = (*found.get(name, ()), module)
    return found


def _modules(folder: str, package: str) -> Iterator[str]:
    for name in sorted(os.listdir(folder)):
        stem, suffix = os.path.splitext(name)
        path = os.path.join(folder, name)
        if suffix == ".py" and not stem.startswith("_"):
            yield f"{package}.{stem}"
        elif os.path.exists(os.path.join(path, "__init__.py")):
            yield from _modules(path, f"{package}.{name}")


def _has_pass(module: str) -> bool:
    return b"\n@register_pass" in _source(module)


def _source(module: str) -> bytes:
    parts = module.removeprefix(_PACKAGE + ".").split(".")
    with open(os.path.join(_FOLDER, *parts) + ".py", "rb") as file:
        return file.read()


def _has_default(entry: Any) -> bool:
    return entry.default is not MISSING or entry.default_factory is not MISSING


def _documented(cls: type[Any]) -> bool:
    # A dataclass without a docstring is given one that starts with its own signature.
    return bool(cls.__doc__) and not (cls.__doc__ or "").startswith(f"{cls.__name__}(")


def _require(condition: object, cls: type[Any], what: str) -> None:
    if not condition:
        raise TypeError(f"pass {cls.__qualname__} needs {what}")

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Names architectures and says how each is built."""

from __future__ import annotations

import functools
import hashlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Architecture", "Model", "architecture", "register", "registered"]


@dataclass
class Model:
    """A module with example inputs.

    Attributes:
        module: a `torch.nn.Module` with the weights that its library initialises.
        inputs: tensors by the names of its arguments.
        options: further keyword arguments, which become part of the graph.
        select: takes what the module returns; the tensors in its result are the outputs.
        ready: the weights are as they have to be, and are left alone.
    """

    module: Any
    inputs: Mapping[str, Any]
    options: Mapping[str, Any] = field(default_factory=dict)
    select: Callable[[Any], Any] = lambda result: result
    ready: bool = False


@dataclass(frozen=True)
class Architecture:
    """A network of a library, shrunk.

    Attributes:
        name: unique, in lower case with hyphens.
        family: what kind of network it is, the heading of its rows.
        library: where its code comes from.
        build: makes it; called in a process of its own, after seeding torch.
        key: a hash of the code and arguments that `build` consists of.
    """

    name: str
    family: str
    library: str
    build: Callable[[], Model]
    key: str


_REGISTRY: dict[str, Architecture] = {}


def registered() -> dict[str, Architecture]:
    """Return the architectures registered so far, by name."""
    return dict(_REGISTRY)


def register(name: str, family: str, library: str, build: Callable[[], Model]) -> None:
    """Add an architecture.

    Raises:
        ValueError: the name is taken.
    """
    if name in _REGISTRY:
        raise ValueError(f"two architectures are called {name!r}")
    key = hashlib.sha256(_identity(build).encode()).hexdigest()[:16]
    _REGISTRY[name] = Architecture(name, family, library, build, key)


def architecture(
    name: str, family: str, library: str
) -> Callable[[Callable[[], Model]], Callable[[], Model]]:
    """Register the decorated function as the one that builds the architecture."""

    def decorate(build: Callable[[], Model]) -> Callable[[], Model]:
        register(name, family, library, build)
        return build

    return decorate


def _identity(value: Any) -> str:
    if isinstance(value, functools.partial):
        keywords = sorted(value.keywords.items())
        return repr([_identity(value.func), *map(_identity, value.args), _identity(keywords)])
    if inspect.isfunction(value):
        return _identity(value.__code__)
    if inspect.iscode(value):
        # Not the text, so that a file may be formatted while its functions are in use.
        return _identity([value.co_code.hex(), value.co_names, value.co_consts])
    if isinstance(value, dict):
        return repr([(k, _identity(v)) for k, v in value.items()])
    if isinstance(value, (list, tuple)):
        return repr([_identity(v) for v in value])
    return repr(value)

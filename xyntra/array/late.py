# SPDX-License-Identifier: MIT OR Apache-2.0
"""Lends the class of arrays the functions that its methods stand for, which are made of arrays.

The modules of these functions import the class; they hand the functions up when they are loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

__all__ = ["LATE", "late"]

F = TypeVar("F", bound=Callable[..., Any])

_HOMES = {
    "devices": "moved",
    "expansion.kernels": "record_program",
    "functions.creation": "asarray",
    "functions.elementwise": "clip",
    "functions.indexing": "assign read taken",
    "functions.info": "namespace",
    "functions.manipulation": "permute_dims reshape squeeze",
    "functions.products": "product",
    "names": "missing_method",
    "functions.reductions": "all any argmax argmin max mean min prod std sum var",
}
"""The modules that are loaded when one of these functions is first called."""
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}


class _Functions(dict[str, Callable[..., Any]]):
    def __missing__(self, name: str) -> Callable[..., Any]:
        import_module(f"xyntra.array.{_HOME_OF[name]}")
        return self[name]


LATE = _Functions()
"""The functions by name."""


def late(function: F) -> F:
    """Let methods of arrays call the decorated function by its name."""
    LATE[function.__name__] = function
    return function

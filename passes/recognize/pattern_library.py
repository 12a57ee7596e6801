# SPDX-License-Identifier: MIT OR Apache-2.0
"""Loads the modules and files that declare patterns."""

from __future__ import annotations

import runpy
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pkgutil import iter_modules

from xyntra.errors import ConfigError
from xyntra.passes.recognize import patterns
from xyntra.passes.recognize.matching.pattern import Pattern, collected_patterns

__all__ = ["load_library", "patterns_of_file"]

_GROUP = "xyntra.patterns"
"""Entry points of this group name modules of other distributions that declare patterns."""


@cache
def load_library() -> None:
    """Declare the patterns that come with Xyntra, then those of installed plugins."""
    for module in iter_modules(patterns.__path__, f"{patterns.__name__}."):
        import_module(module.name)
    for point in entry_points(group=_GROUP):
        point.load()


def patterns_of_file(path: str) -> dict[str, Pattern]:
    """Execute a Python file and return the patterns that it declares, by name.

    Raises:
        ConfigError: it cannot be read, or fails.
    """
    with collected_patterns() as found:
        try:
            runpy.run_path(path)
        except Exception as error:
            raise ConfigError(
                "bad-pattern-file",
                f"the patterns in '{path}' cannot be loaded",
                cause=f"{type(error).__name__}: {error}",
            ) from error
    return found

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Loads egglog's engine without its Python layer, which takes twenty times as long to import."""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from types import ModuleType

from xyntra.errors import UnsupportedError

__all__ = ["engine", "is_installed"]

_NAME = "egglog.bindings"


def is_installed() -> bool:
    """Tell whether egglog can be imported."""
    return _NAME in sys.modules or _extension() is not None


@cache
def engine() -> ModuleType:
    """The module `egglog.bindings`.

    Raises:
        UnsupportedError: egglog is not installed.
    """
    loaded = sys.modules.get(_NAME)
    if loaded is not None:
        return loaded
    path = _extension()
    if path is None:
        raise UnsupportedError(
            "egglog-missing",
            "simplify-expressions needs egglog, which is not installed",
            hint="pip install 'xyntra[egraph]'",
        )
    spec = importlib.util.spec_from_file_location(_NAME, path)
    if spec is None or spec.loader is None:
        raise UnsupportedError("egglog-broken", f"egglog's engine at {path} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    # A process can initialise this extension once: a later `import egglog` must find it.
    sys.modules[_NAME] = module
    return module


@cache
def _extension() -> Path | None:
    package = importlib.util.find_spec("egglog")
    if package is None:
        return None
    for folder in package.submodule_search_locations or ():
        for suffix in EXTENSION_SUFFIXES:
            path = Path(folder, f"bindings{suffix}")
            if path.exists():
                return path
    return None

# SPDX-License-Identifier: MIT OR Apache-2.0
"""The networks: a file for each kind, each of which registers its own."""

from __future__ import annotations

import importlib
import pkgutil

from verify.architectures.registry import Architecture, registered

__all__ = ["load"]


def load() -> dict[str, Architecture]:
    """Return every network by name. Imports none of the model libraries."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return registered()

# SPDX-License-Identifier: MIT OR Apache-2.0
"""The architectures: a file for each kind, by subject, each of which registers its own."""

from __future__ import annotations

import importlib
import pkgutil

from verify.architectures.registry import Architecture, registered

__all__ = ["load"]


def load() -> dict[str, Architecture]:
    """Return every architecture by name. Imports none of the model libraries."""
    for module in pkgutil.walk_packages(__path__, f"{__name__}."):
        importlib.import_module(module.name)
    return registered()

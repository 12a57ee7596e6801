# SPDX-License-Identifier: MIT OR Apache-2.0
"""Holds the importers of operators of ours by name."""

from __future__ import annotations

from collections.abc import Callable

from xyntra.frontends.torch.node import Handler

__all__ = ["HANDLERS", "imports"]

HANDLERS: dict[str, Handler] = {}


def imports(name: str) -> Callable[[Handler], Handler]:
    """Register the decorated function as the importer of the operator `xyntra.<name>`."""

    def register(handler: Handler) -> Handler:
        HANDLERS[f"xyntra.{name}"] = handler
        return handler

    return register

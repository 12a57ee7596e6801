# SPDX-License-Identifier: MIT OR Apache-2.0
"""Starts the process that runs kernels, so that it ends with the one that has started it."""

from __future__ import annotations

from xyntra.compiler.worker.orphans import end_with_parent
from xyntra.tune.measuring import server

__all__ = ["main"]


def main() -> None:
    """Answer questions until the owner ends, or closes the pipe."""
    end_with_parent()
    server.main()

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Starts a headless Chromium with WebGPU, which computes on the processor where there is no GPU."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

__all__ = ["FLAGS", "browser", "missing"]

_COMMANDS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = ("--no-sandbox", "--enable-unsafe-webgpu")
"""Without a GPU, the first of them that Chromium has is SwiftShader's Vulkan."""


def missing() -> str | None:
    """Return why there is no browser to drive; None if there is one."""
    if _command() is None:
        return f"there is no Chromium: none of {', '.join(_COMMANDS)} is on the path"
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError:
        return "playwright is not installed (pip install playwright)"
    return None


@contextmanager
def browser(flags: Sequence[str] = FLAGS) -> Iterator[Any]:
    """Start a Chromium, and close it after the block.

    Yields:
        playwright's browser.

    Raises:
        RuntimeError: there is none.
    """
    reason = missing()
    if reason is not None:
        raise RuntimeError(reason)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        found = started.chromium.launch(executable_path=_command(), headless=True, args=[*flags])
        try:
            yield found
        finally:
            found.close()


def _command() -> str | None:
    return next(filter(None, map(shutil.which, _COMMANDS)), None)

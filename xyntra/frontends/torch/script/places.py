# SPDX-License-Identifier: MIT OR Apache-2.0
"""Names the places of a TorchScript graph in errors: the source line and the part of the module."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import Any

from xyntra.errors import UnsupportedError

__all__ = ["data_dependent", "line_of", "place_of"]

_SCRIPTED = re.compile(r'File "([^"]*)", line (\d+)')
_TRACED = re.compile(r"([^\s:]+\.py)\((\d+)\)")
_TEXT = re.compile(r"^(.*)\n\s*~+ *<--- HERE", re.MULTILINE)
_SHOWN = 120


def line_of(node: Any) -> str:
    """Return the source line of a node, such as `model.py:12`; "" where the graph has none."""
    found = _SCRIPTED.search(node.sourceRange()) or _TRACED.search(node.sourceRange())
    return f"{PurePath(found[1]).name}:{found[2]}" if found else ""


def place_of(node: Any, path: str) -> str:
    """Return the operator of a node, where it stands, and its source line."""
    part = f" in '{path}'" if path else ""
    line = line_of(node)
    text = _TEXT.search(node.sourceRange())
    shown = f" ({text[1].strip()[:_SHOWN]})" if text else ""
    return f"{node.kind()}{part}" + (f", {line}{shown}" if line else "")


def data_dependent(message: str, hint: str | None = None) -> UnsupportedError:
    """Return the error for what would have to know the values of tensors; its place comes later."""
    return UnsupportedError(
        "torch-data-dependent",
        message,
        hint=hint or "write the choice with torch.where, or leave that part outside of the module",
    )

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Models that come through standard input, which can be read only once."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from xyntra.errors import InputError

__all__ = ["STDIN", "contents_of", "is_saved", "label_of", "stem_of"]

STDIN = "standard input"
"""What messages call it."""
_NAMES = frozenset({"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})


def contents_of(options: argparse.Namespace) -> bytes | None:
    """The bytes of the model on standard input; None where the model is a file.

    Raises:
        InputError: standard input is a terminal.
    """
    if options.model not in _NAMES:
        return None
    held: bytes | None = getattr(options, "contents", None)
    if held is None:
        if sys.stdin.isatty():
            raise InputError(
                "model-missing",
                "the model is to come from standard input, which is a terminal",
                hint=f"xyntra {options.command} - < model.onnx",
            )
        held = options.contents = sys.stdin.buffer.read()
    return held


def is_saved(options: argparse.Namespace) -> bool:
    """Tell whether the model is a saved one, by its name or by how it begins."""
    from xyntra.plan.storage.container import MAGIC

    contents = contents_of(options)
    if contents is not None:
        return contents.startswith(MAGIC)
    if options.model.endswith(".xyn"):
        return True
    try:
        if not os.path.isfile(options.model):
            return False
        with open(options.model, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except (OSError, ValueError):
        return False


def label_of(options: argparse.Namespace) -> str:
    """Return what messages call the model."""
    return STDIN if options.model in _NAMES else str(options.model)


def stem_of(options: argparse.Namespace) -> str:
    """The name of the model's file without folder and suffix; "model" for standard input."""
    return "model" if options.model in _NAMES else Path(options.model).stem

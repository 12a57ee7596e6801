# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compiles models with passes added to, or left out of, the pipeline that fuses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest

import xyntra
from xyntra.executable import Executable
from xyntra.passes.pipelines import PIPELINES, expand

__all__ = ["compile_with", "largest_error"]


def compile_with(
    model: onnx.ModelProto,
    passes: Sequence[str],
    without: Sequence[str],
    cache: Path,
    after: str = "",
) -> Executable:
    """`model` with `passes` among those that fuse, and without those named in `without`.

    Passes that are not there come behind the one called `after`, or first of all.
    """
    elements = [name for name in expand("fuse") if name not in without]
    added = [name for name in passes if name not in elements]
    place = elements.index(after) + 1 if after else 0
    with pytest.MonkeyPatch.context() as patch:
        changed = replace(
            PIPELINES["fuse"], elements=(*elements[:place], *added, *elements[place:])
        )
        patch.setitem(PIPELINES, "fuse", changed)
        # Compiled models are found by model and settings, of which pipelines are no part.
        folder = cache / "-".join(passes or ["plain"])
        return xyntra.compile(model, config={"isolate": False, "cache_dir": str(folder)})


def largest_error(found: np.ndarray, wanted: np.ndarray) -> float:
    """The largest difference, relative to the largest value that is wanted."""
    scale = float(np.abs(wanted).max()) or 1.0
    return float(np.abs(found.astype(float) - wanted).max()) / scale

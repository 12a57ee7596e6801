# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs benchmark models in exported pages and compares them with onnxruntime."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

import xyntra
from bench.models import REGISTRY, ensure
from verify.web.running import load_model, run_model
from verify.web.server import served
from xyntra.executable import Executable

__all__ = ["Comparison", "compare_model", "compiled"]

RELATIVE, ABSOLUTE = 1e-3, 1e-4
Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Comparison:
    """What a model did in a browser.

    Attributes:
        name: of the model.
        adapter: that it ran on.
        kernels: of a call.
        megabytes: of the exported folder.
        error: largest absolute difference, over all inputs that were drawn.
        beyond: how many numbers differ by more than the bounds.
        load, call: milliseconds of loading, and of the fastest call.
    """

    name: str
    adapter: str
    kernels: int
    megabytes: float
    error: float
    beyond: int
    load: float
    call: float


def compiled(name: str, folder: Path) -> Executable:
    """Compile a benchmark model for WebGPU."""
    shapes = {each.name: each.shape for each in REGISTRY[name].inputs}
    return xyntra.compile(ensure(name, folder), target="webgpu", inputs=shapes)


def compare_model(browser: Any, name: str, folder: Path, draws: int) -> Comparison:
    """Export a model, run it in a page on inputs that are drawn, and compare.

    Raises:
        RuntimeError: it could not be loaded, or failed.
    """
    executable = compiled(name, folder)
    session = onnxruntime.InferenceSession(ensure(name, folder), providers=["CPUExecutionProvider"])
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as kept:
        executable.save_web(kept, title=name)
        files = [path for path in Path(kept).rglob("*") if path.is_file()]
        size = sum(path.stat().st_size for path in files)
        with served(Path(kept)) as site:
            page = browser.new_page()
            page.set_default_timeout(600_000)
            page.goto(f"{site.address}style.css")
            loaded = load_model(page)
            if "error" in loaded:
                raise RuntimeError(loaded["error"]["text"])
            errors, beyond, times = [], 0, []
            for _ in range(draws):
                feeds = {each.name: each.sample(rng) for each in REGISTRY[name].inputs}
                results, took = run_model(page, feeds)
                times += took
                error, count = _difference(results, _reference(session, feeds))
                errors.append(error)
                beyond += count
            page.close()
    return Comparison(
        name,
        loaded["adapter"],
        loaded["kernels"],
        size / 1e6,
        max(errors),
        beyond,
        loaded["loaded"],
        min(times),
    )


def _reference(session: Any, feeds: Mapping[str, Array]) -> dict[str, Array]:
    names = [each.name for each in session.get_outputs()]
    return dict(zip(names, session.run(None, dict(feeds)), strict=True))


def _difference(results: Mapping[str, Array], wanted: Mapping[str, Array]) -> tuple[float, int]:
    """Return the largest difference, and how many numbers are beyond the bounds."""
    largest, beyond = 0.0, 0
    for name, theirs in wanted.items():
        mine = results[name]
        if mine.shape != theirs.shape or mine.dtype != theirs.dtype:
            raise RuntimeError(f"'{name}' is {mine.dtype}{mine.shape}, not {theirs.shape}")
        error = np.abs(mine.astype(np.float64) - theirs.astype(np.float64))
        limit = ABSOLUTE + RELATIVE * np.abs(theirs.astype(np.float64))
        beyond += int(np.sum(~(error <= limit)))
        largest = max(largest, float(np.max(error, initial=0.0)))
    return largest, beyond

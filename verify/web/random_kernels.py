# SPDX-License-Identifier: MIT OR Apache-2.0
"""Gives the kernels of random fused graphs to Chromium's reader of WGSL."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from verify.fusion.check import Checker
from verify.fusion.command import random_graph
from verify.web.shaders import Refusal, refusals
from xyntra.dialects import make_context
from xyntra.errors import UnsupportedError
from xyntra.targets.webgpu.bound_plan import images_of

__all__ = ["refused_kernels"]

_BATCH = 25
"""Graphs whose kernels are given to a page at once."""


def refused_kernels(page: Any, seed: int, graphs: int) -> Iterator[tuple[int, list[Refusal]]]:
    """Compile graphs for WebGPU and give new kernels to a page.

    Args:
        page: of a browser, from a server.
        seed: of the graphs, which are those of `python -m verify.fusion`.
        graphs: how many.

    Yields:
        how many kernels were read, and those that are not taken without a word.
    """
    checker = Checker(make_context(), "webgpu")
    waiting, known = {}, set()
    for number in range(graphs):
        try:
            executable = checker.compiled(random_graph(seed, number), fuse=True, target="webgpu")
        except UnsupportedError:
            continue
        for name, image in images_of(executable.artifact).items():
            if image.launches and image.wgsl not in known:
                known.add(image.wgsl)
                waiting[f"graph {number}: {name}"] = image
        if number % _BATCH == _BATCH - 1 or number == graphs - 1:
            yield len(waiting), refusals(page, waiting)
            waiting = {}

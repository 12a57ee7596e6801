# SPDX-License-Identifier: MIT OR Apache-2.0
"""Measures a step's launches in CUDA graphs, and how much each of them adds."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch

from bench.cuda.timing import captured, take_turns

__all__ = ["launch_times", "step_time"]

_ROUNDS = 5


def step_time(launches: Sequence[Any], calls: int, rounds: int) -> float:
    """Return the microseconds of a step in a graph of `calls` steps."""

    def work() -> None:
        stream = torch.cuda.current_stream().cuda_stream
        for launch in launches:
            launch(stream)

    return take_turns({"": captured(work, calls)}, calls, rounds)[""]


def launch_times(launches: Sequence[Any], calls: int) -> list[tuple[str, float]]:
    """Return each launch's kernel, and the microseconds that it adds to a step of those ahead.

    Launches overlap, so that what a launch takes alone says little. Those of the first layer read
    their weights from the cache here, since little else is read between two steps.

    Args:
        launches: of a step, in order.
        calls: steps in one graph.
    """
    ends = range(1, len(launches) + 1)
    totals = [0.0, *(step_time(launches[:end], calls, _ROUNDS) for end in ends)]
    added = [after - before for before, after in pairwise(totals)]
    return [(launch.kernel, us) for launch, us in zip(launches, added, strict=True)]

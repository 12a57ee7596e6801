# SPDX-License-Identifier: MIT OR Apache-2.0
"""Times the steps of a plan on a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from xyntra.targets.cuda.driver.driver import checked, driver
from xyntra.targets.cuda.graphs.launches import BoundLaunch

_PASSES = 3
Step = tuple[str, Sequence[BoundLaunch]]


def step_times(steps: Sequence[Step], stream: int) -> list[int]:
    """Run steps in order and return the nanoseconds of each, by events of the GPU.

    The first pass waits behind every step, so that an error names it. The others run through, so
    that the GPU need not wait for the processor where steps are long; the shortest time counts.

    Args:
        steps: a name for errors and the launches of each.
        stream: where they run.

    Raises:
        DeviceError: a step failed; its place is the name.
    """
    cuda = driver()
    for place, launches in steps:
        for launch in launches:
            launch(stream)
        checked(cuda.cuStreamSynchronize(stream), "running a kernel", place)
    events = [checked(cuda.cuEventCreate(0), "creating an event") for _ in range(len(steps) + 1)]
    try:
        passes = [_pass(steps, events, stream) for _ in range(_PASSES)]
    finally:
        for event in events:
            cuda.cuEventDestroy(event)
    return [min(times) for times in zip(*passes, strict=True)]


def _pass(steps: Sequence[Step], events: Sequence[Any], stream: int) -> list[int]:
    cuda = driver()
    checked(cuda.cuEventRecord(events[0], stream), "timing")
    for (place, launches), event in zip(steps, events[1:], strict=True):
        for launch in launches:
            launch(stream)
        checked(cuda.cuEventRecord(event, stream), "timing", place)
    checked(cuda.cuStreamSynchronize(stream), "timing")
    pairs = pairwise(events)
    return [int(checked(cuda.cuEventElapsedTime(*pair), "timing") * 1e6) for pair in pairs]

# SPDX-License-Identifier: MIT OR Apache-2.0
"""A sequence of launches as a CUDA graph, which one call of the driver replays."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from xyntra.targets.cuda.driver import checked, driver
from xyntra.targets.cuda.launches import BoundLaunch


class LaunchGraph:
    """Launches in order, captured once.

    Args:
        launches: what to replay; their arguments must stay where they are.
        stream: used for the capture; nothing else may be put on it meanwhile.
    """

    def __init__(self, launches: Sequence[BoundLaunch], stream: Any) -> None:
        cuda = driver()
        self._launches = launches  # their argument blocks must outlive the capture
        mode = cuda.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
        checked(cuda.cuStreamBeginCapture(stream, mode), "capturing launches")
        try:
            for launch in launches:
                launch(stream)
        finally:
            captured = cuda.cuStreamEndCapture(stream)
        graph = checked(captured, "capturing launches")
        try:
            self._graph = checked(cuda.cuGraphInstantiate(graph, 0), "building a CUDA graph")
        finally:
            cuda.cuGraphDestroy(graph)
        self._release = weakref.finalize(self, cuda.cuGraphExecDestroy, self._graph)
        self._release.atexit = False

    def __call__(self, stream: Any) -> None:
        """Put all launches on a stream."""
        checked(driver().cuGraphLaunch(self._graph, stream), "replaying launches")

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Launches as a CUDA graph, which one call of the driver replays."""

from __future__ import annotations

from collections.abc import Sequence

from xyntra.targets.cuda.driver.direct import Direct
from xyntra.targets.cuda.driver.driver import checked, driver
from xyntra.targets.cuda.driver.memory import release_with
from xyntra.targets.cuda.driver.prepared_launch import PreparedLaunch
from xyntra.targets.cuda.graphs.nodes import can_build, graph_of


class LaunchGraph:
    """Launches in order, which one call of the driver puts on a stream.

    Attributes:
        handle: of the graph, ready to be launched.

    Args:
        launches: what they use must stay where it is.
        stream: nothing else may be put on it meanwhile.
        direct: the driver's functions.
    """

    def __init__(self, launches: Sequence[PreparedLaunch], stream: int, direct: Direct) -> None:
        cuda = driver()
        self._direct = direct
        graph = graph_of(launches) if can_build() else _captured(launches, stream)
        try:
            instance = checked(cuda.cuGraphInstantiate(graph, 0), "building a CUDA graph")
        finally:
            cuda.cuGraphDestroy(graph)
        self.handle = int(instance)
        release_with(self, cuda.cuGraphExecDestroy, instance)
        checked(cuda.cuGraphUpload(instance, stream), "building a CUDA graph")

    def __call__(self, stream: int) -> None:
        """Put everything on a stream."""
        self._direct.launch_graph(self.handle, stream)


def _captured(launches: Sequence[PreparedLaunch], stream: int) -> int:
    """Return a graph, not yet instantiated, of what launches put on a stream."""
    cuda = driver()
    mode = cuda.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
    checked(cuda.cuStreamBeginCapture(stream, mode), "capturing launches")
    try:
        for launch in launches:
            launch(stream)
    finally:
        captured = cuda.cuStreamEndCapture(stream)
    return int(checked(captured, "capturing launches"))

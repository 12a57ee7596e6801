# SPDX-License-Identifier: MIT OR Apache-2.0
"""Work of a stream as a CUDA graph, which one call of the driver replays."""

from __future__ import annotations

from collections.abc import Callable

from xyntra.targets.cuda.direct import Direct
from xyntra.targets.cuda.driver import checked, driver
from xyntra.targets.cuda.memory import release_with


class LaunchGraph:
    """Launches and copies in order, captured once.

    Attributes:
        handle: of the graph, ready to be launched.

    Args:
        work: puts them on the stream that it is given; what they use must stay where it is.
        stream: used for the capture; nothing else may be put on it meanwhile.
        direct: the driver's functions.
    """

    def __init__(self, work: Callable[[int], None], stream: int, direct: Direct) -> None:
        cuda = driver()
        self._direct = direct
        self._work = work  # argument blocks must outlive the capture
        mode = cuda.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
        checked(cuda.cuStreamBeginCapture(stream, mode), "capturing launches")
        try:
            work(stream)
        finally:
            captured = cuda.cuStreamEndCapture(stream)
        graph = checked(captured, "capturing launches")
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

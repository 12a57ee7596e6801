# SPDX-License-Identifier: MIT OR Apache-2.0
"""An artifact loaded onto a GPU: code, weights, an arena and a graph of launches."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from xyntra.errors import ArchiveError
from xyntra.plan.artifact import Artifact
from xyntra.plan.plan import Step
from xyntra.targets.cuda.device import cuda_device
from xyntra.targets.cuda.device_buffers import DeviceBuffers
from xyntra.targets.cuda.driver import checked, driver
from xyntra.targets.cuda.graph import LaunchGraph
from xyntra.targets.cuda.launches import BoundLaunch, load_kernels
from xyntra.targets.cuda.memory import download, upload

Array = np.ndarray[Any, Any]


class CudaProgram:
    """Runs a plan on a GPU.

    Nothing touches the GPU before the first run, so that code may be generated and saved where
    there is none. Calls from several threads are safe, and run one after the other.

    Args:
        artifact: what to run.
        weights: the plan's parameters by name, contiguous.
        ordinal: the GPU.
    """

    def __init__(self, artifact: Artifact, weights: Mapping[str, Array], ordinal: int) -> None:
        self._artifact = artifact
        self._weights = weights
        self._ordinal = ordinal
        self._lock = threading.Lock()
        self._loaded: _Loaded | None = None

    def run(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Run the plan once on contiguous arrays in the memory of the host.

        Raises:
            DeviceError: there is no such GPU, or it failed.
        """
        with self._ready() as loaded:
            loaded.run(inputs, outputs)

    def time_steps(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> list[int]:
        """Run the plan once and return each step's nanoseconds; zero for those done at load.

        Raises:
            DeviceError: there is no such GPU, or it failed.
        """
        with self._ready() as loaded:
            return loaded.time_steps(inputs, outputs)

    @contextmanager
    def _ready(self) -> Iterator[_Loaded]:
        with self._lock, _context(self._ordinal):
            if self._loaded is None:
                _check_architecture(self._artifact, self._ordinal)
                self._loaded = _Loaded(self._artifact, self._weights)
            yield self._loaded


class _Loaded:
    """The part of a program that lives on the GPU, in the current context."""

    def __init__(self, artifact: Artifact, weights: Mapping[str, Array]) -> None:
        cuda = driver()
        self.plan = artifact.plan
        flags = cuda.CUstream_flags.CU_STREAM_NON_BLOCKING
        self.stream = checked(cuda.cuStreamCreate(flags.value), "creating a stream")
        self.kernels = load_kernels(artifact.objects)
        self.buffers = DeviceBuffers(self.plan, weights, self.stream)
        prepare = [each for step in self.plan.steps if step.once for each in self._bind(step)]
        for launch in prepare:
            launch(self.stream)
        self._wait()
        self.steps = [(step, self._bind(step)) for step in self.plan.steps]
        calls = [each for step, bound in self.steps if not step.once for each in bound]
        self.graph = LaunchGraph(calls, self.stream)

    def run(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        self._upload(inputs)
        self.graph(self.stream)
        self._download(outputs)

    def time_steps(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> list[int]:
        self._upload(inputs)
        times = []
        for step, launches in self.steps:
            times.append(0 if step.once else self._time(launches))
        self._download(outputs)
        return times

    def _time(self, launches: Sequence[BoundLaunch]) -> int:
        cuda = driver()
        events = [checked(cuda.cuEventCreate(0), "creating an event") for _ in range(2)]
        checked(cuda.cuEventRecord(events[0], self.stream), "timing")
        for launch in launches:
            launch(self.stream)
        checked(cuda.cuEventRecord(events[1], self.stream), "timing")
        self._wait()
        milliseconds = checked(cuda.cuEventElapsedTime(*events), "timing")
        for event in events:
            cuda.cuEventDestroy(event)
        return int(milliseconds * 1e6)

    def _bind(self, step: Step) -> list[BoundLaunch]:
        pointers, scratch = self.buffers.arguments(step)
        return self.kernels[step.kernel].bind(pointers, scratch)

    def _upload(self, inputs: Sequence[Array]) -> None:
        for array, port in zip(inputs, self.plan.inputs, strict=True):
            upload(array, self.buffers.address(port.buffer), self.stream)

    def _download(self, outputs: Sequence[Array]) -> None:
        for array, port in zip(outputs, self.plan.outputs, strict=True):
            download(self.buffers.address(port.buffer), array, self.stream)
        self._wait()

    def _wait(self) -> None:
        checked(driver().cuStreamSynchronize(self.stream), "running the model")


def _check_architecture(artifact: Artifact, ordinal: int) -> None:
    device = cuda_device(ordinal)
    wanted = artifact.target.rpartition(";")[2]
    if wanted != device.architecture:
        raise ArchiveError(
            "archive-target",
            "the model was compiled for another GPU",
            cause=f"it was compiled for {wanted}; {device.name} is {device.architecture}",
            hint="compile the model for this GPU",
        )


@contextmanager
def _context(ordinal: int) -> Iterator[None]:
    """Make the primary context of a GPU current, which other libraries use as well."""
    cuda = driver()
    cuda_device(ordinal)  # a clear error where there is none
    handle = checked(cuda.cuDeviceGet(ordinal), "opening a GPU")
    context = checked(cuda.cuDevicePrimaryCtxRetain(handle), "opening a GPU")
    checked(cuda.cuCtxPushCurrent(context), "opening a GPU")
    try:
        yield
    finally:
        cuda.cuCtxPopCurrent()

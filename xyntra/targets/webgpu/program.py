# SPDX-License-Identifier: MIT OR Apache-2.0
"""An artifact loaded onto a GPU behind WebGPU, and its calls."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from xyntra.errors import DeviceError, UnsupportedError
from xyntra.passes.lower.gpu.device import device_of
from xyntra.plan.artifact import Artifact
from xyntra.plan.calls.arguments import InputChecks, OutputChecks, check_output
from xyntra.targets.webgpu.adapter import OpenDevice, architecture_in, missing, open_device
from xyntra.targets.webgpu.loaded_shaders import LoadedShaders

Array = np.ndarray[Any, Any]


class WebgpuProgram:
    """Runs a plan on a GPU.

    Nothing touches the GPU before the first run, so that code may be generated and saved where
    there is none. Calls from several threads run one after the other.

    Args:
        artifact: what to run.
        weights: the plan's parameters by name, contiguous.
        ordinal: the adapter's number.
    """

    def __init__(self, artifact: Artifact, weights: Mapping[str, Array], ordinal: int) -> None:
        self._artifact = artifact
        self._weights = weights
        self._ordinal = ordinal
        self._lock = threading.Lock()
        self._loaded: LoadedShaders | None = None
        self._inputs = InputChecks(artifact.plan.inputs)
        self._outputs = OutputChecks(artifact.plan.results)

    def call(self, arrays: Sequence[Any], out: Sequence[Any] | None = None) -> list[Array]:
        """Run the plan once and return its outputs.

        Args:
            arrays: one an input.
            out: where to write the outputs; new arrays where not given.

        Raises:
            DeviceError: there is no GPU, or it failed.
            UnsupportedError: the GPU is not of the kind that the model was compiled for.
            InputError: an array does not fit, or one of `out` shares memory with another array.
        """
        inputs = self._inputs(arrays)
        outputs = self._outputs.new() if out is None else self._outputs(out)
        if out is not None:
            results = self._artifact.plan.results
            for number, (array, port) in enumerate(zip(outputs, results, strict=True)):
                check_output(array, port, inputs, outputs[:number])
        with self._lock, self._reopened():
            self._ready().call(inputs, outputs)
        return outputs

    def time_steps(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> list[int]:
        """Run the plan a few times; return each step's nanoseconds, zero for those of the load.

        Raises:
            DeviceError: there is no GPU, or it failed.
        """
        with self._lock, self._reopened():
            return self._ready().time_steps(inputs, outputs)

    @contextmanager
    def _reopened(self) -> Iterator[None]:
        """Let the next call open the GPU again after one that it failed in: it may be lost."""
        try:
            yield
        except DeviceError:
            self._loaded = None
            open_device.cache_clear()
            raise

    def _ready(self) -> LoadedShaders:
        if self._loaded is None:
            opened = open_device(self._ordinal)
            check_device(self._artifact, opened)
            self._loaded = LoadedShaders(self._artifact, self._weights, opened)
        return self._loaded


def check_device(artifact: Artifact, opened: OpenDevice) -> None:
    """Refuse code for another kind of adapter than the one that is opened.

    Raises:
        UnsupportedError: `webgpu-feature`, it lacks something.
    """
    architecture = architecture_in(artifact.target)
    lacking = missing(device_of(architecture), opened.workgroup_bytes, opened.features)
    if lacking:
        raise UnsupportedError(
            "webgpu-feature",
            f"the model was compiled for '{architecture}', and {opened.name} is no such GPU",
            cause=f"it lacks {lacking}",
            hint="compile it with target='webgpu', for any GPU",
        )

# SPDX-License-Identifier: MIT OR Apache-2.0
"""An artifact loaded onto a GPU, and its calls."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from xyntra.errors import ArchiveError, DeviceError
from xyntra.plan.artifact import Artifact
from xyntra.plan.plan import Plan, Port
from xyntra.targets.cuda.arrays.device_array import DeviceArray
from xyntra.targets.cuda.arrays.state_arrays import address_on_gpu, state_address
from xyntra.targets.cuda.calls.pending import Pending
from xyntra.targets.cuda.code.kernel_image import KernelImage
from xyntra.targets.cuda.driver.device import cuda_device
from xyntra.targets.cuda.driver.gpu import Gpu, gpu
from xyntra.targets.cuda.graphs.launches import BoundLaunch
from xyntra.targets.cuda.loaded_model import LoadedModel
from xyntra.targets.launch_resources import LaunchResources
from xyntra.targets.program import PlainCall

Array = np.ndarray[Any, Any]


class CudaProgram:
    """Runs a plan on a GPU.

    Nothing touches the GPU before the first run, so that code may be generated and saved where
    there is none. Calls from several threads are safe: their launches run one after the other, and
    the threads wait side by side.

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
        self._gpu: Gpu | None = None
        self._loaded: LoadedModel | None = None

    @property
    def results(self) -> Sequence[Port]:
        """Outputs of a call, and flags."""
        return self._artifact.plan.results

    def sized(self, plan: Plan, images: Mapping[str, KernelImage]) -> CudaProgram:
        """Return the same program with other sizes; its calls run one after the other with these.

        Args:
            plan: of kernels that this program has, or variants of them.
            images: these kernels, with launches for the sizes.
        """
        return _SizedProgram(self, plan, images)

    def call(self, arrays: Sequence[Any], out: Sequence[Any] | None = None) -> Sequence[Any]:
        """Run the plan once and return its outputs.

        Args:
            arrays: one an input, in the memory of the host or of the GPU.
            out: where to write the outputs. Where not given, they are new: arrays on the GPU if
                one of `arrays` is there, else numpy's.

        Raises:
            InputError: an array does not fit.
            DeviceError: there is no such GPU, or it failed.
        """
        loaded = self._loaded
        if loaded is not None:
            results = self._call_natively(loaded, arrays, out)
            if results is None:
                results = self._call_usual(loaded, arrays, out)
            if results is not None:
                return results
        with self._ready() as loaded:
            started = loaded.start(arrays, out)
        return started.wait() if isinstance(started, Pending) else started

    def plain_call(self) -> PlainCall:
        """Return a function that runs once on arrays placed on the GPU.

        It returns None, having done nothing, where an array does not fit, and before the first
        call, which loads the program.
        """
        return self._call_resident

    def _call_resident(self, arrays: Sequence[Any], into: Sequence[Any] = ()) -> list[Any] | None:
        loaded = self._loaded
        if loaded is None or loaded.gpu.is_lost:
            return None
        try:
            with loaded.gpu.entered(), self._lock:
                return loaded.resident.start(arrays, into)
        except DeviceError as error:
            raise loaded.named(error) from None

    def submit(self, arrays: Sequence[Any]) -> Pending:
        """Start a call as `call` does, and return at once.

        Raises:
            InputError: an array does not fit.
            DeviceError: there is no such GPU, or it failed.
        """
        with self._ready() as loaded:
            return loaded.submit(arrays)

    def time_steps(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> list[int]:
        """Run the plan once and return each step's nanoseconds; zero for those done at load.

        Raises:
            DeviceError: there is no such GPU, or it failed.
        """
        with self._ready() as loaded:
            return loaded.time_steps(inputs, outputs)

    def time_together(self, inputs: Sequence[Array]) -> int:
        """Run the plan a few times and return the nanoseconds of its launches in a call.

        Raises:
            DeviceError: there is no such GPU, or it failed.
        """
        with self._ready() as loaded:
            return loaded.time_together(inputs)

    def state_address(self, array: Any, port: Port) -> int:
        """Return where an array lies that an output is to be written over.

        Raises:
            InputError: `state-on-host`, `state-layout`, or it does not fit the input.
        """
        return state_address(array, port)

    def input_address(self, array: Any) -> int | None:
        """Return where an array of a call lies; None where that is not on the GPU, or not known."""
        return address_on_gpu(array)

    def new_states(self, ports: Sequence[Port]) -> list[DeviceArray]:
        """Return arrays of zeros for inputs that outputs are written over.

        Raises:
            DeviceError: there is no such GPU, or it has not so much memory.
        """
        with self._ready() as loaded:
            return loaded.new_states(ports)

    def launches(self, addresses: Sequence[int]) -> list[BoundLaunch]:
        """Return the launches of a call, to be put on streams, or into graphs, of one's own.

        Args:
            addresses: of inputs and outputs on the GPU, in order, multiples of 16 bytes. They, and
                the program, must be there as long as the launches are used.

        Raises:
            DeviceError: there is no such GPU, or it failed.
        """
        with self._ready() as loaded:
            return loaded.launches(addresses)

    def launch_at(self, addresses: Sequence[int], stream: int, *, recorded: bool) -> None:
        """Launch once on memory of the GPU, as `StreamProgram` states.

        Raises:
            DeviceError: there is no such GPU, or it failed; `gpu-record`: the first launch, which
                loads the program, would be recorded.
        """
        if recorded and self._loaded is None:
            raise DeviceError(
                "gpu-record",
                "the first call of a model cannot be recorded: it takes memory on the GPU",
                hint="call it once before the capture of a CUDA graph begins",
            )
        with self._ready() as loaded:
            loaded.launch_at(addresses, stream, recorded=recorded)

    def replay(self, arrays: Sequence[Any], out: Sequence[Any]) -> bool:
        """Repeat a call on memory that was met before, as `StreamProgram` states.

        Raises:
            DeviceError: the GPU failed.
        """
        loaded = self._loaded
        return loaded is not None and self._call_natively(loaded, arrays, out) is not None

    def overlaps(self) -> dict[str, tuple[bool, ...]]:
        """Return, by kernel, which of its launches may begin before the one ahead has ended."""
        return {
            name: tuple(each.programmatic for each in KernelImage.from_bytes(code).launches)
            for name, code in self._artifact.objects.items()
        }

    def launch_resources(self) -> list[LaunchResources]:
        """Return what every launch of a call occupies of the GPU, in order.

        Raises:
            DeviceError: there is no such GPU, or it failed.
        """
        with self._ready() as loaded:
            return loaded.launch_resources()

    def _call_natively(
        self, loaded: LoadedModel, arrays: Sequence[Any], out: Sequence[Any] | None
    ) -> Sequence[Any] | None:
        """As `call`, in native code; None where there is none for these arrays."""
        if loaded.gpu.is_lost or not arrays:
            return None
        try:
            if out is None and type(arrays[0]) is np.ndarray:
                return loaded.host.call_natively(arrays, self._lock)
            tensors = loaded.native
            return None if tensors is None else tensors.start(arrays, out, self._lock)
        except DeviceError as error:
            loaded.gpu.note(error)
            raise loaded.named(error) from None

    def _call_usual(
        self, loaded: LoadedModel, arrays: Sequence[Any], out: Sequence[Any] | None
    ) -> Sequence[Any] | None:
        """As `call`, in few steps, for arrays of the usual kinds; None for others."""
        host, torch = loaded.host, loaded.torch
        is_staged = (not arrays or type(arrays[0]) is np.ndarray) and out is None
        is_staged = is_staged and host.takes(arrays)
        if not is_staged and torch is None:
            return None
        try:
            with loaded.gpu.entered():
                with self._lock:
                    if torch is not None and not is_staged:
                        return torch.start(arrays, out)
                    slot = host.launch(arrays)
                return host.finish(slot)
        except DeviceError as error:
            raise loaded.named(error) from None

    @contextmanager
    def _ready(self) -> Iterator[LoadedModel]:
        with self._lock:
            used = self._gpu or self._open()
            with used.entered():
                loaded = self._loaded or self._load(used)
                try:
                    yield loaded
                except DeviceError as error:
                    raise loaded.named(error) from None

    def _open(self) -> Gpu:
        found = gpu(self._ordinal)
        _check_architecture(self._artifact, self._ordinal)
        self._gpu = found
        return found

    def _load(self, used: Gpu) -> LoadedModel:
        self._loaded = LoadedModel(self._artifact, self._weights, used)
        return self._loaded


class _SizedProgram(CudaProgram):
    """A program that shares code, weights and memory with another one."""

    def __init__(self, base: CudaProgram, plan: Plan, images: Mapping[str, KernelImage]) -> None:
        super().__init__(replace(base._artifact, plan=plan), base._weights, base._ordinal)
        self._base = base
        self._images = images
        self._lock = base._lock

    def _load(self, used: Gpu) -> LoadedModel:
        loaded = self._base._loaded or self._base._load(used)
        self._loaded = loaded.at(self._artifact.plan, self._images)
        return self._loaded


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

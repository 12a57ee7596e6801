# SPDX-License-Identifier: MIT OR Apache-2.0
"""The part of a program that lives on a GPU: code, weights, an arena, graphs of launches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np

from xyntra.errors import DeviceError, InputError
from xyntra.plan.artifact import Artifact
from xyntra.plan.calls.arguments import InputChecks, check_output
from xyntra.plan.plan import Plan, Port, numpy_dtype
from xyntra.targets.cuda.arrays.device_array import DeviceArray
from xyntra.targets.cuda.arrays.foreign_arrays import library_of, usable_torch
from xyntra.targets.cuda.calls.device_calls import DeviceCalls
from xyntra.targets.cuda.calls.host_calls import HostCalls
from xyntra.targets.cuda.calls.pending import Pending
from xyntra.targets.cuda.calls.resident_calls import ResidentCalls
from xyntra.targets.cuda.calls.step_times import graph_time, step_times
from xyntra.targets.cuda.calls.torch_calls import TorchCalls
from xyntra.targets.cuda.code.kernel_image import KernelImage
from xyntra.targets.cuda.driver.driver import checked, driver
from xyntra.targets.cuda.driver.gpu import Gpu
from xyntra.targets.cuda.driver.memory import Event, new_stream
from xyntra.targets.cuda.driver.stream_order import StreamOrder
from xyntra.targets.cuda.graphs.device_buffers import DeviceBuffers
from xyntra.targets.cuda.graphs.graph import LaunchGraph
from xyntra.targets.cuda.graphs.launches import BoundLaunch, load_kernels
from xyntra.targets.cuda.graphs.replays import Replays
from xyntra.targets.cuda.graphs.resources import launch_resources
from xyntra.targets.cuda.native.call_code import loaded_code
from xyntra.targets.cuda.native.tensor_calls import NativeTensorCalls, exchange_functions
from xyntra.targets.launch_resources import LaunchResources

Array = np.ndarray[Any, Any]


class LoadedModel:
    """A plan ready to be launched; one thread uses it at a time, in the context of its GPU.

    Attributes:
        host: runs calls on such arrays.
        torch: runs calls on PyTorch's tensors, once there was one; None where there is no PyTorch.
        native: the same in native code; None where there is none.
        resident: runs calls on arrays that were placed on the GPU.

    Args:
        artifact: the plan and its code.
        weights: the plan's parameters by name, contiguous.
        gpu: where it lives.
    """

    def __init__(self, artifact: Artifact, weights: Mapping[str, Array], gpu: Gpu) -> None:
        self.plan = artifact.plan
        self.gpu = gpu
        self._stream = new_stream()
        self._places = _places(artifact)
        self._together: LaunchGraph | None = None
        try:
            self._load(artifact, weights)
        except DeviceError as error:
            raise self.named(error) from None
        self._order = StreamOrder(gpu.direct, self._stream)
        self._code = loaded_code(bytes(artifact.calls))
        self._prepare_calls()

    def at(self, plan: Plan, images: Mapping[str, KernelImage]) -> LoadedModel:
        """Return the same plan with other sizes, which shares code, weights, arena and stream.

        Args:
            plan: of kernels that this model has loaded, or variants of them.
            images: these kernels, with launches for the sizes.

        Raises:
            DeviceError: the GPU has too little memory.
        """
        other = copy(self)
        other.plan, other._together = plan, None
        other._kernels = {n: self._kernels[n].with_image(image) for n, image in images.items()}
        other._buffers = self._buffers.at(plan, self.gpu.transfers, self._stream)
        other._replays = Replays(
            other.plan, other._kernels, other._buffers, self._replays.capture, self.gpu.direct
        )
        other._prepare_calls()
        return other

    @property
    def arena_address(self) -> int:
        """Where the memory of what is computed in a call begins."""
        return self._buffers.arena.address

    def _prepare_calls(self) -> None:
        whole, order = _whole(self._places), self._order
        self._checks = InputChecks(self.plan.inputs)
        memory = self._replays, self._buffers
        self.host = HostCalls(self.plan, self.gpu, *memory, order, whole, self._code)
        self.torch: TorchCalls | None = None
        self.native: NativeTensorCalls | None = None
        self.resident = ResidentCalls(self.plan, self.gpu, self._replays, order, whole)
        self._device = DeviceCalls(self.plan, self.gpu, *memory, order, whole)

    def start(self, arrays: Sequence[Any], out: Sequence[Any] | None) -> Pending | Sequence[Any]:
        """Launch a call; arrays of the GPU are returned at once, a `Pending` for others."""
        libraries = [library_of(each) for each in arrays]
        if self.torch is None and (torch := usable_torch(libraries)) is not None:
            self._use(torch)
        if any(libraries) and self._device.are_on_gpu(arrays, libraries):
            return self._device.start(arrays, libraries, out)
        if out is not None and not all(isinstance(each, np.ndarray) for each in out):
            return self._device.start(arrays, libraries, out)
        prepared = self._checks(arrays)
        if out is not None:
            self._check_outputs(out, prepared)
        return self.host.start(prepared, out)

    def _use(self, torch: Any) -> None:
        """Prepare calls with PyTorch's tensors."""
        self.torch = TorchCalls(torch, self.plan, self.gpu, self._replays, self._order)
        functions = exchange_functions(torch.Tensor)
        if self._code is not None and functions is not None:
            self.native = NativeTensorCalls(
                torch,
                functions,
                self.plan,
                self.gpu,
                self._replays.sets,
                self._order,
                self._code,
                _whole(self._places),
            )

    def new_states(self, ports: Sequence[Port]) -> list[DeviceArray]:
        """Return arrays of zeros on the GPU."""
        stream, found = self._order.own, []
        self._order.enter(stream, lasts=True)
        for port in ports:
            dtype = numpy_dtype(port.dtype)
            block = self.gpu.blocks.take(port.nbytes, stream)
            found.append(DeviceArray(self.gpu, block, port.shape, dtype, stream))
            self.gpu.transfers.upload(np.zeros(port.shape, dtype), block.address, stream)
        return found

    def submit(self, arrays: Sequence[Any]) -> Pending:
        """Launch a call whose results are asked for later."""
        started = self.start(arrays, None)
        if isinstance(started, Pending):
            return started
        event = Event()
        self.gpu.direct.record(event.handle, self._device.stream)
        return Pending(self.gpu, event, lambda: started, _whole(self._places))

    def time_steps(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> list[int]:
        """Run the plan many times; return each step's nanoseconds, zero for those of the load.

        What is in `outputs` then is of one run.
        """
        transfers, address = self.gpu.transfers, self._buffers.address
        self._order.enter(self._stream, lasts=True)
        called = [step for step in self.plan.steps if not step.once]
        steps = [(self._places[step.kernel], self._replays.bind(step)) for step in called]
        self._upload(inputs)
        measured = iter(step_times(steps, self._stream, self._graph))
        self._upload(inputs)  # steps have written over some, and in parts of runs
        for _, launches in steps:
            for launch in launches:
                launch(self._stream)
        for array, port in zip(outputs, self.plan.results, strict=True):
            transfers.download(address(port.buffer), array, self._stream)
        return [0 if step.once else next(measured) for step in self.plan.steps]

    def time_together(self, inputs: Sequence[Array]) -> int:
        """Run the plan a few times; return the nanoseconds of its launches in a call."""
        self._order.enter(self._stream, lasts=True)
        self._upload(inputs)
        if self._together is None:
            ports = [*self.plan.inputs, *self.plan.results]
            addresses = [self._buffers.address(port.buffer) for port in ports]
            self._together = self._graph(self._replays.launches(addresses))
        return graph_time(self._together, self._stream)

    def _upload(self, inputs: Sequence[Array]) -> None:
        """Copy inputs to the plan's own memory."""
        for array, port in zip(inputs, self.plan.inputs, strict=True):
            self.gpu.transfers.upload(array, self._buffers.address(port.buffer), self._stream)

    def _graph(self, launches: Sequence[BoundLaunch]) -> LaunchGraph:
        return LaunchGraph(launches, self._replays.capture, self.gpu.direct)

    def launches(self, addresses: Sequence[int]) -> list[BoundLaunch]:
        """Return the launches of a call, for addresses of inputs and outputs in order."""
        return self._replays.launches(addresses)

    def launch_at(self, addresses: Sequence[int], stream: int, *, recorded: bool) -> None:
        """Put a call on a stream, for addresses of inputs and outputs in order."""
        if recorded:  # no event of another stream may come in, and no graph: it may be dropped
            self._replays.one_by_one(addresses)(stream)
            return
        replay = self._replays.at(tuple(addresses))
        self._order.enter(stream, lasts=True)
        replay(stream)

    def launch_resources(self) -> list[LaunchResources]:
        """Return what every launch of a call occupies of the GPU, in order."""
        steps = [step for step in self.plan.steps if not step.once]
        return launch_resources(steps, self._kernels, self.gpu.ordinal)

    def _load(self, artifact: Artifact, weights: Mapping[str, Array]) -> None:
        direct = self.gpu.direct
        self._kernels = load_kernels(artifact.objects, self.gpu)
        self._buffers = DeviceBuffers(self.plan, weights, self.gpu.transfers, self._stream)
        self._replays = Replays(self.plan, self._kernels, self._buffers, new_stream(), direct)
        for step in self.plan.steps:
            if step.once:
                for launch in self._replays.bind(step):
                    launch(self._stream)
        checked(driver().cuStreamSynchronize(self._stream), "preparing the model's weights")

    def _check_outputs(self, out: Sequence[Any], inputs: Sequence[Array]) -> None:
        if len(out) != len(self.plan.results):
            count = len(self.plan.results)
            message = f"the model has {count} outputs, out= has {len(out)}"
            raise InputError("output-count", message)
        for index, (array, port) in enumerate(zip(out, self.plan.results, strict=True)):
            check_output(array, port, inputs, out[:index])

    def named(self, error: DeviceError) -> DeviceError:
        """Name the nodes of a kernel that an error is about."""
        error.place = self._places.get(error.place or "", error.place)
        return error


def _places(artifact: Artifact) -> dict[str, str]:
    """Return, for every kernel, its name and the source nodes that it holds."""
    nodes: dict[str, list[str]] = {}
    for step in artifact.plan.steps:
        nodes.setdefault(step.kernel, []).extend(step.nodes)
    return {
        name: f"kernel '{name}' ({', '.join(dict.fromkeys(found)) or 'no nodes'})"
        for name, found in nodes.items()
    }


def _whole(places: Mapping[str, str]) -> str | None:
    """Return what to name for an error of a graph, which does not say which launch failed."""
    names = list(places.values())
    if len(names) <= 1:
        return names[0] if names else None
    listed = "\n".join(names[:8] + ["…"] * (len(names) > 8))
    return f"one of {len(names)} kernels (exe.time_kernels names it in a new process):\n{listed}"

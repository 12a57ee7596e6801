# SPDX-License-Identifier: MIT OR Apache-2.0
"""Calls with arrays in the memory of the GPU, on the stream of whoever calls."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from xyntra.errors import InputError
from xyntra.plan.calls.arguments import check_output, to_array
from xyntra.plan.plan import Plan, Port, numpy_dtype
from xyntra.targets.cuda.arrays.device_array import DeviceArray
from xyntra.targets.cuda.arrays.foreign_arrays import ArrayLibrary, check_apart, library_of
from xyntra.targets.cuda.driver.gpu import Gpu
from xyntra.targets.cuda.driver.memory import Event
from xyntra.targets.cuda.driver.stream_order import StreamOrder
from xyntra.targets.cuda.graphs.device_buffers import DeviceBuffers
from xyntra.targets.cuda.graphs.graph import LaunchGraph
from xyntra.targets.cuda.graphs.replays import Replays

Array = np.ndarray[Any, Any]
_ALIGNMENT = 16  # bytes: what kernels rely on
_Libraries = Sequence[ArrayLibrary | None]


class DeviceCalls:
    """Launches on the caller's stream, from and to where the arrays lie.

    Nothing is waited for: the results are there once the stream has come so far. Arrays that start
    between multiples of 16 bytes, and the first calls of long plans, are copied on the GPU.

    Attributes:
        stream: of the last call.

    Args:
        plan: what is run.
        gpu: where.
        replays: its launches.
        buffers: its memory.
        order: of calls on several streams.
        place: the kernels, for errors.
    """

    def __init__(
        self,
        plan: Plan,
        gpu: Gpu,
        replays: Replays,
        buffers: DeviceBuffers,
        order: StreamOrder,
        place: str | None,
    ) -> None:
        self._place = place
        self.stream = order.own
        self._plan = plan
        self._gpu = gpu
        self._replays = replays
        self._buffers = buffers
        self._order = order
        self._dtypes = [numpy_dtype(port.dtype) for port in plan.results]
        self._own_graph: LaunchGraph | None = None
        self._held: deque[tuple[Event, list[Any]]] = deque()
        self._spare: list[Event] = []

    def are_on_gpu(self, arrays: Sequence[Any], libraries: _Libraries) -> bool:
        """Tell whether one of `arrays` lies on a GPU; the others may be the host's."""
        return any(
            library is not None and library.ordinal(array) is not None
            for array, library in zip(arrays, libraries, strict=True)
        )

    def start(
        self, arrays: Sequence[Any], libraries: _Libraries, out: Sequence[Any] | None
    ) -> list[Any]:
        """Launch a call and return its outputs."""
        stream = self.stream = self._stream_of(arrays, libraries, out)
        if self._held:
            self._release()
        self._order.enter(stream, lasts=False)
        keep: list[Any] = []
        addresses = [
            self._input(array, library, port, keep)
            for array, library, port in zip(arrays, libraries, self._plan.inputs, strict=True)
        ]
        results = self._new_outputs() if out is None else self._checked_outputs(out)
        if out is None:
            targets = [each.address for each in results]
        else:
            ports = self._plan.results
            targets = [self._output(*each, keep) for each in zip(results, ports, strict=True)]
        if out is not None:
            self._check_apart(addresses, targets)
        self._launch(addresses, targets)
        for _, number in self._plan.aliases:
            if isinstance(arrays[number], DeviceArray):
                arrays[number].written_on(stream)
        self._order.leave()
        if out is not None:
            self._fetch(results)
        if keep:
            event = self._spare.pop() if self._spare else Event()
            self._gpu.direct.record(event.handle, stream)
            self._held.append((event, keep))
        return results

    def _stream_of(
        self, arrays: Sequence[Any], libraries: _Libraries, out: Sequence[Any] | None
    ) -> int:
        """Return the stream that the caller uses: that of a library, or of an earlier result."""
        own: int | None = None
        if out is not None:
            arrays, libraries = [*arrays, *out], [*libraries, *map(library_of, out)]
        for array, library in self._on_this_gpu(arrays, libraries):
            stream = library.stream(array, self._gpu.ordinal)
            if stream is not None and not isinstance(array, DeviceArray):
                return stream
            own = stream if own is None else own
        return self._order.own if own is None else own

    def _on_this_gpu(
        self, arrays: Sequence[Any], libraries: _Libraries
    ) -> list[tuple[Any, ArrayLibrary]]:
        """Return the arrays on the GPU; none may be on another one."""
        found = []
        for array, library in zip(arrays, libraries, strict=True):
            ordinal = None if library is None else library.ordinal(array)
            if library is None or ordinal is None:
                continue
            if ordinal != self._gpu.ordinal:
                raise InputError(
                    "input-device",
                    f"an array is on GPU {ordinal}, the model on GPU {self._gpu.ordinal}",
                )
            found.append((array, library))
        return found

    def _input(self, array: Any, library: ArrayLibrary | None, port: Port, keep: list[Any]) -> int:
        own = self._buffers.address
        if library is None or library.ordinal(array) is None:
            place = own(port.buffer)
            self._gpu.transfers.upload(to_array(array, port), place, self.stream)
            return place
        given = library.read(array, port, self.stream)
        if given.keep is not None:
            keep.append(given.keep)
        if given.address % _ALIGNMENT == 0 and port.nbytes:
            return given.address
        self._copy(own(port.buffer), given.address, port.nbytes)
        return own(port.buffer)

    def _new_outputs(self) -> list[Any]:
        return [
            DeviceArray(
                self._gpu,
                self._gpu.blocks.take(port.nbytes, self.stream),
                port.shape,
                dtype,
                self.stream,
                self._place,
            )
            for port, dtype in zip(self._plan.results, self._dtypes, strict=True)
        ]

    def _checked_outputs(self, out: Sequence[Any]) -> list[Any]:
        if len(out) != len(self._plan.results):
            raise InputError(
                "output-count",
                f"the model has {len(self._plan.results)} outputs, out= has {len(out)}",
            )
        return list(out)

    def _output(self, array: Any, port: Port, keep: list[Any]) -> int:
        """Return where an output is written: its array, or the plan's own memory."""
        library = library_of(array)
        if library is None or library.ordinal(array) is None:
            check_output(array, port, [], [])
            return self._buffers.address(port.buffer)
        given = library.read(array, port, self.stream, is_output=True)
        if given.keep is not None:
            keep.append(given.keep)
        if given.address % _ALIGNMENT:
            raise InputError(
                "output-layout", f"out= for output '{port.name}' is not aligned to 16 bytes"
            )
        if isinstance(array, DeviceArray):
            array.written_on(self.stream)
        return given.address if port.nbytes else self._buffers.address(port.buffer)

    def _check_apart(self, addresses: Sequence[int], targets: Sequence[int]) -> None:
        plan = self._plan
        taken = [
            (start, start + port.nbytes) for start, port in zip(addresses, plan.inputs, strict=True)
        ]
        for start, port in zip(targets, plan.results, strict=True):
            place = (start, start + port.nbytes)
            check_apart(taken, port, place)
            taken.append(place)

    def _launch(self, addresses: Sequence[int], targets: Sequence[int]) -> None:
        replay = self._replays.find((*addresses, *targets))
        if replay is not None:
            replay(self.stream)
            return
        inputs, outputs = self._plan.inputs, self._plan.results
        for port, address in zip(inputs, addresses, strict=True):
            self._copy(self._buffers.address(port.buffer), address, port.nbytes)
        self._own()(self.stream)
        for port, address in zip(outputs, targets, strict=True):
            self._copy(address, self._buffers.address(port.buffer), port.nbytes)

    def _own(self) -> LaunchGraph:
        """Return the graph that works on the plan's own memory."""
        if self._own_graph is None:
            ports = [*self._plan.inputs, *self._plan.results]
            work = self._replays.launches([self._buffers.address(p.buffer) for p in ports])
            self._own_graph = LaunchGraph(work, self._replays.capture, self._gpu.direct)
        return self._own_graph

    def _copy(self, target: int, source: int, nbytes: int) -> None:
        if nbytes and target != source:
            self._gpu.direct.between(target, source, nbytes, self.stream)

    def _fetch(self, results: Sequence[Any]) -> None:
        """Fill those outputs that are arrays of the host."""
        for array, port in zip(results, self._plan.results, strict=True):
            if isinstance(array, np.ndarray):
                place = self._buffers.address(port.buffer)
                self._gpu.transfers.download(place, array, self.stream)

    def _release(self) -> None:
        """Drop what calls that have finished kept."""
        while self._held and self._gpu.direct.is_done(self._held[0][0].handle, "running the model"):
            self._spare.append(self._held.popleft()[0])

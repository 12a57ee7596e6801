# SPDX-License-Identifier: MIT OR Apache-2.0
"""Calls whose arrays lie in the memory of the host."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from xyntra.plan.plan import Plan, Port, numpy_dtype
from xyntra.targets.cpu.memory import address_of
from xyntra.targets.cuda.arrays.pinned_arrays import PinnedArrays
from xyntra.targets.cuda.calls.native_arrays import NativeArrayCalls, arrays_are_known
from xyntra.targets.cuda.calls.pending import Pending
from xyntra.targets.cuda.calls.staging import Slot, is_staged
from xyntra.targets.cuda.driver.driver import failure
from xyntra.targets.cuda.driver.gpu import Gpu
from xyntra.targets.cuda.driver.stream_order import StreamOrder
from xyntra.targets.cuda.graphs.device_buffers import DeviceBuffers
from xyntra.targets.cuda.graphs.replays import Replays
from xyntra.targets.cuda.native.builtins import LoadedCode

Array = np.ndarray[Any, Any]
_SLOTS = 4  # calls in flight; the next one waits for the oldest
_REMEMBERED = 4 * _SLOTS
_TINY = 1 << 12  # bytes
_FEW = 2  # launches
_READ_ONCE = frozenset({"elementwise", "row"})  # kinds of kernels


class HostCalls:
    """Stages arrays, launches and fetches results.

    Every call in flight has a slot of page-locked memory of its own, and all share the plan's
    memory on the GPU, in the order of one stream.

    Args:
        plan: what is run.
        gpu: where.
        replays: its launches.
        buffers: its memory.
        order: of calls on several streams.
        place: the kernels, for errors.
        code: native code that starts and ends calls, if there is some.
    """

    def __init__(
        self,
        plan: Plan,
        gpu: Gpu,
        replays: Replays,
        buffers: DeviceBuffers,
        order: StreamOrder,
        place: str | None,
        code: LoadedCode | None = None,
    ) -> None:
        self._plan = plan
        self._gpu = gpu
        self._replays = replays
        self._buffers = buffers
        self._order = order
        self._place = place
        self._pinned = PinnedArrays()
        self._free: list[Slot] = []
        self._flying: deque[Pending] = deque()
        self._count = 0
        self._is_small = all(map(is_staged, (*plan.inputs, *plan.results)))
        self._expected = [(numpy_dtype(port.dtype), port.shape) for port in plan.inputs]
        self._new = [(port.shape, numpy_dtype(port.dtype)) for port in plan.results]
        self._code = code if self._is_small and arrays_are_known() else None

    def call_natively(self, arrays: Sequence[Any], lock: threading.Lock) -> Sequence[Array] | None:
        """Run a call in few steps; None, with nothing done, where it is unusual.

        Args:
            arrays: for the inputs.
            lock: held by whoever launches.

        Raises:
            DeviceError: the GPU failed.
        """
        with lock:
            slot = self._free.pop() if self._free else None
            native = None if slot is None else slot.native
            status = None if native is None else native.start(*arrays)
        if slot is None or native is None or status != 0:
            self._free += [] if slot is None else [slot]
            if status:
                raise failure(status, "replaying launches", self._place)
            return None
        results = [np.empty(shape, dtype) for shape, dtype in self._new]
        if native.finish(*results):
            with self._gpu.entered():
                return self.finish(slot, is_late=True)
        self._free.append(slot)
        return results

    def takes(self, arrays: Sequence[Any]) -> bool:
        """Tell whether a call takes small arrays of numpy's, which fit, and returns such."""
        if not self._is_small:
            return False
        for array, (dtype, shape) in zip(arrays, self._expected, strict=True):
            if type(array) is not np.ndarray or array.dtype is not dtype or array.shape != shape:
                return False
        return True

    def launch(self, inputs: Sequence[Array]) -> Slot:
        """Launch a call on arrays that it `takes`; `finish` takes what this returns."""
        stream = self._order.own
        slot = self._free.pop() if self._free else self._slot()
        self._order.enter(stream, lasts=True)
        for staged, array in zip(slot.inputs, inputs, strict=True):
            if staged is not None:
                np.copyto(staged, array)
        slot.start(stream)
        return slot

    def finish(self, slot: Slot, *, is_late: bool = False) -> list[Array]:
        """Wait for a call and return its outputs; other calls may be launched meanwhile.

        Args:
            slot: of the call.
            is_late: it has been waited for already for as long as short ones take.
        """
        slot.wait(self._order.own, "running the model", self._place, is_late=is_late)
        results = [staged.copy() for staged in slot.outputs if staged is not None]
        self._free.append(slot)
        return results

    def start(self, inputs: Sequence[Array], out: Sequence[Array] | None) -> Pending:
        """Launch a call on arrays that fit the plan; it has read `inputs` on return."""
        stream, direct = self._order.own, self._gpu.direct
        slot = self._slot()
        self._order.enter(stream, lasts=True)
        for staged, array, place in zip(slot.inputs, inputs, slot.input_places, strict=True):
            if staged is not None:
                np.copyto(staged, array)
            else:
                self._gpu.transfers.upload(array, place, stream)
        slot.start(stream)
        results: list[Array | None] = [None] * len(slot.outputs) if out is None else list(out)
        if slot.has_large_outputs:
            self._fetch(slot, results, stream)
        direct.record(slot.event.handle, stream)

        def take() -> list[Array]:
            taken = [_taken(*each) for each in zip(slot.outputs, results, strict=True)]
            self._free.append(slot)
            return taken

        pending = Pending(self._gpu, slot.event, take, self._place)
        if len(self._flying) >= _REMEMBERED:
            self._flying = deque(each for each in self._flying if not each.is_taken)
        self._flying.append(pending)
        return pending

    def _slot(self) -> Slot:
        while not self._free:
            if self._count < _SLOTS:
                self._count += 1
                return self._new_slot()
            if not self._flying:  # calls of other threads, which do not submit
                self._count -= 1
                continue
            self._flying.popleft().wait()
        return self._free.pop()

    def _new_slot(self) -> Slot:
        replays, plan = self._replays, self._plan
        ports, places = (plan.inputs, plan.results), None
        if replays.count > _FEW or not _is_tiny(plan):
            places = self._places(plan.inputs), self._places(plan.results)
        slot = Slot(ports, places, replays.launches, replays.capture, self._gpu)
        if self._code is not None:
            slot.native = NativeArrayCalls(slot, self._gpu, self._order, self._code)
        return slot

    def _places(self, ports: Sequence[Port]) -> list[int]:
        return [self._buffers.address(port.buffer) for port in ports]

    def _fetch(self, slot: Slot, results: list[Array | None], stream: int) -> None:
        """Copy large outputs, which the next call on the stream overwrites."""
        for number, port in enumerate(self._plan.results):
            if slot.outputs[number] is not None:
                continue
            place = slot.output_places[number]
            array = results[number]
            pinned = self._pinned.new(port) if array is None else None
            if pinned is not None:
                self._gpu.direct.to_host(address_of(pinned), place, port.nbytes, stream)
                results[number] = pinned
                continue
            if array is None:
                array = results[number] = np.empty(port.shape, numpy_dtype(port.dtype))
            self._gpu.transfers.download(place, array, stream)


def _is_tiny(plan: Plan) -> bool:
    """Tell whether arrays may cross the bus as kernels read and write them, once, in less time."""
    ports = (*plan.inputs, *plan.results)
    kinds = {plan.kernels[step.kernel].kind for step in plan.steps if not step.once}
    return sum(port.nbytes for port in ports) <= _TINY and kinds <= _READ_ONCE


def _taken(staged: Array | None, result: Array | None) -> Array:
    """Return an output: a copy of what was staged, or the array that it was fetched into."""
    if result is None:
        return np.array(staged)
    if staged is not None:
        np.copyto(result, staged)
    return result

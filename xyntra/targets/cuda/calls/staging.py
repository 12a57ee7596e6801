# SPDX-License-Identifier: MIT OR Apache-2.0
"""Page-locked memory for the arrays of a call, and what copies from and to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from xyntra.plan.plan import Port, numpy_dtype
from xyntra.targets.cpu.memory import address_of
from xyntra.targets.cuda.driver.gpu import Gpu
from xyntra.targets.cuda.driver.memory import Event, PinnedMemory
from xyntra.targets.cuda.driver.prepared_launch import PreparedLaunch
from xyntra.targets.cuda.driver.small_copies import ByteCopy
from xyntra.targets.cuda.graphs.graph import LaunchGraph

Array = np.ndarray[Any, Any]
LARGE = 1 << 20
"""Bytes from which on an array is not staged whole."""
_ALIGNMENT = 256
_FLAGS = 256  # bytes of the words that tell the end of a call
_LOOKS = 500  # at those words, some 20 us in all


class NativeCalls(Protocol):
    """Starts and ends calls in native code.

    Attributes:
        start: of a call; it may decline.
        finish: of the same call; likewise.
    """

    start: Callable[..., Any]
    finish: Callable[..., Any]


class Slot:
    """The arrays of one call at a time.

    Attributes:
        inputs: an array for each input; None for those that are large.
        outputs: the same for outputs.
        input_places: where they lie on the GPU.
        output_places: the same for outputs.
        has_large_outputs: whether an output is not staged.
        event: to be recorded behind the call.
        words: that the GPU sets to 1 at the end of a call.
        graph: what is launched.
        native: what starts and ends calls in native code, once there is some.

    Args:
        ports: inputs and outputs.
        places: where they lie on the GPU; None where kernels use the page-locked memory itself.
        bind: returns the launches for some addresses, of inputs and outputs.
        stream: nothing else is put on it meanwhile.
        gpu: where.
    """

    def __init__(
        self,
        ports: tuple[Sequence[Port], Sequence[Port]],
        places: tuple[Sequence[int], Sequence[int]] | None,
        bind: Callable[[Sequence[int]], Sequence[PreparedLaunch]],
        stream: int,
        gpu: Gpu,
    ) -> None:
        inputs, outputs = ports
        sizes = [_aligned(port.nbytes) for port in (*inputs, *outputs) if is_staged(port)]
        self._memory = PinnedMemory(_FLAGS + sum(sizes))
        self._used = _FLAGS
        self._direct = gpu.direct
        self.inputs = [self._array(port) for port in inputs]
        self.outputs = [self._array(port) for port in outputs]
        self.input_places, self.output_places = places or self._own_places()
        self.has_large_outputs = any(each is None for each in self.outputs)
        self.event = Event()
        copies_in = gpu.small_copies.launches(
            [
                ByteCopy(place, address_of(array), array.nbytes)
                for array, place in _staged(self.inputs, self.input_places)
            ]
        )
        copies_out = gpu.small_copies.launches(
            [
                ByteCopy(address_of(array), place, array.nbytes)
                for array, place in _staged(self.outputs, self.output_places)
            ],
            self._memory.address,
        )
        self.words = self._memory.array((copies_out[-1].blocks,), np.dtype(np.uint32))
        self._flags = self.words.data
        launches = bind([*self.input_places, *self.output_places])
        self.graph = LaunchGraph([*copies_in, *launches, *copies_out], stream, gpu.direct)
        self.native: NativeCalls | None = None

    def start(self, stream: int) -> None:
        """Put on a stream: copies of the inputs, the launches, copies of the outputs."""
        flags = self._flags
        for number in range(len(flags)):
            flags[number] = 0
        self.graph(stream)

    def wait(self, stream: int, what: str, place: str | None, *, is_late: bool = False) -> None:
        """Wait for what `start` has put on a stream; where it is short, without the driver."""
        if is_late or not self._ends_soon():
            self._direct.record(self.event.handle, stream)
            self._direct.synchronize(self.event.handle, what, place)

    def _ends_soon(self) -> bool:
        flags, left = self._flags, _LOOKS
        for number in range(len(flags)):
            while not flags[number]:
                left -= 1
                if not left:
                    return False
        return True

    def _own_places(self) -> tuple[list[int], list[int]]:
        inputs = [address_of(array) for array in self.inputs if array is not None]
        return inputs, [address_of(array) for array in self.outputs if array is not None]

    def _array(self, port: Port) -> Array | None:
        if not is_staged(port):
            return None
        array = self._memory.array(port.shape, numpy_dtype(port.dtype), self._used)
        self._used += _aligned(port.nbytes)
        return array


def is_staged(port: Port) -> bool:
    """Tell whether the arrays of a port are copied by the kernel that copies small arrays."""
    return port.nbytes < LARGE


def _staged(arrays: Sequence[Array | None], places: Sequence[int]) -> list[tuple[Array, int]]:
    """Return the staged arrays that are not empty, with where else on the GPU they lie."""
    return [
        (array, place)
        for array, place in zip(arrays, places, strict=True)
        if array is not None and array.nbytes and place != address_of(array)
    ]


def _aligned(nbytes: int) -> int:
    return -(-nbytes // _ALIGNMENT) * _ALIGNMENT

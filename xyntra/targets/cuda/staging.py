# SPDX-License-Identifier: MIT OR Apache-2.0
"""Page-locked memory for the arrays of a call, and the graph that copies from and to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from xyntra.plan.plan import Port, numpy_dtype
from xyntra.targets.cpu.memory import address_of
from xyntra.targets.cuda.direct import Direct
from xyntra.targets.cuda.graph import LaunchGraph
from xyntra.targets.cuda.memory import Event, PinnedMemory

Array = np.ndarray[Any, Any]
LARGE = 1 << 20
"""Bytes from which on an array is not staged whole."""
_ALIGNMENT = 256


class Slot:
    """The arrays of one call at a time.

    Attributes:
        inputs: an array for each input; None for those that are large.
        outputs: the same for outputs.
        input_places: where they lie on the GPU.
        output_places: the same for outputs.
        has_large_outputs: whether an output is not staged.
        graph: copies the inputs in, launches, and copies the outputs out.
        event: to be recorded behind the call.
    """

    def __init__(
        self,
        ports: tuple[Sequence[Port], Sequence[Port]],
        places: tuple[Sequence[int], Sequence[int]],
        launch: Callable[[int], None],
        stream: int,
        direct: Direct,
    ) -> None:
        inputs, outputs = ports
        sizes = [_aligned(port.nbytes) for port in (*inputs, *outputs) if is_staged(port)]
        self._memory = PinnedMemory(sum(sizes))
        self._used = 0
        self.input_places, self.output_places = places
        self.inputs = [self._array(port) for port in inputs]
        self.outputs = [self._array(port) for port in outputs]
        self.has_large_outputs = any(each is None for each in self.outputs)
        self.event = Event()

        def work(on: int) -> None:
            for array, place in zip(self.inputs, places[0], strict=True):
                if array is not None and array.nbytes:
                    direct.to_device(place, address_of(array), array.nbytes, on)
            launch(on)
            for array, place in zip(self.outputs, places[1], strict=True):
                if array is not None and array.nbytes:
                    direct.to_host(address_of(array), place, array.nbytes, on)

        self.graph = LaunchGraph(work, stream, direct)

    def _array(self, port: Port) -> Array | None:
        if not is_staged(port):
            return None
        array = self._memory.array(port.shape, numpy_dtype(port.dtype), self._used)
        self._used += _aligned(port.nbytes)
        return array


def is_staged(port: Port) -> bool:
    """Tell whether the arrays of a port are copied by the graph."""
    return port.nbytes < LARGE


def _aligned(nbytes: int) -> int:
    return -(-nbytes // _ALIGNMENT) * _ALIGNMENT

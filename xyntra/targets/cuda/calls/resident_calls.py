# SPDX-License-Identifier: MIT OR Apache-2.0
"""Calls with arrays that lie in memory of the GPU that we own, in as few steps as can be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xyntra.plan.plan import Plan, numpy_dtype
from xyntra.targets.cuda.arrays.device_array import DeviceArray
from xyntra.targets.cuda.driver.gpu import Gpu
from xyntra.targets.cuda.driver.stream_order import StreamOrder
from xyntra.targets.cuda.graphs.replays import Replays

__all__ = ["ResidentCalls"]


class ResidentCalls:
    """Calls of the usual kind: arrays on the stream on which arrays are placed.

    Args:
        plan: what is run.
        gpu: where.
        replays: its launches.
        order: of calls on several streams.
        place: the kernels, for errors.
    """

    def __init__(
        self, plan: Plan, gpu: Gpu, replays: Replays, order: StreamOrder, place: str | None
    ) -> None:
        self._inputs = [(port.shape, numpy_dtype(port.dtype)) for port in plan.inputs]
        self._results = [(p.nbytes, p.shape, numpy_dtype(p.dtype)) for p in plan.results]
        self._gpu = gpu
        self._replays = replays
        self._order = order
        self._place = place

    def start(self, arrays: Sequence[Any], into: Sequence[Any] = ()) -> list[Any] | None:
        """Launch a call and return its outputs; None, with nothing done, where it is unusual.

        Args:
            arrays: one an input.
            into: as `PlainCall` takes it.
        """
        gpu = self._gpu
        stream, ordinal = gpu.stream, gpu.ordinal
        if len(arrays) != len(self._inputs):
            return None
        addresses = []
        for array, (shape, dtype) in zip(arrays, self._inputs, strict=True):
            if (
                type(array) is not DeviceArray
                or array.stream != stream
                or array.device != ordinal
                or array.shape != shape
                or array.dtype != dtype
            ):
                return None
            addresses.append(array.address)
        results = self._new_results() if not into else self._results_in(into)
        # Results whose places take turns come back to these, and soon have a graph for each.
        launches = self._replays.at if into else self._replays.find
        replay = launches((*addresses, *[each.address for each in results]))
        if replay is None:
            return None
        self._order.enter(stream, lasts=True)
        replay(stream)
        return results

    def _new_results(self) -> list[Any]:
        gpu, stream, place = self._gpu, self._gpu.stream, self._place
        take = gpu.blocks.take
        return [
            DeviceArray(gpu, take(nbytes, stream), shape, dtype, stream, place)
            for nbytes, shape, dtype in self._results
        ]

    def _results_in(self, into: Sequence[Any]) -> list[Any]:
        """Return arrays for the results, in memory of those that are not needed any more."""
        gpu, stream, place = self._gpu, self._gpu.stream, self._place
        return [
            own
            if type(own) is DeviceArray
            and own.stream == stream
            and own.device == gpu.ordinal
            and own.shape == shape
            and own.dtype == dtype
            and not own.is_read_elsewhere
            else DeviceArray(gpu, gpu.blocks.take(nbytes, stream), shape, dtype, stream, place)
            for own, (nbytes, shape, dtype) in zip(into, self._results, strict=True)
        ]

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Calls with PyTorch's tensors on the GPU, in as few steps as can be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xyntra.plan.plan import Plan, Port, numpy_dtype
from xyntra.targets.cuda.arrays.device_array import DeviceArray
from xyntra.targets.cuda.driver.gpu import Gpu
from xyntra.targets.cuda.driver.stream_order import StreamOrder
from xyntra.targets.cuda.graphs.replays import Replays

_ALIGNMENT = 16  # bytes: what kernels rely on


class TorchCalls:
    """Calls of the usual kind: tensors that fit, at addresses that were seen before.

    Everything else is left to `DeviceCalls`, which also says what does not fit.

    Args:
        torch: the module.
        plan: what is run.
        gpu: where.
        replays: its launches.
        order: of calls on several streams.
    """

    def __init__(
        self, torch: Any, plan: Plan, gpu: Gpu, replays: Replays, order: StreamOrder
    ) -> None:
        self._tensor = torch.Tensor
        self._current_stream = torch._C._cuda_getCurrentRawStream
        self._inputs = [_expected(torch, port) for port in plan.inputs]
        self._outputs = [_expected(torch, port) for port in plan.results]
        self._results = [(p.nbytes, p.shape, numpy_dtype(p.dtype)) for p in plan.results]
        self._sizes = [port.nbytes for port in (*plan.inputs, *plan.results)]
        self._gpu = gpu
        self._replays = replays
        self._order = order

    def start(self, arrays: Sequence[Any], out: Sequence[Any] | None) -> Sequence[Any] | None:
        """Launch a call and return its outputs; None, with nothing done, where it is unusual."""
        addresses: list[int] = []
        if len(arrays) != len(self._inputs) or not self._read(arrays, self._inputs, addresses):
            return None
        stream = int(self._current_stream(self._gpu.ordinal))
        if out is None:
            results: Sequence[Any] = self._new(stream)
            addresses += [each.address for each in results]
        else:
            if len(out) != len(self._outputs) or not self._read(out, self._outputs, addresses):
                return None
            if self._overlap(addresses):
                return None
            results = out
        replay = self._replays.sets.find(tuple(addresses))
        if replay is None:
            return None
        self._order.enter(stream, lasts=True)
        replay(stream)
        return results

    def _read(
        self, arrays: Sequence[Any], expected: Sequence[tuple[Any, Any]], addresses: list[int]
    ) -> bool:
        """Append the addresses of tensors, if all of them are as they should be."""
        kind, ordinal = self._tensor, self._gpu.ordinal
        for array, (dtype, shape) in zip(arrays, expected, strict=False):
            if (
                type(array) is not kind
                or array.dtype is not dtype
                or array.shape != shape
                or array.get_device() != ordinal
                or not array.is_contiguous()
                or array.is_neg()
            ):
                return False
            address = array.data_ptr()
            if address % _ALIGNMENT or not address:
                return False
            addresses.append(address)
        return True

    def _overlap(self, addresses: Sequence[int]) -> bool:
        """Tell whether an output shares memory with an input, or with another output."""
        sizes = self._sizes
        for number in range(len(self._inputs), len(addresses)):
            start, end = addresses[number], addresses[number] + sizes[number]
            for other in range(number):
                if start < addresses[other] + sizes[other] and addresses[other] < end:
                    return True
        return False

    def _new(self, stream: int) -> list[DeviceArray]:
        used = self._gpu
        return [
            DeviceArray(used, used.blocks.take(nbytes, stream), shape, dtype, stream)
            for nbytes, shape, dtype in self._results
        ]


def _expected(torch: Any, port: Port) -> tuple[Any, Any]:
    return getattr(torch, port.dtype, None), torch.Size(port.shape)

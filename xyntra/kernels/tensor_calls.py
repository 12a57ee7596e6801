# SPDX-License-Identifier: MIT OR Apache-2.0
"""Calls compiled kernels on PyTorch's tensors on a GPU, whose results PyTorch allocates.

So results can be made while PyTorch records a CUDA graph, which then keeps the launches.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from xyntra.kernels.specialization import Specialization

__all__ = ["tensor_caller"]

_ALIGNMENT = 16
_MOST_NUMBERS = 64
_recorded: set[Any] = set()
"""Executables whose launches a CUDA graph of PyTorch's holds, which may outlive a kernel."""


def tensor_caller(special: Specialization, values: Sequence[Any]) -> Callable[..., Any] | None:
    """Return a function that runs a kernel on tensors on a GPU; None where it has none.

    It takes the arguments of a call, and returns None, having done nothing, where they are no
    tensors of the types and layouts that the kernel was compiled for.

    Args:
        special: the kernel.
        values: of all parameters in a call that it is for.
    """
    torch = sys.modules.get("torch")
    if torch is None or special.constants or special.has_captures:
        return None
    watched = special.watched
    if any(not isinstance(each.home, dict) or each.snapshot is not None for each in watched):
        return None
    if not values or not all(
        (type(each) is torch.Tensor and each.is_cuda) or type(each) in (float, int)
        for each in values
    ):
        return None
    tensors = [each for each in values if type(each) is torch.Tensor]
    if not tensors or len({each.device for each in tensors}) > 1:
        return None
    return _caller(torch, special, [type(each) for each in values], tensors)


def _caller(
    torch: Any, special: Specialization, kinds: Sequence[Any], tensors: Sequence[Any]
) -> Callable[..., Any]:
    tensor, device = torch.Tensor, tensors[0].device
    expected = [(each.dtype, each.shape) for each in tensors]
    executable = special.executable
    ports = executable.plan.results
    made = [(tuple(port.shape), getattr(torch, port.dtype)) for port in ports]
    launch, ordinal = executable.stream_call(), int(device.index or 0)
    current_stream = torch._C._cuda_getCurrentRawStream
    replay, is_recording = executable.replay_call(), torch.cuda.is_current_stream_capturing
    plain, inputs, result = not special.has_numbers, special.inputs_of, special.result
    watched = [(each.home, each.name, each.value) for each in special.watched]
    numbers = _Numbers(torch, device)
    empty, count = torch.empty, len(kinds)
    makers = [_maker(torch, *each, device) for each in made]

    def replayed(args: Sequence[Any]) -> Any:
        """Run on tensors that native code looks at, where their memory was met before."""
        for value in args:
            if value.__class__ is not tensor or value.requires_grad:
                return None
        results = [new() for new in makers]
        return result(results) if replay(args, results) else None

    def call(args: Sequence[Any]) -> Any:
        if len(args) != count:
            return None
        for home, name, known in watched:
            if home.get(name) is not known:
                return None
        if plain and not is_recording():
            found = replayed(args)
            if found is not None:
                return found
        given: list[Any] = []
        place = 0
        for number, kind in enumerate(kinds):
            value: Any = args[number]
            if value.__class__ is not kind:
                return None
            if kind is tensor:
                dtype, shape = expected[place]
                if (
                    value.dtype is not dtype
                    or value.shape != shape
                    or value.device != device
                    or not value.is_contiguous()
                    or value.requires_grad
                ):
                    return None
                place += 1
                given.append(value)
        if not plain:
            given = [
                each if type(each) is tensor else numbers(each) for each in inputs(given, args)
            ]
        addresses = [each.data_ptr() for each in given]
        if any(address % _ALIGNMENT for address in addresses):
            return None
        results = [empty(shape, dtype=dtype, device=device) for shape, dtype in made]
        addresses += [each.data_ptr() for each in results]
        if is_recording():
            _recorded.add(executable)
            launch(addresses, current_stream(ordinal), recorded=True)
        else:
            executable(*given, out=results)
        return result(results)

    return call


def _maker(torch: Any, shape: tuple[int, ...], dtype: Any, device: Any) -> Callable[[], Any]:
    """Return what makes a tensor, on the current GPU at least, in the least time that there is.

    PyTorch's own compiled code calls this function, at a quarter of what `torch.empty` takes.
    """
    guards = getattr(getattr(torch._C, "_dynamo", None), "guards", None)
    fast = getattr(guards, f"_empty_strided_{device.type}", None)
    if fast is None:
        return lambda: torch.empty(shape, dtype=dtype, device=device)
    return partial(fast, shape, torch.empty(shape, device="meta").stride(), dtype)


class _Numbers:
    """Numbers of calls as tensors on a GPU, of which the last ones are kept."""

    def __init__(self, torch: Any, device: Any) -> None:
        self._torch = torch
        self._device = device
        self._kept: dict[tuple[str, str], Any] = {}

    def __call__(self, number: Any) -> Any:
        """Return the tensor of a number, an array of numpy of rank 0."""
        value, dtype = number.item(), number.dtype.name
        key = repr(value), dtype
        found = self._kept.get(key)
        if found is None:
            torch = self._torch
            found = torch.full((), value, dtype=getattr(torch, dtype), device=self._device)
            if torch.cuda.is_current_stream_capturing():
                return found  # its memory is the graph's
            if len(self._kept) >= _MOST_NUMBERS:
                del self._kept[next(iter(self._kept))]
            self._kept[key] = found
        return found

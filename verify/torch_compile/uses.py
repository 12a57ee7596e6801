# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tries what programs do around compiled functions on a GPU: streams, captures, devices, views."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from xyntra.integrations.torch_compile import backend

__all__ = ["USES"]


def _model() -> Any:
    torch.manual_seed(0)
    layers = [nn.Linear(64, 128), nn.GELU(), nn.LayerNorm(128), nn.Linear(128, 32)]
    return nn.Sequential(*layers).cuda()


def _pair(**arguments: Any) -> tuple[Any, Any]:
    model = _model()
    torch._dynamo.reset()
    return model, torch.compile(copy.deepcopy(model), backend=backend, **arguments)


def _near(found: torch.Tensor, wanted: torch.Tensor) -> None:
    torch.testing.assert_close(found, wanted, rtol=1e-3, atol=1e-4)


def another_stream() -> None:
    """Calls on two streams, each behind what made its input."""
    model, call = _pair()
    side = torch.cuda.Stream()
    with torch.no_grad():
        for turn in range(6):
            x = torch.randn(16, 64, device="cuda")
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                y = call(x * 2)
            _near(call(x), model(x))
            torch.cuda.current_stream().wait_stream(side)
            _near(y, model(x * 2))
            del turn


def captured() -> None:
    """A CUDA graph that PyTorch captures, replayed with other inputs."""
    model, call = _pair()
    x = torch.randn(16, 64, device="cuda")
    with torch.no_grad():
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                call(x)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = call(x)
        for _ in range(3):
            x.copy_(torch.randn_like(x))
            graph.replay()
            _near(y, model(x))


def captured_training() -> None:
    """Steps with gradients by torch.cuda.make_graphed_callables."""
    model, call = _pair()
    graphed = torch.cuda.make_graphed_callables(
        call, (torch.randn(16, 64, device="cuda", requires_grad=True),)
    )
    x = torch.randn(16, 64, device="cuda", requires_grad=True)
    results = []
    for each in (graphed, model):
        x.grad = None
        each(x).square().sum().backward()
        results.append(x.grad)
    _near(*results)


def reduced_overhead() -> None:
    """The mode of torch.compile that asks for CUDA graphs."""
    model, call = _pair(mode="reduce-overhead")
    for _ in range(4):
        x = torch.randn(16, 64, device="cuda")
        _near(call(x), model(x))


def unaligned() -> None:
    """An input that starts between multiples of 16 bytes."""
    model, call = _pair()
    x = torch.randn(16 * 64 + 1, device="cuda")[1:].view(16, 64)
    with torch.no_grad():
        _near(call(x), model(x))


def scalars_of_the_host() -> None:
    """Tensors of rank 0 on the CPU beside those on the GPU."""

    def function(x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        low = torch.tensor(-1e4)
        return torch.where(x > 0, x * scale, low).softmax(-1)

    x, scale = torch.randn(8, 16, device="cuda"), torch.tensor(1.5)
    torch._dynamo.reset()
    _near(torch.compile(function, backend=backend)(x, scale), function(x, scale))


def changed_parameters() -> None:
    """Parameters that an optimiser, an assignment and a move change."""
    model, call = _pair()
    x = torch.randn(16, 64, device="cuda")
    with torch.no_grad():
        for turn in range(4):
            for a, b in zip(model.parameters(), call.parameters(), strict=True):
                a.mul_(1.1)
                b.copy_(a)
            if turn == 2:
                model[0].weight.data = model[0].weight.data * 2
                next(call.parameters()).data = model[0].weight.data.clone()
            _near(call(x), model(x))
        model, call = model.cpu(), call.cpu()
        _near(call(x.cpu()), model(x.cpu()))


def under_memory_pressure() -> None:
    """PyTorch's allocator holds nearly all memory, most of it unused."""
    model, call = _pair()
    free, _ = torch.cuda.mem_get_info()
    hoard = torch.empty(free - (64 << 20), dtype=torch.uint8, device="cuda")
    del hoard
    x = torch.randn(16, 64, device="cuda")
    with torch.no_grad():
        _near(call(x), model(x))


USES: dict[str, Callable[[], None]] = {
    each.__name__.replace("_", "-"): each
    for each in (
        another_stream,
        captured,
        captured_training,
        reduced_overhead,
        unaligned,
        scalars_of_the_host,
        changed_parameters,
        under_memory_pressure,
    )
}

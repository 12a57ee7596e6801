# SPDX-License-Identifier: MIT OR Apache-2.0
"""Takes the graphs of torch.compile through AOTAutograd to compiled functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any
from unittest.mock import patch

import torch
from torch._dynamo.backends.common import aot_autograd
from torch._functorch._aot_autograd import graph_compile
from torch._guards import TracingContext
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import _disable_current_modes

from xyntra.frontends.torch.reducing.traces import without_mkldnn
from xyntra.integrations.torch_compile.decompositions import decompositions
from xyntra.integrations.torch_compile.graphs import compile_graph
from xyntra.integrations.torch_compile.recompute import partition
from xyntra.integrations.torch_compile.settings import Settings, read_settings
from xyntra.passes.collector import collector_paused

__all__ = ["backend"]

_Function = Callable[..., Any]

# Otherwise nn.LSTM, nn.GRU and nn.RNN are left out of every graph, before a backend is asked. The
# setting is Dynamo's own, for all backends of the process.
torch._dynamo.config.allow_rnn = True


def backend(
    module: torch.fx.GraphModule,
    inputs: Sequence[Any],
    *,
    mode: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> _Function:
    """Compile a graph of torch.compile: `torch.compile(model, backend="xyntra")`.

    Args:
        module: the graph, as TorchDynamo captured it.
        inputs: fake tensors, and integers that sizes depend on.
        mode: "default", or "reduce-overhead", which is the same here.
        options: settings of `xyntra.Config` but "target"; "fallback" (True), whether PyTorch runs
            what is not supported; and "freeze" (True), whether parameters are prepared once where
            no gradient is asked for, until they change.

    Raises:
        ConfigError: a mode or an option is wrong.
        XyntraError: something is not supported, where "fallback" is False.
    """
    settings = read_settings(mode, options)
    if _is_static(inputs):
        return _compiled(module, inputs, settings)
    return _by_sizes(module, settings)


def _compiled(module: torch.fx.GraphModule, inputs: Sequence[Any], settings: Settings) -> _Function:
    """Compile a graph for the sizes of `inputs`, with its gradient where one is asked for."""

    def compiler(graph: torch.fx.GraphModule, _: Sequence[Any]) -> _Function:
        with _disable_current_modes():
            return _boxed(compile_graph(graph, settings))

    def inference(graph: torch.fx.GraphModule, _: Sequence[Any]) -> _Function:
        static = _static_inputs()
        with _disable_current_modes():
            return _boxed(compile_graph(graph, settings, static))

    compile_both = aot_autograd(
        fw_compiler=compiler,
        bw_compiler=compiler,
        inference_compiler=inference,
        partition_fn=partition,
        decompositions=decompositions(),
    )
    # Kernels of PyTorch's attention have no decomposed gradient. No buffer is donated, because
    # compiled code writes to new ones only, and retain_graph=True is refused where one is. The
    # setting donated_buffer would have to be off at run time, too, for everybody.
    with sdpa_kernel(SDPBackend.MATH), without_mkldnn(), _undonated(), collector_paused():
        compiled: _Function = compile_both(module, inputs)
        return compiled


def _static_inputs() -> list[int]:
    """Return the positions of a graph's inputs that are parameters or buffers, and only read."""
    context = TracingContext.try_get()
    found = None if context is None else context.fw_metadata
    if found is None:
        return []
    written = set(found.mutated_inp_runtime_indices)
    return [place for place in found.static_input_indices if place not in written]


def _undonated() -> AbstractContextManager[Any]:
    name = "collect_bw_donated_buffer_idxs"
    if not hasattr(graph_compile, name):  # in another version of PyTorch, which then refuses
        return nullcontext()
    undonated: Any = patch.object(graph_compile, name, lambda *_: [])
    return undonated  # type: ignore[no-any-return]


def _by_sizes(module: torch.fx.GraphModule, settings: Settings) -> _Function:
    """Return a function that compiles a graph of symbolic sizes when it is called with new ones."""
    known: dict[tuple[Any, ...], _Function] = {}

    def call(*arguments: Any) -> Any:
        key = tuple(_sizes(each) for each in arguments)
        if key not in known:
            known[key] = _compiled(module, arguments, settings)
        return known[key](*arguments)

    return call


def _sizes(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.shape, value.stride(), value.dtype, value.requires_grad
    return value


def _is_static(inputs: Sequence[Any]) -> bool:
    for each in inputs:
        sizes = each.shape if isinstance(each, torch.Tensor) else [each]
        if any(isinstance(size, (torch.SymInt, torch.SymFloat, torch.SymBool)) for size in sizes):
            return False
    return True


def _boxed(function: _Function) -> _Function:
    """Return a function that takes its arguments in a list, which it empties."""

    def call(arguments: list[Any]) -> Any:
        given = tuple(arguments)
        arguments.clear()
        return function(*given)

    call._boxed_call = True  # type: ignore[attr-defined]
    return call

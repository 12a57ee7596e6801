# SPDX-License-Identifier: MIT OR Apache-2.0
"""The rows of `bench.cuda`: an operation of ours beside those of PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

import xyntra
from bench.cuda.operations import Operation, file_name
from bench.cuda.timing import captured, host_microseconds, launches_of, take_turns
from bench.cuda.torch_peers import DTYPES, function_of, reference, tolerance

__all__ = ["How", "operation_row", "random_input", "wrong_elements"]

OURS = "xyntra"
_COPY = "copy"
_REPEATS = 10  # pieces of work in one graph
_CALLS = 12
Row = dict[str, Any]


@dataclass(frozen=True)
class How:
    """How rows are measured.

    Attributes:
        artifacts: the folder that `prepare` has filled.
        rounds: of turns.
        compiled: whether torch.compile takes part.
        autotuned: whether its max-autotune does.
        bandwidth: bytes a second of a copy on this GPU.
        alone: entered while models are timed.
        jax: whether JAX takes part.
    """

    artifacts: Path
    rounds: int
    compiled: bool
    autotuned: bool
    bandwidth: float
    alone: Callable[[], AbstractContextManager[object]] = nullcontext
    jax: bool = False


def operation_row(operation: Operation, how: How) -> Row:
    """Measure one operation and compare its result with that of f64."""
    torch._dynamo.reset()  # it compiles one function for a few shapes only
    torch.manual_seed(0)
    inputs = [random_input(shape, DTYPES[operation.dtype]) for shape in operation.inputs]
    result = DTYPES[operation.result_dtype]
    # What is not written shows.
    nothing = float("nan") if result.is_floating_point else torch.iinfo(result).min
    output = torch.full(operation.output, nothing, device="cuda", dtype=result)
    executable = xyntra.load(how.artifacts / file_name(operation))
    row: Row = {"name": operation.name, "group": operation.group, "errors": {}}
    entrants = {OURS: launches_of(executable, inputs, [output])}
    entrants[OURS]()
    row["wrong"] = wrong_elements(operation, inputs, output)
    for name, make in _peers(operation, how).items():
        _enter(entrants, row, name, make, inputs)
    if operation.group == "rows":
        copied = torch.empty_like(inputs[0])
        entrants[_COPY] = lambda: copied.copy_(inputs[0])
    graphs = {name: captured(work, _REPEATS) for name, work in entrants.items()}
    row["microseconds"] = take_turns(graphs, _REPEATS, how.rounds)
    if _COPY in graphs:  # caches make it faster or slower than a copy of gigabytes
        row["microseconds_of_copying_the_input"] = row["microseconds"].pop(_COPY)
    if how.jax:
        _measure_jax(operation, inputs, row, how.rounds)
    call = host_microseconds(lambda: executable(*inputs, out=[output]), _CALLS, how.rounds)
    row["host_microseconds"] = call
    return row | _rates(operation, row["microseconds"][OURS], how)


def random_input(shape: tuple[int, ...], dtype: Any) -> Any:
    """Return random numbers on the GPU: normal ones, or integers of 8 bits."""
    if dtype == torch.int8:
        return torch.randint(-128, 128, shape, device="cuda", dtype=dtype)
    return torch.randn(shape, device="cuda").to(dtype)


def _peers(operation: Operation, how: How) -> dict[str, Callable[[], Any]]:
    plain = function_of(operation)
    peers: dict[str, Callable[[], Any]] = {"torch": lambda: plain}
    if operation.group == "attention":
        peers["cuDNN"] = lambda: _with_cudnn(plain)
    # A product by itself is the same call of cuBLAS where it is compiled.
    is_plain = operation.group == "attention" or "product" in operation.kind
    if how.compiled and not is_plain:
        peers["torch.compile"] = lambda: torch.compile(plain, dynamic=False)
    if how.autotuned and not is_plain:
        mode = "max-autotune-no-cudagraphs"  # it is put into a graph like the others
        peers["max-autotune"] = lambda: torch.compile(plain, dynamic=False, mode=mode)
    return peers


def _with_cudnn(function: Callable[..., Any]) -> Callable[..., Any]:
    def work(*inputs: Any) -> Any:
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            return function(*inputs)

    return work


def _enter(
    entrants: dict[str, Callable[[], Any]],
    row: Row,
    name: str,
    make: Callable[[], Any],
    inputs: list[Any],
) -> None:
    try:
        function = make()
        function(*inputs)
        torch.cuda.synchronize()
    except Exception as error:
        row["errors"][name] = f"{type(error).__name__}: {error}"[:300]
        return
    entrants[name] = lambda: function(*inputs)


def _measure_jax(operation: Operation, inputs: list[Any], row: Row, rounds: int) -> None:
    from bench.cuda.jax_peers import (  # takes a second to import
        LEAST,
        jax_work,
        microseconds_of_jax,
    )

    if row["microseconds"][OURS] < LEAST:
        return
    try:
        work = jax_work(operation, inputs)
        if work is not None:
            row["microseconds"]["JAX"] = microseconds_of_jax(work, rounds)
    except Exception as error:
        row["errors"]["JAX"] = f"{type(error).__name__}: {error}"[:300]


def wrong_elements(operation: Operation, inputs: list[Any], output: Any) -> int:
    """Return how many elements are further from the result of f64 than rounding explains."""
    expected = reference(operation, inputs)
    far = (output.double() - expected).abs() > tolerance(operation, inputs, expected)
    return int((far | ~torch.isfinite(output)).sum())


def _rates(operation: Operation, microseconds: float, how: How) -> Row:
    moved = operation.nbytes / microseconds * 1e6
    return {
        "bytes_per_second": moved,
        "share_of_copy": moved / how.bandwidth,
        "flops_per_second": operation.flops / microseconds * 1e6,
    }

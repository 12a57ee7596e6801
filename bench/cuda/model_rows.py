# SPDX-License-Identifier: MIT OR Apache-2.0
"""The rows of `bench.cuda` for whole models: ours beside PyTorch, and times to first results."""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

import xyntra
from bench.cuda.models import COMPILING, TOLERANCE, Model, model_inputs
from bench.cuda.networks import network
from bench.cuda.rows import How
from bench.cuda.timing import captured, launches_of, microseconds_of_calls, take_turns

__all__ = ["OURS", "errors_of", "model_row"]

OURS = "xyntra"
_REPEATS = 5  # runs of a model in one graph
_CALLS = 20
Row = dict[str, Any]
Work = Callable[[], Any]
Tensors = Sequence[Any]


def model_row(model: Model, how: How) -> Row:
    """Measure one model and compare its results with those of f64."""
    torch._dynamo.reset()
    torch.backends.cudnn.allow_tf32 = False  # as for products, and as ours
    torch.backends.cudnn.benchmark = True
    module = network(model.network).to(model.kind)
    weights = {name: tensor.numpy() for name, tensor in module.state_dict().items()}
    module = module.cuda()
    inputs = model_inputs(model, "cuda")
    row: Row = {"name": model.name, "group": model.group, "errors": {}, "microseconds": {}}
    path = how.artifacts / model.file
    row["seconds_to_compile"] = _seconds_to_compile(how.artifacts / COMPILING, model)
    with torch.inference_mode():
        with how.alone():
            first = [_first_result(path, weights, inputs) for _ in range(2)]
        row["seconds_to_first_result"] = [seconds for seconds, _ in first]
        executable = first[1][1]
        entrants: dict[str, Work] = {"torch": lambda: module(*inputs)}
        if how.compiled:
            _compile(entrants, row, module, inputs)
        outputs = [torch.full(p.shape, torch.nan, device="cuda", dtype=model.kind) for p in
                   executable.outputs]  # fmt: skip
        entrants = {OURS: launches_of(executable, inputs, outputs), **entrants}
        entrants[OURS]()
        row["error"] = errors_of(module, inputs, outputs)
        row["wrong"] = sum(not each <= TOLERANCE[model.dtype] for each in row["error"][OURS])
        with how.alone():
            _measure(row, entrants, executable, inputs, outputs, how.rounds)
    return row


def _seconds_to_compile(path: Path, model: Model) -> float | None:
    known: dict[str, float] = json.loads(path.read_text()) if path.exists() else {}
    return known.get(model.name)


def _measure(
    row: Row,
    entrants: Mapping[str, Work],
    executable: Any,
    inputs: Tensors,
    outputs: Tensors,
    rounds: int,
) -> None:
    managed = "reduce-overhead"  # it makes its own graphs
    graphs = {name: captured(work, _REPEATS) for name, work in entrants.items() if name != managed}
    row["microseconds"] |= take_turns(graphs, _REPEATS, rounds)
    calls = {f"{OURS}, called": lambda: executable(*inputs, out=outputs)}
    if managed in entrants:
        calls[managed] = entrants[managed]
    for name, work in calls.items():
        row["microseconds"][name] = microseconds_of_calls(work, _CALLS, rounds)


def _first_result(path: Path, weights: Mapping[str, Any], inputs: Tensors) -> tuple[float, Any]:
    arrays = [each.cpu().numpy() for each in inputs]
    torch.cuda.synchronize()
    start = time.perf_counter()
    executable = xyntra.load(path, weights=weights)
    executable(*arrays)
    return time.perf_counter() - start, executable


def _compile(entrants: dict[str, Work], row: Row, module: Any, inputs: Tensors) -> None:
    for name, mode in (("torch.compile", "default"), ("reduce-overhead", "reduce-overhead")):
        function = torch.compile(module, dynamic=False, mode=mode)
        start = time.perf_counter()
        try:
            for _ in range(3):
                function(*inputs)
                torch.cuda.synchronize()
                row.setdefault("compile_seconds", {}).setdefault(name, time.perf_counter() - start)
        except Exception as error:
            row["errors"][name] = f"{type(error).__name__}: {error}"[:300]
            continue
        entrants[name] = lambda function=function: function(*inputs)  # type: ignore[misc]


def errors_of(module: Any, inputs: Tensors, outputs: Tensors) -> dict[str, list[float]]:
    """Return the relative root mean square errors to f64 of every output: ours and PyTorch's."""
    eager = _as_tuple(module(*inputs))
    exact = copy.deepcopy(module).double()
    wide = [each.double() if each.is_floating_point() else each for each in inputs]
    expected = _as_tuple(exact(*wide))
    return {
        name: [_relative(got, want) for got, want in zip(results, expected, strict=True)]
        for name, results in ((OURS, outputs), ("torch", eager))
    }


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def _relative(got: Any, expected: Any) -> float:
    difference = (got.double() - expected).square().mean()
    return float((difference / expected.square().mean()).sqrt())

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compiles one network by each entrance, and compares what it computes with eager PyTorch."""

from __future__ import annotations

import copy
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

from verify.architectures.building import Built, build
from verify.architectures.registry import Architecture
from verify.torch_modules.processor_time import seconds_of_tree

__all__ = ["ENTRANCES", "apart", "check"]

Row = dict[str, Any]
_BOUND = 1e-4
_FAR = 5
"""How much further from float64 than eager float32, where that itself is beyond the bound."""
_TURNS = 15


def check(architecture: Architecture, entrance: str, config: dict[str, object], timed: bool) -> Row:
    """Compile a network and compare it; "status" is right, wrong, refused or failed.

    Args:
        architecture: builds the network.
        entrance: one of `ENTRANCES`.
        config: settings of Xyntra.
        timed: whether further calls are timed.
    """
    import torch

    from xyntra.errors import XyntraError

    torch.set_num_threads(1)
    built = build(architecture)
    inputs = list(built.inputs.values())
    with torch.no_grad(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start, busy = time.perf_counter(), seconds_of_tree()
        try:
            call = ENTRANCES[entrance](built, inputs, config)
            found = call(*inputs)
        except XyntraError as error:
            return {"status": "refused", "error": f"{error.code}: {error}"[:1500]}
        took, busy = time.perf_counter() - start, seconds_of_tree() - busy
    row: Row = {"first_result_s": round(took, 3), "first_result_cpu_s": round(busy, 3)}
    row |= _counts(caught)
    error = _error(built, found)
    row |= {"error_of_scale": error, "status": "right" if error <= _BOUND else "wrong"}
    if row["status"] == "wrong":
        ours, theirs = _errors_of_double(built, found)
        row |= {"from_double": ours, "eager_from_double": theirs}
        if ours <= max(_BOUND, _FAR * theirs):
            row["status"] = "right"
    return row | (_timed(call, inputs) if timed else {})


def _exported(built: Built, inputs: Sequence[Any], config: dict[str, object]) -> Any:
    import xyntra

    return xyntra.compile(built.module, inputs=tuple(inputs), config=config)


def _from_a_file(built: Built, inputs: Sequence[Any], config: dict[str, object]) -> Any:
    import torch

    import xyntra

    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/model.pt"
        traced = torch.jit.trace(built.module, tuple(inputs), check_trace=False, strict=False)
        torch.jit.save(traced, path)
        return xyntra.compile(path, inputs=tuple(inputs), config=config)


def _by_torch_compile(built: Built, inputs: Sequence[Any], config: dict[str, object]) -> Any:
    import torch

    from xyntra.integrations.torch_compile import backend

    return torch.compile(built.module, backend=backend, options=dict(config))


def _by_inductor(built: Built, inputs: Sequence[Any], config: dict[str, object]) -> Any:
    import torch

    return torch.compile(built.module)


def _eager(built: Built, inputs: Sequence[Any], config: dict[str, object]) -> Any:
    return built.module


ENTRANCES: dict[str, Callable[[Built, Sequence[Any], dict[str, object]], Any]] = {
    "compile": _exported,
    "torchscript": _from_a_file,
    "torch.compile": _by_torch_compile,
    "inductor": _by_inductor,
    "eager": _eager,
}


def _counts(caught: Sequence[warnings.WarningMessage]) -> Row:
    import torch

    texts = {str(each.message) for each in caught}
    named = [text.removeprefix("xyntra: PyTorch runs ") for text in texts if "PyTorch runs" in text]
    counters = torch._dynamo.utils.counters
    return {
        "fallbacks": sorted(named),
        "graphs": counters["stats"]["unique_graphs"],
        "breaks": sorted(reason[:200] for reason in counters["graph_break"]),
    }


def _error(built: Built, found: Sequence[Any]) -> float:
    """Return the largest error of an output in terms of its largest element; integers are exact."""
    import torch

    with torch.no_grad():
        wanted = built.module(*built.inputs.values())
    return max(apart(a, b) for a, b in zip(found, wanted, strict=True))


def apart(found: Any, wanted: Any) -> float:
    """Return the largest difference in terms of the largest element; integers are exact."""
    import torch

    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        return float("inf")
    if not wanted.is_floating_point():
        return 0.0 if torch.equal(found, wanted) else float("inf")
    plain = torch.isfinite(wanted)
    if not torch.equal(plain, torch.isfinite(found)):
        return float("inf")
    if not plain.any():
        return 0.0
    scale = float(wanted[plain].double().abs().max()) or 1.0
    return float((found[plain].double() - wanted[plain].double()).abs().max()) / scale


def _errors_of_double(built: Built, found: Sequence[Any]) -> tuple[float, float]:
    """Return the errors of Xyntra and of eager PyTorch against float64."""
    import torch

    module = copy.deepcopy(built.module).double()
    given = [t.double() if t.is_floating_point() else t for t in built.inputs.values()]
    with torch.no_grad():
        theirs = built.module(*built.inputs.values())
        try:
            exact = module(*given)
        except RuntimeError:  # a dtype is written into the module
            return float("inf"), 0.0
    pairs = zip(exact, found, theirs, strict=True)
    floats = [(e, f.double(), t.double()) for e, f, t in pairs if e.is_floating_point()]
    if not floats or any(e.dtype is not torch.float64 for e, _, _ in floats):
        return float("inf"), 0.0
    return (
        max(apart(ours, true) for true, ours, _ in floats),
        max(apart(eager, true) for true, _, eager in floats),
    )


def _timed(call: Any, inputs: Sequence[Any]) -> Row:
    """Return the milliseconds of a call by the clock, and of the thread that computes it."""
    import torch

    taken = []
    with torch.no_grad():
        for _ in range(_TURNS):
            start = time.perf_counter(), time.thread_time()
            call(*inputs)
            taken.append((time.perf_counter() - start[0], time.thread_time() - start[1]))
    times = (round(1e3 * median(each), 4) for each in zip(*taken[5:], strict=True))
    return dict(zip(("call_ms", "call_cpu_ms"), times, strict=True))

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Times rows on a GPU: ours, PyTorch and torch.compile in CUDA graphs that take turns."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import torch
from torch.utils.flop_counter import FlopCounterMode

import xyntra
from bench.cuda.timing import captured, launches_of, take_turns
from bench.sweep.checking import wrong_outputs
from bench.sweep.cuda_prepare import compiled, note
from bench.sweep.folder import artifact
from bench.sweep.networks import Network
from bench.sweep.row import Row

__all__ = ["OURS", "measure"]

OURS, EAGER, COMPILED, BEFORE = "xyntra", "torch", "torch.compile", "before"
_SHORT = 400.0
"""Microseconds of work of which a graph has ten pieces; longer work is there thrice."""
_TENSOR_CORES, _LANES = 800e12, 60e12
"""Operations a second of 16-bit matrices, and of f32, on an H100: for the floor of a row."""
Work = Callable[[], Any]


def measure(
    row: Row | Network,
    folder: Path,
    *,
    rounds: int,
    bandwidth: float,
    explain: bool,
    beside: Path | None = None,
) -> Any:
    """Return the times of a row, what is the least that it could take, and which outputs are wrong.

    Args:
        row: that `prepare` compiled into `folder`.
        rounds: of turns.
        bandwidth: bytes a second of a copy.
        explain: with the times of our launches, as text.
        beside: folder into which another version has compiled the row; it takes turns, too, and its
            time is `before`.
    """
    found = {"name": row.name, "library": row.layer.library, "layer": row.layer.name}
    found["channels_last"] = row.channels_last
    found |= note(folder, row)
    if "failure" in found:
        return found
    torch.backends.cudnn.benchmark = True
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    module, inputs, dtype = row.build("cuda")
    found["dtype"] = str(dtype).removeprefix("torch.")
    found["shapes"] = [list(each.shape) for each in inputs]
    executable = xyntra.load(artifact(folder, row, "xyn"), target="cuda")
    outputs = [_unwritten(port) for port in executable.outputs]
    entrants: dict[str, Work] = {OURS: _ours(executable, inputs, outputs)}
    entrants[OURS]()
    eager = _tuple(module(*inputs))
    found["wrong"] = wrong_outputs(module, inputs, outputs, eager)
    found["floor"] = _floor(module, inputs, eager, bandwidth)
    _add_peers(entrants, found, module, inputs)
    if beside is not None and artifact(beside, row, "xyn").exists():
        old = xyntra.load(artifact(beside, row, "xyn"), target="cuda")
        entrants[BEFORE] = _ours(old, inputs, [_unwritten(port) for port in old.outputs])
        entrants[BEFORE]()
    count = 10 if _microseconds(entrants[EAGER]) < _SHORT else 3
    graphs = _captured_entrants(entrants, found, count)
    times = take_turns(graphs, count, rounds)
    if BEFORE in times:
        found["before"] = times.pop(BEFORE)
    found["microseconds"] = times
    if explain:
        found["launches"] = _explained(executable, inputs)
    return found


def _unwritten(port: Any) -> torch.Tensor:
    dtype = getattr(torch, str(port.dtype))
    if dtype.is_floating_point:
        return torch.full(port.shape, float("nan"), device="cuda", dtype=dtype)
    return torch.zeros(port.shape, device="cuda", dtype=dtype) + (dtype != torch.bool)


def _ours(executable: Any, inputs: Sequence[torch.Tensor], outputs: list[torch.Tensor]) -> Work:
    by_name = {f"x{index}": each for index, each in enumerate(inputs)}
    return launches_of(executable, [by_name[port.name] for port in executable.inputs], outputs)


def _tuple(found: Any) -> tuple[torch.Tensor, ...]:
    return (found,) if isinstance(found, torch.Tensor) else tuple(found)


def _add_peers(
    entrants: dict[str, Work], found: dict[str, Any], module: Any, inputs: list[torch.Tensor]
) -> None:
    entrants[EAGER] = lambda: module(*inputs)
    fast = compiled(module)
    try:
        fast(*inputs)
        torch.cuda.synchronize()
    except Exception as error:
        found["peer"] = f"{type(error).__name__}: {error}"[:300]
        return
    entrants[COMPILED] = lambda: fast(*inputs)


def _captured_entrants(
    entrants: Mapping[str, Work], found: dict[str, Any], count: int
) -> dict[str, Any]:
    """Return a CUDA graph for each entrant; a peer that copies from the host has none."""
    graphs = {OURS: captured(entrants[OURS], count)}
    for name in entrants.keys() - graphs.keys():
        try:
            graphs[name] = captured(entrants[name], count)
        except RuntimeError as error:
            found["peer"] = f"{name}: {error}"[:300]
            torch.cuda.synchronize()
    if graphs.keys() <= {OURS, BEFORE}:
        raise RuntimeError(f"no peer can be captured in a CUDA graph: {found['peer']}")
    return graphs


def _floor(module: Any, inputs: Any, outputs: Any, bandwidth: float) -> dict[str, float]:
    """Return bytes, operations and the microseconds of whichever takes longer."""
    tables = {id(m.weight) for m in module.modules() if isinstance(m, torch.nn.Embedding)}
    weights = [each for each in module.parameters() if id(each) not in tables]
    moved = sum(each.numel() * each.element_size() for each in (*inputs, *outputs, *weights))
    operations = _operations(module, inputs)
    wide = any(each.dtype == torch.float32 for each in weights + list(inputs))
    seconds = max(moved / bandwidth, operations / (_LANES if wide else _TENSOR_CORES))
    return {"bytes": moved, "operations": operations, "microseconds": seconds * 1e6}


def _operations(module: Any, inputs: Any) -> int:
    try:
        with FlopCounterMode(display=False) as counter:
            module(*inputs)
    except AssertionError:  # it does not know queries that share keys, which memory bounds
        return 0
    return int(counter.get_total_flops())


def _microseconds(work: Work) -> float:
    work()
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(3):
        work()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / 3 * 1e6


def _explained(executable: Any, inputs: list[torch.Tensor]) -> str:
    arrays = {f"x{index}": _numpy(each.cpu()) for index, each in enumerate(inputs)}
    given = {port.name: arrays[port.name] for port in executable.inputs}
    return str(executable.explain_launches(executable.time_kernels(given)))


def _numpy(array: torch.Tensor) -> Any:
    if array.dtype != torch.bfloat16:
        return array.numpy()
    return array.view(torch.int16).numpy().view(ml_dtypes.bfloat16)

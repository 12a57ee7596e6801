# SPDX-License-Identifier: MIT OR Apache-2.0
"""`python -m bench.decode`: a decode step beside the time to read weights and caches once."""

from __future__ import annotations

import argparse
import gc
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bench.decode.counters import counted
from bench.decode.entrants import Case, Entrant, entrants
from bench.decode.size import Decoder, weights_of
from bench.harness.machine import describe
from bench.harness.measure import write_json

_PEERS = ("xyntra", "torch", "torch.compile", "onnxruntime")
_SIZES = ("layers", "vocabulary", "hidden", "heads", "groups", "inner")
_USUAL = {"cuda": {"layers": 16, "vocabulary": 128_256}, "cpu": {"layers": 4, "vocabulary": 32_000}}
"""Llama 3.2 1B on a GPU, a quarter of it on a processor, where nothing else is said."""


def main(arguments: list[str] | None = None) -> int:
    """Measure, print a line a case, and write JSON after each."""
    options = _options(arguments)
    decoder = Decoder(**{name: getattr(options, name) for name in _SIZES}, dtype=options.dtype)
    bandwidth = _bandwidth(options.target)
    weights = weights_of(decoder)
    found: dict[str, Any] = {"machine": describe(), "device": _device(options.target)}
    found |= {"decoder": vars(decoder), "bytes per second": bandwidth, "cases": []}
    end = time.monotonic() + options.minutes * 60
    room = options.room or max(256, *options.length)
    for batch in options.batch:
        if time.monotonic() > end:
            break
        case = Case(decoder, batch, room, options.target)
        ready = _ready(case, weights, options)
        for length in options.length:
            if time.monotonic() > end:
                break
            entry = _measured(case, length, ready, bandwidth, options)
            found["cases"].append(entry)
            print(_line(entry), flush=True)
            if options.output:
                write_json(options.output, found)
        del ready
        _free()
    return 0


@dataclass(frozen=True)
class _Ready:
    """What was prepared for a batch: who runs, why others do not, and the seconds that took."""

    running: dict[str, Entrant]
    failed: dict[str, str]
    seconds: float


def _ready(case: Case, weights: Mapping[str, Any], options: argparse.Namespace) -> _Ready:
    start = time.monotonic()
    made = entrants(case, weights, set(options.entrants))
    failed = {name: each for name, each in made.items() if isinstance(each, str)}
    running = {name: each for name, each in made.items() if isinstance(each, Entrant)}
    return _Ready(running, failed, time.monotonic() - start)


def _measured(
    case: Case, length: int, ready: _Ready, bandwidth: float, options: argparse.Namespace
) -> dict[str, Any]:
    running, failed = ready.running, ready.failed
    nbytes = case.decoder.step_bytes(case.batch, length)
    floor = nbytes / (bandwidth * 1e-6)
    entry: dict[str, Any] = {"batch": case.batch, "length": length, "room": case.room}
    entry |= {"bytes": nbytes, "floor us": floor, "us": {}, "facts": {}, "failed": failed}
    for each in running.values():
        each.seek(length)
    entry["error"] = _errors(running, failed)
    entry["prepared s"] = ready.seconds
    for name in failed:
        running.pop(name, None)
    steps: dict[str, Callable[[], Any]] = {name: each.step for name, each in running.items()}
    entry["us"] = _by_turns(steps, case.device, options.rounds, options.calls)
    ours = running.get("xyntra")
    if ours is not None:
        entry["facts"] = ours.facts | counted(ours.step, case.device)
        entry["over floor"] = entry["us"]["xyntra"] / floor
        if ours.launches:
            entry |= _of_launches(ours, floor, options)
    entry["tokens per second"] = {n: case.batch / us * 1e6 for n, us in entry["us"].items()}
    return entry


def _of_launches(ours: Entrant, floor: float, options: argparse.Namespace) -> dict[str, Any]:
    from bench.decode.launch_times import launch_times, step_time

    graph = step_time(ours.launches, options.calls, options.rounds)
    found: dict[str, Any] = {"us in one graph": graph, "graph over floor": graph / floor}
    if options.launches:
        found["launches"] = launch_times(ours.launches, options.calls)
    return found


def _errors(running: Mapping[str, Entrant], failed: dict[str, str]) -> dict[str, float]:
    """The largest difference of every entrant from PyTorch's result, over its largest element."""
    results: dict[str, Any] = {}
    for name, each in running.items():
        try:
            results[name] = each.result().astype(np.float64)
        except Exception as error:  # a peer that compiles at its first call may fail there
            if name == "xyntra":
                raise
            failed[name] = f"{type(error).__name__}: {error}"[:400]
    if "torch" not in results:
        return {}
    reference = results["torch"]
    return {
        name: float(np.abs(each - reference).max() / np.abs(reference).max())
        for name, each in results.items()
    }


def _by_turns(
    steps: Mapping[str, Callable[[], Any]], device: str, rounds: int, calls: int
) -> dict[str, float]:
    """Median microseconds of a step, called one after the other; entrants take turns."""
    wait = torch.cuda.synchronize if device == "cuda" else _nothing
    found: dict[str, list[float]] = {name: [] for name in steps}
    for number in range(rounds + 1):
        for name, step in steps.items():
            for _ in range(3):
                step()
            wait()
            start = time.perf_counter()
            for _ in range(calls):
                step()
            wait()
            if number:
                found[name].append((time.perf_counter() - start) / calls * 1e6)
    return {name: statistics.median(times) for name, times in found.items()}


def _nothing() -> None:
    return None


def _bandwidth(device: str) -> float:
    if device == "cuda":
        from bench.cuda.timing import copy_bandwidth

        return copy_bandwidth(5)
    from bench.cpu import ceilings

    return ceilings.copy_bandwidth(torch.get_num_threads(), ceilings.BEYOND_CACHES)


def _device(device: str) -> str:
    return torch.cuda.get_device_name() if device == "cuda" else "cpu"


def _free() -> None:
    gc.collect()
    torch._dynamo.reset()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def _line(entry: Mapping[str, Any]) -> str:
    times = ", ".join(f"{name} {us:.0f}" for name, us in entry["us"].items())
    graph = f", in one graph {entry['us in one graph']:.0f}" if "us in one graph" in entry else ""
    failed = "".join(f"; {name} failed" for name in entry["failed"])
    wrong = {name: f"{error:.1e}" for name, error in entry["error"].items()}
    launches = "".join(f"\n  {us:6.2f} us {name}" for name, us in entry.get("launches", ()))
    return (
        f"batch {entry['batch']:2} length {entry['length']:5}: floor {entry['floor us']:.0f} us; "
        f"{times}{graph}{failed}; errors {wrong}; {entry['facts']}{launches}"
    )


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.decode", description=__doc__)
    parser.add_argument("--target", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--dtype", choices=("float16", "float32"), default="float16")
    parser.add_argument("--length", type=int, nargs="+", default=[128, 512, 1024, 2048, 4096])
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 2, 4, 8, 16])
    parser.add_argument("--room", type=int, default=0, help="of the caches; else the most")
    for name in _SIZES:
        parser.add_argument(f"--{name}", type=int)
    parser.add_argument("--entrants", nargs="+", choices=_PEERS, default=list(_PEERS))
    parser.add_argument("--calls", type=int, default=20, help="between two looks at the clock")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--minutes", type=float, default=60, help="no case is begun afterwards")
    parser.add_argument("--launches", action="store_true", help="what each adds to ours")
    parser.add_argument("--output", type=Path, help="a JSON file")
    options = parser.parse_args(arguments)
    usual = vars(Decoder()) | _USUAL[options.target]
    for name in _SIZES:
        if getattr(options, name) is None:
            setattr(options, name, usual[name])
    return options


if __name__ == "__main__":
    sys.exit(main())

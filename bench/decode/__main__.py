# SPDX-License-Identifier: MIT OR Apache-2.0
"""`python -m bench.decode`: a decode step beside the time to read weights and caches once."""

from __future__ import annotations

import argparse
import gc
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bench.decode.entrants import Case, Entrant, entrants
from bench.decode.size import Decoder, weights_of
from bench.harness.machine import describe
from bench.harness.measure import write_json

_PEERS = ("xyntra", "torch", "torch.compile", "onnxruntime")
_TOLERANCE = {"float16": 3e-2, "float32": 2e-3}


def main(arguments: list[str] | None = None) -> int:
    """Measure, print a line a case, and write JSON."""
    options = _options(arguments)
    decoder = Decoder(
        layers=options.layers, vocabulary=options.vocabulary, dtype=options.dtype,
        hidden=options.hidden, heads=options.heads, groups=options.groups, inner=options.inner,
    )  # fmt: skip
    bandwidth = _bandwidth(options.target)
    weights = weights_of(decoder)
    found: dict[str, Any] = {"machine": describe(), "device": _device(options.target)}
    found |= {"decoder": vars(decoder), "bytes per second": bandwidth, "cases": []}
    end = time.monotonic() + options.minutes * 60
    for batch in options.batch:
        for length in options.length:
            if time.monotonic() > end:
                break
            room = options.room or max(length, 256)
            case = Case(decoder, batch, length, room, options.target)
            entry = _measured(case, weights, bandwidth, options)
            found["cases"].append(entry)
            print(_line(entry), flush=True)
            if options.output:
                write_json(options.output, found)
            _free()
    return 0


def _measured(
    case: Case, weights: Mapping[str, Any], bandwidth: float, options: argparse.Namespace
) -> dict[str, Any]:
    nbytes = case.decoder.step_bytes(case.batch, case.length)
    floor = nbytes / (bandwidth * 1e-6)
    entry: dict[str, Any] = {"batch": case.batch, "length": case.length, "room": case.room}
    entry |= {"bytes": nbytes, "floor us": floor, "us": {}, "facts": {}, "failed": {}}
    ready = entrants(case, weights, set(options.entrants))
    entry["failed"] = {name: each for name, each in ready.items() if isinstance(each, str)}
    running = {name: each for name, each in ready.items() if isinstance(each, Entrant)}
    entry["error"] = _errors(running, entry["failed"])
    for name in entry["failed"]:
        running.pop(name, None)
    steps: dict[str, Callable[[], Any]] = {name: each.step for name, each in running.items()}
    entry["us"] = _by_turns(steps, case.device, options.rounds, options.calls)
    ours = running.get("xyntra")
    if ours is not None:
        entry["facts"] = ours.facts
        entry["over floor"] = entry["us"]["xyntra"] / floor
        if ours.launches:
            from bench.decode.launch_times import launch_times, step_time

            graph = step_time(ours.launches, options.calls, options.rounds)
            entry["us in one graph"] = graph
            entry["graph over floor"] = graph / floor
            if options.launches:
                entry["launches"] = launch_times(ours.launches, options.calls)
    entry["tokens per second"] = {n: case.batch / us * 1e6 for n, us in entry["us"].items()}
    return entry


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
    sizes = Decoder()
    parser.add_argument("--target", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--dtype", choices=("float16", "float32"), default="float16")
    parser.add_argument("--length", type=int, nargs="+", default=[128, 512, 1024, 2048, 4096])
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 4, 16])
    parser.add_argument("--room", type=int, default=0, help="of the caches; else the length")
    for name in ("layers", "vocabulary", "hidden", "heads", "groups", "inner"):
        parser.add_argument(f"--{name}", type=int, default=getattr(sizes, name))
    parser.add_argument("--entrants", nargs="+", choices=_PEERS, default=list(_PEERS))
    parser.add_argument("--calls", type=int, default=20, help="between two looks at the clock")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--minutes", type=float, default=60, help="no case is begun afterwards")
    parser.add_argument("--launches", action="store_true", help="what each adds to ours")
    parser.add_argument("--output", type=Path, help="a JSON file")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())

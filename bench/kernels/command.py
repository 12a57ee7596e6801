# SPDX-License-Identifier: MIT OR Apache-2.0
"""Measures kernels in Python: `python -m bench.kernels [--target cuda] [--dtype float16]`.

Every entrant is compared with PyTorch in float64, then all are called by turns. On the CPU, one
thread: the kernel, PyTorch eager and compiled, and loops of numba, where it is installed. On a GPU
calls are captured in CUDA graphs, and timed by events; kernels in Triton are beside them, and JAX,
which is timed by many calls that are waited for together, as others cannot capture it.
The first row is the time of a call of next to nothing.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import xyntra
from bench.harness.machine import describe, slug
from bench.harness.measure import ROOT, write_json
from bench.kernels.cases import CASES, Case

__all__ = ["main"]

Row = dict[str, Any]
_TOLERANCE = {"float32": 2e-4, "float16": 3e-2, "bfloat16": 2e-1}
_LEAST = 2e-3  # seconds of one turn
_CAPTURED = 20


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns 0 if every result was right."""
    parser = argparse.ArgumentParser(prog="python -m bench.kernels", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="rows, in this order (default: all)"
    )
    parser.add_argument("--target", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--dtype", default="", help="default: float32, on a GPU float16")
    parser.add_argument("--rounds", type=int, default=15, help="of turns (default 15)")
    parser.add_argument("--without", nargs="*", default=(), help="entrants that are left out")
    parser.add_argument("--json", type=Path, help="default: bench/results/kernels-….json")
    options = parser.parse_args(arguments)
    known = {case.name: case for case in CASES}
    unknown = [each for each in options.names if each not in known]
    if unknown:
        parser.error(f"there is no row '{unknown[0]}'; rows are {', '.join(known)}")
    options.dtype = options.dtype or ("float16" if options.target == "cuda" else "float32")
    machine, name = describe(), slug(describe())
    if options.target == "cuda":
        import torch

        machine["gpu"] = torch.cuda.get_device_name()
        name = "-".join(str(machine["gpu"]).lower().split())
    path = options.json or ROOT / "bench" / "results" / f"kernels-{name}-{options.dtype}.json"
    rows: list[Row] = []
    for each in options.names or known:
        rows.append(_row(known[each], options))
        _print(rows[-1])
        write_json(path, {"machine": machine, "dtype": options.dtype, "rows": rows})
    return int(any(row["wrong"] for row in rows))


def _row(case: Case, options: argparse.Namespace) -> Row:
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(1)
    device = options.target
    shapes = case.gpu if device == "cuda" else case.shapes
    dtype = getattr(torch, options.dtype)
    tensors = [torch.randn(shape).to(dtype).to(device) for shape in shapes]
    wanted = case.torch(*(each.double() for each in tensors), *case.numbers)
    works, wrong = {}, []
    for name, work in _entrants(case, tensors, options).items():
        if name in options.without:
            continue
        try:
            found = torch.as_tensor(np.array(work()) if device == "cpu" else _tensor(work()))
            error = float((found.double() - wanted).abs().max())
        except Exception as problem:  # a peer that fails is a row without it
            print(f"{case.name}: {name}: {type(problem).__name__}: {str(problem)[:200]}")
            continue
        if not error <= _TOLERANCE[options.dtype] * max(1.0, float(wanted.abs().max())):
            wrong.append(f"{name}: {error:.2g}")
        works[name] = work
        del found
    with torch.no_grad():
        times = (_gpu_times if device == "cuda" else _cpu_times)(works, options.rounds)
    return {"name": case.name, "microseconds": times, "wrong": wrong}


def _entrants(case: Case, tensors: Sequence[Any], options: argparse.Namespace) -> dict[str, Any]:
    """Return what each entrant calls, without arguments."""
    import torch

    kernel = xyntra.kernel(threads=1)(case.kernel)
    compiled = torch.compile(case.torch, dynamic=False)
    numbers = case.numbers
    if options.target == "cuda":
        from bench.kernels.triton_peers import PEERS as TRITON

        found = {
            "xyntra": lambda: kernel(*tensors, *numbers),
            "torch": lambda: case.torch(*tensors, *numbers),
            "torch.compile": lambda: compiled(*tensors, *numbers),
        }
        if case.name in TRITON:
            found["triton"] = lambda: TRITON[case.name](*tensors, *numbers)
        return {**found, **_jax(case, tensors)}
    arrays = [each.numpy() for each in tensors]
    found = {
        "xyntra": lambda: kernel(*arrays, *numbers),
        "torch": lambda: case.torch(*tensors, *numbers),
        "torch.compile": lambda: compiled(*tensors, *numbers),
    }
    try:
        from bench.kernels.numba_peers import PEERS as NUMBA
    except ImportError:
        return found
    if case.name in NUMBA:
        found["numba"] = lambda: NUMBA[case.name](*arrays, *numbers)
    return found


def _tensor(value: Any) -> Any:
    import torch

    return value if isinstance(value, torch.Tensor) else torch.from_dlpack(value)


def _jax(case: Case, tensors: Sequence[Any]) -> dict[str, Any]:
    """Return JAX's entrant, where JAX is installed and has the kernel."""
    try:
        from bench.kernels.jax_peers import PEERS, entrant
    except ImportError:
        return {}
    return {"jax": entrant(case.name, tensors, case.numbers)} if case.name in PEERS else {}


def _waited(work: Callable[[], Any], rounds: int) -> float:
    """Return the microseconds of a call of JAX's, of many that are waited for together."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(_CAPTURED):
            last = work()
        last.block_until_ready()
        times.append((time.perf_counter() - start) / _CAPTURED * 1e6)
    return min(times)


def _cpu_times(works: Mapping[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Return the least microseconds of a call, by entrant, who take turns."""
    counts = {}
    for name, work in works.items():
        start = time.perf_counter()
        work()
        counts[name] = max(1, int(_LEAST / max(time.perf_counter() - start, 1e-6)))
    found: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            count = counts[name]
            start = time.perf_counter()
            for _ in range(count):
                work()
            found[name].append((time.perf_counter() - start) / count * 1e6)
    return {name: min(times) for name, times in found.items()}


def _gpu_times(works: Mapping[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Return microseconds on the GPU's clock in CUDA graphs, and on the host without (`host …`)."""
    from bench.cuda.timing import captured, host_microseconds, take_turns

    own = {name: work for name, work in works.items() if name != "jax"}
    graphs = {name: captured(work, _CAPTURED) for name, work in own.items()}
    times = take_turns(graphs, _CAPTURED, rounds)
    if "jax" in works:
        times["jax"] = _waited(works["jax"], rounds)
    for name, work in own.items():
        times[f"host {name}"] = host_microseconds(work, 50, 5)
    return times


def _print(row: Row) -> None:
    times = row["microseconds"]
    best = min((t for n, t in times.items() if n != "xyntra" and "host" not in n), default=0.0)
    ratio = times.get("xyntra", 0.0) / best if best else float("nan")
    texts = "  ".join(f"{name} {value:.1f}" for name, value in times.items())
    print(f"{row['name']:22} {ratio:5.2f}  {texts}", *row["wrong"], flush=True)

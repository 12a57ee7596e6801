# SPDX-License-Identifier: MIT OR Apache-2.0
"""Measures on a GPU what `bench.webgpu prepare` compiled, beside the CUDA target where it is."""

from __future__ import annotations

import statistics
import subprocess
import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import xyntra
from bench.cuda.operations import HOST_MODEL, TINY_MODEL, Operation
from bench.webgpu.first_call import first_calls
from bench.webgpu.inputs import inputs_of, weights_of
from bench.webgpu.rows import FILES, MODELS, NETWORKS, OPERATIONS, artifact
from xyntra.errors import XyntraError
from xyntra.targets.webgpu.adapter import OpenDevice, open_device, wgpu_module

__all__ = ["run"]

Array = np.ndarray[Any, Any]
_COPIED = 1 << 27  # bytes
_RELATIVE, _ABSOLUTE = 1e-3, 1e-4


def run(
    folder: Path,
    target: str,
    rounds: int,
    is_chosen: Callable[[str], bool],
    parts: Collection[str] = ("rows", "host", "first"),
) -> int:
    """Print a line for each row; returns 1 if a result is wrong or a row failed.

    Args:
        folder: what `prepare` has filled.
        target: "webgpu" or "webgpu:1".
        rounds: calls of which times are the median.
        is_chosen: tells of a row's name whether it is wanted.
        parts: rows, the host's cost of calls, and first calls.
    """
    opened = open_device(int(target.partition(":")[2] or 0))
    bandwidth = _copy_bandwidth(opened, rounds)
    print(f"{opened.name}: a copy moves {bandwidth / 1e9:.0f} GB/s", flush=True)
    good = True
    for name in [*OPERATIONS, *MODELS, *FILES]:
        if "rows" in parts and is_chosen(name):
            good = _row(folder, name, target, rounds, bandwidth) and good
    for name in (TINY_MODEL, HOST_MODEL) if "host" in parts else ():
        print(_host_cost(folder, name, target, rounds), flush=True)
    for name in (*MODELS, *FILES) if "first" in parts else ():
        if is_chosen(name):
            print(_first(folder, name, target), flush=True)
    return 0 if good else 1


def _row(folder: Path, name: str, target: str, rounds: int, bandwidth: float) -> bool:
    """Print the line of an operation or a model; return whether its results agree."""
    try:
        weights, inputs = weights_of(folder, name), inputs_of(name)
        load = {"weights": weights, "target": target}
        executable = xyntra.load(artifact(folder, name, "webgpu"), **load)
        results = list(executable.run(inputs).values())
        microseconds = _gpu_microseconds(executable, inputs, rounds)
        words = [f"GPU {microseconds:.1f} us"]
        if name not in OPERATIONS:
            words.append(f"call {_call_microseconds(executable, inputs, rounds):.0f} us")
        words += _rates(OPERATIONS.get(name), microseconds, bandwidth)
        wrong = _beyond(results, _expected(folder, name, inputs))
        words += _beside_cuda(folder, name, weights, inputs, microseconds, rounds)
    except (XyntraError, OSError) as error:
        print(f"{name}: FAILED: {error}", flush=True)
        return False
    print(f"{name}: {', '.join(words)}, {wrong} numbers beyond", flush=True)
    return not wrong


def _rates(operation: Operation | None, microseconds: float, bandwidth: float) -> list[str]:
    if operation is None:
        return []
    if operation.flops:
        return [f"{operation.flops / microseconds / 1e3:.0f} GFLOP/s"]
    moved = operation.nbytes / microseconds * 1e6
    return [f"{moved / 1e9:.0f} GB/s, {moved / bandwidth:.2f} of a copy"]


def _beside_cuda(
    folder: Path,
    name: str,
    weights: Mapping[str, Array] | None,
    inputs: Mapping[str, Array],
    microseconds: float,
    rounds: int,
) -> list[str]:
    """Return the times of the CUDA target, in words; none where it has no GPU."""
    if not any(each.startswith("cuda") for each in map(str, _cuda_devices())):
        return []
    executable = xyntra.load(artifact(folder, name, "cuda"), weights=weights)
    executable.run(inputs)
    theirs = _gpu_microseconds(executable, inputs, rounds)
    call = _call_microseconds(executable, inputs, rounds)
    share = theirs / microseconds
    return [f"CUDA: GPU {theirs:.1f} us, call {call:.0f} us, {share:.2f} of CUDA's speed"]


def _cuda_devices() -> list[str]:
    from xyntra.targets.table import backend_named

    return list(backend_named("cuda").devices())


def _gpu_microseconds(executable: Any, inputs: Mapping[str, Array], rounds: int) -> float:
    """Return the median sum of the times of all kernels, on the GPU's clock."""
    return statistics.median(sum(executable.time_kernels(inputs)) / 1e3 for _ in range(rounds))


def _call_microseconds(executable: Any, inputs: Mapping[str, Array], rounds: int) -> float:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        executable.run(inputs)
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e6


def _expected(folder: Path, name: str, inputs: Mapping[str, Array]) -> list[Array]:
    """Return results of PyTorch (in f64 for operations, f32 for networks), or of onnxruntime."""
    if name in FILES:
        import onnxruntime

        providers = ["CPUExecutionProvider"]
        session = onnxruntime.InferenceSession(str(folder / f"{name}.onnx"), providers=providers)
        return list(session.run(None, dict(inputs)))
    import torch

    given = [torch.from_numpy(each) for each in inputs.values()]
    with torch.inference_mode():
        if name in OPERATIONS:
            from bench.cuda.torch_peers import reference

            return [reference(OPERATIONS[name], given).numpy()]
        from bench.cuda.networks import network

        found = network(NETWORKS[name].network)(*given)
        return [each.numpy() for each in (found if isinstance(found, tuple) else (found,))]


def _beyond(results: list[Array], expected: list[Array]) -> int:
    """Return how many numbers are beyond 1e-3 relative and 1e-4 absolute."""
    return sum(
        int(np.sum(~(np.abs(mine - theirs) <= _ABSOLUTE + _RELATIVE * np.abs(theirs))))
        for mine, theirs in zip(results, expected, strict=True)
    )


def _host_cost(folder: Path, name: str, target: str, rounds: int) -> str:
    """Return the line of what a call costs beside the GPU's own time."""
    executable = xyntra.load(artifact(folder, name, "webgpu"), target=target)
    inputs = inputs_of(name)
    executable.run(inputs)
    wall, processor = [], []
    for _ in range(20 * rounds):
        start, busy = time.perf_counter(), time.thread_time()
        executable.run(inputs)
        wall.append(time.perf_counter() - start)
        processor.append(time.thread_time() - busy)
    kernels, gpu = len(executable.kernels), _gpu_microseconds(executable, inputs, rounds)
    return (
        f"{name}: a call of {kernels} kernels from numpy to numpy takes"
        f" {statistics.median(wall) * 1e6:.0f} us, of which its thread computes"
        f" {statistics.median(processor) * 1e6:.0f} us, and the GPU {gpu:.1f} us"
    )


def _first(folder: Path, name: str, target: str) -> str:
    try:
        found = first_calls(folder, name, target)
    except (subprocess.SubprocessError, OSError) as error:
        return f"{name}: first call FAILED: {getattr(error, 'stderr', '') or error}"
    times = ", ".join(
        f"{kind} {each['load']:.3f} + {each['first']:.3f} s (then {each['second']:.4f})"
        for kind, each in found.items()
    )
    return f"{name}: load and first call of a process: {times}"


def _copy_bandwidth(opened: OpenDevice, rounds: int) -> float:
    """Return bytes a second that the driver's copies read and write."""
    usage = wgpu_module().BufferUsage
    device = opened.device
    flags = usage.COPY_SRC | usage.COPY_DST | usage.STORAGE
    source, target = (device.create_buffer(size=_COPIED, usage=flags) for _ in range(2))

    def seconds(count: int) -> float:
        encoder = device.create_command_encoder()
        for _ in range(count):
            encoder.copy_buffer_to_buffer(source, 0, target, 0, _COPIED)
        commands = encoder.finish()
        start = time.perf_counter()
        device.queue.submit([commands])
        device.queue.read_buffer(target, 0, 4)  # once all is done
        return time.perf_counter() - start

    seconds(1)
    few, many = 4, 24
    differences = [seconds(many) - seconds(few) for _ in range(rounds)]
    return 2 * _COPIED * (many - few) / statistics.median(differences)

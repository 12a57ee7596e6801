# SPDX-License-Identifier: MIT OR Apache-2.0
"""Measures rows of `bench.webgpu run`: times on the GPU's clock and of calls, and results.

Every function returns numbers for the record; `bench.webgpu.lines` says them in words.
"""

from __future__ import annotations

import statistics
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import xyntra
from bench.webgpu.inputs import inputs_of, weights_of
from bench.webgpu.plugin import plugin_session
from bench.webgpu.rows import ARCHITECTURES, FILES, NETWORKS, OPERATIONS, artifact
from xyntra.targets.webgpu.adapter import OpenDevice, wgpu_module

__all__ = ["beyond", "clocks", "copy_bandwidth", "host_cost", "measure_plugin", "measure_row"]

Array = np.ndarray[Any, Any]
Record = dict[str, Any]
_COPIED = 1 << 27  # bytes
_WARM = 0.7  # seconds of calls ahead of a measurement, in which clocks rise
_SPENT = 1.0  # seconds after which no further round begins: large inputs take long to be copied
_COPIERS = 256  # threads of a workgroup, so that the grid has 32,768
_COPY = f"""
@group(0) @binding(0) var<storage> x: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> y: array<vec4<f32>>;
@compute @workgroup_size({_COPIERS})
fn main(@builtin(global_invocation_id) id: vec3<u32>) {{ y[id.x] = x[id.x]; }}
"""
_PEERS_OPSET = 20
"""Without the operator Attention, of which onnxruntime 1.32 refuses masks that broadcast."""
_RELATIVE, _ABSOLUTE = 1e-3, 1e-4


def measure_row(folder: Path, name: str, target: str, rounds: int, bandwidth: float) -> Record:
    """Measure an operation or a model, beside the CUDA target where it has a GPU.

    Args:
        folder: what `prepare` has filled.
        name: of the row.
        target: "webgpu" or "webgpu:1".
        rounds: calls of which times are the median.
        bandwidth: bytes a second of a copy, which rates are compared with.

    Raises:
        FileNotFoundError: nothing was prepared for WebGPU.
    """
    paths = {kind: artifact(folder, name, kind) for kind in ARCHITECTURES}
    paths = {kind: path for kind, path in paths.items() if path.is_file()}
    if not paths:
        raise FileNotFoundError(f"{folder} has no artifact of {name} for WebGPU")
    weights, inputs = weights_of(folder, name), inputs_of(name)
    expected = _expected(folder, name, inputs)
    found: Record = {}
    for architecture, path in paths.items():
        executable = xyntra.load(path, weights=weights, target=target)
        results = list(executable.run(inputs).values())
        measured = _measured(executable, inputs, rounds)
        measured |= _rates(name, measured["gpu_us"], bandwidth)
        measured["beyond"] = beyond(results, expected, _terms(name))
        found[architecture] = measured
        del executable
    path = artifact(folder, name, "cuda")
    if path.is_file() and _has_cuda():
        executable = xyntra.load(path, weights=weights)
        executable.run(inputs)
        found["cuda"] = _measured(executable, inputs, rounds)
    return found


def _measured(executable: Any, inputs: Mapping[str, Array], rounds: int) -> Record:
    """Return the times of calls and kernels, once the GPU has been busy for a while."""
    _warm_up(executable.run, inputs)
    times = _kernel_microseconds(executable, inputs, rounds)
    named = zip(executable.kernels, times, strict=True)
    return {
        "gpu_us": sum(times),
        "call_us": _call_microseconds(executable.run, inputs, rounds),
        "clocks": clocks(),
        "kernels": [
            {"name": each.name, "us": round(took, 2), "schedules": [*each.schedules]}
            for each, took in named
        ],
    }


def clocks() -> str | None:
    """Return the clocks of NVIDIA's GPU and its memory; None where nothing tells them."""
    command = ["nvidia-smi", "--query-gpu=clocks.sm,clocks.mem,pstate", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _warm_up(call: Callable[[Mapping[str, Array]], Any], inputs: Mapping[str, Array]) -> None:
    end = time.perf_counter() + _WARM
    while time.perf_counter() < end:
        call(inputs)


def _terms(name: str) -> int:
    """Return how many products each result of an operation adds up; 0 for other rows."""
    operation = OPERATIONS.get(name)
    return operation.inputs[0][-1] if operation is not None and operation.flops else 0


def measure_plugin(folder: Path, name: str, rounds: int) -> Record:
    """Measure onnxruntime's WebGPU plugin on a model: its first call, and others.

    Raises:
        RuntimeError: there is no plugin, it has no adapter, or it fails.
    """
    inputs, path = inputs_of(name), _model_file(folder, name)
    start = time.perf_counter()
    session = plugin_session(path)
    load = time.perf_counter() - start

    def call(given: Mapping[str, Array]) -> Any:
        return session.run(None, dict(given))

    names = [each.name for each in session.get_inputs()]
    # An exporter names inputs as it likes; their order is the model's.
    inputs = dict(zip(names, inputs.values(), strict=True)) if set(names) - set(inputs) else inputs
    start = time.perf_counter()
    results = call(inputs)
    first = time.perf_counter() - start
    found = {"load_s": load, "first_s": first, "call_us": _call_microseconds(call, inputs, rounds)}
    return found | {"beyond": beyond(results, _expected(folder, name, inputs))}


def _model_file(folder: Path, name: str) -> Path:
    """Return the ONNX file of a model; that of a network is exported when it is first wanted."""
    path = folder / f"{name.replace(' ', '_')}.onnx"
    if name not in FILES and not path.is_file():
        import onnx

        from bench.cuda.models import onnx_network
        from bench.cuda.networks import network

        model = onnx_network(network(NETWORKS[name].network), NETWORKS[name], _PEERS_OPSET)
        onnx.save(model, path)
    return path


def host_cost(folder: Path, name: str, target: str, rounds: int) -> Record:
    """Measure what a call costs beside the GPU's own time."""
    executable = xyntra.load(artifact(folder, name, "webgpu"), target=target)
    inputs = inputs_of(name)
    executable.run(inputs)
    wall, processor = [], []
    for _ in range(20 * rounds):
        start, busy = time.perf_counter(), time.thread_time()
        executable.run(inputs)
        wall.append(time.perf_counter() - start)
        processor.append(time.thread_time() - busy)
    return {
        "kernels": len(executable.kernels),
        "gpu_us": sum(_kernel_microseconds(executable, inputs, rounds)),
        "call_us": statistics.median(wall) * 1e6,
        "thread_us": statistics.median(processor) * 1e6,
    }


def _rates(name: str, microseconds: float, bandwidth: float) -> Record:
    operation = OPERATIONS.get(name)
    if operation is None:
        return {}
    if operation.flops:
        return {"gflops": operation.flops / microseconds / 1e3}
    moved = operation.nbytes / microseconds * 1e6
    return {"bytes_per_s": moved, "of_a_copy": moved / bandwidth}


def _has_cuda() -> bool:
    from xyntra.targets.table import backend_named

    return any(str(each).startswith("cuda") for each in backend_named("cuda").devices())


def _kernel_microseconds(executable: Any, inputs: Mapping[str, Array], rounds: int) -> list[float]:
    """Return the median time of each kernel, on the GPU's clock."""
    taken = [executable.time_kernels(inputs) for _ in _rounds(rounds)]
    return [statistics.median(each) / 1e3 for each in zip(*taken, strict=True)]


def _call_microseconds(
    call: Callable[[Mapping[str, Array]], Any], inputs: Mapping[str, Array], rounds: int
) -> float:
    times = []
    for _ in _rounds(rounds):
        start = time.perf_counter()
        call(inputs)
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e6


def _rounds(rounds: int) -> Iterator[int]:
    """Count rounds, of which none begins once they have taken long."""
    end = time.perf_counter() + _SPENT
    for number in range(rounds):
        yield number
        if time.perf_counter() > end:
            return


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


def beyond(results: Sequence[Array], expected: Sequence[Array], terms: int = 0) -> int:
    """Return how many numbers are beyond 1e-3 relative and 1e-4 absolute.

    Args:
        results: what was computed.
        expected: what is right.
        terms: products of normal numbers that a result adds up in f32. Each sum of them is off by
            2^-25 of itself at most, in all by a standard deviation below 0.41 * 2^-24 * terms,
            of which six are allowed.
    """
    absolute = _ABSOLUTE + 2.5 * 2.0**-24 * terms
    return sum(
        int(np.sum(~(np.abs(mine - theirs) <= absolute + _RELATIVE * np.abs(theirs))))
        for mine, theirs in zip(results, expected, strict=True)
    )


def copy_bandwidth(opened: OpenDevice, rounds: int) -> float:
    """Return the bytes a second that a kernel reads and writes, which copies a large buffer."""
    usage, device = wgpu_module().BufferUsage, opened.device
    flags = usage.COPY_SRC | usage.COPY_DST | usage.STORAGE
    source, target = (device.create_buffer(size=_COPIED, usage=flags) for _ in range(2))
    module = device.create_shader_module(code=_COPY)
    pipeline = device.create_compute_pipeline(
        layout="auto", compute={"module": module, "entry_point": "main"}
    )
    entries = [
        {"binding": number, "resource": {"buffer": each, "offset": 0, "size": _COPIED}}
        for number, each in enumerate((source, target))
    ]
    bindings = device.create_bind_group(layout=pipeline.get_bind_group_layout(0), entries=entries)

    def seconds(count: int) -> float:
        encoder = device.create_command_encoder()
        for _ in range(count):
            compute = encoder.begin_compute_pass()
            compute.set_pipeline(pipeline)
            compute.set_bind_group(0, bindings)
            compute.dispatch_workgroups(_COPIED // (16 * _COPIERS))
            compute.end()
        commands = encoder.finish()
        start = time.perf_counter()
        device.queue.submit([commands])
        device.queue.read_buffer(target, 0, 4)  # once all is done
        return time.perf_counter() - start

    end = time.perf_counter() + _WARM
    while time.perf_counter() < end:
        seconds(4)
    few, many = 4, 24
    differences = [seconds(many) - seconds(few) for _ in range(rounds)]
    return 2 * _COPIED * (many - few) / statistics.median(differences)

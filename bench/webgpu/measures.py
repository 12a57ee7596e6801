# SPDX-License-Identifier: MIT OR Apache-2.0
"""Measures rows of `bench.webgpu run`: times on the GPU's clock and of calls, and results.

Every function returns numbers for the record; `bench.webgpu.lines` says them in words.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import xyntra
from bench.webgpu.inputs import inputs_of, weights_of
from bench.webgpu.plugin import plugin_session
from bench.webgpu.rows import FILES, NETWORKS, OPERATIONS, artifact
from xyntra.targets.webgpu.adapter import OpenDevice, wgpu_module

__all__ = ["beyond", "copy_bandwidth", "host_cost", "measure_plugin", "measure_row"]

Array = np.ndarray[Any, Any]
Record = dict[str, Any]
_COPIED = 1 << 27  # bytes
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
    """
    weights, inputs = weights_of(folder, name), inputs_of(name)
    executable = xyntra.load(artifact(folder, name, "webgpu"), weights=weights, target=target)
    results = list(executable.run(inputs).values())
    found: Record = {"kernels": len(executable.kernels)}
    found["gpu_us"] = microseconds = _gpu_microseconds(executable, inputs, rounds)
    found["call_us"] = _call_microseconds(executable.run, inputs, rounds)
    found |= _rates(name, microseconds, bandwidth)
    found["beyond"] = beyond(results, _expected(folder, name, inputs))
    if _has_cuda():
        found["cuda"] = _cuda(folder, name, weights, inputs, rounds)
    return found


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
        "gpu_us": _gpu_microseconds(executable, inputs, rounds),
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


def _cuda(
    folder: Path,
    name: str,
    weights: Mapping[str, Array] | None,
    inputs: Mapping[str, Array],
    rounds: int,
) -> Record:
    executable = xyntra.load(artifact(folder, name, "cuda"), weights=weights)
    executable.run(inputs)
    gpu = _gpu_microseconds(executable, inputs, rounds)
    return {"gpu_us": gpu, "call_us": _call_microseconds(executable.run, inputs, rounds)}


def _gpu_microseconds(executable: Any, inputs: Mapping[str, Array], rounds: int) -> float:
    """Return the median sum of the times of all kernels, on the GPU's clock."""
    return statistics.median(sum(executable.time_kernels(inputs)) / 1e3 for _ in range(rounds))


def _call_microseconds(
    call: Callable[[Mapping[str, Array]], Any], inputs: Mapping[str, Array], rounds: int
) -> float:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        call(inputs)
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


def beyond(results: list[Array], expected: list[Array]) -> int:
    """Return how many numbers are beyond 1e-3 relative and 1e-4 absolute."""
    return sum(
        int(np.sum(~(np.abs(mine - theirs) <= _ABSOLUTE + _RELATIVE * np.abs(theirs))))
        for mine, theirs in zip(results, expected, strict=True)
    )


def copy_bandwidth(opened: OpenDevice, rounds: int) -> float:
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

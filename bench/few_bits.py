# SPDX-License-Identifier: MIT OR Apache-2.0
"""Products with weights of 4 bits: `python -m bench.few_bits`, beside onnxruntime's MatMulNBits.

At the sizes of a decoder of a billion parameters, with one row (decoding) and 128 (a prompt). The
model is a chain of products with weights of its own, so that these come from memory. On the CPU
both take turns, and so does ggml, the library of llama.cpp, if xllamacpp is installed. With
`--target cuda`, which needs a GPU and PyTorch, the products are captured in a CUDA graph, beside
f16 products of PyTorch; `--check` compares with float64 and does no more. `--prepare DIR --target
cuda:sm_90a` compiles on any machine, for `--artifacts DIR` at the GPU.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.ggml_products import ggml_chain
from bench.harness.machine import describe, slug
from bench.harness.measure import ROOT, write_json

__all__ = ["main"]

Row = dict[str, Any]
_SIZES = ((2048, 2048), (2048, 8192), (8192, 2048))
_ROWS = (1, 128)
_BLOCK = 32
_CHAIN = 8  # products with a weight each, of one size and its transpose by turns
_TOLERANCE = {"float32": 2e-6, "float16": 2e-3}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns 0 if every result was right."""
    parser = argparse.ArgumentParser(prog="python -m bench.few_bits", description=__doc__)
    parser.add_argument("--target", default="cpu", help="cpu (default), cuda, cuda:sm_90a")
    parser.add_argument("--rows", type=int, nargs="*", default=_ROWS)
    parser.add_argument("--threads", type=int, default=1, help="on the CPU (default 1)")
    parser.add_argument("--rounds", type=int, default=15, help="of turns (default 15)")
    parser.add_argument("--check", action="store_true", help="compare results, and time nothing")
    parser.add_argument("--prepare", type=Path, metavar="DIR", help="compile into it, and stop")
    parser.add_argument("--artifacts", type=Path, metavar="DIR", help="what --prepare wrote")
    parser.add_argument("--json", type=Path, help="default: bench/results/few_bits-….json")
    options = parser.parse_args(arguments)
    if options.prepare:
        return _prepare(options)
    rows = []
    for count in options.rows:
        for steps, columns in _SIZES:
            rows.append(_row(count, steps, columns, options))
            _print(rows[-1])
    machine = describe()
    name = slug(machine)
    if _is_gpu(options):
        import torch

        machine["gpu"] = torch.cuda.get_device_name()
        name = "-".join(str(machine["gpu"]).lower().split())
    if not options.check:
        path = options.json or ROOT / "bench" / "results" / f"few_bits-{name}.json"
        write_json(path, {"machine": machine, "rows": rows})
    return int(any(row["wrong"] for row in rows))


def _is_gpu(options: argparse.Namespace) -> bool:
    return bool(options.target.startswith("cuda"))


def _prepare(options: argparse.Namespace) -> int:
    """Compile the chains and the single products of all rows, without their weights."""
    import xyntra

    options.prepare.mkdir(parents=True, exist_ok=True)
    for rows in options.rows:
        for steps, columns in _SIZES:
            x, layers = _case(rows, steps, columns, options)
            for count in (1, _CHAIN):
                executable = xyntra.compile(_model(x, layers[:count]), target=options.target)
                file = options.prepare / _file(x, layers[:count])
                executable.save(file, weights=False)
                print(f"{file.name}: {len(executable.kernels)} kernels", flush=True)
    return 0


def _file(x: np.ndarray, layers: Sequence[tuple[np.ndarray, np.ndarray]]) -> str:
    (rows, steps), columns = x.shape, layers[0][0].shape[0]
    return f"few_bits_{rows}x{steps}x{columns}_{len(layers)}.xyn"


def _case(
    rows: int, steps: int, columns: int, options: argparse.Namespace
) -> tuple[np.ndarray, list[tuple[np.ndarray, np.ndarray]]]:
    """Return the input of a chain of products, and their weights."""
    dtype = "float16" if _is_gpu(options) else "float32"
    shapes = [(steps, columns) if i % 2 == 0 else (columns, steps) for i in range(_CHAIN)]
    layers = [_layer(*shape, dtype, seed) for seed, shape in enumerate(shapes)]
    return np.random.default_rng(9).standard_normal((rows, steps)).astype(dtype), layers


def _row(rows: int, steps: int, columns: int, options: argparse.Namespace) -> Row:
    x, layers = _case(rows, steps, columns, options)
    found = np.asarray(_executable(x, layers[:1], options)(x))
    size = np.abs(x.astype(np.float64)) @ np.abs(_dequantized(layers[0])) + 1e-3
    error = np.abs(found.astype(np.float64) - x.astype(np.float64) @ _dequantized(layers[0]))
    row: Row = {"rows": rows, "steps": steps, "columns": columns, "microseconds": {}}
    row["error"] = float((error / size).max())
    row["wrong"] = not row["error"] <= _TOLERANCE[x.dtype.name]
    row["weight_bytes"] = sum(q.nbytes + s.nbytes for q, s in layers) / _CHAIN
    if not options.check:
        measure = _on_gpu if _is_gpu(options) else _on_cpu
        row["microseconds"] = measure(x, layers, options)
    return row


def _layer(steps: int, columns: int, dtype: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return integers and scales of a weight that keeps the size of what it multiplies."""
    rng = np.random.default_rng(seed)
    shape = (columns, steps // _BLOCK, _BLOCK // 2)
    scales = rng.uniform(0.5, 1.5, shape[0] * shape[1]) / (4.6 * np.sqrt(steps))
    return rng.integers(0, 256, shape, np.uint8), scales.astype(dtype)


def _dequantized(layer: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Return the weight [K, N] in float64."""
    packed, scales = layer
    integers = np.stack([packed & 15, packed >> 4], -1).reshape(*packed.shape[:2], -1)
    values = (integers.astype(np.float64) - 8) * scales.reshape(*packed.shape[:2], 1)
    return values.reshape(packed.shape[0], -1).T


def _model(x: np.ndarray, layers: Sequence[tuple[np.ndarray, np.ndarray]]) -> Any:
    import onnx
    from onnx import helper, numpy_helper

    kind, nodes, constants, name = helper.np_dtype_to_tensor_dtype(x.dtype), [], [], "x"
    for i, (packed, scales) in enumerate(layers):
        columns, blocks, _ = packed.shape
        sizes = {"K": blocks * _BLOCK, "N": columns, "bits": 4, "block_size": _BLOCK}
        inputs = [name, f"b{i}", f"s{i}"]
        name = f"y{i}"
        nodes.append(
            helper.make_node("MatMulNBits", inputs, [name], domain="com.microsoft", **sizes)
        )
        constants += [
            numpy_helper.from_array(array, key)
            for array, key in zip((packed, scales), inputs[1:], strict=True)
        ]
    shape = [x.shape[0], layers[-1][0].shape[0]]
    graph = helper.make_graph(
        nodes,
        "chain",
        [helper.make_tensor_value_info("x", kind, x.shape)],
        [helper.make_tensor_value_info(name, kind, shape)],
        constants,
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    model: onnx.ModelProto = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    return model


def _executable(x: np.ndarray, layers: Sequence[Any], options: argparse.Namespace) -> Any:
    import xyntra

    threads = None if _is_gpu(options) else options.threads
    if options.artifacts:
        weights = {f"b{i}": packed for i, (packed, _) in enumerate(layers)}
        weights |= {f"s{i}": scales for i, (_, scales) in enumerate(layers)}
        file = options.artifacts / _file(x, layers)
        return xyntra.load(file, weights=weights, threads=threads)
    return xyntra.compile(_model(x, layers), target=options.target, threads=threads)


def _on_cpu(x: np.ndarray, layers: Sequence[Any], options: Any) -> dict[str, float]:
    """Return the least microseconds of a product, by turns."""
    import onnxruntime

    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = options.threads
    providers = ["CPUExecutionProvider"]
    model = _model(x, layers).SerializeToString()
    session = onnxruntime.InferenceSession(model, settings, providers)
    executable = _executable(x, layers, options)
    entrants: dict[str, Callable[[], object]] = {
        "xyntra": lambda: executable(x),
        "onnxruntime": lambda: session.run(None, {"x": x}),
    }
    ggml = ggml_chain(x, layers, options.threads)
    if ggml is not None:
        entrants["ggml Q4_0"] = ggml
    times: dict[str, list[float]] = {name: [] for name in entrants}
    for _ in range(options.rounds):
        for name, call in entrants.items():
            start = time.perf_counter()
            call()
            times[name].append((time.perf_counter() - start) * 1e6 / len(layers))
    return {name: min(each) for name, each in times.items()}


def _on_gpu(x: np.ndarray, layers: Sequence[Any], options: Any) -> dict[str, float]:
    """Return the median microseconds of a product in CUDA graphs, by turns."""
    import torch

    from bench.cuda.timing import captured, launches_of, take_turns

    executable = _executable(x, layers, options)
    given = torch.from_numpy(x).cuda()
    output = torch.empty(executable.outputs[0].shape, device="cuda", dtype=torch.float16)
    weights = [torch.from_numpy(_dequantized(each).astype(x.dtype)).cuda() for each in layers]

    def products() -> object:
        value = given
        for weight in weights:
            value = value @ weight
        return value

    graphs = {
        "xyntra": captured(launches_of(executable, [given], [output]), 1),
        "torch f16": captured(products, 1),
    }
    found = take_turns(graphs, 1, options.rounds)
    return {name: statistics.median([each]) / len(layers) for name, each in found.items()}


def _print(row: Row) -> None:
    times = "   ".join(
        f"{name} {each:9.1f} us ({row['weight_bytes'] / each / 1e3:6.1f} GB/s)"
        for name, each in row["microseconds"].items()
    )
    size = f"{row['rows']:4} x {row['steps']:5} x {row['columns']:5}"
    print(f"{size}   error {row['error']:.1e}{'  WRONG' * row['wrong']}   {times}", flush=True)


if __name__ == "__main__":
    sys.exit(main())

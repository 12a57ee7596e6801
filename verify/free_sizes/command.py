# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compares random graphs with free dimensions with onnxruntime, and with static compilations."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import xyntra
from verify.free_sizes.graphs import RANGES, Graph, random_graph
from verify.free_sizes.maker import Shape
from verify.free_sizes.record import Record
from xyntra.errors import UnsupportedError, XyntraError
from xyntra.executable import Executable

__all__ = ["main"]

Array = np.ndarray[Any, Any]
_SIZES = 5


def main() -> int:
    """Run the check; the exit status is 1 where a result differs."""
    parser = argparse.ArgumentParser(prog="python -m verify.free_sizes", description=__doc__)
    parser.add_argument("--graphs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0, help="of the first graph")
    parser.add_argument("--static", action="store_true", help="compile for each size, too")
    parser.add_argument("--target", default="cpu", help="cpu, or cuda where there is a GPU")
    parser.add_argument("--zero", action="store_true", help="let sizes that begin at 1 begin at 0")
    parser.add_argument("--seconds", type=float, help="after which no graph is begun")
    parser.add_argument("--record", type=Path, help="a JSON file, from which to go on")
    options = parser.parse_args()
    facts = {"target": options.target, "static": options.static, "zero": options.zero}
    record = Record(options.seed, facts, options.record)
    record.resume()
    start = time.monotonic()
    for seed in record.seeds(options.graphs):
        if options.seconds is not None and time.monotonic() - start > options.seconds:
            break
        outcome = _check(seed, options.target, static=options.static, zero=options.zero)
        record.add(seed, outcome)
        if outcome != "right":
            print(f"seed {seed}: {outcome}", flush=True)
    record.write()
    print(", ".join(f"{count} {name}" for name, count in record.counts.most_common()))
    return int(record.counts["wrong"] + record.counts["failed"] > 0)


def _check(seed: int, target: str, *, static: bool, zero: bool = False) -> str:
    """Return "right", or "refused", "wrong" or "failed" with what there is to say."""
    graph = random_graph(seed)
    names = {axis for shape in graph.inputs.values() for axis in shape if isinstance(axis, str)}
    dims = {name: RANGES[name] for name in sorted(names)}
    if zero:
        dims = {name: range(each.stop) if each.step == 1 else each for name, each in dims.items()}
    settings = {"cache": False, "strict": True}
    try:
        exe = xyntra.compile(graph.model, target=target, dims=dims, config=settings)
    except UnsupportedError as error:
        return f"refused: {error.cause or error.message}"
    except XyntraError as error:
        is_known = zero and not _has_reference(graph, _inputs(seed, graph, _least(dims)))
        return "without elements: as onnxruntime" if is_known else f"failed: {error}"
    for sizes in _sizes(Random(seed), dims):
        inputs = _inputs(seed, graph, sizes)
        expected = _reference(graph, inputs)
        try:
            found = _run(exe, inputs, expected) if target == "cpu" else exe.run(inputs)
        except XyntraError as error:
            return f"failed: {sizes}: {error}"
        for (name, array), wanted in zip(found.items(), expected, strict=True):
            if not _is_close(array, wanted):
                return f"wrong: '{name}' at {sizes} by {_distance(array, wanted):.3g}"
        if static:
            whole = xyntra.compile(graph.model, target=target, dims=sizes, config=settings)
            for name, array in whole.run(inputs).items():
                if not _is_close(found[name], array):
                    return f"wrong: '{name}' at {sizes}, beside a static compilation"
    return "right"


def _run(
    exe: Executable, inputs: Mapping[str, Array], expected: Sequence[Array]
) -> dict[str, Array]:
    """Return outputs by name, written over NaN: what is not written differs."""
    out = [np.full(array.shape, np.nan, array.dtype) for array in expected]
    exe(*(inputs[port.name] for port in exe.inputs), out=out)
    return {port.name: array for port, array in zip(exe.outputs, out, strict=True)}


def _sizes(random: Random, dims: Mapping[str, range]) -> Iterator[dict[str, int]]:
    yield _least(dims)
    yield {name: sizes[-1] for name, sizes in dims.items()}
    for _ in range(_SIZES - 2):
        yield {name: random.choice(sizes) for name, sizes in dims.items()}


def _least(dims: Mapping[str, range]) -> dict[str, int]:
    return {name: sizes[0] for name, sizes in dims.items()}


def _inputs(seed: int, graph: Graph, sizes: Mapping[str, int]) -> dict[str, Array]:
    rng = np.random.default_rng(seed)

    def shape_of(shape: Shape) -> list[int]:
        return [sizes[axis] if isinstance(axis, str) else axis for axis in shape]

    return {
        name: rng.standard_normal(shape_of(shape)).astype(np.float32)
        for name, shape in graph.inputs.items()
    }


def _reference(graph: Graph, inputs: Mapping[str, Array]) -> list[Array]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(graph.model.SerializeToString(), options)
    found: list[Array] = session.run(None, dict(inputs))
    return found


def _has_reference(graph: Graph, inputs: Mapping[str, Array]) -> bool:
    """Tell whether onnxruntime takes these inputs."""
    try:
        _reference(graph, inputs)
    except Exception:  # of onnxruntime, which has many
        return False
    return True


def _is_close(found: Array, expected: Array) -> bool:
    if found.shape != expected.shape:
        return False
    scale = float(np.abs(expected[np.isfinite(expected)]).max(initial=1.0))
    return bool(np.allclose(found, expected, rtol=1e-3, atol=2e-5 * scale, equal_nan=True))


def _distance(found: Array, expected: Array) -> float:
    return float(np.abs(found - expected).max()) if found.shape == expected.shape else float("nan")

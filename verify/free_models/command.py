# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compares exported networks with free dimensions with onnxruntime, at twelve sizes each."""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnx

import xyntra
from verify.free_models.network import Network
from xyntra.errors import UnsupportedError, XyntraError
from xyntra.executable import Executable

__all__ = ["main"]

Array = np.ndarray[Any, Any]
_SIZES = 12
_PRIMES = (2, 3, 5, 7, 17, 37, 67, 131, 257, 509)
_MOST_ELEMENTS = 1 << 22
"""Of inputs: larger ones are replaced, so that a run does not take hours."""


def main() -> int:
    """Run the check; the exit status is 1 where a result differs."""
    from verify.architectures.libraries import declare_operators

    declare_operators()
    from verify.free_models import other_models, transformers_models  # with torch
    from verify.free_models.exporting import EXPORTERS

    models = {**transformers_models.MODELS, **other_models.MODELS}
    parser = argparse.ArgumentParser(prog="python -m verify.free_models", description=__doc__)
    parser.add_argument("names", nargs="*", help=", ".join(models))
    parser.add_argument("--exporter", choices=(*EXPORTERS, "both"), default="both")
    parser.add_argument("--target", default="cpu")
    parser.add_argument("--json", type=Path, help="add a line for each network")
    options = parser.parse_args()
    exporters = EXPORTERS if options.exporter == "both" else (options.exporter,)
    counts: Counter[str] = Counter()
    for name in options.names or models:
        for exporter in exporters:
            row = {"model": name, "exporter": exporter}
            row |= _checked(models[name], exporter, options.target)
            counts[row["outcome"]] += 1
            print(", ".join(f"{key} {value}" for key, value in row.items()), flush=True)
            if options.json is not None:
                with options.json.open("a") as file:
                    file.write(json.dumps(row) + "\n")
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.most_common()))
    return int(counts["wrong"] + counts["failed"] > 0)


def _checked(make: Any, exporter: str, target: str) -> dict[str, Any]:
    """Return what came out, in words, and the seconds of the compilation."""
    from verify.free_models.exporting import export

    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        try:
            network = make()
            export(network, path, exporter)
        except Exception as error:  # PyTorch raises what it likes
            return {"outcome": "not exported", "cause": str(error).strip().splitlines()[:1]}
        start = time.perf_counter()
        try:
            dims = _named(network, path)
            exe = xyntra.compile(path, target=target, dims=dims, config={"cache": False})
        except UnsupportedError as error:
            return {"outcome": "refused", "cause": error.cause or error.message, "at": error.place}
        except XyntraError as error:
            return {"outcome": "failed", "cause": str(error)}
        compiled = {"compile_s": round(time.perf_counter() - start, 1)}
        return {"outcome": _compared(exe, network, path), **compiled, **_shape_of(exe)}


def _named(network: Network, path: Path) -> dict[str, range | str]:
    """Return sizes of the dimensions by the names that the file has for them.

    A sum may be written out there, or be called by a name of the exporter's.
    """
    graph = onnx.load(path, load_external_data=False).graph
    shapes = {each.name: each.type.tensor_type.shape.dim for each in graph.input}
    found: dict[str, range | str] = {}
    for name, axes in zip(network.names, network.axes, strict=True):
        for place, axis in axes.items() if name in shapes else ():
            own = shapes[name][place].dim_param
            if own.isidentifier():
                found[own] = network.dims[axis]
    return found


def _shape_of(exe: Executable) -> dict[str, int]:
    free = exe.plan.free
    kernels = () if free is None else free.kernels
    plain = sum("loops" in each.words for each in kernels)
    return {
        "kernels": len(exe.kernels),
        "several": sum(len(k.words) > 1 for k in kernels),
        "with_loops": plain,
    }


def _compared(exe: Executable, network: Network, path: Path) -> str:
    import onnxruntime

    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    names = [each.name for each in session.get_inputs()]
    ranges = {name: sizes for name, sizes in network.dims.items() if isinstance(sizes, range)}
    for sizes in _sizes(network, ranges):
        inputs = {name: array for name, array in _inputs(network, sizes).items() if name in names}
        wanted = session.run(None, inputs)
        try:
            found = exe.run(inputs)
        except XyntraError as error:
            return f"failed: at {sizes}: {error}"
        for (name, array), expected in zip(found.items(), wanted, strict=True):
            scale = float(np.abs(expected).max(initial=1e-6))
            if array.shape != expected.shape or not np.allclose(
                array, expected, rtol=2e-3, atol=2e-4 * scale
            ):
                return f"wrong: '{name}' at {sizes}"
    return "right"


def _sizes(network: Network, ranges: Mapping[str, range]) -> Iterator[dict[str, int]]:
    """Yield the smallest sizes, primes and the largest ones."""
    random = Random(0)
    found: list[dict[str, int]] = [{name: sizes[0] for name, sizes in ranges.items()}]
    for name, sizes in ranges.items():
        found.append({**found[0], name: sizes[-1]})
    while len(found) < _SIZES:
        drawn = {
            name: random.choice([n for n in _PRIMES if n in sizes] or list(sizes))
            for name, sizes in ranges.items()
        }
        found.append(drawn)
    for sizes in found[:_SIZES]:
        yield _bounded(network, sizes, ranges)


def _bounded(
    network: Network, sizes: dict[str, int], ranges: Mapping[str, range]
) -> dict[str, int]:
    """Return sizes with a smaller batch where the inputs would be very large."""
    while sizes.get("batch", 1) > 1 and _elements(network, sizes) > _MOST_ELEMENTS:
        sizes = {**sizes, "batch": max(ranges["batch"][0], sizes["batch"] // 2)}
    return sizes


def _elements(network: Network, sizes: Mapping[str, int]) -> int:
    return sum(int(np.prod(_shape(network, n, sizes))) for n in range(len(network.inputs)))


def _shape(network: Network, number: int, sizes: Mapping[str, int]) -> list[int]:
    shape = list(network.inputs[number].shape)
    for place, name in network.axes[number].items():
        rule = network.dims[name]
        shape[place] = sizes[name] if isinstance(rule, range) else _sum(rule, sizes)
    return shape


def _sum(rule: str, sizes: Mapping[str, int]) -> int:
    return sum(sizes[name.strip()] for name in rule.split("+"))


def _inputs(network: Network, sizes: Mapping[str, int]) -> dict[str, Array]:
    rng = np.random.default_rng(sum(sizes.values()))
    found: dict[str, Array] = {}
    for number, name in enumerate(network.names):
        shape = _shape(network, number, sizes)
        if "mask" in name:
            found[name] = np.ones(shape, np.int64)
            if len(shape) == 2 and shape[0] > 1:
                found[name][1:, shape[1] - shape[1] // 3 :] = 0
        elif "position" in name:
            found[name] = np.broadcast_to(np.arange(shape[1]) + sizes.get("past", 0), shape).copy()
        elif network.inputs[number].is_floating_point():
            found[name] = rng.standard_normal(shape).astype(np.float32)
        else:
            found[name] = (
                rng.integers(5, 900, shape) if "type" not in name else np.zeros(shape, np.int64)
            )
    return found

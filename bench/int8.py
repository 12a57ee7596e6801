# SPDX-License-Identifier: MIT OR Apache-2.0
"""Trained models in int8 on the CPU: `python -m bench.int8`, beside onnxruntime's quantizer.

By turns and with one number of threads: Xyntra in f32 and with `precision="int8"`; onnxruntime in
f32, as `quantize_dynamic` makes it, and as `quantize_static` does from the same samples, with
scales for each channel where it can. Errors are of outputs, relative to f32, over other inputs.
"""

from __future__ import annotations

import argparse
import logging
import math
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from bench.harness.machine import describe, slug
from bench.harness.measure import ROOT, write_json
from bench.models import DEFAULT_FOLDER, REGISTRY, ModelSpec, ensure

__all__ = ["main"]

Sample = Mapping[str, np.ndarray]
Call = Callable[[Sample], Sequence[np.ndarray]]
_MODELS = ("magika", "rapidocr-cls", "rapidocr-det", "rapidocr-rec", "minilm", "nudenet")
_OPSET = 13
"""The first operator set of which scales may vary along an axis."""
_CHECKED = 8
"""Inputs that errors are measured with."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns 0."""
    parser = argparse.ArgumentParser(prog="python -m bench.int8", description=__doc__)
    parser.add_argument("models", nargs="*", metavar="MODEL", default=_MODELS)
    parser.add_argument("--samples", type=int, default=64)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=15, help="of turns (default 15)")
    parser.add_argument("--tolerance", type=float, default=0.1)
    parser.add_argument(
        "--cpu-time",
        action="store_true",
        help="of the calling thread, for one thread beside others",
    )
    parser.add_argument("--json", type=Path, help="default: bench/results/int8-….json")
    options = parser.parse_args(arguments)
    if options.cpu_time and options.threads > 1:
        parser.error("--cpu-time is for one thread")
    logging.getLogger().setLevel(logging.ERROR)  # of what the quantizer advises
    rows = []
    for name in options.models:
        rows.append(_row(REGISTRY[name], options))
        _print(rows[-1])
    machine = describe()
    path = options.json or ROOT / "bench" / "results" / f"int8-{slug(machine)}.json"
    clock = "thread" if options.cpu_time else "wall"
    found = {"machine": machine, "threads": options.threads, "clock": clock, "rows": rows}
    write_json(path, found)
    return 0


def _row(spec: ModelSpec, options: argparse.Namespace) -> dict[str, Any]:
    path = ensure(spec.name, DEFAULT_FOLDER)
    samples = [spec.random_inputs(number) for number in range(options.samples)]
    inputs = [spec.random_inputs(5000 + number) for number in range(_CHECKED)]
    with TemporaryDirectory() as folder:
        entrants, kept = _entrants(spec, path, Path(folder), samples, options)
        exact = [entrants["onnxruntime f32"](each) for each in inputs]
        errors = {
            name: _error([call(each) for each in inputs], exact) for name, call in entrants.items()
        }
        clock = time.thread_time if options.cpu_time else time.perf_counter
        times = _times(entrants, inputs[0], options.rounds, clock)
    return {"model": spec.name, "microseconds": times, "error": errors, "kept in f32": kept}


def _entrants(
    spec: ModelSpec,
    path: Path,
    folder: Path,
    samples: Sequence[Sample],
    options: argparse.Namespace,
) -> tuple[dict[str, Call], int]:
    import xyntra

    how: dict[str, Any] = {"target": "cpu", "inputs": spec.shapes or None}
    how["threads"] = options.threads
    f32 = xyntra.compile(path, **how)
    int8 = xyntra.compile(
        path, precision="int8", samples=samples, tolerance=options.tolerance, **how
    )
    entrants: dict[str, Call] = {
        "xyntra f32": lambda sample: list(f32.run(sample).values()),
        "xyntra int8": lambda sample: list(int8.run(sample).values()),
        "onnxruntime f32": _session(path, options.threads),
    }
    for name, make in (("dynamic", _dynamic), ("static", _static)):
        try:
            written = make(path, folder / f"{name}.onnx", samples)
            entrants[f"onnxruntime {name}"] = _session(written, options.threads)
        except Exception as error:  # what a peer cannot do is part of the table
            print(f"{spec.name}: onnxruntime {name}: {str(error)[:150]}", file=sys.stderr)
    reasons = [reason for *_, reason in int8.plan.precisions if reason]
    return entrants, sum("tolerance" in reason for reason in reasons)


def _session(path: Path, threads: int) -> Call:
    import onnxruntime

    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(path, settings, ["CPUExecutionProvider"])
    return lambda sample: session.run(None, dict(sample))


def _dynamic(path: Path, output: Path, samples: Sequence[Sample]) -> Path:
    from onnxruntime.quantization import quantize_dynamic

    quantize_dynamic(path, output, per_channel=True)
    return output


def _static(path: Path, output: Path, samples: Sequence[Sample]) -> Path:
    import onnx
    import onnx.version_converter
    from onnxruntime.quantization import CalibrationDataReader, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Reader(CalibrationDataReader):  # type: ignore[misc]
        def __init__(self) -> None:
            self.rest = iter(samples)

        def get_next(self) -> dict[str, np.ndarray] | None:
            sample = next(self.rest, None)
            return None if sample is None else dict(sample)

    model = onnx.load(path)
    if model.opset_import[0].version < _OPSET:
        path = output.with_suffix(".converted.onnx")
        onnx.save(onnx.version_converter.convert_version(model, _OPSET), path)
    prepared = output.with_suffix(".prepared.onnx")
    quant_pre_process(path, prepared, skip_symbolic_shape=True)
    how = {"activation_type": QuantType.QUInt8, "weight_type": QuantType.QInt8}
    try:
        quantize_static(prepared, output, Reader(), per_channel=True, **how)
    except ValueError:  # of biases with a scale for each channel, in onnxruntime 1.31
        quantize_static(prepared, output, Reader(), per_channel=False, **how)
    return output


def _error(found: Sequence[Sequence[np.ndarray]], exact: Sequence[Sequence[np.ndarray]]) -> float:
    """Return the root mean square error of the first output, relative to it."""
    difference = size = 0.0
    for (x, *_), (y, *_) in zip(found, exact, strict=True):
        difference += float(np.square(x.astype(np.float64) - y).sum())
        size += float(np.square(y.astype(np.float64)).sum())
    return math.sqrt(difference / size)


def _times(
    entrants: Mapping[str, Call], sample: Sample, rounds: int, clock: Callable[[], float]
) -> dict[str, float]:
    """Return the least microseconds of a call, by turns."""
    times: dict[str, list[float]] = {name: [] for name in entrants}
    for _ in range(rounds):
        for name, call in entrants.items():
            start = clock()
            call(sample)
            times[name].append((clock() - start) * 1e6)
    return {name: min(each) for name, each in times.items()}


def _print(row: Mapping[str, Any]) -> None:
    for name, each in row["microseconds"].items():
        share = each / row["microseconds"]["xyntra int8"]
        error = row["error"][name]
        print(f"{row['model']:14}{name:22}{each:10.0f} us {share:6.2f}   error {error:.1e}")
    print(f"{row['model']:14}products kept in f32 by the budget: {row['kept in f32']}", flush=True)


if __name__ == "__main__":
    sys.exit(main())

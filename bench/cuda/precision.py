# SPDX-License-Identifier: MIT OR Apache-2.0
"""Precision on a GPU: `python -m bench.cuda.precision prepare DIR`, then `… run DIR` at the GPU.

A model of f32 with `precision="f16"` beside the same network exported in f16 and in f32. `prepare`
compiles on any machine. `run` compares results with those of f64 and replays all entrants by turns
as CUDA graphs. It exits with 1 where an error is more than 1.5 times that of the f16 export.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench.cuda.models import Model, model_inputs, onnx_network
from bench.harness.machine import describe
from bench.harness.measure import ROOT, write_json

__all__ = ["main"]

RESULTS = ROOT / "bench" / "results"
_NETWORKS = ("bert-base", "gpt2", "vit-tiny", "resnet50")
_EXPORT = "f16 export"
_MOST = 1.5
"""By how much an error may exceed that of the export."""
_REPEATS = 5  # runs of a model in one graph
Row = dict[str, Any]


@dataclass(frozen=True)
class _Entrant:
    """One way to compute a network.

    Attributes:
        dtype: of the model that is compiled.
        settings: of the compiler.
        sampled: whether the inputs that are measured are given as a sample as well.
    """

    dtype: str
    settings: Mapping[str, str]
    sampled: bool = False


_ENTRANTS = {
    "f32": _Entrant("f32", {}),
    _EXPORT: _Entrant("f16", {}),
    "precision f16": _Entrant("f32", {"precision": "f16"}),
    "precision f16, io f16": _Entrant("f32", {"precision": "f16", "io": "f16"}),
    "precision bf16": _Entrant("f32", {"precision": "bf16"}),
    "precision fp8": _Entrant("f32", {"precision": "fp8"}),
    "precision fp8, samples": _Entrant("f32", {"precision": "fp8"}, sampled=True),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns 0 if every result was right."""
    parser = argparse.ArgumentParser(prog="python -m bench.cuda.precision", description=__doc__)
    parser.add_argument("command", choices=("prepare", "run"))
    parser.add_argument("artifacts", type=Path, metavar="DIR", help="what prepare writes")
    parser.add_argument("networks", nargs="*", metavar="NAME", default=_NETWORKS)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--target", default="cuda:sm_90a", help="of prepare")
    parser.add_argument("--rounds", type=int, default=15, help="of turns (default 15)")
    parser.add_argument("--json", type=Path, help="default: bench/results/cuda_precision-….json")
    options = parser.parse_args(arguments)
    models = [Model(name, "f32", options.batch) for name in options.networks]
    if options.command == "prepare":
        return _prepare(models, options.artifacts, options.target)
    return _run(models, options)


def _file(model: Model, name: str) -> str:
    return f"{model.network}_b{model.batch}_{name.replace(', ', '_').replace(' ', '_')}.xyn"


def _prepare(models: Sequence[Model], folder: Path, target: str) -> int:
    import xyntra
    from bench.cuda.networks import network

    folder.mkdir(parents=True, exist_ok=True)
    for model in models:
        for name, entrant in _ENTRANTS.items():
            source = onnx_network(network(model.network), replace(model, dtype=entrant.dtype))
            sample = [each.numpy() for each in model_inputs(model, "cpu")]
            samples = [sample] if entrant.sampled else ()
            executable = xyntra.compile(source, target=target, samples=samples, **entrant.settings)
            executable.save(folder / _file(model, name), weights=False)
            print(f"{model.network}, {name}: {len(executable.kernels)} kernels", flush=True)
    return 0


def _run(models: Sequence[Model], options: argparse.Namespace) -> int:
    import torch

    rows = []
    with torch.inference_mode():
        for model in models:
            rows.append(_row(model, options.artifacts, options.rounds))
            _print(rows[-1])
    gpu = torch.cuda.get_device_name()
    path = options.json or RESULTS / f"cuda_precision-{'-'.join(gpu.lower().split())}.json"
    write_json(path, {"machine": {**describe(), "gpu": gpu}, "rows": rows})
    return int(any(row["wrong"] for row in rows))


def _row(model: Model, folder: Path, rounds: int) -> Row:
    """Measure one network: errors relative to f64, and microseconds, of every entrant."""
    import torch

    import xyntra
    from bench.cuda.networks import network
    from bench.cuda.timing import captured, launches_of, take_turns

    module = network(model.network)
    weights = {name: tensor.numpy() for name, tensor in module.state_dict().items()}
    inputs = model_inputs(model, "cuda")
    exact = module.double().cuda()(*(_as(each, torch.float64) for each in inputs))
    expected = exact if isinstance(exact, tuple) else (exact,)
    graphs, errors, kept = {}, {}, []
    for name, entrant in _ENTRANTS.items():
        own = weights
        if entrant.dtype == "f16":
            own = {key: array.astype("float16") for key, array in weights.items()}
        executable = xyntra.load(folder / _file(model, name), weights=own)
        types = [getattr(torch, port.dtype) for port in executable.inputs]
        given = [_as(each, kind) for each, kind in zip(inputs, types, strict=True)]
        outputs = [
            torch.full(port.shape, torch.nan, device="cuda", dtype=getattr(torch, port.dtype))
            for port in executable.outputs
        ]
        work = launches_of(executable, given, outputs)
        work()
        torch.cuda.synchronize()
        errors[name] = [_relative(*pair) for pair in zip(outputs, expected, strict=True)]
        graphs[name] = captured(work, _REPEATS)
        kept.append((executable, given, outputs))
    row: Row = {"name": f"{model.network} b{model.batch}", "error": errors}
    row["microseconds"] = take_turns(graphs, _REPEATS, rounds)
    row["wrong"] = [
        name
        for name in ("precision f16", "precision f16, io f16")
        for error, usual in zip(errors[name], errors[_EXPORT], strict=True)
        if not error <= _MOST * usual
    ]
    return row


def _as(tensor: Any, dtype: Any) -> Any:
    return tensor.to(dtype) if tensor.is_floating_point() else tensor


def _relative(got: Any, expected: Any) -> float:
    difference = (got.double() - expected).square().mean()
    return float((difference / expected.square().mean()).sqrt())


def _print(row: Row) -> None:
    times = row["microseconds"]
    for name, time in times.items():
        share = time / times[_EXPORT]
        errors = ", ".join(f"{error:.2e}" for error in row["error"][name])
        mark = "  WRONG" if name in row["wrong"] else ""
        print(f"{row['name']:14}{name:24}{time:9.1f} us {share:6.3f}   {errors}{mark}", flush=True)


if __name__ == "__main__":
    sys.exit(main())

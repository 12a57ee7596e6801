# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compares networks in 16 bits with PyTorch's: `python -m verify.precision_networks`.

Networks of transformers, timm and torchvision in f32 run with `precision="f16"` and "bf16", on the
CPU or the GPU; beside them runs what PyTorch makes of the module with all of its weights and
tensors in that type. Errors are root mean squares relative to f64. The command exits with 1 where
one of ours is more than 1.5 times PyTorch's.
"""

from __future__ import annotations

import argparse
import copy
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.harness.machine import describe
from bench.harness.measure import write_json

__all__ = ["main"]

Array = np.ndarray[Any, Any]
_NETWORKS = (
    "llama", "qwen3", "t5", "deberta", "whisper", "convnext-atto", "efficientnet-b0",
    "swin-tiny-patch4-window7-224", "densenet121", "segformer", "mamba", "clip",
)  # fmt: skip
_DTYPES = {"f16": "float16", "bf16": "bfloat16"}
_MOST = 1.5


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns 0 if all errors are small enough."""
    parser = argparse.ArgumentParser(
        prog="python -m verify.precision_networks", description=__doc__
    )
    parser.add_argument("networks", nargs="*", metavar="NAME", default=_NETWORKS)
    parser.add_argument("--precision", default="f16,bf16")
    parser.add_argument("--target", default="cpu")
    parser.add_argument("--json", type=Path, help="write the results, too")
    options = parser.parse_args(arguments)
    from verify.architectures.catalogue import load
    from verify.architectures.libraries import declare_operators

    declare_operators()
    known = load()
    unknown = [name for name in options.networks if name not in known]
    if unknown:
        parser.error(f"unknown network {unknown[0]!r}")
    rows = []
    for name in options.networks:
        row = _row(known[name], options)
        rows.append({"network": name, **row})
        print(f"{name:30}{_words(row)}", flush=True)
        if options.json:
            write_json(options.json, {"machine": describe(), "rows": rows})
    return int(any(each.get("wrong", True) for each in rows))


def _row(architecture: Any, options: argparse.Namespace) -> dict[str, Any]:
    import torch

    import xyntra
    from verify.architectures.building import build

    built = build(architecture)
    inputs = list(built.inputs.values())
    exact = _outputs(copy.deepcopy(built.module).double(), inputs, torch.float64)
    row: dict[str, Any] = {"error": {}, "torch": {}, "wrong": False}
    for precision in options.precision.split(","):
        executable = xyntra.compile(
            built.module, inputs=tuple(inputs), target=options.target, precision=precision
        )
        found = executable(*[each.numpy() for each in inputs])
        found = list(found) if isinstance(found, tuple) else [found]
        row["error"][precision] = _error([np.asarray(each) for each in found], exact)
        kind = getattr(torch, _DTYPES[precision])
        try:
            theirs = _outputs(copy.deepcopy(built.module).to(kind), inputs, kind)
        except (RuntimeError, TypeError) as error:  # an operator that has no such type on a CPU
            row["torch"][precision] = str(error).splitlines()[0][:80]
            continue
        row["torch"][precision] = _error(theirs, exact)
        row["wrong"] |= not row["error"][precision] <= _MOST * row["torch"][precision]
    return row


def _outputs(module: Any, inputs: Sequence[Any], kind: Any) -> list[Array]:
    import torch

    given = [each.to(kind) if each.is_floating_point() else each for each in inputs]
    with torch.inference_mode():
        found = module(*given)
    return [each.double().numpy() if each.is_floating_point() else each.numpy() for each in found]


def _error(found: Sequence[Array], exact: Sequence[Array]) -> float:
    """Return the largest error of an output of floats."""
    errors = [0.0]
    for x, y in zip(found, exact, strict=True):
        if y.dtype.kind == "f":
            usable = np.isfinite(y)
            difference = np.square(x.astype(np.float64)[usable] - y[usable]).mean()
            errors.append(float(np.sqrt(difference / np.square(y[usable]).mean())))
    return max(errors) if all(each == each for each in errors) else float("nan")


def _words(row: dict[str, Any]) -> str:
    parts = []
    for precision, error in row["error"].items():
        theirs = row["torch"][precision]
        beside = theirs if isinstance(theirs, str) else f"{theirs:.1e}, {error / theirs:.2f} of it"
        parts.append(f"{precision} {error:.1e} (PyTorch {beside})")
    return "   ".join(parts) + "  WRONG" * row["wrong"]


if __name__ == "__main__":
    sys.exit(main())

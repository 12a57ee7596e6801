# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compares the PTX of two versions of Xyntra: `python -m bench.cuda.ptx_texts collect FILE`.

`collect` keeps the PTX and the launches of all kernels of the operations and models that are
measured, and of random graphs. `compare OLD NEW` says of how many kernels they are the same, byte
for byte or but for names (numbers of launches, symbols of shared memory), and shows the others.
"""

from __future__ import annotations

import argparse
import difflib
import json
import lzma
import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import xyntra
from bench.cuda.graphs import onnx_model
from bench.cuda.models import MODELS, Model, onnx_network
from bench.cuda.operations import OPERATIONS
from bench.harness.machine import describe
from bench.harness.measure import write_json
from xyntra.errors import XyntraError
from xyntra.targets.cuda.code.kernel_image import KernelImage

__all__ = ["main"]

_SHOWN = 30  # lines of a difference
_SEED = 77
_LARGE = ("8192x8192", "conv 32")  # operations whose peers would be measured, too slow to compile
_LAUNCH = re.compile(r"([a-z]\w*?_[0-9a-f]{8})_\d+")
_SHARED = re.compile(r"(?:__wg_\w+|\w+_shared\d+)(?:_?\$_\d+)?")
_DECLARED = re.compile(r"\n\t?(\.shared [^\n]*|// demoted variable|// [\w$]+ has been demoted)")
Texts = dict[str, str]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns 0 unless versions that are compared differ by more than names."""
    parser = argparse.ArgumentParser(prog="python -m bench.cuda.ptx_texts", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    collect = commands.add_parser("collect")
    collect.add_argument("file", type=Path)
    collect.add_argument("--architecture", default="sm_90a")
    collect.add_argument("--graphs", type=int, default=100, help="random ones")
    collect.add_argument("--models", nargs="*", default=[], choices=list(MODELS), metavar="NAME")
    compare = commands.add_parser("compare")
    compare.add_argument("old", type=Path)
    compare.add_argument("new", type=Path)
    compare.add_argument("--json", type=Path, help="where to write how many are the same")
    options = parser.parse_args(arguments)
    if options.command == "compare":
        return _compare(options)
    found: Texts = {}
    for name, model in _sources(options):
        found |= _texts(name, model, f"cuda:{options.architecture}")
    options.file.write_bytes(lzma.compress(json.dumps(found).encode(), preset=1))
    print(f"{len(found)} kernels")
    return 0


def _sources(options: argparse.Namespace) -> Iterator[tuple[str, Any]]:
    """Yield names and models, as `xyntra.compile` takes them."""
    from verify.random_graphs.models.generate import generate

    for name, operation in OPERATIONS.items():
        if not any(each in name for each in _LARGE):
            yield name, onnx_model(operation)
    for number in range(options.graphs):
        yield f"graph {number}", generate(_SEED, number)
    for name in options.models:
        yield name, _network(MODELS[name])


def _network(model: Model) -> Any:
    import torch

    from bench.cuda.networks import network

    torch.manual_seed(0)
    return onnx_network(network(model.network).to(model.kind), model)


def _texts(name: str, model: Any, target: str) -> Texts:
    """Return the code of every kernel of a model, or why it has none."""
    with tempfile.TemporaryDirectory() as folder:
        path, given = Path(folder) / "model.onnx", {}
        if hasattr(model, "inputs") and hasattr(model, "model"):  # a random graph
            given = {"inputs": {key: array.shape for key, array in model.inputs.items()}}
            model = model.model
        path.write_bytes(model.SerializeToString())
        try:
            executable = xyntra.compile(path, target=target, config={"cache": False}, **given)
        except XyntraError as error:
            return {name: error.message}
    images = {
        key: KernelImage.from_bytes(code) for key, code in executable.artifact.objects.items()
    }
    return {f"{name}|{key}": f"{image.ptx}\n{_launches(image)}" for key, image in images.items()}


def _launches(image: KernelImage) -> str:
    """Return what the launches are told, but for the words of their schedules."""
    fields = [vars(each) | {"schedule": ""} for each in image.launches]
    return f"{fields} {image.scratch}"


def _compare(options: argparse.Namespace) -> int:
    old, new = (json.loads(lzma.decompress(p.read_bytes())) for p in (options.old, options.new))
    same = sum(new.get(name) == text for name, text in old.items())
    differing = {n for n, text in old.items() if _named(new.get(n, "")) != _named(text)}
    counts = {
        "kernels": len(old),
        "same": same,
        "same_but_for_names": len(old) - same - len(differing),
        "different": sorted(differing),
        "missing": sorted(old.keys() - new.keys()),
    }
    for name in sorted(differing):
        lines = difflib.unified_diff(
            _named(old[name]).splitlines(), _named(new.get(name, "")).splitlines(), lineterm="", n=1
        )
        print(f"== {name}", *list(lines)[:_SHOWN], sep="\n")
    print(f"{len(old)} kernels: {same} the same, {counts['same_but_for_names']} but for names")
    if options.json is not None:
        write_json(options.json, {"machine": describe(), **counts})
    return int(bool(differing))


def _named(text: str) -> str:
    """Return PTX with names in the order in which they occur."""
    text = _DECLARED.sub("", _LAUNCH.sub(r"\1_N", text))
    known: dict[str, str] = {}
    return _SHARED.sub(lambda found: known.setdefault(found[0], f"shared{len(known)}"), text)


if __name__ == "__main__":
    raise SystemExit(main())

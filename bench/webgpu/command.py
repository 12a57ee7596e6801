# SPDX-License-Identifier: MIT OR Apache-2.0
"""GPUs behind WebGPU: `python -m bench.webgpu compare NAME…`, or `prepare DIR`, then `run DIR`.

`compare` checks benchmark models against onnxruntime. `contest` times exported pages beside
onnxruntime-web in one Chromium, and native calls beside onnxruntime's WebGPU plugin.

`prepare` compiles, on any machine, what `run` measures where the GPU is, for WebGPU and for CUDA:
there, neither a compiler nor naga is needed, but wgpu, PyTorch, onnx and onnxruntime. `run` prints
the rates of elementwise chains, row kernels and products beside those of a copy and of the CUDA
target, the times of models, the host's cost of a call, onnxruntime's WebGPU plugin on the models,
and how long first calls take with and without the driver's cache of pipelines.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path

from bench.models import DEFAULT_FOLDER, REGISTRY

__all__ = ["main"]

_ENTRANTS = ("page", "web-webgpu", "web-wasm", "native", "plugin")
_PARTS = ("rows", "host", "plugin", "first")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns 1 if a result is wrong or a row failed."""
    options = _parser().parse_args(arguments)
    if options.command == "compare":
        from bench.webgpu.compare import compare

        given = (options.target, options.models, options.calls, options.output)
        return compare(options.names, *given)
    if options.command == "first":
        from bench.webgpu.first_call import print_first_call

        print_first_call(options.artifacts, options.name, options.target)
        return 0
    if options.command == "contest":
        from bench.webgpu.contest import contest

        entrants = (options.rounds, options.entrants, options.driver, options.output)
        return contest(options.names, options.models, *entrants)
    patterns = options.names or ["*"]

    def is_chosen(name: str) -> bool:
        return any(fnmatch(name, pattern) for pattern in patterns)

    if options.command == "prepare":
        from bench.webgpu.prepare import prepare

        return prepare(options.artifacts, options.models, options.cuda, is_chosen)
    from bench.webgpu.run import run

    return run(
        options.artifacts,
        options.target,
        options.rounds,
        is_chosen,
        options.parts,
        options.output,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.webgpu", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    compare = commands.add_parser("compare", help="models against onnxruntime on the CPU")
    compare.add_argument("names", nargs="+", metavar="NAME", choices=list(REGISTRY))
    compare.add_argument("--models", type=Path, default=DEFAULT_FOLDER, help="default: models/")
    compare.add_argument("--calls", type=int, default=10, help="default: 10")
    compare.add_argument("--output", type=Path, help="write a record here, as JSON")
    contest = commands.add_parser("contest", help="in Chromium, beside onnxruntime-web")
    contest.add_argument("names", nargs="+", metavar="NAME", choices=list(REGISTRY))
    contest.add_argument("--models", type=Path, default=DEFAULT_FOLDER, help="default: models/")
    contest.add_argument("--rounds", type=int, default=5, help="default: 5")
    contest.add_argument("--entrants", nargs="+", choices=_ENTRANTS, default=_ENTRANTS)
    contest.add_argument("--driver", type=Path, help="Vulkan's file of what native entrants use")
    contest.add_argument("--output", type=Path, help="write a record here, as JSON")
    prepare = commands.add_parser("prepare", help="compile what `run` measures")
    prepare.add_argument("--models", type=Path, default=DEFAULT_FOLDER, help="default: models/")
    prepare.add_argument("--cuda", default="cuda:sm_90a", help="default: cuda:sm_90a")
    run = commands.add_parser("run", help="measure what `prepare` compiled")
    run.add_argument("--rounds", type=int, default=9, help="default: 9")
    run.add_argument(
        "--parts", nargs="+", choices=_PARTS, default=_PARTS, help="what to measure (default: all)"
    )
    run.add_argument("--output", type=Path, help="write a record here, as JSON, row by row")
    first = commands.add_parser("first", help="time the first call of one row, in this process")
    first.add_argument("artifacts", type=Path, metavar="DIR")
    first.add_argument("name", metavar="NAME")
    for each in (prepare, run):
        each.add_argument("artifacts", type=Path, metavar="DIR", help="what prepare writes")
        each.add_argument("names", nargs="*", metavar="NAME", help="rows, patterns (default: all)")
    for each in (compare, run, first):
        each.add_argument("--target", default="webgpu", help="webgpu or webgpu:N")
    return parser

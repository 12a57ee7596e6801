# SPDX-License-Identifier: MIT OR Apache-2.0
"""Random models on a GPU against float64: `python -m verify.random_models prepare DIR --cases 300`.

`prepare` draws models of every kind of kernel and compiles them, on any machine, into one file;
`run DIR` runs each where the GPU is, with neither ONNX nor a compiler, and compares: see
`check`. `run DIR --sanitizer` runs small ones of each sort under NVIDIA's
compute-sanitizer instead. What is found is JSON; cases that the compiler refuses are listed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench.harness.child_process import Child, ChildError
from bench.harness.machine import describe
from bench.harness.measure import ROOT, write_json
from verify.random_models.archive import ARCHIVE, Prepared, pack, unpacked
from verify.random_models.case import Case, from_json

__all__ = ["KINDS", "draw", "main"]

KINDS = ("elementwise", "row", "contraction", "attention", "convolution", "generic")
_SECONDS = 600.0
_RECYCLE = 400
"""Models after which a fresh process goes on, so that memory stays bounded."""


def draw(kind: str, seed: int) -> Case:
    """The random model of a kind and a seed."""
    from verify.random_models import contractions, elementwise, generic, images, rows

    makers = {
        "elementwise": elementwise.elementwise,
        "row": rows.row,
        "contraction": contractions.contraction,
        "attention": contractions.attention,
        "convolution": images.convolution,
        "generic": generic.generic,
    }
    return makers[kind](seed)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns 0 if nothing was found."""
    options = _parser().parse_args(arguments)
    if options.command == "prepare":
        return _prepare(options)
    with unpacked(options.folder / ARCHIVE) as prepared:
        return _run(prepared, options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m verify.random_models", description=__doc__)
    parser.add_argument("command", choices=("prepare", "run"))
    parser.add_argument("folder", type=Path, metavar="DIR", help="what prepare writes")
    add = parser.add_argument
    add("--kinds", nargs="+", choices=KINDS, default=KINDS, help="default: all")
    add("--cases", type=int, default=300, help="of each kind (default 300)")
    add("--seed", type=int, default=0, help="of the first (default 0)")
    add("--architecture", default="sm_90a", help="of prepare (default sm_90a)")
    add("--processes", type=int, default=12, help="that run at the same time (default 12)")
    add("--only", nargs="+", metavar="NAME", help="run these cases, in this process")
    add("--sanitizer", action="store_true", help="run a sample under compute-sanitizer")
    add("--json", type=Path, help="default: bench/results/cuda_random-….json")
    return parser


def _prepare(options: argparse.Namespace) -> int:
    """Compile what is not there yet; an interrupted run goes on where it was."""
    parts = options.folder / "parts"
    parts.mkdir(parents=True, exist_ok=True)
    names = [
        (kind, seed)
        for seed in range(options.seed, options.seed + options.cases)
        for kind in options.kinds
    ]
    child: Child | None = None
    for number, (kind, seed) in enumerate(names):
        path = parts / f"{kind}-{seed}"
        if path.exists():
            continue
        if child is not None and number % _RECYCLE == 0:
            child.end()
            child = None
        child = child or Child(_compiler, {"architecture": options.architecture})
        try:
            path.write_bytes(child.ask((kind, seed), _SECONDS))
        except ChildError as error:
            path.write_bytes(json.dumps({"refused": str(error)}).encode())
            child.end()
            child = None
    if child is not None:
        child.end()
    return _packed(options, [parts / f"{kind}-{seed}" for kind, seed in names])


def _packed(options: argparse.Namespace, paths: Sequence[Path]) -> int:
    made: list[tuple[Case, bytes]] = []
    refused: dict[str, str] = {}
    for path in paths:
        head, _, artifact = path.read_bytes().partition(b"\n")
        fields = json.loads(head)
        if "refused" in fields:
            refused[path.name] = fields["refused"]
        else:
            made.append((from_json(fields), artifact))
    command = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    about = {"architecture": options.architecture, "commit": commit, "seed": options.seed}
    pack(options.folder / ARCHIVE, about, made, refused)
    for name, words in refused.items():
        print(f"{name}: {words}")
    print(f"{len(made)} compiled, {len(refused)} refused")
    return 0


def _compiler(job: Mapping[str, Any]) -> Any:
    """What compiles cases, given by kind and seed, to a line of JSON and the artifact."""
    from verify.random_models.compile import compile_case
    from xyntra.dialects import make_context
    from xyntra.errors import XyntraError

    context = make_context()

    def compiled(message: tuple[str, int]) -> bytes:
        case = draw(*message)
        try:
            artifact = compile_case(case, job["architecture"], context).to_bytes()
        except XyntraError as error:
            return json.dumps({"refused": f"{case.label}: {error}"}).encode()
        return json.dumps(asdict(case)).encode() + b"\n" + artifact

    return compiled


def _run(prepared: Prepared, options: argparse.Namespace) -> int:
    from verify.random_models import run as runner

    if options.only:
        findings = [runner.check_here(prepared, name) for name in options.only]
        for finding in findings:
            print(f"{finding.name}: {finding.problem or 'right'}, worst {finding.worst:.3g}")
        return int(any(finding.problem for finding in findings))
    machine = describe() | runner.gpu_machine()
    result: dict[str, Any] = {"machine": machine, "prepared": dict(prepared.about)}
    if options.sanitizer:
        result["sanitizer"] = runner.sanitized(prepared, options.folder)
        failed = any(each["errors"] for each in result["sanitizer"])
    else:
        result |= runner.summary(prepared, runner.check_all(prepared, options.processes))
        failed = bool(result["failures"])
    slug = "-".join(str(machine["gpu"]).lower().split())
    what = "sanitizer" if options.sanitizer else "random"
    write_json(options.json or ROOT / f"bench/results/cuda_{what}-{slug}.json", result)
    shown = result.get("kinds", result.get("sanitizer"))
    print(json.dumps(shown, indent=1))
    return int(failed)

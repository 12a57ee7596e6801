# SPDX-License-Identifier: MIT OR Apache-2.0
"""Damage ONNX models at random and compile them: `python -m verify.fuzz.onnx [MODEL…]`.

A child process compiles each damaged model and, where that works, runs it once. A typed error is
a good outcome. Problems are an exception of another kind, an error that the compiler did not
foresee, a crash of the process, and a run that takes too long. The result is JSON: outcomes with
their counts and one example each, and every problem with the number that repeats it:
`python -m verify.fuzz.onnx --seed SEED --only NUMBER --keep FOLDER` writes its model too.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any

from bench.harness.child_process import Child, ChildError
from bench.harness.machine import describe
from bench.harness.measure import write_json
from bench.models import DEFAULT_FOLDER

_LARGEST_MODEL = 16 << 20
_MEMORY = 12 << 30
_PROBLEMS = ("untyped", "unforeseen", "exception", "crash", "hang")
_SETTINGS: dict[str, object] = {
    "cache": False,
    "isolate": False,
    "jobs": 1,
    "opt_level": 0,
    "max_tensor_bytes": 1 << 28,
    "progress": False,
}


@dataclass(frozen=True)
class Run:
    """What became of one damaged model; `number` and the seed repeat it."""

    number: int
    model: str
    edits: list[str]
    outcome: str
    detail: str
    seconds: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns 0 if there was no problem."""
    options = _parser().parse_args(arguments)
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="xyntra-fuzz-") as folder:
        groups = [options.models] if options.models else default_models(Path(folder))
        runs = list(_all_runs(options, groups))
    result = summary(runs) | {"seed": options.seed, "seconds": time.perf_counter() - started}
    if options.json:
        write_json(options.json, {"machine": describe(), **result})
    print(json.dumps(result["outcomes"], indent=2))
    return 1 if result["problems"] else 0


def default_models(folder: Path) -> list[list[Path]]:
    """The benchmarks' models that are not too large, and onnx's test of each operator.

    The latter are written to `folder`.
    """
    from onnx.backend.test.case.node import collect_testcases

    own = DEFAULT_FOLDER.glob("*.onnx")
    groups = [sorted(path for path in own if path.stat().st_size <= _LARGEST_MODEL)]
    with warnings.catch_warnings():
        # The expected values of some tests are infinite on purpose.
        warnings.simplefilter("ignore", RuntimeWarning)
        cases = collect_testcases(None)
    for case in cases:
        if case.model is not None:
            (folder / f"{case.name}.onnx").write_bytes(case.model.SerializeToString())
    groups.append(sorted(folder.glob("*.onnx")))
    return [group for group in groups if group]


def _all_runs(options: argparse.Namespace, groups: Sequence[Sequence[Path]]) -> Iterator[Run]:
    job = {
        "seed": options.seed,
        "groups": [[str(path) for path in group] for group in groups],
        "keep": str(options.keep) if options.keep else "",
    }
    single = options.only is not None
    for run in _runs(job, [options.only] if single else range(options.runs), options.limit):
        if run.outcome in _PROBLEMS or single:
            print(f"{run.number}: {run.outcome} ({run.model}: {', '.join(run.edits)})")
            print(run.detail, flush=True)
        yield run


def summary(runs: Sequence[Run]) -> dict[str, Any]:
    """Counts by outcome (most frequent first), an example of each, and all problems."""
    counts: dict[str, int] = {}
    examples: dict[str, Run] = {}
    for run in runs:
        counts[run.outcome] = counts.get(run.outcome, 0) + 1
        examples.setdefault(run.outcome, run)
    order = sorted(counts, key=lambda outcome: -counts[outcome])
    return {
        "runs": len(runs),
        "outcomes": {outcome: counts[outcome] for outcome in order},
        "problems": [asdict(run) for run in runs if run.outcome in _PROBLEMS],
        "examples": {outcome: asdict(examples[outcome]) for outcome in order},
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m verify.fuzz.onnx", description=__doc__)
    parser.add_argument("models", nargs="*", type=Path, metavar="MODEL")
    parser.add_argument("--runs", type=int, default=200, help="damaged models (default 200)")
    parser.add_argument("--seed", type=int, default=0, help="default 0")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds for each (default 120)")
    parser.add_argument("--only", type=int, metavar="NUMBER", help="repeat one run")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="write every damaged model")
    parser.add_argument("--json", type=Path, help="write the result to this file")
    return parser


def _runs(job: Mapping[str, Any], numbers: Sequence[int], limit: float) -> Iterator[Run]:
    child = None
    for number in numbers:
        child = child or Child(_compiler, job)
        started = time.perf_counter()
        try:
            yield child.ask(number, limit)
        except ChildError as error:
            child.end()
            child = None
            model, _, edits = damaged(job, number)
            seconds = time.perf_counter() - started
            yield Run(number, model, edits, error.kind, error.detail, seconds)
    if child:
        child.end()


def damaged(job: Mapping[str, Any], number: int) -> tuple[str, bytes, list[str]]:
    """The name of the model that run `number` damages, the damaged bytes, and the edits."""
    from verify.fuzz.onnx_mutations import mutate

    random = Random(f"{job['seed']}:{number}")
    # Whole models take longer to compile than single operators: three of four are the latter.
    group = job["groups"][-1 if random.random() < 3 / 4 else 0]
    path = Path(random.choice(group))
    data, edits = mutate(path.read_bytes(), random)
    return path.stem, data, edits


def _compiler(job: Mapping[str, Any]) -> Callable[[int], Run]:
    """What answers numbers with runs, in a process of its own."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Libraries print diagnostics of models that are refused.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())

    def run(number: int) -> Run:
        model, data, edits = damaged(job, number)
        if job["keep"]:
            Path(job["keep"]).mkdir(parents=True, exist_ok=True)
            (Path(job["keep"]) / f"{job['seed']}-{number}.onnx").write_bytes(data)
        started = time.perf_counter()
        outcome, detail = _outcome(data)
        return Run(number, model, edits, outcome, detail, time.perf_counter() - started)

    return run


def _outcome(data: bytes) -> tuple[str, str]:
    """What compiling and running `data` gives: "ok", an error's code, or a problem; and details."""
    import xyntra
    from xyntra.errors import CompileError, XyntraError

    try:
        executable = xyntra.compile(data, inputs=_free_shapes(data), config=_SETTINGS)
        executable.run(_inputs(executable))
    except CompileError as error:
        return "unforeseen", str(error)
    except XyntraError as error:
        return error.code, str(error)
    except Exception:
        return "untyped", traceback.format_exc(limit=-4)
    return "ok", ""


def _free_shapes(data: bytes) -> dict[str, tuple[int, ...]] | None:
    """Sizes for inputs that leave some open: a batch of one, 32 for any other dimension."""
    import onnx
    from google.protobuf.message import DecodeError

    try:
        graph = onnx.ModelProto.FromString(data).graph
        given = {tensor.name for tensor in graph.initializer}
        inputs = [value for value in graph.input if value.name not in given]
    except (DecodeError, UnicodeDecodeError):
        return None
    shapes = {}
    for value in inputs:
        dims = value.type.tensor_type.shape.dim
        if any(dim.dim_value <= 0 for dim in dims):
            shapes[value.name] = tuple(
                dim.dim_value if dim.dim_value > 0 else 32 if axis else 1
                for axis, dim in enumerate(dims)
            )
    return shapes or None


def _inputs(executable: Any) -> dict[str, Any]:
    import numpy as np

    return {value.name: np.ones(value.shape, value.dtype) for value in executable.inputs}


if __name__ == "__main__":
    sys.exit(main())

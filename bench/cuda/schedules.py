# SPDX-License-Identifier: MIT OR Apache-2.0
"""A model whose schedules are edited in the text of its stages: `python -m bench.cuda.schedules`.

The text of `--emit stages` is compiled as it is, and with other schedules in it. Every program is
compared with the network in f64, and they are timed in turns: same numbers, another time. A
schedule that a stage cannot have is recorded with the error's words.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

import xyntra
from bench.cuda.model_rows import OURS, errors_of
from bench.cuda.models import MODELS, TOLERANCE, Model, model_inputs, onnx_network
from bench.cuda.networks import network
from bench.cuda.timing import captured, launches_of, take_turns
from bench.harness.machine import describe
from bench.harness.measure import ROOT, write_json
from xyntra.errors import CompileError
from xyntra.tools.cli import run as command

__all__ = ["EDITS", "main"]

_REPEATS = 5
_SCHEDULE = re.compile(r"#xyntra\.schedule<\{emitter = \"(\w[\w-]*)\"[^>]*\}>")


def _to(emitter: str, schedule: str) -> Callable[[str], str]:
    """Return an edit that gives all stages of an emitter another schedule."""

    def edit(text: str) -> str:
        def other(found: re.Match[str]) -> str:
            return f"#xyntra.schedule<{{{schedule}}}>" if found[1] == emitter else found[0]

        return _SCHEDULE.sub(other, text)

    return edit


def _without(field: str) -> Callable[[str], str]:
    """Return an edit that leaves a field of all schedules to its default."""
    return lambda text: _SCHEDULE.sub(lambda m: re.sub(rf", {field} = [^,}}]+", "", m[0]), text)


EDITS: Mapping[str, Callable[[str], str]] = {
    "as chosen": lambda text: text,
    "no split_k": _without("split_k"),
    "warps: 64x64 tiles, 3 stages": _to(
        "mma", 'emitter = "mma", tile = [64, 64], warps = [2, 2], stages = 3'
    ),
    "warps: 32x32 tiles, 4 stages": _to(
        "mma", 'emitter = "mma", tile = [32, 32], warps = [2, 2], stages = 4'
    ),
    "attention by 4 warps of queries": _to(
        "flash", 'emitter = "flash", warps = [4, 1], keys = 64, stages = 2'
    ),
    "rows by blocks in shared memory": _to("register-rows", 'emitter = "rows", threads = 128'),
    "an impossible tile": _to("mma", 'emitter = "mma", tile = [96, 64], warps = [2, 2]'),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns 0 if every program that compiled is right."""
    parser = argparse.ArgumentParser(prog="python -m bench.cuda.schedules", description=__doc__)
    parser.add_argument("model", nargs="?", default="bert-base b1 f16", choices=MODELS)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", type=Path, default=None, help="default: in bench/results")
    options = parser.parse_args(arguments)
    model = MODELS[options.model]
    rows = _rows(model, options.rounds)
    result = {"machine": describe(), "gpu": torch.cuda.get_device_name(), "model": model.name}
    path = options.json or ROOT / "bench" / "results" / "cuda_schedules.json"
    write_json(path, {**result, "rows": rows})
    for row in rows:
        print(f"{row['name']:34} {row.get('microseconds', row.get('error'))}")
    return int(any(row.get("wrong") for row in rows))


def _rows(model: Model, rounds: int) -> list[dict[str, Any]]:
    module = network(model.network).to(model.kind)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        path.write_bytes(onnx_network(module, model).SerializeToString())
        text = _stages(path)
        module, inputs = module.cuda(), model_inputs(model, "cuda")
        rows: list[dict[str, Any]] = []
        graphs, alive = {}, []
        with torch.inference_mode():
            for name, edit in EDITS.items():
                edited = edit(text)
                row: dict[str, Any] = {"name": name, "stages": _differing(text, edited)}
                rows.append(row)
                place = Path(folder) / "edited.mlir"
                place.write_text(edited)
                try:
                    executable = xyntra.compile(place, target="cuda", trust_code=True)
                except CompileError as error:
                    row["error"] = error.message
                    continue
                outputs = [
                    torch.full(each.shape, torch.nan, device="cuda", dtype=model.kind)
                    for each in executable.outputs
                ]
                work = launches_of(executable, inputs, outputs)
                work()
                row["errors"] = errors_of(module, inputs, outputs)[OURS]
                row["wrong"] = sum(not each <= TOLERANCE[model.dtype] for each in row["errors"])
                graphs[name] = captured(work, _REPEATS)
                alive.append((executable, outputs))  # for the graphs
            times = take_turns(graphs, _REPEATS, rounds)
    for row in rows:
        if row["name"] in times:
            row["microseconds"] = times[row["name"]]
    return rows


def _stages(path: Path) -> str:
    """Return the text of a model's stages for the first GPU."""
    out = path.with_suffix(".stages.mlir")
    command(["compile", str(path), "--target", "cuda", "--emit", "stages", "-o", str(out)])
    return out.read_text()


def _differing(text: str, edited: str) -> int:
    """Return how many schedules differ."""
    before, after = (_SCHEDULE.finditer(each) for each in (text, edited))
    return sum(a[0] != b[0] for a, b in zip(before, after, strict=True))


if __name__ == "__main__":
    raise SystemExit(main())

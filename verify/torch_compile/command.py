# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compares torch.compile(backend="xyntra") with eager PyTorch on whole models in training.

    python -m verify.torch_compile [--only vit] [--steps 50] [--device cuda] [--times] [--json F]

For each model: the outputs in evaluation, and the loss and all gradients of one step, against eager
PyTorch in float64 where eager float32 itself comes near it; then the losses of --steps steps of
AdamW against eager's, within 1e-3 of them (5e-2 under autocast). On a GPU, large models, bf16
autocast and what programs do around compiled functions are tried as well. Every model has a process
of its own and --seconds of time. The exit status is 1 where one is wrong or fails.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

__all__ = ["main"]

Row = dict[str, Any]
_TAIL = 2500
_ALONE = ("under-memory-pressure",)
"""What would be in the way of other processes."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare the models that are asked for; return 1 if one is wrong."""
    options = _parser().parse_args(arguments)
    options.jobs = options.jobs or (4 if options.device.startswith("cuda") else 1)
    if options.case:
        Path(options.json).write_text(json.dumps(_case(options)), encoding="utf-8")
        return 0
    rows = _Sweep(options).run()
    right = sum(row["status"] == "right" for row in rows)
    print(f"{right} of {len(rows)} right")
    return 0 if right == len(rows) else 1


class _Sweep:
    """All models, several at once; then their times, one after the other."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.end = time.monotonic() + options.budget
        names = _cases(options)
        self.rows: list[Row] = [{"name": n, "autocast": a, "status": "waits"} for n, a in names]
        self.lock = threading.Lock()

    def run(self) -> list[Row]:
        alone = [row for row in self.rows if row["name"] in _ALONE]
        others = [row for row in self.rows if row not in alone]
        with ThreadPoolExecutor(self.options.jobs) as threads:
            list(threads.map(self._check, others))
        if self.options.times:
            for row in others:
                if "inference" in row:
                    row |= self._child(row, "--measure")
                    self._say(row)
        for row in alone:
            self._check(row)
        return self.rows

    def _check(self, row: Row) -> None:
        row |= self._child(row, "--check")
        self._say(row)

    def _say(self, row: Row) -> None:
        with self.lock:
            print(_line(row), flush=True)
            if self.options.json:
                text = json.dumps(self.rows, indent=1)
                Path(self.options.json).write_text(text, encoding="utf-8")

    def _child(self, row: Row, what: str) -> Row:
        left = min(self.options.seconds, self.end - time.monotonic())
        if left < 1:
            return {} if what == "--measure" else {"status": "not reached"}
        return _child(row["name"], row["autocast"], what, self.options, left)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m verify.torch_compile", description=__doc__)
    parser.add_argument("--only", default="", help="part of a name")
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--times", action="store_true", help="beside eager and Inductor")
    parser.add_argument("--large", action="store_true", help="large models on a CPU, too")
    parser.add_argument("--autocast", help="only under it: bfloat16, or float16 on a GPU")
    parser.add_argument("--seconds", type=float, default=240, help="for each model")
    parser.add_argument("--budget", type=float, default=3600, help="seconds for all of them")
    parser.add_argument("--json", help="a file that is written as it goes")
    parser.add_argument("--jobs", type=int, help="processes at once (default 1, on a GPU 4)")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--check", action="store_true", help=argparse.SUPPRESS)
    return parser


def _cases(options: argparse.Namespace) -> list[tuple[str, str | None]]:
    from verify.torch_compile.models import CASES, LARGE
    from verify.torch_compile.uses import USES

    on_gpu = options.device.startswith("cuda")
    large = list(LARGE) if on_gpu or options.large else []
    names = [*CASES, *large]
    found: list[tuple[str, str | None]] = [(name, options.autocast) for name in names]
    if on_gpu and not options.autocast:
        found += [(name, None) for name in USES]
        found += [(name, "bfloat16") for name in ("mlp", "cnn", "gpt2", *LARGE)]
    return [(name, autocast) for name, autocast in found if options.only in name]


def _child(
    name: str, autocast: str | None, what: str, options: argparse.Namespace, seconds: float
) -> Row:
    """Compare or measure one model in a process of its own."""
    command = [sys.executable, "-m", "verify.torch_compile", "--case", name, what]
    command += ["--device", options.device, "--steps", str(options.steps)]
    command += ["--times"] * options.times + (["--autocast", autocast] if autocast else [])
    with tempfile.TemporaryDirectory() as folder:
        answer, log = Path(folder, "row.json"), Path(folder, "log")
        with log.open("wb") as file:
            process = subprocess.Popen(
                [*command, "--json", str(answer)], stdout=file, stderr=file, start_new_session=True
            )
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            return {"status": "hang", "error": f"after {seconds:.0f} s: {_tail(log)}"}
        finally:
            _end(process)
        if answer.exists():
            row: Row = json.loads(answer.read_text(encoding="utf-8"))
            return row
        return {"status": "crash", "error": f"status {process.returncode}: {_tail(log)}"}


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    process.wait()


def _tail(log: Path) -> str:
    return log.read_text(encoding="utf-8", errors="replace")[-_TAIL:]


def _case(options: argparse.Namespace) -> Row:
    """Compare one model in this process."""
    import torch

    from verify.torch_compile.comparison import check, measure
    from verify.torch_compile.uses import USES

    warnings.filterwarnings("ignore", category=DeprecationWarning)
    autocast = getattr(torch, options.autocast) if options.autocast else None
    try:
        if options.case in USES:
            USES[options.case]()
            return {"status": "right"}
        if options.measure:
            return measure(options.case, options.device, autocast)
        beside = options.times
        return check(options.case, options.device, options.steps, autocast, beside=beside)
    except Exception:  # of any kind: it is reported, and the other models go on
        return {"status": "failed", "error": traceback.format_exc()[-_TAIL:]}


def _line(row: Row) -> str:
    name = row["name"] + (f" ({row['autocast']})" if row["autocast"] else "")
    status = row["status"] if row["status"] == "right" else row["status"].upper()
    text = f"{status:6} {name:26}"
    if "error" in row:
        return f"{text} {row['error']}"
    if "inference" in row:
        text += (
            f" inference {row['inference']:.2f}, gradients {row['gradients']:.2f} of eager's error,"
            f" losses {row['losses_apart']:.1e} apart; ready in {row['first_result_s']:.1f}"
            f" + {row['first_step_s']:.1f} s, {row['graphs']} graphs"
        )
    times = [f"{s} {row[f'{s}_ms']:.2f}" for s in _SIDES if f"{s}_ms" in row]
    text += f"; ms a step: {', '.join(times)}" if times else ""
    return text + (f"; in PyTorch: {'; '.join(row['fallbacks'])}" if row.get("fallbacks") else "")


_SIDES = ("xyntra", "eager", "inductor")

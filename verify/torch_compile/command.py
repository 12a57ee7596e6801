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
import contextlib
import json
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from verify.torch_compile.children import STAGES, TAIL, Answers, Child

__all__ = ["main"]

Row = dict[str, Any]
_FIRST = (
    ("cnn-channels-last", None),
    ("gpt2-12-layers", None),
    ("vit-base", None),
    ("resnet-50", None),
    ("scalars-of-the-host", None),
    ("changed-parameters", None),
    ("gpt2", "bfloat16"),
    ("gpt2-12-layers", "bfloat16"),
    ("lstm-layers", None),
)
"""What says most, where there is not time for all."""
_ALONE = ("under-memory-pressure", "scalars-of-the-host")
"""What would be in the way of other processes."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare the models that are asked for; return 1 if one is wrong."""
    options = _parser().parse_args(arguments)
    options.jobs = options.jobs or (4 if options.device.startswith("cuda") else 1)
    if options.case:
        _case(options, Answers(Path(options.json)))
        return 0
    rows = _Sweep(options).run()
    right = sum(row["status"] == "right" for row in rows)
    print(f"{right} of {len(rows)} right")
    return 0 if right == len(rows) else 1


class _Sweep:
    """All models, some at once; when each is compared and compiled, their times one by one."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        now = time.monotonic()
        self.end = now + options.budget
        self.last_start = now + (0.7 if options.times else 1.0) * options.budget
        from verify.torch_compile.models import LARGE

        names, self.large = _cases(options), set(LARGE)
        self.rows: list[Row] = [{"name": n, "autocast": a, "status": "waits"} for n, a in names]
        self.lock, self.said = threading.Lock(), set[str]()
        self.places = threading.Semaphore(options.jobs)
        self.large_places = threading.Semaphore(max(options.jobs // 2, 1))  # for their memory

    def run(self) -> list[Row]:
        alone = [row for row in self.rows if row["name"] in _ALONE]
        others = [row for row in self.rows if row not in alone]
        with ThreadPoolExecutor(len(self.rows) or 1) as threads:
            children = list(threads.map(self._started, others))
        for row, child in zip(others, children, strict=True):
            if child is not None:
                row |= child.measured(min(self.options.seconds, self.end - time.monotonic()))
                self._say(row)
        for row in alone:
            child = self._started(row)
            if child is not None:
                child.end()
        return self.rows

    def _started(self, row: Row) -> Child | None:
        """Compare a model; return its process where that waits to be timed."""
        room = self.large_places if row["name"] in self.large else contextlib.nullcontext()
        with room, self.places:
            left = min(self.options.seconds, self.last_start - time.monotonic())
            if left < 1:
                row["status"] = "not reached"
                return None
            child = Child(_command(row["name"], row["autocast"], self.options))
            end = time.monotonic() + left
            for stage in STAGES if self.options.times else STAGES[:1]:
                row |= child.answer(stage, end - time.monotonic())
                self._say(row)
                if "inference" not in row or "not_timed" in row:
                    break
            else:
                if self.options.times:
                    return child
        child.end()
        return None

    def _say(self, row: Row) -> None:
        with self.lock:
            line = _line(row)
            if line not in self.said:
                self.said.add(line)
                print(line, flush=True)
            if self.options.json:
                text = json.dumps(self.rows, indent=1)
                Path(self.options.json).write_text(text, encoding="utf-8")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m verify.torch_compile", description=__doc__)
    parser.add_argument(
        "--only", action="append", help="part of 'vit (float32)'; they run in order"
    )
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
    if options.only:
        wanted = {each: [case for case in found if each in _label(*case)] for each in options.only}
        return list(dict.fromkeys(case for each in options.only for case in wanted[each]))
    return sorted(found, key=lambda case: _FIRST.index(case) if case in _FIRST else len(_FIRST))


def _label(name: str, autocast: str | None) -> str:
    return f"{name} ({autocast or 'float32'})"


def _command(name: str, autocast: str | None, options: argparse.Namespace) -> list[str]:
    command = [sys.executable, "-m", "verify.torch_compile", "--case", name]
    command += ["--device", options.device, "--steps", str(options.steps)]
    return command + ["--times"] * options.times + (["--autocast", autocast] if autocast else [])


def _case(options: argparse.Namespace, answers: Answers) -> None:
    """Compare one model in this process, and time it when that is asked for."""
    import torch

    from verify.torch_compile.comparison import check
    from verify.torch_compile.uses import USES

    warnings.filterwarnings("ignore", category=DeprecationWarning)
    autocast = getattr(torch, options.autocast) if options.autocast else None
    row: Row = {"status": "right"}
    try:
        if options.case in USES:
            USES[options.case]()
        else:
            row, timing = check(options.case, options.device, options.steps, autocast)
    except Exception:  # of any kind: it is reported, and the other models go on
        row = {"status": "failed", "error": traceback.format_exc()[-TAIL:]}
    answers.of("compared", row)
    if options.times and "inference" in row:
        answers.of("stepped", timing.prepare(("xyntra", "eager")) | timing.measure())
        answers.of("prepared", timing.prepare(("inductor",)))
        answers.wait()
        answers.measured(timing.measure())


def _line(row: Row) -> str:
    name = row["name"] + (f" ({row['autocast']})" if row["autocast"] else "")
    status = row["status"] if row["status"] == "right" else row["status"].upper()
    text = f"{status:6} {name:26}"
    if "error" in row:
        return f"{text} {row['error']}"
    if "inference" in row:
        text += (
            f" inference {row['inference']:.2f}, gradients {row['gradients']:.2f} of eager's error,"
            f" losses {row['losses_apart']:.1e} apart"
            f"{' (eager is far from float64)' if row['eager_is_far'] else ''};"
            f" ready in {row['first_result_s']:.1f}"
            f" + {row['first_step_s']:.1f} s, {row['graphs']} graphs"
        )
    times = [f"{s} {row[f'{s}_ms']:.2f}" for s in _SIDES if f"{s}_ms" in row]
    text += f"; ms a step: {', '.join(times)}" if times else ""
    return text + (f"; in PyTorch: {'; '.join(row['fallbacks'])}" if row.get("fallbacks") else "")


_SIDES = ("xyntra", "eager", "inductor")

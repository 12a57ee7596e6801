# SPDX-License-Identifier: MIT OR Apache-2.0
"""Measure PyTorch modules: `python -m bench.torch_modules [--device cuda] [--json FILE]`.

Each network of timm and transformers goes through xyntra.compile(module, inputs) and through
torch.compile with CUDA graphs, in a process of its own. Results are compared with float64; the
seconds from a module to its first result are taken with empty caches and again with full ones, in
--jobs processes at once. Then calls are timed, one network after the other: with their own launches
or graphs, and as launches in one CUDA graph. Those of --torchscript are traced, saved and compiled
from their files, and the weights of those of --there lie on the device. The exit status is 1 where
a result of ours is wrong or missing.
"""

from __future__ import annotations

import argparse
import json
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import geometric_mean
from typing import Any

from bench.harness.child_process import Child, ChildError
from bench.harness.machine import describe
from bench.torch_modules.case import make
from bench.torch_modules.networks import NETWORKS

__all__ = ["main"]

Row = dict[str, Any]
_RATIOS = (
    ("first_s", "torch_first_s"),
    ("again_s", "torch_again_s"),
    ("xyntra_us", "torch.compile_us"),
    ("xyntra_graph_us", "torch.compile_graph_us"),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the networks that are asked for; return 1 if one is not right."""
    options = _parser().parse_args(arguments)
    rows = _Session(options).run()
    for ours, theirs in _RATIOS:
        ratios = [row[ours] / row[theirs] for row in rows if ours in row and theirs in row]
        if ratios:
            mean, worst = geometric_mean(ratios), max(ratios)
            print(f"{ours} over {theirs}: {mean:.2f}, at most {worst:.2f} ({len(ratios)})")
    right = sum(row["status"] == "right" for row in rows)
    print(f"{right} of {len(rows)} right")
    return 0 if right == len(rows) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.torch_modules", description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--only", action="append", help="part of a name")
    parser.add_argument("--dtype", action="append", choices=("f16", "f32"))
    for form, what in (("torchscript", "a file of its trace"), ("there", "on the device")):
        parser.add_argument(f"--{form}", action="append", default=[], metavar="NAME", help=what)
    parser.add_argument("--no-peers", action="store_true", help="without torch.compile")
    parser.add_argument("--jobs", type=int, default=4, help="processes that compile at once")
    parser.add_argument("--threads", type=int, default=4, help="of PyTorch in each")
    parser.add_argument("--seconds", type=float, default=150, help="for each network")
    parser.add_argument("--budget", type=float, default=3600, help="seconds for all of them")
    parser.add_argument("--json", help="a file that is written as it goes")
    return parser


class _Session:
    def __init__(self, options: argparse.Namespace) -> None:
        self.options, self.lock = options, threading.Lock()
        self.end = time.monotonic() + options.budget
        self.found = {"machine": describe(), "device": _device(options.device)}
        self.places = threading.Semaphore(options.jobs)
        dtypes = options.dtype or ["f16", "f32"]
        wanted = options.only or [""]
        names = [name for name in NETWORKS if any(each in name for each in wanted)]
        jobs = [{"name": n, "dtype": d, "form": "module"} for d in dtypes for n in names]
        for form in ("torchscript", "there"):
            jobs += [{"name": n, "dtype": dtypes[0], "form": form} for n in vars(options)[form]]
        self.rows: list[Row] = [{**job, "status": "waits"} for job in jobs]

    def run(self) -> list[Row]:
        """Prepare networks, some at once; then time one after the other."""
        with ThreadPoolExecutor(len(self.rows) or 1) as threads:
            children = list(threads.map(self._prepared, self.rows))
        for row, child in zip(self.rows, children, strict=True):
            if child is not None:
                self._ask(row, child, "measure", self.end - time.monotonic())
                self._say(row)
                child.end()
        return self.rows

    def _prepared(self, row: Row) -> Child | None:
        """Return the process of a network that waits to be timed."""
        with self.places:
            left = self.end - 0.2 * self.options.budget - time.monotonic()
            if left < 10:
                row["status"] = "not reached"
                return None
            seconds = min(self.options.seconds, left)
            job = {**row, "device": self.options.device, "threads": self.options.threads}
            job["peers"] = not self.options.no_peers
            try:
                child = Child(make, job, seconds=seconds)
            except ChildError as error:
                row |= {"status": error.kind, "reason": error.detail[-1500:]}
                self._say(row)
                return None
            start = time.monotonic()
            answered = self._ask(row, child, "prepare", seconds)
            self._say(row)  # at once: a peer may take longer than there is time
            left = seconds - (time.monotonic() - start)
            answered = answered and self._ask(row, child, "peer", left)
        if answered:
            return child
        child.end()
        return None

    def _ask(self, row: Row, child: Child, message: str, seconds: float) -> bool:
        try:
            row |= child.ask(message, max(seconds, 1))
        except ChildError as error:
            if message == "prepare":
                row["status"] = error.kind
            row["reason"] = error.detail[-1500:]
            return False
        return True

    def _say(self, row: Row) -> None:
        with self.lock:
            print(_line(row), flush=True)
            if self.options.json:
                text = json.dumps({**self.found, "rows": self.rows}, indent=1)
                Path(self.options.json).write_text(text + "\n", encoding="utf-8")


def _device(name: str) -> str | None:
    if not name.startswith("cuda"):
        return None
    import subprocess

    asked = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    return subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip() or None


def _line(row: Row) -> str:
    text = f"{row['status']:8} {row['name']:30} {row['dtype']} {row['form']:11}"
    if "first_s" in row:
        text += f" {row['error']:.1e} (eager {row['eager_error']:.1e})"
        text += f" first {row['first_s']:.1f} again {row['again_s']:.1f} s"
    if "torch_first_s" in row:
        text += f" (torch.compile {row['torch_first_s']:.1f}, {row.get('torch_again_s', 0):.1f})"
    for name in ("xyntra", "torch.compile", "eager"):
        if f"{name}_us" in row:
            text += f" {name} {row[f'{name}_us']:.0f}"
            text += f" ({row[f'{name}_graph_us']:.0f})" if f"{name}_graph_us" in row else ""
    failed = [row[key] for key in ("torch_failed", "reason") if key in row]
    return " ".join([text, *failed])

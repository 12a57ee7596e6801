# SPDX-License-Identifier: MIT OR Apache-2.0
"""Measure in fresh processes."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.harness.files import atomic_path

__all__ = ["ROOT", "MeasureError", "error_in", "fresh", "run_module", "write_json"]

ROOT = Path(__file__).resolve().parents[2]
_LAST_WORDS = 2000
_NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"
# As `python -m MODULE`, which would look in the current folder first: the sources of xyntra that
# lie there need not be the ones that are installed, nor are they a complete package.
_RUN = """\
import runpy, sys
root, module = sys.argv[1:3]
sys.path.append(root)
del sys.argv[1:3]
runpy.run_module(module, run_name="__main__", alter_sys=True)
"""


class MeasureError(Exception):
    """A measuring process failed.

    Attributes:
        detail: the end of what it wrote to stderr.
    """

    def __init__(self, message: str, detail: str = "") -> None:
        super().__init__(message)
        self.detail = detail


def fresh(module: str, job: Mapping[str, object], timeout: float) -> dict[str, Any]:
    """Run `MODULE JOB RESULT` in a new process and return what it wrote to RESULT.

    Args:
        module: its `main` reads the JSON text JOB and writes JSON to the file RESULT.
        job: what to do, JSON-ready.
        timeout: seconds after which the process is ended.

    Raises:
        MeasureError: it failed, was killed, or took too long.
    """
    with tempfile.TemporaryDirectory(prefix="xyntra-bench-") as folder:
        result = Path(folder) / "result.json"
        run_module(module, json.dumps(job), str(result), timeout=timeout)
        answer: dict[str, Any] = json.loads(result.read_text(encoding="utf-8"))
        return answer


def run_module(module: str, *arguments: str, timeout: float) -> None:
    """Run a module of `bench` as a program, with the xyntra that is installed.

    It may keep the bytecode of what it imports: an installed package has it. When it takes too
    long, it is ended together with every process that it started.

    Raises:
        MeasureError: it failed, was killed, or took too long.
    """
    command = [sys.executable, "-P", "-c", _RUN, str(ROOT), module, *arguments]
    status, words = _run(command, timeout)
    if status != 0:
        raise MeasureError(_reason(status, words.strip()), words[-_LAST_WORDS:])


def _run(command: Sequence[str], timeout: float) -> tuple[int, str]:
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if name != _NO_BYTECODE},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            _, words = process.communicate(timeout=timeout)
        except BaseException as error:
            os.killpg(process.pid, signal.SIGKILL)
            if isinstance(error, subprocess.TimeoutExpired):
                raise MeasureError(f"no result after {timeout:.0f} s") from error
            raise
    return process.returncode, words


def _reason(status: int, words: str) -> str:
    if status < 0:
        return f"killed by signal {-status} ({signal.strsignal(-status)})"
    return error_in(words) or f"exit status {status}"


def error_in(words: str) -> str:
    """The error that a program or a traceback ends with; empty if there are no words.

    One of ours ends a traceback, or is all there is, and may have several lines.
    """
    ours = re.split(r"^(?:[\w.-]+: )?(?=error\[)", words, flags=re.MULTILINE)
    if len(ours) > 1:
        return ours[-1]
    return words.splitlines()[-1] if words else ""


def write_json(path: Path, value: object) -> None:
    """Write `value` as indented JSON, atomically."""
    with atomic_path(path) as temporary:
        temporary.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")

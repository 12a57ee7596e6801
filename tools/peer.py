# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs a model with another runtime, in a process of its own that is stopped between its turns.

Threads of a runtime that wait for work may spin, and would take processors from whoever is timed
next; a stopped process takes nothing.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from xyntra.errors import MissingExtraError, ModelError

__all__ = ["Peer", "main", "onnxruntime_peer"]


class Peer:
    """A process that times calls of its model when it is asked to."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def turn(self, seconds: float) -> list[int]:
        """Let it call its model for so long; returns the nanoseconds of each call.

        Raises:
            ModelError: the runtime refuses the model, or its process died.
        """
        self._signal("SIGCONT")
        try:
            print(seconds, file=self._process.stdin, flush=True)
            line = self._process.stdout.readline() if self._process.stdout else ""
            answer = json.loads(line or '"its process died"')
        except OSError as error:
            answer = str(error)
        if isinstance(answer, str):
            raise ModelError("peer-failed", "onnxruntime does not run the model", cause=answer)
        self._signal("SIGSTOP")
        return [int(each) for each in answer]

    def _signal(self, name: str) -> None:
        number = getattr(signal, name, None)  # Windows has neither
        if number is not None and self._process.poll() is None:
            os.kill(self._process.pid, number)


@contextmanager
def onnxruntime_peer(model: str | bytes, feeds: Mapping[str, Any], threads: int) -> Iterator[Peer]:
    """Start onnxruntime on the CPU with a model and its inputs; it is ended with the context.

    Args:
        model: an ONNX file, or its contents.
        feeds: arrays by input name.
        threads: that work on one call.

    Raises:
        MissingExtraError: onnxruntime is not installed.
    """
    from importlib.util import find_spec

    import numpy as np

    if find_spec("onnxruntime") is None:
        raise MissingExtraError(
            "missing-onnxruntime", "onnxruntime is not installed", hint="pip install 'xyntra[demo]'"
        )
    with tempfile.TemporaryDirectory(prefix="xyntra-peer-") as folder:
        inputs, path = Path(folder) / "inputs.npz", model
        np.savez(inputs, **{f"x{i}": each for i, each in enumerate(feeds.values())})
        if isinstance(model, bytes):
            path = str(Path(folder) / "model.onnx")
            Path(path).write_bytes(model)
        job = {"model": str(path), "inputs": str(inputs), "names": list(feeds), "threads": threads}
        command = [sys.executable, "-m", "xyntra.tools.peer", json.dumps(job)]
        with subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as process:
            try:
                yield Peer(process)
            finally:
                process.kill()


def main() -> None:
    """Be the process: a line with seconds on standard input is one turn."""
    import numpy as np

    from xyntra.observe.timing.latency import time_calls

    job = json.loads(sys.argv[1])
    try:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = job["threads"]
        session = onnxruntime.InferenceSession(
            job["model"], options, providers=["CPUExecutionProvider"]
        )
        with np.load(job["inputs"]) as file:
            feeds = {name: file[f"x{i}"] for i, name in enumerate(job["names"])}
        session.run(None, feeds)
    except Exception as error:
        print(json.dumps(f"{type(error).__name__}: {error}"), flush=True)
        return
    for line in sys.stdin:
        times = time_calls(lambda: session.run(None, feeds), float(line))
        print(json.dumps(list(times)), flush=True)


if __name__ == "__main__":
    main()

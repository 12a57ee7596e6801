# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes what compiling and running took in the Chrome trace format, for Perfetto.

The format is described in Google's "TimeTrace Event Format" document. Spans of all processes are
complete events ("X"); kernels of a timed call have a thread of their own, in which they follow each
other as they did on the device; memory is a counter ("C").
"""

from __future__ import annotations

import atexit
import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from xyntra.errors import InputError
from xyntra.observe.timing.live_memory import live_bytes
from xyntra.observe.timing.stacks import Stacks, stacks_of_spans
from xyntra.plan.kernel import kernels_of
from xyntra.plan.plan import Plan
from xyntra.plan.storage.files import replace_file
from xyntra.spans import Recording, calls_recorded, recording

__all__ = ["TimeTrace", "trace", "trace_process"]

_KERNELS = 1
"""The number of the thread of kernels: the system gives it to no thread of a program."""


@dataclass
class TimeTrace:
    """A trace that is being recorded.

    Attributes:
        recorded: collects the spans.
        events: further events, in the units of the format.
        spans: those of all processes, there when the trace has ended.
    """

    recorded: Recording
    events: list[dict[str, Any]] = field(default_factory=list)
    spans: list[dict[str, Any]] = field(default_factory=list)

    def add_call(self, plan: Plan, start: int, nanoseconds: Sequence[int]) -> None:
        """Add the kernels of a call that was timed, and the memory that its tensors take.

        Args:
            plan: what was run.
            start: when, in nanoseconds of `time.perf_counter_ns`.
            nanoseconds: time of each kernel, from `Executable.time_kernels`.
        """
        process = os.getpid()
        at = start / 1e3
        memory = live_bytes(plan)
        kernels = kernels_of(plan)
        for kernel, taken, held in zip(kernels, nanoseconds, memory, strict=True):
            event: dict[str, Any] = {
                "name": f"{kernel.kind}: {', '.join(kernel.fused[:3]) or kernel.name}",
                "cat": kernel.kind,
                "ph": "X",
                "ts": at,
                "dur": taken / 1e3,
                "pid": process,
                "tid": _KERNELS,
                "args": {
                    "kernel": kernel.name,
                    "nodes": list(kernel.fused),
                    "bytes": kernel.bytes,
                    "flops": kernel.flops,
                },
            }
            self.events += [event, _memory(process, at, held)]
            at += taken / 1e3
        self.events.append(_memory(process, at, 0))

    def to_bytes(self) -> bytes:
        """Return the file: JSON, whose times are microseconds."""
        owner = os.getpid()
        events = [_complete(each) for each in self.spans] + self.events
        zero = min((each["ts"] for each in events), default=0.0)
        for each in events:
            each["ts"] -= zero
        roles = _roles(self.spans)
        events += [_called("process_name", pid, 0, role) for pid, role in roles.items()]
        if self.events:
            events.append(_called("thread_name", owner, _KERNELS, "kernels of a timed call"))
        whole = {"traceEvents": events, "displayTimeUnit": "ns"}
        return json.dumps(whole | {"otherData": {"left_out": self.recorded.left_out}}).encode()

    def stacks(self) -> Stacks:
        """Return the time of the spans by what they are nested in."""
        return stacks_of_spans(self.spans, _roles(self.spans))


def _memory(process: int, at: float, held: int) -> dict[str, Any]:
    args = {"bytes": held}
    return {"name": "temporary tensors", "ph": "C", "ts": at, "pid": process, "args": args}


def _complete(span: dict[str, Any]) -> dict[str, Any]:
    event = {"name": span["name"], "cat": span["kind"], "ph": "X", "ts": span["start"] / 1e3}
    event |= {"dur": (span["end"] - span["start"]) / 1e3, "pid": span["process"]}
    return {**event, "tid": span["thread"], "args": span["details"]}


def _roles(spans: Sequence[dict[str, Any]]) -> dict[int, str]:
    """Return what each process is: who compiles kernels records nothing outside of one."""
    found = {
        each["process"]: "compiler of kernels"
        if each["kind"] in ("kernel", "pass")
        else "compiler of the model"
        for each in sorted(spans, key=lambda each: each["kind"] not in ("kernel", "pass"))
    }
    return found | {os.getpid(): "xyntra"}


def _called(what: str, process: int, thread: int, name: str) -> dict[str, Any]:
    return {"name": what, "ph": "M", "pid": process, "tid": thread, "args": {"name": name}}


@contextmanager
def trace(path: str | os.PathLike[str] | None) -> Iterator[TimeTrace]:
    """Record what this process compiles and runs, and write it to a file at the end.

    The file is written, too, where what is recorded raises.

    Args:
        path: a JSON file, which is replaced; None for none.

    Raises:
        InputError: `trace-running`, this process records a trace already.
        ArchiveError: the file cannot be written.
    """
    with tempfile.TemporaryDirectory(prefix="xyntra-trace-") as folder:
        file = Path(folder) / "spans"
        file.touch()
        try:
            context = recording(file)
            recorded = context.__enter__()
        except RuntimeError:
            raise InputError(
                "trace-running",
                "a trace is being recorded already",
                hint="end that one first; XYNTRA_TRACE records a whole process",
            ) from None
        found = TimeTrace(recorded)
        try:
            yield found
        finally:
            context.__exit__(None, None, None)
            found.spans = recorded.spans()
            if path is not None:
                replace_file(path, [found.to_bytes()])


_of_process: list[Any] = []


def trace_process(path: Path) -> None:
    """Begin a trace of the rest of this process, which is written when it ends; once.

    The call does nothing where this process records already.
    """
    if _of_process or calls_recorded():
        return
    context = trace(path)
    _of_process.append(context)
    context.__enter__()
    atexit.register(context.__exit__, None, None, None)

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Measures what a call pays for traces that nobody records: `python -m bench.trace_overhead`.

`Executable.__call__` asks `calls_recorded` and then calls the program. The same two lines with and
without the question are run in turns; the least time of each counts, and the difference is what is
paid. Instructions are those of Python's virtual machine, counted by its tracing.
"""

from __future__ import annotations

import argparse
import sys
import timeit
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from bench.harness.machine import describe, slug
from bench.harness.measure import ROOT, write_json
from xyntra.spans import calls_recorded, span

__all__ = ["added_instructions", "added_nanoseconds", "main"]

_CALLS = 20_000
_CALL_NS = 100_000
"""Of the call that the overhead is a share of."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns 0 if the overhead is below 1 % of a call of 100 us."""
    parser = argparse.ArgumentParser(prog="python -m bench.trace_overhead", description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--json", type=Path, help="default: bench/results/trace_overhead-….json")
    options = parser.parse_args(arguments)
    machine = describe()
    nanoseconds = added_nanoseconds(options.rounds)
    found = {
        "nanoseconds": nanoseconds,
        "instructions": added_instructions(),
        "share_of_100_us": nanoseconds / _CALL_NS,
    }
    path = options.json or ROOT / "bench/results" / f"trace_overhead-{slug(machine)}.json"
    write_json(path, {"machine": machine, **found})
    print(
        f"tracing off: {found['instructions']} instructions of Python and {nanoseconds:.0f} ns a "
        f"call, {found['share_of_100_us']:.3%} of 100 us"
    )
    return int(nanoseconds >= 0.01 * _CALL_NS)


def _program() -> int:
    return 0


def _with(call: Callable[[], int]) -> int:
    if calls_recorded():
        with span("call", "call"):
            result = call()
    else:
        result = call()
    return result


def _without(call: Callable[[], int]) -> int:
    result = call()
    return result  # noqa: RET504  (as in the other one)


def added_nanoseconds(rounds: int) -> float:
    """Return how much longer the call takes, by the least times of so many rounds."""
    least = {"with": float("inf"), "without": float("inf")}
    works: dict[str, Callable[[], int]] = {
        "with": lambda: _with(_program),
        "without": lambda: _without(_program),
    }
    for _ in range(rounds):
        for name, work in works.items():
            least[name] = min(least[name], timeit.timeit(work, number=_CALLS) / _CALLS)
    return (least["with"] - least["without"]) * 1e9


def added_instructions() -> int:
    """Return how many more instructions of Python's virtual machine the call executes."""
    return _instructions(_with) - _instructions(_without)


def _instructions(function: Callable[[Callable[[], int]], int]) -> int:
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function(_program)
    finally:
        sys.settrace(before)
    return count


if __name__ == "__main__":
    sys.exit(main())

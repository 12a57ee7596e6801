# SPDX-License-Identifier: MIT OR Apache-2.0
"""The process that runs kernels: it answers one question after the other, and may die of any.

Questions are tuples of a name and arguments; see `_Bench` for what each does.
"""

from __future__ import annotations

import math
import os
import sys
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from xyntra.targets.kernel import CompiledKernel
from xyntra.targets.program import Program, TimedProgram
from xyntra.targets.table import backend_for
from xyntra.tune.measuring.comparison import difference, narrowest_rounding
from xyntra.tune.measuring.subject import Array, Subject

__all__ = ["USUAL", "main"]

USUAL = ""
"""The name of the kernel as it is without tuning."""
_LINE = 64
_RUNS = 2, 6
"""Runs that are timed together, at least and at most."""
_RUN_NANOSECONDS = 4e6
"""What they may take together."""


class _Bench:
    """Programs of one kernel with several schedules, and the arrays that they run on."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self._programs: dict[str, Program] = {}
        plan = subject.plan
        self._inputs = [array.copy() for array in subject.arrays]
        self._outputs = [np.empty_like(_empty(port)) for port in plan.own_outputs]
        self._rounded = narrowest_rounding(plan.kernels[subject.kernel].source)
        self._swept = np.zeros(subject.swept, np.uint8)
        self._load(USUAL, None)
        self._run(USUAL)
        self._expected = [array.copy() for array in self._results()]

    def add(self, name: str, code: bytes) -> str:
        """Load machine code and run it once; returns how its numbers are wrong, or ""."""
        self._load(name, CompiledKernel.from_bytes(code))
        # What the code before has written must not pass for what this one has.
        for array in self._outputs:
            array.view(np.uint8).fill(0x5A)
        self._run(name)
        for found, expected in zip(self._results(), self._expected, strict=True):
            wrong = difference(found, expected, self._rounded)
            if wrong:
                return wrong
        return ""

    def time(self, name: str) -> float:
        """Run a few times; returns the nanoseconds of a launch in the shortest run.

        Others may have the processor for a while, which only makes a run longer.
        """
        shortest, spent, runs = math.inf, 0.0, 0
        while runs < _RUNS[0] or (runs < _RUNS[1] and spent < _RUN_NANOSECONDS):
            if self._swept.size:
                self._swept[::_LINE] += 1
            nanoseconds = self._time(name)
            shortest, spent, runs = min(shortest, nanoseconds), spent + nanoseconds, runs + 1
        return shortest / self.subject.launches

    def _time(self, name: str) -> int:
        program = self._programs[name]
        if not isinstance(program, TimedProgram):
            return self._run(name)
        # What launches write over has been computed from once more: its numbers are not looked at.
        return program.time_together(self._inputs)

    def drop(self, name: str) -> None:
        """Unload machine code."""
        self._programs.pop(name, None)

    def _load(self, name: str, code: CompiledKernel | None) -> None:
        told = self.subject
        backend = backend_for(told.architecture)
        artifact = told.artifact(code)
        self._programs[name] = backend.program(artifact, told.weights, told.ordinal, told.threads)

    def _run(self, name: str) -> int:
        """Run all launches on fresh inputs, which then are in the caches as in the model."""
        for array, source in zip(self._inputs, self.subject.arrays, strict=True):
            np.copyto(array, source)
        return sum(self._programs[name].time_steps(self._inputs, self._outputs))

    def _results(self) -> list[Array]:
        """Return what a run has written: outputs, and inputs that were written over."""
        plan = self.subject.plan
        over = [self._inputs[number] for _, number in plan.aliases]
        return [*self._outputs, *over]


def _empty(port: Any) -> Array:
    from xyntra.plan.plan import numpy_dtype

    return np.empty(port.shape, numpy_dtype(port.dtype))


def main() -> None:
    """Answer questions that come through the file whose number is the last argument."""
    pipe = Connection(int(sys.argv[-1]))
    bench: _Bench | None = None
    while True:
        try:
            question, *arguments = pipe.recv()
        except EOFError:
            os._exit(0)
        if question == "open":
            bench = None  # its memory first
            bench = _Bench(*arguments)
            pipe.send(None)
        else:
            pipe.send(getattr(bench, question)(*arguments))

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Checks what a plan requires of calls, and cuts outputs to the sizes that calls compute.

A program computes a flag for each requirement behind its outputs, and then sizes of dimensions.
Here these are taken off again and looked at, for every way of calling.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from xyntra.errors import InputError, UnsupportedError
from xyntra.plan.plan import Plan
from xyntra.targets.mapped_future import MappedFuture
from xyntra.targets.program import DeviceProgram, Future, Program

__all__ = ["checked_program"]

_Results = Sequence[Any]


def checked_program(program: Program, plan: Plan) -> Program:
    """Return a program that computes the outputs of `plan`, each as large as it is in the call.

    Where a requirement is not fulfilled, a call raises its error.

    Args:
        program: computes the plan's results.
        plan: with requirements and sizes or, as most, without.
    """
    if not plan.requirements and not plan.sizes:
        return program
    if isinstance(program, DeviceProgram):
        return _CheckedDeviceProgram(program, plan)
    return _CheckedProgram(program, plan)


class _CheckedProgram:
    """Runs a program, and looks at the flags and sizes among its results."""

    def __init__(self, program: Program, plan: Plan) -> None:
        self._program = program
        self._count = len(plan.own_outputs)
        self._requirements = plan.requirements
        self._sizes = plan.sizes

    def call(self, arrays: Sequence[Any], out: Sequence[Any] | None = None) -> _Results:
        """Run once; what is in the arrays of `out` means nothing where this raises."""
        if out is not None:
            if self._sizes:
                raise InputError(
                    "output-size-unknown",
                    "out= cannot be given: only a call finds out how large its outputs are",
                    hint="leave out out=",
                )
            self._check_count(out)
            out = [*out, *self._flags()]
        return self._checked(self._program.call(arrays, out))

    def time_steps(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> list[int]:
        flags = self._flags()
        times = self._program.time_steps(inputs, [*outputs, *flags])
        self._check(flags)
        return times

    def _flags(self) -> list[Any]:
        """Room for flags and sizes, on the host: a device copies them there, and waits for them."""
        flags = [np.empty((), np.bool_) for _ in self._requirements]
        return [*flags, *(np.empty((), np.int64) for _ in self._sizes)]

    def _checked(self, results: _Results) -> _Results:
        """The outputs among the results of a call."""
        self._check(results[self._count :])
        return self._cut(results) if self._sizes else results[: self._count]

    def _cut(self, results: _Results) -> _Results:
        """The outputs among results, each as large as its sizes say."""
        outputs = list(results[: self._count])
        first = self._count + len(self._requirements)
        wanted: dict[int, dict[int, int]] = {}
        for sized, count in zip(self._sizes, results[first:], strict=True):
            wanted.setdefault(sized.output, {})[sized.dimension] = int(np.asarray(count))
        for number, sizes in wanted.items():
            outputs[number] = _first_of(outputs[number], sizes)
        return outputs

    def _check(self, flags: Sequence[Any]) -> None:
        for requirement, flag in zip(self._requirements, flags, strict=False):
            # Flags on a device are copied to the host here, once what computes them has run.
            if not np.asarray(flag):
                raise requirement.error()

    def _check_count(self, out: Any) -> None:
        if not isinstance(out, (list, tuple)):
            raise InputError(
                "output-type", f"out= takes a list of arrays, not a {type(out).__name__}"
            )
        if len(out) != self._count:
            raise InputError(
                "output-count", f"the model has {self._count} outputs, out= has {len(out)}"
            )


class _CheckedDeviceProgram(_CheckedProgram):
    """A checked program that takes arrays of its device: a call waits for its flags."""

    def __init__(self, program: DeviceProgram, plan: Plan) -> None:
        super().__init__(program, plan)
        self._device = program

    def submit(self, arrays: Sequence[Any]) -> Future:
        return MappedFuture(self._device.submit(arrays), self._checked)

    def launches(self, addresses: Sequence[int]) -> Sequence[Any]:
        """Refuse to give launches away: nobody would look at the flags.

        Raises:
            UnsupportedError: always.
        """
        raised = next((each.message for each in self._requirements), "")
        lost = f"see what a call raises: {raised}" if raised else "cut outputs to their sizes"
        raise UnsupportedError(
            "launches-unchecked",
            "the launches of this model cannot be used on their own",
            cause=f"whoever launches them would not {lost}",
            hint=next((each.hint for each in self._requirements), "") or None,
        )

    def overlaps(self) -> Mapping[str, Sequence[bool]]:
        return self._device.overlaps()

    def launch_resources(self) -> Sequence[Any]:
        return self._device.launch_resources()


def _first_of(array: Any, sizes: Mapping[int, int]) -> Any:
    """A copy of the first elements of an output; an array on a device comes to the host."""
    whole = np.asarray(array)
    spans = [slice(sizes.get(d, n)) for d, n in enumerate(whole.shape)]
    return np.ascontiguousarray(whole[tuple(spans)])

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Programs whose calls check what their plan requires, such as the branch that was compiled.

A program computes a flag for each requirement behind its outputs. Here the flags are taken off
again and looked at, for every way of calling.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any

import numpy as np

from xyntra.errors import InputError, UnsupportedError
from xyntra.plan.plan import Plan
from xyntra.targets.base import DeviceProgram, Future, Program

__all__ = ["checked_program"]

_Results = Sequence[Any]


def checked_program(program: Program, plan: Plan) -> Program:
    """Return a program that computes the outputs of `plan`, or raises what is required of a call.

    Args:
        program: computes the plan's results.
        plan: with requirements or, as most, without.
    """
    if not plan.requirements:
        return program
    if isinstance(program, DeviceProgram):
        return _CheckedDeviceProgram(program, plan)
    return _CheckedProgram(program, plan)


class _CheckedProgram:
    """Runs a program, and raises the error of a requirement that a call does not fulfil."""

    def __init__(self, program: Program, plan: Plan) -> None:
        self._program = program
        self._count = len(plan.results) - len(plan.requirements)
        self._requirements = plan.requirements

    def call(self, arrays: Sequence[Any], out: Sequence[Any] | None = None) -> _Results:
        """Run once; what is in the arrays of `out` means nothing where this raises."""
        if out is not None:
            self._check_count(out)
            out = [*out, *self._flags()]
        return self._checked(self._program.call(arrays, out))

    def time_steps(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> list[int]:
        flags = self._flags()
        times = self._program.time_steps(inputs, [*outputs, *flags])
        self._check(flags)
        return times

    def _flags(self) -> list[Any]:
        """Room for the flags, on the host: a device copies them there, and waits for them."""
        return [np.empty((), np.bool_) for _ in self._requirements]

    def _checked(self, results: _Results) -> _Results:
        """The outputs among the results of a call."""
        self._check(results[self._count :])
        return results[: self._count]

    def _check(self, flags: Sequence[Any]) -> None:
        for requirement, flag in zip(self._requirements, flags, strict=True):
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
        return _CheckedFuture(self._device.submit(arrays), self._checked)

    def launches(self, addresses: Sequence[int]) -> Sequence[Any]:
        """Refuse to give launches away: nobody would look at the flags.

        Raises:
            UnsupportedError: always.
        """
        first = self._requirements[0]
        raise UnsupportedError(
            "launches-unchecked",
            "the launches of this model cannot be used on their own",
            cause=f"whoever launches them would not see what a call raises: {first.message}",
            hint=first.hint or None,
        )

    def overlaps(self) -> Mapping[str, Sequence[bool]]:
        return self._device.overlaps()

    def launch_resources(self) -> Sequence[Any]:
        return self._device.launch_resources()


class _CheckedFuture:
    """The outputs of a call that may not have finished; the flags are looked at when it has."""

    def __init__(self, future: Future, checked: Callable[[_Results], _Results]) -> None:
        self._future = future
        self._checked = checked

    def __await__(self) -> Generator[Any, None, Any]:
        results = yield from self._future.__await__()
        return self._outputs(results)

    def cancel(self) -> bool:
        return self._future.cancel()

    def done(self) -> bool:
        return self._future.done()

    def result(self, timeout: float | None = None) -> Any:
        return self._outputs(self._future.result(timeout))

    def _outputs(self, results: Any) -> Any:
        given = results if isinstance(results, tuple) else (results,)
        outputs = self._checked(given)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Programs whose calls write outputs where inputs lie, such as the caches of a language model.

A program sees such an array once, among its inputs. Here the arrays are checked, so that nothing is
written where one does not fit, and given back among the outputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xyntra.errors import InputError, UnsupportedError
from xyntra.plan.plan import Plan
from xyntra.targets.mapped_future import MappedFuture
from xyntra.targets.program import (
    DeviceProgram,
    Future,
    HostProgram,
    PlainCall,
    PlainProgram,
    Program,
    StateProgram,
)

__all__ = ["StatefulProgram", "stateful_program"]

_Arrays = Sequence[Any]


def stateful_program(program: Program, states: Program, plan: Plan) -> Program:
    """Return a program that gives back all outputs of `plan`, those written in place as well.

    Args:
        program: computes what has memory of its own, and checks what the plan requires.
        states: the same program, or the one that it checks; knows where its arrays lie.
        plan: with aliases or, as most, without.

    Raises:
        UnsupportedError: `aliases-unsupported`: such programs write no output where an input lies.
    """
    if not plan.aliases:
        return program
    if not isinstance(states, StateProgram):
        raise UnsupportedError(
            "aliases-unsupported", "outputs cannot be written where inputs lie on this target"
        )
    if isinstance(program, DeviceProgram):
        return _StatefulDeviceProgram(program, states, plan)
    if isinstance(program, HostProgram):
        return _StatefulHostProgram(program, states, plan)
    return StatefulProgram(program, states, plan)


class StatefulProgram:
    """Runs a program, and gives back the inputs that it has written outputs over."""

    def __init__(self, program: Program, states: StateProgram, plan: Plan) -> None:
        self._program, self._memory = program, states
        self._plan = plan
        self._inputs = dict(plan.aliases)
        self._states = [(number, plan.inputs[number]) for number in self._inputs.values()]
        self._others = [
            (number, port)
            for number, port in enumerate(plan.inputs)
            if number not in self._inputs.values()
        ]

    def call(self, arrays: _Arrays, out: _Arrays | None = None) -> _Arrays:
        """Run once; the arrays of states come back as they were given.

        Raises:
            InputError: `input-count`, `output-count`, `state-overlap`, `state-moved`, or what
                `state_address` raises; nothing has been written then.
        """
        own = self._checked(arrays, out)
        return self._merged(arrays, self._program.call(arrays, own))

    def time_steps(self, inputs: _Arrays, outputs: _Arrays) -> list[int]:
        """Run once on contiguous arrays that fit, states among the inputs alone."""
        return self._program.time_steps(inputs, outputs)

    def new_states(self) -> dict[str, Any]:
        """Return arrays of zeros, by name, for the inputs that outputs are written over."""
        ports = [port for _, port in self._states]
        arrays = self._memory.new_states(ports)
        return {port.name: array for port, array in zip(ports, arrays, strict=True)}

    def _checked(self, arrays: _Arrays, out: _Arrays | None) -> _Arrays | None:
        """Check the states of a call; returns the arrays for the other outputs, if there are."""
        if len(arrays) != len(self._plan.inputs):
            count = len(self._plan.inputs)
            raise InputError("input-count", f"the model takes {count} inputs")
        address = self._memory.state_address
        places = {number: address(arrays[number], port) for number, port in self._states}
        self._check_apart(arrays, places)
        if out is None:
            return None
        if len(out) != len(self._plan.outputs):
            count = len(self._plan.outputs)
            raise InputError("output-count", f"the model has {count} outputs, out= has {len(out)}")
        for output, number in self._inputs.items():
            given = out[output]
            if given is None or given is arrays[number]:
                continue
            port = self._plan.inputs[number]
            if address(given, port) != places[number]:
                raise InputError(
                    "state-moved",
                    f"output '{self._plan.outputs[output].name}' is written where input"
                    f" '{port.name}' lies, and nowhere else",
                    place="out=",
                    hint="give the same array, or leave it out",
                )
        own = [array for number, array in enumerate(out) if number not in self._inputs]
        missing = [each is None for each in own]
        if any(missing) and not all(missing):
            raise InputError(
                "output-count", "out= names some outputs with memory of their own, but not all"
            )
        return None if all(missing) else own

    def _check_apart(self, arrays: _Arrays, places: Mapping[int, int]) -> None:
        """Check that states share no memory with each other, or with other inputs."""
        taken = [(places[n], places[n] + port.nbytes, port, True) for n, port in self._states]
        for number, port in self._others:
            start = self._memory.input_address(arrays[number])
            if start is not None:
                taken.append((start, start + port.nbytes, port, False))
        taken.sort(key=lambda each: each[0])
        end, last = 0, None
        for each in taken:
            if last is not None and each[0] < end and (each[3] or last[3]):
                raise InputError(
                    "state-overlap",
                    f"inputs '{last[2].name}' and '{each[2].name}' share memory, one of which an"
                    " output is written over",
                )
            if each[1] > end:
                end, last = each[1], each

    def _merged(self, arrays: _Arrays, results: _Arrays) -> _Arrays:
        own = iter(results)
        return [
            arrays[self._inputs[number]] if number in self._inputs else next(own)
            for number in range(len(self._plan.outputs))
        ]

    def _plain(self, program: PlainProgram) -> PlainCall:
        """Return the short way of a program, whose caller vouches for the arrays of states."""
        run = program.plain_call()

        def call(arrays: _Arrays, into: _Arrays = ()) -> list[Any] | None:
            found = run(arrays, into)
            return None if found is None else list(self._merged(arrays, found))

        return call


class _StatefulHostProgram(StatefulProgram):
    """A stateful program that runs on memory whose addresses it is given."""

    def __init__(self, program: HostProgram, states: StateProgram, plan: Plan) -> None:
        super().__init__(program, states, plan)
        self.run_at = program.run_at
        self._short = self._plain(program)

    def plain_call(self) -> PlainCall:
        return self._short


class _StatefulDeviceProgram(StatefulProgram):
    """A stateful program that takes arrays of its device."""

    def __init__(self, program: DeviceProgram, states: StateProgram, plan: Plan) -> None:
        super().__init__(program, states, plan)
        self.launches, self.overlaps = program.launches, program.overlaps
        self.launch_resources = program.launch_resources
        self._device = program
        self._short = self._plain(program) if isinstance(program, PlainProgram) else None

    def plain_call(self) -> PlainCall:
        return self._short or _never

    def submit(self, arrays: _Arrays) -> Future:
        self._checked(arrays, None)
        return MappedFuture(
            self._device.submit(arrays), lambda results: self._merged(arrays, results)
        )


def _never(arrays: _Arrays, into: _Arrays = ()) -> None:
    """Take no arrays."""

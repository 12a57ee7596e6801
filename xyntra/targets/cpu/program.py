# SPDX-License-Identifier: MIT OR Apache-2.0
"""An artifact loaded into this process: code, constants, prepared weights and arenas."""

from __future__ import annotations

import copy
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from xyntra.plan.artifact import Artifact
from xyntra.plan.calls.arguments import InputChecks, OutputChecks, check_output, state_array
from xyntra.plan.lifetimes import lifetimes
from xyntra.plan.memory import place
from xyntra.plan.plan import Plan, Port, Step, numpy_dtype
from xyntra.plan.storage.stored import contents
from xyntra.targets.cpu.arenas import Arenas, CallArena, Owner
from xyntra.targets.cpu.interrupts import FLAG, interrupts, is_supported
from xyntra.targets.cpu.loader import ObjectLibrary
from xyntra.targets.cpu.memory import address_of, allocate
from xyntra.targets.cpu.plain_call import plain_arguments, plain_call
from xyntra.targets.cpu.prepared import PreparedOperands, prepare_name, prepared_kernels
from xyntra.targets.cpu.replay import StepTable, own_library
from xyntra.targets.cpu.threads.pool import default_threads, team
from xyntra.targets.program import PlainCall

Array = np.ndarray[Any, Any]

_LASTING = ("parameter", "constant", "prepared")
_LONG = 0.01
"""Seconds of a call that is worth some microseconds, in which SIGINT is made to end it."""


def load_native_code(threads: int | None = None) -> None:
    """Compile what all programs of this process share, for calls by so many threads."""
    team(threads or default_threads())
    own_library()


class CpuProgram:
    """Runs a plan in this process.

    Several threads may call `run` at once: each call takes an arena of its own, with an argument
    table that points into it, and both are used again.

    Args:
        artifact: what to run.
        weights: the plan's parameters by name, contiguous.
        threads: how many threads work on one call; as many as there are cores where not given.
        steps: for which weights are prepared, where plans of other steps are run, too.

    Raises:
        CompileError: the code cannot be loaded, or a weight is missing.
    """

    def __init__(
        self,
        artifact: Artifact,
        weights: Mapping[str, Array],
        threads: int | None = None,
        steps: Sequence[Step] = (),
    ) -> None:
        self.plan = artifact.plan
        self.team = team(threads or default_threads())
        objects = {name: bytes(code) for name, code in artifact.objects.items()}
        self._library = ObjectLibrary(
            objects, [prepare_name(each) for each in prepared_kernels(self.plan)]
        )
        self._fixed = _fixed_buffers(self.plan, weights)
        self._arenas: Arenas[_Context] = Arenas()
        self._copies = PreparedOperands(replace(self.plan, steps=tuple(steps or self.plan.steps)))
        self._set_plan()
        self._prepare()

    def with_plan(self, plan: Plan, arrays: Mapping[int, Array]) -> CpuProgram:
        """Return a program with the code, weights, copies and arenas of this one, and another plan.

        Args:
            plan: as this one's, with further buffers behind those, and other sizes.
            arrays: the contents of those that are known.
        """
        made = copy.copy(self)
        made.plan = plan
        made._fixed = {**self._fixed, **arrays}
        made._set_plan()
        return made

    def settled(self, plan: Plan, made: Collection[int]) -> tuple[CpuProgram, Mapping[int, Array]]:
        """Return this program without what `plan` does not need, and the bytes of `made`."""
        program = copy.copy(self)
        program.plan = plan
        known = {n for n, each in enumerate(plan.buffers) if each.kind in _LASTING}
        program._fixed = {n: array for n, array in self._fixed.items() if n in known}
        program._set_plan()
        return program, {number: self._fixed[number] for number in made}

    def _set_plan(self) -> None:
        self._layout = _Layout(self.plan, self.team.threads)
        self._inputs = InputChecks(self.plan.inputs)
        self._outputs = OutputChecks(self.plan.results)
        self._plain = plain_arguments(self.plan.inputs, self.plan.results)
        ports = [*self.plan.inputs, *self.plan.results]
        self._sizes = [self.plan.buffers[port.buffer].nbytes for port in ports]
        self._owner = Owner()
        self._is_long = is_supported() and _may_be_long(self.plan)

    def call(self, arrays: Sequence[Any], out: Sequence[Any] | None = None) -> list[Array]:
        """Run the plan once and return its outputs.

        Args:
            arrays: one an input.
            out: where to write the outputs; new arrays where not given.

        Raises:
            InputError: an array does not fit, or one of `out` shares memory with another array.
        """
        plain = self._plain(arrays) if out is None else None
        if plain is not None:
            addresses, outputs = plain
            self.run_at(addresses)
            return outputs
        inputs = self._inputs(arrays)
        outputs = self._outputs.new() if out is None else self._outputs(out)
        addresses = [address_of(array) for array in inputs]
        addresses += [address_of(array) for array in outputs]
        if out is not None and self._may_overlap(addresses):
            for number, (array, port) in enumerate(zip(outputs, self.plan.results, strict=True)):
                check_output(array, port, inputs, outputs[:number])
        self.run_at(addresses)
        return outputs

    def run_at(self, addresses: Sequence[int]) -> None:
        """Run the plan once on memory that the caller vouches for.

        Args:
            addresses: of inputs and results in order, each contiguous, of the port's size and
                aligned to its elements. No result, and no input that an output is written over,
                may overlap anything else. Such an output is none of the results.
        """
        arena, context = self._acquire()
        try:
            context.bind(addresses)
            if self._is_long:
                self._run_long(context.table)
            else:
                context.table.run()
        finally:
            self._arenas.give(arena)

    def plain_call(self) -> PlainCall:
        """Return a function that runs once on arrays of numpy that fit; see `plain_call`."""
        return plain_call(self.plan.inputs, self.plan.results, self.run_at)

    def state_address(self, array: Any, port: Port) -> int:
        """Return where an array lies that an output is to be written over.

        Raises:
            InputError: as `state_array` raises it.
        """
        return address_of(state_array(array, port))

    def input_address(self, array: Any) -> int | None:
        """Return where an array of a call lies; None for what is no array of numpy's."""
        return address_of(array) if isinstance(array, np.ndarray) else None

    def new_states(self, ports: Sequence[Port]) -> list[Array]:
        """Return arrays of zeros for inputs that outputs are written over."""
        return [np.zeros(port.shape, numpy_dtype(port.dtype)) for port in ports]

    def _run_long(self, table: StepTable) -> None:
        """Run a call that SIGINT may end; it is short from then on if it turns out to be."""
        state = interrupts()
        if not state.arm():
            table.run()
            return
        start = time.perf_counter()
        try:
            table.run(state.address + FLAG)
        finally:
            ended = state.disarm()
        if ended:
            # Python's handler runs here, and raises; where the program has another one, go on.
            table.run()
            return
        self._is_long = time.perf_counter() - start > _LONG

    def _may_overlap(self, addresses: Sequence[int]) -> bool:
        """Tell whether an output may share memory with what comes before it."""
        sizes, first = self._sizes, len(self.plan.inputs)
        for number in range(first, len(addresses)):
            start = addresses[number]
            end = start + sizes[number]
            for other in range(number):
                if addresses[other] < end and start < addresses[other] + sizes[other]:
                    return True
        return False

    def time_steps(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> list[int]:
        """Run the plan once and return each step's nanoseconds; zero for those done at load."""
        arena, context = self._acquire()
        try:
            context.bind([address_of(array) for array in (*inputs, *outputs)])
            times = iter(context.table.run_timed())
        finally:
            self._arenas.give(arena)
        return [0 if step.once else next(times) for step in self.plan.steps]

    def time_call(self, arrays: Sequence[Any]) -> list[int]:
        """Run the plan once on arrays that are checked; returns what `time_steps` does."""
        return self.time_steps(self._inputs(arrays), self._outputs.new())

    def _prepare(self) -> None:
        """Compute what depends on weights alone."""
        steps = [step for step in self.plan.steps if step.once]
        for step in steps:
            for buffer in step.outputs:
                self._fixed[buffer] = allocate(self.plan.buffers[buffer].nbytes)
        if steps:
            self.team.assemble()
            arena: CallArena[_Context] = CallArena(
                self._layout.nbytes
            )  # which must outlive the run
            context = _Context(self, steps, arena.address)
            context.table.run()
        self._copies.fill(self._library, self._fixed)

    def _acquire(self) -> tuple[CallArena[_Context], _Context]:
        self.team.assemble()
        arena = self._arenas.take(self._layout.nbytes)
        context = arena.tables(self._owner)
        if context is None:
            steps = [step for step in self.plan.steps if not step.once]
            context = _Context(self, steps, arena.address)
            arena.keep(self._owner, context)
        return arena, context


class _Layout:
    """Offsets of temporaries and of every step's scratch memory in the arena."""

    def __init__(self, plan: Plan, threads: int) -> None:
        blocks = lifetimes(plan, lambda kernel: kernel.scratch + threads * kernel.private)
        arena = place(list(blocks.values()))
        self.nbytes = arena.nbytes
        self.offsets = dict(zip(blocks, arena.offsets, strict=True))


class _Context:
    """The argument table of one call at a time, for an arena."""

    def __init__(self, program: CpuProgram, steps: Sequence[Step], arena: int) -> None:
        # It keeps no reference to the program, which keeps it: a cycle would not be freed at once.
        self.plan, self.arena = program.plan, arena
        indices = {id(step): index for index, step in enumerate(self.plan.steps)}
        slots: dict[int, list[tuple[int, int]]] = {}
        calls = []
        for position, step in enumerate(steps):
            buffers = self._argument_buffers(step)
            for argument, buffer in enumerate(buffers):
                slots.setdefault(buffer, []).append((position, argument))
            addresses = [self._address(program, buffer) for buffer in buffers]
            addresses += program._copies.addresses(step)
            scratch = program._layout.offsets.get(("scratch", indices[id(step)]), 0)
            addresses += [self.arena + scratch, program.team.address]
            calls.append((program._library.address(step.kernel), addresses))
        self.table = StepTable(calls, active=program.team.active)
        ports = [*self.plan.inputs, *self.plan.results]
        numbers = {port.buffer: number for number, port in enumerate(ports)}
        self._bound = [
            (self.table.word(*place), numbers[home], self.plan.buffers[buffer].offset)
            for buffer, places in slots.items()
            if (home := self.plan.home(buffer)) in numbers
            for place in places
        ]

    def bind(self, addresses: Sequence[int]) -> None:
        """Point the argument table at the arrays of a call: inputs, then outputs."""
        for word, number, offset in self._bound:
            word.value = addresses[number] + offset

    def _argument_buffers(self, step: Step) -> list[int]:
        return self.plan.argument_buffers(step)

    def _address(self, program: CpuProgram, buffer: int) -> int:
        fixed = program._fixed.get(buffer)
        if fixed is not None:
            return address_of(fixed)
        offset = program._layout.offsets.get(("buffer", self.plan.home(buffer)))
        return 0 if offset is None else self.arena + offset + self.plan.buffers[buffer].offset


def _may_be_long(plan: Plan) -> bool:
    """Tell whether a call could take long: not by far, as predictions are rough."""
    costs = [step.cost for step in plan.steps if not step.once]
    known = [cost.nanoseconds for cost in costs if cost is not None]
    return len(known) < len(costs) or sum(known) > _LONG * 1e9 / 20


def _fixed_buffers(plan: Plan, weights: Mapping[str, Array]) -> dict[int, Array]:
    fixed: dict[int, Array] = {}
    for index, buffer in enumerate(plan.buffers):
        stored = contents(buffer, weights)
        if stored is not None and buffer.kind == "constant":
            memory = allocate(buffer.nbytes)
            memory[: buffer.nbytes] = stored
            fixed[index] = memory
        elif stored is not None:
            fixed[index] = stored
    return fixed

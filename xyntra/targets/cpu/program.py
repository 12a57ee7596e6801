# SPDX-License-Identifier: MIT OR Apache-2.0
"""An artifact loaded into this process: code, constants, prepared weights and arenas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from xyntra.errors import CompileError
from xyntra.plan.artifact import Artifact
from xyntra.plan.lifetimes import lifetimes
from xyntra.plan.memory import place
from xyntra.plan.plan import Plan, Step
from xyntra.targets.cpu.loader import Library
from xyntra.targets.cpu.memory import address_of, allocate
from xyntra.targets.cpu.pool import default_threads, team
from xyntra.targets.cpu.prepared import PreparedOperands, prepare_name, prepared_kernels
from xyntra.targets.cpu.replay import StepTable

Array = np.ndarray[Any, Any]


class CpuProgram:
    """Runs a plan in this process.

    Several threads may call `run` at once: each call takes a context (an arena and its argument
    table) of its own, and contexts are reused.

    Args:
        artifact: what to run.
        weights: the plan's parameters by name, contiguous.
        threads: how many threads work on one call; as many as there are cores where not given.

    Raises:
        CompileError: the code cannot be loaded, or a weight is missing.
    """

    def __init__(
        self, artifact: Artifact, weights: Mapping[str, Array], threads: int | None = None
    ) -> None:
        self.plan = artifact.plan
        self.team = team(threads or default_threads())
        objects = {name: bytes(code) for name, code in artifact.objects.items()}
        self._library = Library(
            objects, [prepare_name(each) for each in prepared_kernels(self.plan)]
        )
        self._fixed = _fixed_buffers(self.plan, weights)
        self._copies = PreparedOperands(self.plan)
        self._layout = _Layout(self.plan, self.team.threads)
        self._idle: list[_Context] = []
        self._prepare()

    def run(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Run the plan once on contiguous arrays that fit its ports."""
        context = self._acquire()
        try:
            context.bind(inputs, outputs)
            context.table.run()
        finally:
            self._release(context)

    def time_steps(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> list[int]:
        """Run the plan once and return each step's nanoseconds; zero for those done at load."""
        context = self._acquire()
        try:
            context.bind(inputs, outputs)
            times = iter(context.table.run_timed())
        finally:
            self._release(context)
        return [0 if step.once else next(times) for step in self.plan.steps]

    def _prepare(self) -> None:
        """Compute what depends on weights alone."""
        steps = [step for step in self.plan.steps if step.once]
        for step in steps:
            for buffer in step.outputs:
                self._fixed[buffer] = allocate(self.plan.buffers[buffer].nbytes)
        if steps:
            self.team.assemble()
            context = _Context(self, steps)  # its memory must outlive the run
            context.table.run()
        self._copies.fill(self._library, self._fixed)

    def _acquire(self) -> _Context:
        # No lock, which another thread might hold while this process forks.
        self.team.assemble()
        try:
            return self._idle.pop()
        except IndexError:
            return _Context(self, [step for step in self.plan.steps if not step.once])

    def _release(self, context: _Context) -> None:
        self._idle.append(context)


class _Layout:
    """Offsets of temporaries and of every step's scratch memory in the arena."""

    def __init__(self, plan: Plan, threads: int) -> None:
        blocks = lifetimes(plan, lambda kernel: kernel.scratch + threads * kernel.private)
        arena = place(list(blocks.values()))
        self.nbytes = arena.nbytes
        self.offsets = dict(zip(blocks, arena.offsets, strict=True))


class _Context:
    """The memory and the argument table of one call at a time."""

    def __init__(self, program: CpuProgram, steps: Sequence[Step]) -> None:
        # It keeps no reference to the program, which keeps it: a cycle would not be freed at once.
        self.plan = program.plan
        self.arena = allocate(program._layout.nbytes)
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
            addresses += [address_of(self.arena) + scratch, program.team.address]
            calls.append((program._library.address(step.kernel), addresses))
        self.table = StepTable(calls, active=program.team.active)
        ports = [*self.plan.inputs, *self.plan.outputs]
        self.bound = [
            [self.table.word(*place) for place in slots.get(port.buffer, [])] for port in ports
        ]

    def bind(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Point the argument table at the arrays of a call."""
        for array, words in zip((*inputs, *outputs), self.bound, strict=True):
            address = address_of(array)
            for word in words:
                word.value = address

    def _argument_buffers(self, step: Step) -> list[int]:
        return self.plan.argument_buffers(step)

    def _address(self, program: CpuProgram, buffer: int) -> int:
        fixed = program._fixed.get(buffer)
        if fixed is not None:
            return address_of(fixed)
        offset = program._layout.offsets.get(("buffer", buffer))
        return 0 if offset is None else address_of(self.arena) + offset


def _fixed_buffers(plan: Plan, weights: Mapping[str, Array]) -> dict[int, Array]:
    fixed: dict[int, Array] = {}
    for index, buffer in enumerate(plan.buffers):
        if buffer.kind == "constant":
            memory = allocate(buffer.nbytes)
            memory[: buffer.nbytes] = np.frombuffer(buffer.data, np.uint8)
            fixed[index] = memory
        elif buffer.kind == "parameter":
            if buffer.name not in weights:
                raise CompileError("weight-missing", f"the weight '{buffer.name}' is missing")
            array = weights[buffer.name]
            if array.nbytes != buffer.nbytes:
                raise CompileError(
                    "weight-size",
                    f"the weight '{buffer.name}' does not have the size that the plan expects",
                    cause=f"{array.nbytes} bytes instead of {buffer.nbytes}",
                )
            fixed[index] = array
    return fixed

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Makes a model of its own of one kernel: the launches of a plan that use it, with their data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle, islice
from typing import Any

import numpy as np

from xyntra.plan.artifact import Artifact
from xyntra.plan.plan import Buffer, Plan, Port, Step, TensorType, numpy_dtype
from xyntra.targets.kernel import CompiledKernel

__all__ = ["Subject", "made_up", "subject_of"]

Array = np.ndarray[Any, Any]
_MOST_BYTES = 1 << 29
_KNOWN = ("parameter", "constant", "prepared")


@dataclass(frozen=True)
class Subject:
    """What is measured.

    Attributes:
        kernel: its name.
        plan: of its launches, and of what prepares their weights.
        objects: machine code of these kernels, as they are without tuning.
        target: what that is for, as artifacts say it.
        calls: machine code that starts calls on a GPU.
        weights: the parameters of the plan.
        arrays: its inputs, in order.
        architecture: of the GPU that code is generated for; "" for this processor.
        ordinal: the number of the device.
        threads: of the processor that work on one call; None for one a core.
        swept: bytes of memory to walk through before each run, so that weights are as far away as
            in the model, of which they are a part.
    """

    kernel: str
    plan: Plan
    objects: dict[str, bytes]
    target: str
    calls: bytes
    weights: dict[str, Array]
    arrays: list[Array]
    architecture: str
    ordinal: int
    threads: int | None
    swept: int = 0

    @property
    def launches(self) -> int:
        """The number of launches that one run times."""
        return sum(not step.once for step in self.plan.steps)

    def artifact(self, code: CompiledKernel | None = None) -> Artifact:
        """Return the plan with the kernel's usual machine code, or with other code."""
        plan, objects = self.plan, dict(self.objects)
        if code is not None:
            told = replace(
                plan.kernels[self.kernel],
                scratch=code.scratch_bytes,
                private=code.private_bytes,
                prepared=code.prepared_bytes,
                schedules=code.schedules,
            )
            plan = replace(plan, kernels={**plan.kernels, self.kernel: told})
            objects[self.kernel] = code.code
        return Artifact(plan, objects, self.target, "", b"", self.calls)


def subject_of(
    artifact: Artifact,
    kernel: str,
    weights: Mapping[str, Array],
    known: Mapping[int, Array],
    device: tuple[str, int, int | None],
    swept: int = 0,
    launches: int = 2,
) -> Subject:
    """Return what there is to measure of a kernel.

    Args:
        artifact: the model, compiled without tuning.
        kernel: the name of the kernel, which a call launches.
        weights: of the model.
        known: contents of some buffers in a call; others are made up.
        device: architecture, number and threads.
        swept: as `Subject` has it.
        launches: that are timed together, each with weights of its own as long as there are some,
            as in the model. Every candidate prepares them once more.
    """
    builder = _Builder(artifact.plan, known)
    steps = _steps(artifact.plan, kernel, launches)
    for step in [*_before(artifact.plan, steps), *steps]:
        builder.add(step)
    if not artifact.plan.kernels[kernel].inplace:
        builder.repeat(launches)
    plan = builder.plan()
    named = {each.name for each in plan.buffers if each.kind == "parameter"}
    return Subject(
        kernel=kernel,
        plan=plan,
        objects={name: bytes(artifact.objects[name]) for name in plan.kernels},
        target=artifact.target,
        calls=bytes(artifact.calls),
        weights={name: np.asarray(weights[name]) for name in named},
        arrays=builder.arrays,
        architecture=device[0],
        ordinal=device[1],
        threads=device[2],
        swept=swept,
    )


def _steps(plan: Plan, kernel: str, most: int) -> list[Step]:
    """Return the first launches of a kernel, as many as fit into memory."""
    found: list[Step] = []
    size = 0
    for step in plan.steps:
        if step.kernel == kernel and not step.once and len(found) < most:
            size += plan.step_bytes(step)
            if not found or size <= _MOST_BYTES:
                found.append(step)
    return found


def _before(plan: Plan, steps: Sequence[Step]) -> list[Step]:
    """Return what makes at load what `steps` read, in order."""
    needed = {buffer for step in steps for buffer in step.inputs}
    found = []
    for step in reversed(plan.steps):
        if step.once and needed.intersection(step.outputs):
            needed.update(step.inputs)
            found.append(step)
    return found[::-1]


@dataclass
class _Builder:
    """Collects the launches of a plan; each has memory of its own for what it reads and writes."""

    source: Plan
    known: Mapping[int, Array]
    arrays: list[Array] = field(default_factory=list)
    _buffers: list[Buffer] = field(default_factory=list)
    _steps: list[Step] = field(default_factory=list)
    _inputs: list[Port] = field(default_factory=list)
    _outputs: list[Port] = field(default_factory=list)
    _fixed: dict[int, int] = field(default_factory=dict)

    def add(self, step: Step) -> None:
        """Add a launch."""
        kernel = self.source.kernels[step.kernel]
        reused = {argument: result for result, argument in kernel.inplace}
        inputs = []
        for number, (buffer, kind) in enumerate(zip(step.inputs, kernel.arguments, strict=True)):
            if self.source.buffers[buffer].kind in _KNOWN:
                inputs.append(self._known(buffer))
            else:
                inputs.append(self._input(buffer, kind, written=number in reused))
        outputs = []
        shared = dict(kernel.inplace)
        for number, (buffer, kind) in enumerate(zip(step.outputs, kernel.results, strict=True)):
            if number in shared and not step.once:
                outputs.append(inputs[shared[number]])
            elif step.once:
                outputs.append(self._known(buffer))
            else:
                outputs.append(self._buffer("output", buffer))
                self._outputs.append(_port(kind, "out", outputs[-1]))
        self._steps.append(replace(step, inputs=tuple(inputs), outputs=tuple(outputs)))

    def repeat(self, count: int) -> None:
        """Add the launches of a call again, with outputs of their own, until there are so many."""
        called = [step for step in self._steps if not step.once]
        for step in islice(cycle(called), max(0, count - len(called))):
            outputs = []
            for number in step.outputs:
                port = next(each for each in self._outputs if each.buffer == number)
                outputs.append(len(self._buffers))
                self._buffers.append(self._buffers[number])
                self._outputs.append(replace(port, name=f"out{outputs[-1]}", buffer=outputs[-1]))
            self._steps.append(replace(step, outputs=tuple(outputs)))

    def plan(self) -> Plan:
        """Return what was added as a plan."""
        names = dict.fromkeys(step.kernel for step in self._steps)
        return Plan(
            inputs=tuple(self._inputs),
            outputs=tuple(self._outputs),
            buffers=tuple(self._buffers),
            steps=tuple(self._steps),
            kernels={name: self.source.kernels[name] for name in names},
        )

    def _known(self, buffer: int) -> int:
        if buffer not in self._fixed:
            self._fixed[buffer] = len(self._buffers)
            self._buffers.append(self.source.buffers[buffer])
        return self._fixed[buffer]

    def _input(self, buffer: int, kind: TensorType, *, written: bool) -> int:
        number = self._buffer("state" if written else "input", buffer)
        self._inputs.append(_port(kind, "in", number))
        if written:
            self._outputs.append(_port(kind, "out", number))
        found = self.known.get(buffer)
        self.arrays.append(
            made_up(kind.dtype, kind.shape, number) if found is None else _as(found, kind)
        )
        return number

    def _buffer(self, kind: Any, buffer: int) -> int:
        self._buffers.append(Buffer(kind, self.source.buffers[buffer].nbytes))
        return len(self._buffers) - 1


def _port(kind: TensorType, word: str, buffer: int) -> Port:
    return Port(f"{word}{buffer}", kind.dtype, kind.shape, buffer)


def _as(array: Array, kind: TensorType) -> Array:
    """Return an array of the bytes of `array`, in the type that the kernel has them in."""
    flat = np.ascontiguousarray(array).reshape(-1)
    dtype = numpy_dtype(kind.dtype)
    same = flat if flat.dtype == dtype else flat.view(dtype)
    return same.reshape(kind.shape).copy()


def made_up(dtype: str, shape: tuple[int, ...], seed: int) -> Array:
    """Return normal numbers, or zeros and ones, which are valid as indices and masks."""
    generator = np.random.default_rng(seed)
    if "float" in dtype:
        return generator.standard_normal(shape, np.float32).astype(numpy_dtype(dtype))
    return generator.integers(0, 2, shape).astype(numpy_dtype(dtype))

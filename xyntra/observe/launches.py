# SPDX-License-Identifier: MIT OR Apache-2.0
"""The launches of a plan, who reads whom, and the boundaries between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xyntra.errors import InputError
from xyntra.passes.fusion.partition.reasons import REASONS
from xyntra.plan.costs.cost import Boundary
from xyntra.plan.kernel import Kernel, kernel_of
from xyntra.plan.plan import Plan

if TYPE_CHECKING:
    from xyntra.observe.timing.fitted_costs import FittedCosts

_SENTENCES: dict[str, str] = {**REASONS}


@dataclass(frozen=True)
class Launch:
    """One step of a plan.

    Attributes:
        label: its position in `Executable.kernels`; L and its position in `kernels_at_load`.
        kernel: the launch as users see it.
        reads: for each argument, the position of the step that writes it; None where it is an
            input, a weight or a constant.
        measured: nanoseconds that it took, or None where it was not measured.
        expected: nanoseconds by costs that were fitted to this device; None where there are none.
    """

    label: str
    kernel: Kernel
    reads: tuple[int | None, ...]
    measured: int | None = None
    expected: float | None = None


@dataclass(frozen=True)
class Crossing:
    """A boundary with the launches on its sides, positions of steps.

    `producer` is None where no step that the consumer reads holds the boundary's source.
    """

    producer: int | None
    consumer: int
    boundary: Boundary


def launches_of(
    plan: Plan, nanoseconds: Sequence[int] | None = None, costs: FittedCosts | None = None
) -> list[Launch]:
    """Every step of the plan as a launch, in order.

    Args:
        plan: the plan.
        nanoseconds: measured times, from `Executable.time_kernels`.
        costs: fitted to the device.
    """
    writers: dict[int, int] = {}
    launches = []
    counts = {True: 0, False: 0}
    for position, step in enumerate(plan.steps):
        number = counts[step.once]
        counts[step.once] += 1
        reads = tuple(writers.get(plan.home(buffer)) for buffer in step.inputs)
        measured = None if nanoseconds is None or step.once else nanoseconds[number]
        label = f"L{number}" if step.once else str(number)
        kernel = kernel_of(plan, step)
        expected = None if costs is None else costs.expected(kernel)
        launches.append(Launch(label, kernel, reads, measured, expected))
        writers.update(dict.fromkeys(step.outputs, position))
    return launches


def crossings_of(plan: Plan, launches: Sequence[Launch]) -> list[Crossing]:
    """Every boundary of the plan, in the order of the steps that read."""
    return [
        Crossing(_producer(plan, launches, consumer, boundary), consumer, boundary)
        for consumer, step in enumerate(plan.steps)
        for boundary in step.boundaries or ()
    ]


def _producer(
    plan: Plan, launches: Sequence[Launch], consumer: int, boundary: Boundary
) -> int | None:
    reads = zip(launches[consumer].reads, plan.steps[consumer].inputs, strict=True)
    found = [
        (plan.buffers[buffer].nbytes != boundary.bytes, producer)
        for producer, buffer in reads
        if producer is not None and boundary.source in plan.steps[producer].nodes
    ]
    # Where several launches hold a part of the node, the one that wrote as many bytes.
    return min(found)[1] if found else None


def find_launch(launches: Sequence[Launch], label: str) -> int:
    """The step called `label`; InputError if there is none."""
    for position, launch in enumerate(launches):
        if launch.label == label.upper():
            return position
    called = sum(not launch.kernel.once for launch in launches)
    known = f"0 to {called - 1}" if called else "none"
    if len(launches) > called:
        known += f", and at load L0 to L{len(launches) - called - 1}"
    raise InputError(
        "unknown-kernel", f"the model has no kernel {label}", cause=f"its kernels are {known}"
    )


def sentence(reason: str) -> str:
    """Return what a boundary's code says; the code itself where this version does not know it."""
    return _SENTENCES.get(reason, reason)

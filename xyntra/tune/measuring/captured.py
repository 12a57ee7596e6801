# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs a model once to see what its kernels read, and how long each takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from xyntra.plan.plan import Buffer, Plan, Port
from xyntra.targets.program import Program
from xyntra.tune.measuring.subject import Array, made_up

__all__ = ["Captured", "capture"]

_MOST_BYTES = 1 << 30
"""Of what is kept of a call; kernels beyond get numbers that are made up."""


@dataclass(frozen=True)
class Captured:
    """What a call of a model has shown.

    Attributes:
        times: nanoseconds of each step of the plan, in several calls.
        arrays: contents of buffers as bytes, or of inputs.
    """

    times: list[list[int]]
    arrays: dict[int, Array]


def capture(load: Callable[[Plan], Program], plan: Plan, calls: int) -> Captured:
    """Call a model on numbers that are made up.

    Args:
        load: loads a plan with the code and the weights of the model.
        plan: the model's.
        calls: how often its steps are timed.
    """
    inputs = [made_up(port.dtype, port.shape, number) for number, port in enumerate(plan.inputs)]
    shown = _showing(plan)
    results = [_empty(port) for port in shown.results]
    program = load(shown)
    program.time_steps(_copies(inputs), results)
    times = [program.time_steps(_copies(inputs), results) for _ in range(calls)]
    found = {port.buffer: array for port, array in zip(plan.inputs, inputs, strict=True)}
    found.update((port.buffer, a) for port, a in zip(shown.results, results, strict=True))
    for number, buffer in enumerate(plan.buffers):
        if buffer.kind == "part" and buffer.whole in found:
            whole = np.ascontiguousarray(found[buffer.whole]).reshape(-1).view(np.uint8)
            found[number] = whole[buffer.offset : buffer.offset + buffer.nbytes]
    return Captured([list(each) for each in zip(*times, strict=True)], found)


def _copies(arrays: Sequence[Array]) -> list[Array]:
    """Return copies: a call writes over some inputs."""
    return [array.copy() for array in arrays]


def _empty(port: Port) -> Array:
    return np.zeros(port.nbytes, np.uint8)


def _showing(plan: Plan) -> Plan:
    """Return the plan with temporaries as outputs: those that are not written over, as bytes."""
    over = {
        step.outputs[result]
        for step in plan.steps
        for result, _ in plan.kernels[step.kernel].inplace
    }
    buffers, ports = list(plan.buffers), list(plan.outputs)
    size = 0
    for number, buffer in enumerate(plan.buffers):
        size += buffer.nbytes
        if buffer.kind == "temporary" and number not in over and size <= _MOST_BYTES:
            buffers[number] = Buffer("output", buffer.nbytes)
            ports.append(Port(f"#{number}", "uint8", (buffer.nbytes,), number))
    return replace(plan, buffers=tuple(buffers), outputs=tuple(ports))

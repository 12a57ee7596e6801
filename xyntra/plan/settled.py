# SPDX-License-Identifier: MIT OR Apache-2.0
"""Replaces weights by what is made of them at load, where that is smaller."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from xyntra.plan.artifact import Artifact
from xyntra.plan.plan import Buffer, Plan, TensorType

__all__ = ["Settlement", "settlement"]

_LEAST_BYTES = 1 << 16
"""What has to be saved for a model to be worth the trouble."""
_LARGEST_SHARE = 0.75
"""Of the bytes of weights, up to which what is made of them takes their place."""


@dataclass(frozen=True)
class Settlement:
    """A plan that starts from what another one computes of its weights.

    Attributes:
        plan: with the same numbers of buffers; those that are not needed hold nothing.
        made: buffers that have become parameters, with their types.
        dropped: names of weights that this plan does not read any more.
    """

    plan: Plan
    made: Mapping[int, TensorType]
    dropped: tuple[str, ...]

    def artifact(self, whole: Artifact) -> Artifact:
        """Return `whole` with this plan, and the machine code that is left."""
        objects = {name: whole.objects[name] for name in self.plan.kernels}
        return replace(whole, plan=self.plan, objects=objects)


def settlement(plan: Plan) -> Settlement | None:
    """Return what is smaller than `plan` with its weights; None where nothing is to be saved.

    Steps of the load that share buffers are taken together: those of quantized weights leave
    bytes for floats, and go; those that fold a scale into a weight of its size stay.
    """
    made: set[int] = set()
    dropped: set[int] = set()
    gone: set[int] = set()
    for group in [] if plan.free else _groups(plan):
        results, weights = _results(plan, group), _own_weights(plan, group)
        after = sum(plan.buffers[each].nbytes for each in results)
        before = sum(plan.buffers[each].nbytes for each in weights)
        if after <= _LARGEST_SHARE * before:
            made |= results
            dropped |= weights
            gone |= group
    saved = sum(plan.buffers[each].nbytes for each in dropped)
    saved -= sum(plan.buffers[each].nbytes for each in made)
    return _without(plan, gone, made, dropped) if saved >= _LEAST_BYTES else None


def _groups(plan: Plan) -> list[set[int]]:
    """Return the steps of the load in groups that share no buffer but constants."""
    groups: list[tuple[set[int], set[int]]] = []
    for number, step in enumerate(plan.steps):
        if not step.once:
            continue
        buffers = {*step.inputs, *step.outputs}
        buffers = {each for each in buffers if plan.buffers[each].kind != "constant"}
        steps = {number}
        apart = []
        for group in groups:
            if group[1] & buffers:
                steps |= group[0]
                buffers |= group[1]
            else:
                apart.append(group)
        groups = [*apart, (steps, buffers)]
    return [steps for steps, _ in groups]


def _results(plan: Plan, group: set[int]) -> set[int]:
    """Return what the steps of `group` leave for calls."""
    written = {each for number in group for each in plan.steps[number].outputs}
    read = {each for step in plan.steps if not step.once for each in step.inputs}
    read |= {port.buffer for port in plan.results}
    return written & read


def _own_weights(plan: Plan, group: set[int]) -> set[int]:
    """Return the weights that nothing but the steps of `group` reads."""
    read = {each for number in group for each in plan.steps[number].inputs}
    for number, step in enumerate(plan.steps):
        if number not in group:
            read -= set(step.inputs)
    read -= {port.buffer for port in plan.results}
    return {each for each in read if plan.buffers[each].kind == "parameter"}


def _without(plan: Plan, gone: set[int], made: set[int], dropped: set[int]) -> Settlement:
    steps = tuple(step for number, step in enumerate(plan.steps) if number not in gone)
    needed = {each for step in steps for each in (*step.inputs, *step.outputs)}
    needed |= {port.buffer for port in (*plan.inputs, *plan.outputs, *plan.results)}
    types = {
        buffer: kind
        for number in gone
        for buffer, kind in zip(
            plan.steps[number].outputs,
            plan.kernels[plan.steps[number].kernel].results,
            strict=True,
        )
        if buffer in made
    }
    names = set(plan.parameters)
    buffers = []
    for number, buffer in enumerate(plan.buffers):
        if number in made:
            name = f"made at load, {number}"
            while name in names:
                name += "'"
            buffers.append(Buffer("parameter", buffer.nbytes, name))
        else:
            buffers.append(buffer if number in needed else Buffer("temporary", 0))
    kernels = {step.kernel: plan.kernels[step.kernel] for step in steps}
    names_of = {plan.buffers[each].source or plan.buffers[each].name for each in dropped}
    left = replace(plan, steps=steps, buffers=tuple(buffers), kernels=kernels)
    gone_names = tuple(sorted(names_of - set(left.sources)))
    settled = replace(left, settled=tuple(sorted({*plan.settled, *gone_names})))
    return Settlement(settled, types, gone_names)

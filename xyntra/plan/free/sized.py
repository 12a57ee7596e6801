# SPDX-License-Identifier: MIT OR Apache-2.0
"""Makes the static plan for given sizes of a plan with free dimensions.

Buffers get the sizes that their expressions have, and of each kernel that is told its sizes the
first variant is taken whose guards hold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from xyntra.errors import CompileError
from xyntra.plan.free.expressions import FreeSizes, Guard, KernelVariants
from xyntra.plan.plan import Buffer, Plan, Step

__all__ = ["SizedPlan", "every_step", "sized_plan"]

_WORD = 8


@dataclass(frozen=True)
class SizedPlan:
    """A static plan, and the arrays of sizes of its kernels by the number of their buffer."""

    plan: Plan
    arrays: Mapping[int, tuple[int, ...]]


def sized_plan(plan: Plan, free: FreeSizes, sizes: Mapping[str, int]) -> SizedPlan:
    """Return the static plan for sizes of the symbols, by their identifiers.

    The buffers of arrays of sizes come last, one for each kernel, whichever variant is taken; there
    are none where launches take sizes by value. Steps whose results have no elements, as at a size
    of 0, have been done before any call.

    Raises:
        CompileError: no variant of a kernel can have these sizes.
    """
    values = free.values(sizes)
    ports = [*plan.inputs, *plan.outputs, *(each.flag for each in plan.requirements)]
    shaped = [
        replace(port, shape=tuple(values[text] for text in shape))
        for port, shape in zip(ports, free.shapes, strict=True)
    ]
    buffers = [
        _resized(buffer, values[text]) if buffer.nbytes != values[text] else buffer
        for buffer, text in zip(plan.buffers, free.nbytes, strict=True)
    ]
    chosen: dict[str, tuple[str, int | None]] = {}
    arrays: dict[int, tuple[int, ...]] = {}
    for kernel in free.kernels:
        variant = _first_fit(kernel, values)
        if not free.words:
            chosen[kernel.name] = kernel.variants[variant], None
            continue
        chosen[kernel.name] = kernel.variants[variant], len(buffers)
        words = tuple(values[text] for text in kernel.sizes[variant])
        arrays[len(buffers)] = (*words, *[0] * (free.words - len(words)))
        buffers.append(Buffer("input", free.words * _WORD))
    inputs, outputs = len(plan.inputs), len(plan.outputs)
    flags = zip(plan.requirements, shaped[inputs + outputs :], strict=True)
    static = replace(
        plan,
        inputs=tuple(shaped[:inputs]),
        outputs=tuple(shaped[inputs : inputs + outputs]),
        buffers=tuple(buffers),
        steps=tuple(_with_variant(_sized_step(step, buffers), chosen) for step in plan.steps),
        requirements=tuple(replace(each, flag=port) for each, port in flags),
        free=None,
    )
    return SizedPlan(static, arrays)


def every_step(plan: Plan, free: FreeSizes) -> tuple[Step, ...]:
    """Return the steps of a plan with each variant of their kernels, as `sized_plan` has them."""
    known = {
        kernel.name: (kernel.variants, len(plan.buffers) + number)
        for number, kernel in enumerate(free.kernels)
    }
    found: list[Step] = []
    for step in plan.steps:
        variants, array = known.get(step.kernel, ((), -1))
        found += [_with_variant(step, {step.kernel: (name, array)}) for name in variants]
        found += [] if variants else [step]
    return tuple(found)


def _resized(buffer: Buffer, nbytes: int) -> Buffer:
    """Return a buffer of another size; a constant of which repeats one element."""
    times = -(-nbytes // len(buffer.data)) if buffer.data else 0
    return replace(buffer, nbytes=nbytes, data=(buffer.data * times)[:nbytes])


def _sized_step(step: Step, buffers: Sequence[Buffer]) -> Step:
    return step if any(buffers[each].nbytes for each in step.outputs) else replace(step, once=True)


def _with_variant(step: Step, chosen: Mapping[str, tuple[str, int | None]]) -> Step:
    if step.kernel not in chosen:
        return step
    name, array = chosen[step.kernel]
    inputs = step.inputs if array is None else (*step.inputs, array)
    return replace(step, kernel=name, inputs=inputs)


def _first_fit(kernel: KernelVariants, values: Mapping[str, int]) -> int:
    for number, guards in enumerate(kernel.guards):
        if all(_holds(guard, values) for guard in guards):
            return number
    raise CompileError(
        "kernel-not-free", "no variant of a kernel can have these sizes", place=kernel.name
    )


def _holds(guard: Guard, values: Mapping[str, int]) -> bool:
    kind, left, right = guard
    return values[left] < values[right] if kind == "<" else values[left] <= values[right]

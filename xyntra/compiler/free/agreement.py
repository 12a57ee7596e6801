# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds the expressions of sizes in the plans of a model at several samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any, NoReturn

from xyntra.errors import CompileError
from xyntra.passes.analysis.sizes.fit import Fitter
from xyntra.plan.free.expressions import FreeSizes, FreeSymbol
from xyntra.plan.plan import Plan, Step

__all__ = ["PlanAgreement", "agree_plans"]

PlanAgreement = tuple[Plan, FreeSizes, list[dict[str, str]]]
"""The plan, its sizes without kernels, and for each sample the names of kernels there by those of
the first sample."""

_NOT_FREE = "plan-not-free"
_STEPS = (2, 4, 8, 16, 32, 64, *range(3, 513))
"""Strides that are looked for in sizes."""


def agree_plans(
    plans: Sequence[Plan], samples: Sequence[Mapping[str, int]], symbols: tuple[FreeSymbol, ...]
) -> PlanAgreement:
    """Compare plans that are to differ in sizes alone.

    Raises:
        CompileError: `plan-not-free`, they differ in something else.
    """
    fitter = Fitter(samples)

    def sizes(values: Sequence[int], place: str) -> str:
        found = fitter.fit(values)
        if found is None:
            message = f"{place} is {', '.join(map(str, values))} at {_shown(samples)}"
            raise CompileError(_NOT_FREE, message, hint=_steps_for(values, samples, symbols))
        return str(found)

    _same(plans)
    if any(plan.sizes for plan in plans):
        _differ("outputs that are as large as a call finds are not combined with free dimensions")
    if any(_contents(plan) != _contents(plans[0]) for plan in plans):
        _differ("a constant has other elements at other sizes")
    names = _kernels(plans)
    shapes = [
        tuple(
            sizes(axis, f"a dimension of '{ports[0].name}'")
            for axis in zip(*_shapes(ports), strict=True)
        )
        for ports in zip(*map(_ports, plans), strict=True)
    ]
    nbytes = [
        sizes([buffer.nbytes for buffer in buffers], "a buffer's size")
        for buffers in zip(*(plan.buffers for plan in plans), strict=True)
    ]
    shown = tuple(replace(each, shown=samples[0][each.identifier]) for each in symbols)
    free = FreeSizes(shown, tuple(shapes), tuple(nbytes), (), 0)
    return plans[0], free, names


def _ports(plan: Plan) -> list[Any]:
    return [*plan.inputs, *plan.outputs, *(each.flag for each in plan.requirements)]


def _shapes(ports: Sequence[Any]) -> list[tuple[int, ...]]:
    return [port.shape for port in ports]


def _described(plan: Plan) -> dict[str, list[object]]:
    """Return what must not depend on sizes, by what it is called."""
    return {
        "number of kernels": [len(plan.steps)],
        "inputs and outputs": [
            (port.name, port.dtype, len(port.shape), port.buffer) for port in _ports(plan)
        ],
        "buffers": [
            (each.kind, each.name, each.rounded_to, each.whole, each.offset)
            for each in plan.buffers
        ],
        "kernels": [(step.inputs, step.outputs, step.once) for step in plan.steps],
        "requirements": [(each.code, each.place) for each in plan.requirements],
    }


def _kernels(plans: Sequence[Plan]) -> list[dict[str, str]]:
    found: list[dict[str, str]] = [{} for _ in plans]
    for steps in zip(*(plan.steps for plan in plans), strict=True):
        for names, step in zip(found, steps, strict=True):
            known = names.setdefault(steps[0].kernel, step.kernel)
            if known != step.kernel:
                _differ(f"kernels that are equal at some sizes differ at others: {_nodes(step)}")
    return found


def _contents(plan: Plan) -> list[bytes]:
    """Return the contents of constants; of one that repeats an element, that element."""
    return [_repeated(each.data) for each in plan.buffers]


def _repeated(data: bytes) -> bytes:
    for size in (1, 2, 4, 8):
        if len(data) > size and data == data[:size] * (len(data) // size):
            return data[:size]
    return data


def _nodes(step: Step) -> str:
    return ", ".join(step.nodes[:3])


def _same(plans: Sequence[Plan]) -> None:
    parts = [_described(plan) for plan in plans]
    for what, first in parts[0].items():
        others = [each[what] for each in parts]
        if any(other != first for other in others):
            shown = next(
                " or ".join(dict.fromkeys(map(str, each)))
                for each in zip_longest(*others)
                if len(set(each)) > 1
            )
            _differ(f"the {what} of the plan depend on the sizes: {shown}")


def _shown(samples: Sequence[Mapping[str, int]]) -> str:
    return "; ".join(
        ", ".join(f"{name} = {size}" for name, size in sample.items()) for sample in samples
    )


def _differ(message: str) -> NoReturn:
    raise CompileError(_NOT_FREE, message)


def _steps_for(
    values: Sequence[int], samples: Sequence[Mapping[str, int]], symbols: Sequence[FreeSymbol]
) -> str | None:
    """Return what range to give where numbers are quotients of a size, as of strides; else None."""
    for symbol in symbols:
        sizes = [sample[symbol.identifier] * symbol.unit for sample in samples]
        for step in _STEPS:
            if symbol.definition or not _are_quotients(values, sizes, step):
                continue
            first, last = -(-symbol.sizes[0] // step) * step, symbol.sizes[-1] // step * step
            if first < last:
                steps = f"range({max(first, step)}, {last + 1}, {step})"
                return f"give sizes that divide evenly: dims={{{symbol.name!r}: {steps}}}"
    return None


def _are_quotients(values: Sequence[int], sizes: Sequence[int], step: int) -> bool:
    pairs = list(zip(values, sizes, strict=True))
    return any(
        len({value - (size + more) // step for value, size in pairs}) == 1 for more in range(step)
    )

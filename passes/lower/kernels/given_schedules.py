# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads and writes the schedules that a kernel function is given before it has nests or stages.

A kernel on tensors cannot carry schedules where they belong: its nests, or stages, are made on the
way down. So the function has them in a list, in the order that these will have, with `unit` for one
that is left to the pass which schedules:

    func.func @product(…) attributes {xyntra.schedules = [unit, #xyntra.schedule<{…}>]}

They move to their places just before that pass, which checks them like any that are there already.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xyntra.dialects.attributes.schedule import Schedule
from xyntra.dialects.mlir import ir
from xyntra.errors import CompileError
from xyntra.passes.diagnostics import PassFailure

__all__ = ["SCHEDULES", "Given", "give_schedules", "place_schedules"]

SCHEDULES = "xyntra.schedules"
"""Attribute of a kernel function: the schedules of its nests, or stages, in order."""
Given = Sequence[Schedule | None]


def give_schedules(function: ir.Operation, schedules: Given) -> None:
    """Give a kernel function schedules; None leaves a place to the pass that schedules."""
    with function.context:
        entries = [ir.UnitAttr.get() if each is None else each.to_attribute() for each in schedules]
        function.attributes[SCHEDULES] = ir.ArrayAttr.get(entries)


def place_schedules(
    function: ir.Operation,
    places: Sequence[ir.Operation],
    attach: Callable[[ir.Operation, Schedule], None],
) -> None:
    """Move the schedules that a kernel function was given to the operations that they are for.

    Args:
        function: the kernel.
        places: what can have a schedule, in order.
        attach: gives one of them its schedule.

    Raises:
        CompileError: `bad-schedule`, they are no schedules, or not one for each place.
    """
    if SCHEDULES not in function.attributes:
        return
    try:
        given = _given(function.attributes[SCHEDULES])
    except CompileError as error:
        raise PassFailure.at(function, error.message, code=error.code) from error
    if len(given) != len(places):
        message = f"the kernel was given {len(given)} schedules and has places for {len(places)}"
        raise PassFailure.at(function, message, code="bad-schedule")
    del function.attributes[SCHEDULES]
    for op, schedule in zip(places, given, strict=True):
        if schedule is not None:
            attach(op, schedule)


def _given(attribute: ir.Attribute) -> list[Schedule | None]:
    if not isinstance(attribute, ir.ArrayAttr):
        raise CompileError("bad-schedule", f"a list of schedules was expected, got {attribute}")
    return [
        None if isinstance(each, ir.UnitAttr) else Schedule.from_attribute(each)
        for each in attribute
    ]

# SPDX-License-Identifier: MIT OR Apache-2.0
"""One kernel, or every boundary, as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xyntra.observe.equal_launches import group_crossings, total_cost
from xyntra.observe.launches import (
    Crossing,
    Launch,
    crossings_of,
    find_launch,
    launches_of,
    sentence,
)
from xyntra.observe.schedules import schedule_lines
from xyntra.observe.text import aligned, common_pattern, count, duration, printable, shorten
from xyntra.plan.costs.cost import Boundary
from xyntra.plan.plan import Plan, TensorType


def explain_kernel(plan: Plan, label: str, nanoseconds: Sequence[int] | None = None) -> str:
    """Everything about one launch, its MLIR included.

    Args:
        plan: what to report on.
        label: its number in `explain`, such as 3 or L3.
        nanoseconds: measured times, from `Executable.time_kernels`.

    Raises:
        InputError: there is no such launch.
    """
    launches = launches_of(plan, nanoseconds)
    position = find_launch(launches, label)
    launch, kernel = launches[position], launches[position].kernel
    rows = [
        ["kernel", f"{launch.label}: {kernel.name}"],
        ["kind", kernel.kind + (", runs once, at load" if kernel.once else "")],
        ["bytes", f"{count(kernel.bytes)}B"],
        ["operations", f"{count(kernel.flops)}FLOP"],
        ["predicted", duration(kernel.predicted)],
        ["bound", kernel.bound or "not known"],
    ]
    if kernel.tuned is not None:
        here = ", on another machine: they come with Xyntra" if kernel.packaged else ""
        rows.append(["tuned", f"{duration(kernel.tuned)} when its schedules were measured{here}"])
    if launch.measured is not None:
        rows.append(["measured", duration(launch.measured)])
    lines = [*aligned(rows), ""]
    if kernel.schedules:
        lines += ["schedules", *(f"  {each}" for each in schedule_lines(kernel)), ""]
    lines.append(f"nodes ({len(kernel.fused)})")
    lines += [f"  {printable(name)}" for name in kernel.fused]
    lines += ["reads", *_reads(plan, launches, position), "writes", *_writes(plan, position)]
    return "\n".join([*lines, *_boundaries(plan, launches, position), "", kernel.text.rstrip()])


def _reads(plan: Plan, launches: Sequence[Launch], position: int) -> Iterator[str]:
    for home, type_, _ in arguments_of(plan, launches, position):
        yield f"  {printable(home)}: {type_}"


def _writes(plan: Plan, position: int) -> Iterator[str]:
    for text in results_of(plan, position):
        yield f"  {printable(text)}"


def arguments_of(
    plan: Plan, launches: Sequence[Launch], position: int
) -> Iterator[tuple[str, str, int | None]]:
    """For each argument of a launch where it comes from, its type, and the step that writes it."""
    step = plan.steps[position]
    types = plan.kernels[step.kernel].arguments
    inputs = {port.buffer: port.name for port in plan.inputs}
    for argument, (buffer, producer) in enumerate(
        zip(step.inputs, launches[position].reads, strict=True)
    ):
        whole = plan.home(buffer)
        kind, name = plan.buffers[whole].kind, plan.buffers[whole].name
        home = f"{kind} {name or inputs.get(whole, '')}".rstrip()
        if producer is not None:
            home = f"kernel {launches[producer].label}"
        if whole != buffer:
            home = f"part of {home}, from byte {plan.buffers[buffer].offset:,}"
        yield home, _type(types, argument, plan.buffers[buffer].nbytes), producer


def results_of(plan: Plan, position: int) -> list[str]:
    """For each result of a launch its type, and the output that it is, if it is one."""
    step = plan.steps[position]
    types = plan.kernels[step.kernel].results
    outputs = {port.buffer: port.name for port in plan.outputs}
    found = []
    for result, buffer in enumerate(step.outputs):
        home = f"output {outputs[buffer]}: " if buffer in outputs else ""
        shared = ", in place" if buffer in step.inputs else ""
        found.append(f"{home}{_type(types, result, plan.buffers[buffer].nbytes)}{shared}")
    return found


def _type(types: Sequence[TensorType], index: int, nbytes: int) -> str:
    size = f"{count(nbytes)}B"
    return f"{types[index]}, {size}" if index < len(types) else size


def _boundaries(plan: Plan, launches: Sequence[Launch], position: int) -> list[str]:
    near = [x for x in crossings_of(plan, launches) if position in (x.producer, x.consumer)]
    lines = ["boundaries"] if near else []
    for crossing in near:
        boundary = crossing.boundary
        lines += [
            f"  {_side(launches, crossing.producer)} -> {_side(launches, crossing.consumer)}: "
            f"{count(boundary.bytes)}B, {duration(boundary.nanoseconds)}",
            f"    from {printable(boundary.source)} to {printable(boundary.target)}",
            f"    {printable(sentence(boundary.reason))}{_slower(boundary)}",
        ]
    return lines


def _slower(boundary: Boundary) -> str:
    return "" if boundary.slower is None else f": as one, {duration(boundary.slower)} more"


def explain_boundaries(plan: Plan, *, each: bool = False, width: int = 0) -> str:
    """Every tensor that one kernel writes and another reads, and why, costliest first.

    Args:
        plan: what to report on.
        each: give every boundary a line; else those between equal kernels share one.
        width: cut lines at this many characters; 0 for never.
    """
    launches = launches_of(plan)
    groups = group_crossings(launches, crossings_of(plan, launches), each)
    if not groups:
        known = any(step.boundaries is not None for step in plan.steps)
        return "no kernel reads another's result" if known else "boundaries were not recorded"
    rows = [["x", "bytes", "predicted", "kernels", "kinds", "why", "nodes"]]
    rows += [_row(launches, group) for group in groups]
    reasons = sorted({crossing.boundary.reason for group in groups for crossing in group})
    lines = [
        "x tensors alike on one line: bytes of each, predicted time of all, the first's kernels",
        *aligned(rows, (0, 1, 2), width),
        "",
        *(f"{printable(reason)}: {printable(sentence(reason))}" for reason in reasons),
    ]
    return "\n".join(shorten(line, width) for line in lines)


def _row(launches: Sequence[Launch], group: Sequence[Crossing]) -> list[str]:
    first = group[0]
    kinds = [
        "?" if side is None else launches[side].kernel.kind
        for side in (first.producer, first.consumer)
    ]
    names = [
        common_pattern([getattr(x.boundary, side) for x in group]) or getattr(first.boundary, side)
        for side in ("source", "target")
    ]
    return [
        str(len(group)),
        f"{count(first.boundary.bytes)}B",
        duration(total_cost(group)),
        f"{_label(launches, first.producer)} -> {_label(launches, first.consumer)}",
        " -> ".join(kinds),
        printable(first.boundary.reason),
        " -> ".join(map(printable, names)),
    ]


def _side(launches: Sequence[Launch], position: int | None) -> str:
    return f"kernel {_label(launches, position)}"


def _label(launches: Sequence[Launch], position: int | None) -> str:
    return "?" if position is None else launches[position].label

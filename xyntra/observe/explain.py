# SPDX-License-Identifier: MIT OR Apache-2.0
"""A report of what was fused, what was not and why, as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from xyntra.observe.equal_launches import EqualLaunches, group_launches, total_cost
from xyntra.observe.free_sizes import explain_free
from xyntra.observe.gpu.launch_overlap import launch_overlap
from xyntra.observe.launches import Crossing, Launch, crossings_of, launches_of, sentence
from xyntra.observe.lost_time import explain_lost_time
from xyntra.observe.schedules import explain_schedules
from xyntra.observe.text import (
    UNKNOWN,
    aligned,
    count,
    duration,
    name_list,
    plural,
    printable,
    shared_prefix,
    shorten,
)
from xyntra.observe.totals import Totals, totals_of
from xyntra.plan.plan import Plan

if TYPE_CHECKING:
    from xyntra.observe.timing.fitted_costs import FittedCosts


def explain(
    plan: Plan,
    nanoseconds: Sequence[int] | None = None,
    *,
    each: bool = False,
    width: int = 0,
    overlaps: Mapping[str, Sequence[bool]] | None = None,
    costs: FittedCosts | None = None,
) -> str:
    """Every kernel with the nodes it holds and its cost, totals, and why kernels stayed apart.

    Args:
        plan: what to report on.
        nanoseconds: measured time of each kernel of a call, from `Executable.time_kernels`.
        each: give every launch a line; else equal kernels share one.
        width: cut lines at this many characters; 0 for never.
        overlaps: on GPUs, `Executable.overlaps`.
        costs: fitted to this device: what kernels are expected to take is shown, too.
    """
    launches = launches_of(plan, nanoseconds, costs)
    called = [launch for launch in launches if not launch.kernel.once]
    at_load = [launch for launch in launches if launch.kernel.once]
    shared = shared_prefix([node for launch in launches for node in launch.kernel.fused])
    lines = [*_summary(plan, called, at_load), ""]
    if plan.free:
        lines += [*explain_free(plan.free, width), ""]
    if plan.requirements:
        lines += [*_requirements(plan, width), ""]
    if plan.aliases:
        lines += [*_aliases(plan, width), ""]
    if any(port.apart for port in plan.outputs):
        lines += [*_apart(plan, width), ""]
    if plan.sizes:
        lines += [*_sizes(plan, width), ""]
    if plan.fallbacks:
        lines += [*_fallbacks(plan, width), ""]
    if plan.precisions or any(buffer.rounded_to for buffer in plan.buffers):
        lines += [*_precisions(plan, width), ""]
    if shared:
        lines[-1:] = [f"every node's name begins with {printable(shared)}", ""]
    lines += _kernels("kernels of a call", called, len(shared), each, width)
    if at_load:
        title = "kernels that run once, at load, on weights alone"
        lines += ["", *_kernels(title, at_load, len(shared), each, width)]
    lost = explain_lost_time(called, width)
    if lost:
        lines += ["", *lost]
    schedules = explain_schedules(launches, width)
    if schedules:
        lines += ["", *schedules]
    if overlaps:
        lines += ["", *launch_overlap([launch.kernel.name for launch in called], overlaps)]
    lines += ["", *_reasons(plan, crossings_of(plan, launches), width)]
    return "\n".join(lines).rstrip("\n")


def _summary(plan: Plan, called: Sequence[Launch], at_load: Sequence[Launch]) -> list[str]:
    kinds = Counter(launch.kernel.kind for launch in called)
    distinct = len({launch.kernel.name for launch in called})
    parameters = sum(buffer.nbytes for buffer in plan.buffers if buffer.kind == "parameter")
    return [
        f"{plan.operations} operations became {plural(len(called), 'kernel')} a call "
        f"({distinct} distinct)" + (f"; {len(at_load)} more run once, at load" if at_load else ""),
        "kinds: " + (", ".join(f"{n} {kind}" for kind, n in kinds.most_common()) or "none"),
        f"weights: {count(parameters)}B",
        "",
        *aligned(_totals(plan, called), right=(1, 2, 3)),
    ]


def _requirements(plan: Plan, width: int) -> list[str]:
    """The errors that depend on what a call computes, with the nodes that they are about."""
    lines = ["errors that a call raises by the values that it is given"]
    for each in plan.requirements:
        place = f"{each.place}: " if each.place else ""
        lines.append(f"  {printable(place + each.message)}")
        lines += [f"    {printable(cause)}" for cause in each.cause.splitlines()]
    return [shorten(line, width) for line in lines]


def _aliases(plan: Plan, width: int) -> list[str]:
    """Return which outputs are written where inputs lie, and which of them are copied there."""
    lines = ["outputs that are written where inputs lie"]
    for output, number in plan.aliases:
        port, state = plan.outputs[output], plan.inputs[number]
        how = f"copied at the end, because {port.copied}" if port.copied else "in place"
        lines.append(f"  {printable(port.name)} over {printable(state.name)}: {printable(how)}")
    return [shorten(line, width) for line in lines]


def _apart(plan: Plan, width: int) -> list[str]:
    """Return which outputs take turns between two places, and why."""
    lines = ["outputs that have memory of their own, though inputs are given up for them"]
    reasons: dict[str, list[str]] = {}
    for port in plan.outputs:
        if port.apart:
            reasons.setdefault(port.apart, []).append(printable(port.name))
    for reason, names in reasons.items():
        lines.append(f"  {len(names)}, because {printable(reason)}: {', '.join(names)}")
    return [shorten(line, width) for line in lines]


def _sizes(plan: Plan, width: int) -> list[str]:
    """Return which dimensions of outputs a call cuts, and how large they are at most."""
    lines = ["sizes that a call computes"]
    for each in plan.sizes:
        port = plan.outputs[each.output]
        limit = f"at most {port.shape[each.dimension]}"
        lines.append(f"  output {printable(port.name)}, dimension {each.dimension}: {limit}")
    return [shorten(line, width) for line in lines]


def _fallbacks(plan: Plan, width: int) -> list[str]:
    """Return where the compiler failed and fell back to something more general."""
    title = "where compiling failed and fell back to something more general (please report it)"
    return [title, *(shorten(f"  {printable(each)}", width) for each in plan.fallbacks)]


def _precisions(plan: Plan, width: int) -> list[str]:
    """How many products got fewer bits, and which nodes and weights did not, with the reasons."""
    kinds = Counter(kind for _, kind, reason in plan.precisions if not reason)
    done = ", ".join(f"{n} products in {kind}" for kind, n in kinds.most_common())
    weights = Counter(f"rounded to {each.rounded_to}" for each in plan.buffers if each.rounded_to)
    packed = {(each.source, each.part[:2]) for each in plan.buffers if each.source}
    weights += Counter(f"in {kind}" for _, kind in packed)
    rounded = ", ".join(f"{plural(n, 'weight')} {kind}" for kind, n in weights.items())
    lines = [f"precision: {done or 'products in f32'}; {rounded or 'no weights rounded'}"]
    reasons: dict[str, list[str]] = {}
    for nodes, _, reason in plan.precisions:
        if reason:
            reasons.setdefault(reason, []).append(nodes)
    for reason, kept in reasons.items():
        lines.append(f"  in f32, because {printable(reason)}: {printable(name_list(kept))}")
    return [shorten(line, width) for line in lines]


def _totals(plan: Plan, called: Sequence[Launch]) -> list[list[str]]:
    totals = totals_of(plan, called)
    kernels, moved, predicted = _unfused(totals)
    rows = [
        ["a call", "unfused", "fused", ""],
        _total("kernels", kernels, totals.kernels, str),
        _total("bytes moved", moved, totals.bytes, lambda n: f"{count(n)}B"),
        ["operations", "", f"{count(totals.flops)}FLOP", ""],
        _total("predicted time", predicted, totals.predicted, duration),
    ]
    if totals.measured is not None:
        rows.append(["measured time", "", duration(totals.measured), ""])
    return rows


def _unfused(totals: Totals) -> tuple[int | None, int | None, float | None]:
    before = totals.unfused
    return (
        (None, None, None) if before is None else (before.kernels, before.bytes, before.nanoseconds)
    )


def _total(
    name: str, before: float | None, after: float | None, text: Callable[[Any], str]
) -> list[str]:
    shown = [UNKNOWN if value is None else text(value) for value in (before, after)]
    factor = f"{before / after:.3g} x less" if before and after and before > after else ""
    return [name, *shown, factor]


def _kernels(
    title: str, launches: Sequence[Launch], skipped: int, each: bool, width: int
) -> list[str]:
    groups = group_launches(launches, each)
    predicted = any(launch.kernel.predicted is not None for launch in launches)
    fitted = any(launch.expected is not None for launch in launches)
    measured = any(launch.measured is not None for launch in launches)
    whole = _whole(groups, measured)
    header = ["#", "x", "kind", "bytes", "flops"]
    header += ["predicted", "bound"] * predicted + ["fitted"] * fitted + ["measured"] * measured
    header += ["share"] * (predicted or measured)
    rows = [[*header, "kernel", "nodes"]]
    for group in groups:
        kernel = group.first.kernel
        size = len(group.launches)
        row = [group.first.label, str(size), kernel.kind, count(kernel.bytes), count(kernel.flops)]
        if predicted:
            row += [duration(kernel.predicted), kernel.bound or UNKNOWN]
        if fitted:
            row.append(duration(group.first.expected))
        if measured:
            row.append(duration(None if group.measured is None else group.measured / size))
        if predicted or measured:
            row.append(_share(group.measured if measured else group.predicted, whole))
        rows.append([*row, kernel.name, name_list(group.nodes, skipped)])
    if any(len(group.launches) > 1 for group in groups):
        title += "; equal ones share a line: x of them, each with these figures, * in their names"
    numeric = [i for i, name in enumerate(header) if name not in ("#", "kind", "bound")]
    return [shorten(title, width), *aligned(rows, numeric, width)]


def _whole(groups: Sequence[EqualLaunches], measured: bool) -> float:
    return sum((group.measured if measured else group.predicted) or 0 for group in groups)


def _share(part: float | None, whole: float) -> str:
    return UNKNOWN if part is None or not whole else f"{100 * part / whole:.1f}%"


def _reasons(plan: Plan, crossings: Sequence[Crossing], width: int) -> list[str]:
    if all(step.boundaries is None for step in plan.steps):
        return ["why kernels stayed apart was not recorded"] if len(plan.steps) > 1 else []
    groups: dict[str, list[Crossing]] = {}
    for crossing in crossings:
        groups.setdefault(crossing.boundary.reason, []).append(crossing)
    if not groups:
        return ["no kernel reads another's result"]
    rows = [["tensors", "bytes", "predicted", "why"]]
    for reason, group in sorted(groups.items(), key=lambda entry: -total_cost(entry[1])):
        size = sum(crossing.boundary.bytes for crossing in group)
        cost = duration(total_cost(group))
        rows.append([str(len(group)), f"{count(size)}B", cost, printable(sentence(reason))])
    title = "what goes through memory between kernels, and what that costs"
    return [shorten(title, width), *aligned(rows, (0, 1, 2), width)]

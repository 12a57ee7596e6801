# SPDX-License-Identifier: MIT OR Apache-2.0
"""A table of kernels by the time that they take, with how fast they move and compute."""

from __future__ import annotations

from collections.abc import Sequence

from xyntra.observe.equal_launches import group_launches
from xyntra.observe.launches import Launch
from xyntra.observe.text import aligned, duration, name_list, plural, printable

__all__ = ["kernel_times"]


def kernel_times(launches: Sequence[Launch], most: int, width: int = 0) -> list[str]:
    """Return a line for each of the kernels that take most, equal ones together.

    Args:
        launches: of one call, measured.
        most: how many lines.
        width: cut lines at this many characters; 0 for never.
    """
    called = [each for each in launches if not each.kernel.once]
    whole = sum(each.measured or 0 for each in called)
    groups = sorted(group_launches(called), key=lambda group: -(group.measured or 0))
    fitted = any(each.expected is not None for each in called)
    head = ["#", "x", "time", "share", "GB/s", "GFLOP/s", "predicted", *["fitted"] * fitted]
    rows = [[*head, "kernel", "nodes"]]
    for group in groups[:most]:
        kernel, taken, count = group.first.kernel, group.measured or 0, len(group.launches)
        cells = [group.first.label, str(count), duration(taken)]
        cells.append(f"{100 * taken / whole:.1f}%" if whole else "")
        for amount in (kernel.bytes, kernel.flops):
            cells.append(f"{count * amount / taken:.1f}" if taken else "")
        cells.append(duration(group.predicted))
        if fitted:
            expected = group.first.expected
            cells.append(duration(None if expected is None else count * expected))
        rows.append([*cells, printable(kernel.name), name_list(group.nodes[:2], 0)])
    lines = aligned(rows, tuple(range(1, len(head))), width)
    if len(groups) > most:
        rest = sum(group.measured or 0 for group in groups[most:])
        lines.append(f"and {plural(len(groups) - most, 'kernel')} more, {duration(rest)} together")
    return lines

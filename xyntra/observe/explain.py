# SPDX-License-Identifier: MIT OR Apache-2.0
"""A report of what was fused, as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import takewhile

from xyntra.plan.kernel import Kernel, kernels_of
from xyntra.plan.plan import Plan

_MAX_NODES = 6


def explain(plan: Plan, nanoseconds: Sequence[int] | None = None) -> str:
    """Every kernel with the nodes it holds, its bytes and operations, and totals.

    Args:
        plan: what to report on.
        nanoseconds: measured time of each kernel, from `Executable.time_kernels`.
    """
    kernels = kernels_of(plan)
    lines = [*_summary(plan, kernels), ""]
    shared = _shared_prefix([node for kernel in kernels for node in kernel.fused])
    if shared:
        lines.insert(-1, f"every node's name begins with {shared}")
    header = ["#", "kind", "kernel", "bytes", "flops"] + (["us"] if nanoseconds else []) + ["nodes"]
    rows = [header]
    for position, kernel in enumerate(kernels):
        time = [f"{nanoseconds[position] / 1e3:.1f}"] if nanoseconds else []
        rows.append(
            [
                str(position),
                kernel.kind + (" (once)" if kernel.once else ""),
                kernel.name,
                _count(kernel.bytes),
                _count(kernel.flops),
                *time,
                _nodes(kernel, len(shared)),
            ]
        )
    return "\n".join([*lines, *_aligned(rows)])


def _summary(plan: Plan, kernels: Sequence[Kernel]) -> list[str]:
    called = [kernel for kernel in kernels if not kernel.once]
    kinds = Counter(kernel.kind for kernel in called)
    distinct = len({kernel.name for kernel in kernels})
    parameters = sum(buffer.nbytes for buffer in plan.buffers if buffer.kind == "parameter")
    return [
        f"{plan.operations} operations became {_kernels(len(called))} a call "
        f"({distinct} distinct, {len(kernels) - len(called)} run once at load)",
        "kinds: " + (", ".join(f"{count} {kind}" for kind, count in kinds.most_common()) or "none"),
        f"a call moves at least {_count(sum(k.bytes for k in called))}B "
        f"and computes {_count(sum(k.flops for k in called))}FLOP; weights: {_count(parameters)}B",
    ]


def _kernels(count: int) -> str:
    return f"{count} kernel" + ("" if count == 1 else "s")


def _shared_prefix(names: Sequence[str]) -> str:
    """The folders, up to a slash, that all of several names begin with."""
    split = [name.split("/")[:-1] for name in set(names)]
    if len(split) < 2:
        return ""
    shared = [
        parts[0] for parts in takewhile(lambda p: len(set(p)) == 1, zip(*split, strict=False))
    ]
    return "".join(f"{part}/" for part in shared)


def _nodes(kernel: Kernel, skipped: int) -> str:
    shown = ", ".join(name[skipped:] for name in kernel.fused[:_MAX_NODES])
    rest = len(kernel.fused) - _MAX_NODES
    return f"{shown} and {rest} more" if rest > 0 else shown


def _count(value: int) -> str:
    """`value` with a decimal unit: 1234567 -> 1.23 M."""
    size = float(value)
    for unit in ("", "k", "M", "G"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} T"


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]

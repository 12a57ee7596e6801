# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reports what a lower precision costs in digits, and what it saves in time and memory."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from xyntra.observe.text import aligned, count, duration, printable
from xyntra.plan.plan import Plan

__all__ = [
    "OutputErrors",
    "PrecisionCost",
    "costs_as_data",
    "kept_in_f32",
    "kept_lines",
    "measure_errors",
    "memory_of",
    "node_title",
    "report_costs",
    "worst_nodes",
]

Array = np.ndarray[Any, Any]
_NODES = 5
_REASONS = 3
_DRAWN = 12


@dataclass(frozen=True)
class OutputErrors:
    """How far one output is from that of f32, over all samples.

    Attributes:
        name: of the output.
        largest: magnitude of the largest difference.
        relative: root of the mean square of differences, divided by that of the output.
        cosine: of the angle between both.
        top1: share of rows (along the last dimension) whose largest element is the same one; None
            where rows have fewer than two elements.
        not_finite: elements that are infinite or NaN, and were finite in f32.
    """

    name: str
    largest: float
    relative: float
    cosine: float
    top1: float | None
    not_finite: int


@dataclass(frozen=True)
class PrecisionCost:
    """What was measured of one precision.

    Attributes:
        precision: its name.
        outputs: errors of every float output; none for the f32 that others are compared with.
        nanoseconds: median time of a call.
        memory: bytes of weights, as they are and as kernels have prepared them.
        nodes: nodes with products, with the relative error that rounding each alone adds: to its
            own result in 16 bits, to the outputs in 8.
        kept: how many nodes and weights stay in f32, by the reason.
    """

    precision: str
    outputs: tuple[OutputErrors, ...]
    nanoseconds: float
    memory: int
    nodes: Mapping[str, float] = field(default_factory=dict)
    kept: Mapping[str, int] = field(default_factory=dict)


def kept_in_f32(plan: Plan) -> dict[str, int]:
    """Count the nodes and weights that stay in f32, by the reason, the most first."""
    return dict(Counter(reason for _, _, reason in plan.precisions if reason).most_common())


def measure_errors(
    found: Sequence[Mapping[str, Array]], exact: Sequence[Mapping[str, Array]]
) -> tuple[OutputErrors, ...]:
    """Return the errors of every float output, of one mapping for each sample."""
    names = [name for name, array in exact[0].items() if array.dtype.kind == "f"]
    return tuple(
        _errors_of(name, [each[name] for each in found], [each[name] for each in exact])
        for name in names
    )


def _errors_of(name: str, found: Sequence[Array], exact: Sequence[Array]) -> OutputErrors:
    left = np.concatenate([each.astype(np.float64).reshape(-1) for each in found])
    right = np.concatenate([each.astype(np.float64).reshape(-1) for each in exact])
    usable = np.isfinite(left) & np.isfinite(right)
    missing = int((np.isfinite(right) & ~np.isfinite(left)).sum())
    left, right = left[usable], right[usable]
    difference, size = np.square(left - right).sum(), np.square(right).sum()
    both = math.sqrt(np.square(left).sum() * size)
    return OutputErrors(
        name,
        float(np.abs(left - right).max(initial=0.0)),
        math.sqrt(difference / size) if size else math.sqrt(difference),
        float((left * right).sum()) / both if both else 1.0,
        _top1(found, exact),
        missing,
    )


def _top1(found: Sequence[Array], exact: Sequence[Array]) -> float | None:
    if not exact[0].ndim or exact[0].shape[-1] < 2 or not exact[0].size:
        return None
    pairs = zip(found, exact, strict=True)
    same = [np.argmax(x, axis=-1) == np.argmax(y, axis=-1) for x, y in pairs]
    return float(np.mean([each.mean() for each in same]))


def memory_of(plan: Plan) -> int:
    """Return the bytes of weights that a loaded model holds, and of what was prepared from them."""
    kinds = ("parameter", "constant", "prepared")
    buffers = sum(buffer.nbytes for buffer in plan.buffers if buffer.kind in kinds)
    steps = {(step.kernel, step.inputs) for step in plan.steps}
    return buffers + sum(plan.kernels[kernel].prepared for kernel, _ in steps)


def report_costs(
    costs: Sequence[PrecisionCost], samples: int, refused: Mapping[str, str] | None = None
) -> str:
    """Return the report as text; the first entry is what the others are compared with.

    Args:
        costs: what was measured.
        samples: over how many.
        refused: why precisions that were asked for are not there.
    """
    rows = [["precision", "time", "weights", "output", "max error", "RMS", "cosine", "top-1", ""]]
    for cost in costs:
        head = [cost.precision, duration(cost.nanoseconds), f"{count(cost.memory)}B"]
        for each in cost.outputs or (None,):
            rows.append([*head, *_cells(each)])
            head = ["", "", ""]
    lines = [f"errors relative to f32, over {samples} samples", "", *aligned(rows, right=(1, 2))]
    remarks = [line for cost in costs for line in kept_lines(cost)]
    remarks += [f"{name} is left out: {reason}" for name, reason in (refused or {}).items()]
    lines += ["", *map(printable, remarks)] if remarks else []
    for cost in costs:
        worst = worst_nodes(cost)[:_NODES]
        if worst:
            lines += ["", f"{cost.precision}: {node_title(cost.precision)}"]
            lines += [f"  {error:.2e}  {printable(name)}" for name, error in worst]
    return "\n".join(lines)


def kept_lines(cost: PrecisionCost) -> list[str]:
    """Return the most frequent reasons why something stays in f32, as sentences."""
    reasons = list(cost.kept.items())[:_REASONS]
    return [f"{cost.precision}: {number} kept in f32: {reason}" for reason, number in reasons]


def worst_nodes(cost: PrecisionCost) -> list[tuple[str, float]]:
    """Return the nodes of the largest errors, the first ones of them."""
    return sorted(cost.nodes.items(), key=lambda pair: -_rank(pair[1]))[:_DRAWN]


def node_title(precision: str) -> str:
    """Return what the errors of single nodes are."""
    if precision == "int8":
        return "what 8 bits in a node alone change in outputs"
    return "what rounding factors and result of a node adds"


def _rank(error: float) -> float:
    return error if error == error else math.inf


def _cells(errors: OutputErrors | None) -> list[str]:
    if errors is None:
        return [""] * 6
    top1 = "" if errors.top1 is None else f"{errors.top1:.1%}"
    missing = f"{errors.not_finite} not finite" if errors.not_finite else ""
    numbers = [f"{errors.largest:.2e}", f"{errors.relative:.2e}", f"{errors.cosine:.7f}"]
    return [printable(errors.name), *numbers, top1, missing]


def costs_as_data(
    costs: Sequence[PrecisionCost], samples: int, refused: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return the report as JSON-ready data."""
    precisions = [asdict(cost) for cost in costs]
    return {"samples": samples, "precisions": precisions, "refused": dict(refused or {})}

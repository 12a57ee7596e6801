# SPDX-License-Identifier: MIT OR Apache-2.0
"""Renders how near predicted and fitted times come to measured ones, model by model."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.documents.markdown import Region, machine_line, table
from xyntra.observe.timing.fitted_costs import NEAR, Sample, fit_costs, sample_of, share_near
from xyntra.plan.kernel import Kernel

__all__ = ["ON_CPU", "ON_GPU", "kernel_of_row", "render", "shares", "time_of"]

ON_CPU = Region("python -m bench.kernel_times")
ON_GPU = Region("python -m bench.kernel_times --target cuda")
_HEADER = ("model", "launches", "predicted", "fitted", "fitted to the others")
Row = Mapping[str, Any]


def render(result: Mapping[str, Any]) -> str:
    """Return the machine and the table of `shares`, whose last line is of all launches."""
    said = f"Times are those of {result['device']}."
    found = shares(result["models"])
    cells = [[name, str(count), *(f"{share:.0%}" for share in each)] for name, count, each in found]
    lines = [machine_line(result["machine"], said), "", *table(_HEADER, cells)]
    return "\n".join(lines) + "\n"


def shares(models: Mapping[str, Sequence[Row]]) -> list[tuple[str, int, list[float]]]:
    """Return, by model and for all, how many launches there are, and which shares are near.

    The shares are of launches whose time is about that of the cost model's constants, of
    costs fitted to all models, and of costs fitted to all other models.
    """
    timed = {name: [row for row in rows if time_of(row) > 0] for name, rows in models.items()}
    samples = {name: [_sample(row) for row in rows] for name, rows in timed.items()}
    costs = fit_costs([each for rows in samples.values() for each in rows])
    found = []
    for name, rows in samples.items():
        others = [each for other, rows in samples.items() if other != name for each in rows]
        near = [
            1 / NEAR <= row["predicted"] / each.nanoseconds <= NEAR
            for row, each in zip(timed[name], rows, strict=True)
        ]
        held_out = share_near(fit_costs(others), rows) if others else 0.0
        three = [statistics.mean(near), share_near(costs, rows), held_out]
        found.append((Path(name).stem, len(rows), three))
    total = sum(count for _, count, _ in found)
    means = [sum(count * each[at] for _, count, each in found) / total for at in range(3)]
    return [*found, ("all", total, means)]


def _sample(row: Row) -> Sample:
    return sample_of(kernel_of_row(row), time_of(row))


def time_of(row: Row) -> float:
    """Return the nanoseconds that count: on a GPU the median.

    There each is a difference, and the least of several the one with most noise.
    """
    return float(row["nanoseconds"] if row.get("launches") else row["least"])


def kernel_of_row(row: Row) -> Kernel:
    """Return a recorded kernel, without its text and the names of its nodes."""
    schedules = tuple(row["schedules"])
    return Kernel(
        row["kernel"], row["kind"], (), row["bytes"], row["flops"], schedules, once=False, text=""
    )

# SPDX-License-Identifier: MIT OR Apache-2.0
"""The ratios of a sweep: ours to the best peer's time, row by row and all together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

__all__ = ["FAR", "NEAR", "best_peer", "lines", "ratio"]

NEAR, FAR = 1.05, 1.25
_FLOOR = 2.0
Found = Mapping[str, Any]


def best_peer(row: Found) -> str:
    """Return the name of the fastest entrant that is not ours."""
    times = row["microseconds"]
    return min((name for name in times if name != "xyntra"), key=times.__getitem__)


def ratio(row: Found) -> float:
    """Return our time in that of the best peer."""
    return float(row["microseconds"]["xyntra"] / row["microseconds"][best_peer(row)])


def lines(rows: Sequence[Found]) -> Iterator[str]:
    """Yield a line for each row, the slowest first, then what they are together."""
    timed = [row for row in rows if "microseconds" in row]
    for row in rows:
        if "microseconds" not in row:
            yield f"FAILED {row['name']}: {row.get('failure', 'no times')}"
    for row in sorted(timed, key=ratio, reverse=True):
        yield _line(row)
    if timed:
        yield from _together(timed)


def _line(row: Found) -> str:
    times, best = row["microseconds"], best_peer(row)
    text = (
        f"{ratio(row):6.2f}  {row['name']:42} {times['xyntra']:9.1f} us, {best} {times[best]:.1f}"
    )
    if "before" in row:
        text += f", before {row['before']:.1f} ({times['xyntra'] / row['before']:.2f})"
    if row.get("floor"):
        text += f", floor {row['floor']['microseconds']:.1f}"
    layout = " channels last" if row.get("channels_last") else ""
    shapes = " ".join("x".join(map(str, shape)) for shape in row["shapes"])
    wrong = f"  WRONG {row['wrong']}" if row["wrong"] else ""
    if row.get("fallbacks"):
        text += f"; FELL BACK: {row['fallbacks'][0][:100]}"
    if "kernels" in row:
        text += f"; {row['kernels']} kernels"
    return f"{text}; {row['dtype']} {shapes}{layout}{wrong}"


def _together(rows: Sequence[Found]) -> Iterator[str]:
    ratios = [ratio(row) for row in rows]
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    near, far = (sum(each > limit for each in ratios) for limit in (NEAR, FAR))
    yield (
        f"{len(rows)} rows: geometric mean {mean:.3f}, {near} above {NEAR}"
        f" ({near / len(rows):.1%}), {far} above {FAR}, worst {max(ratios):.2f},"
        f" wrong {sum(bool(row['wrong']) for row in rows)}"
    )
    floors = [row for row in rows if row.get("floor")]
    slow = sum(
        row["microseconds"]["xyntra"] > _FLOOR * row["floor"]["microseconds"] + _LAUNCHES
        for row in floors
    )
    if floors:
        yield f"{slow} rows take more than twice their floor and {_LAUNCHES} us"


_LAUNCHES = 4.0
"""Microseconds that launches take by themselves."""

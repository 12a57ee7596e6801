# SPDX-License-Identifier: MIT OR Apache-2.0
"""Draws kernels under the roofs of a machine: what they could reach for what they compute a byte.

After Williams, Waterman and Patterson, "Roofline: an insightful visual performance model for
multicore architectures" (CACM 52(4), 2009).
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from xyntra.errors import InputError, MissingExtraError
from xyntra.observe.colours import KIND_COLOURS
from xyntra.observe.text import printable
from xyntra.plan.kernel import Kernel
from xyntra.plan.storage.files import replace_file

__all__ = ["Roofs", "check_name", "share_of_roof", "write_roofline"]

_FORMATS = (".svg", ".png", ".html")


@dataclass(frozen=True)
class Roofs:
    """What a machine reaches at best.

    Attributes:
        bandwidth: bytes a nanosecond, of reading and writing together.
        compute: operations a nanosecond.
    """

    bandwidth: float
    compute: float

    def at(self, intensity: float) -> float:
        """Return the operations a nanosecond that a kernel of so many a byte can reach."""
        return min(self.compute, self.bandwidth * intensity)


def share_of_roof(roofs: Roofs, kernel: Kernel, nanoseconds: int) -> float | None:
    """Return how near a kernel is to its roof, 1 for on it; None where it computes nothing."""
    if not kernel.flops or not kernel.bytes or not nanoseconds:
        return None
    return kernel.flops / nanoseconds / roofs.at(kernel.flops / kernel.bytes)


def check_name(path: str) -> None:
    """Raise unless a file's name ends in a format, and what draws is there.

    Raises:
        InputError: the name ends in something else.
        MissingExtraError: matplotlib is not installed.
    """
    from importlib.util import find_spec

    if Path(path).suffix not in _FORMATS:
        raise InputError(
            "file-name",
            f"a roofline cannot be written to '{path}'",
            cause=f"its name ends in none of {', '.join(_FORMATS)}",
        )
    if find_spec("matplotlib") is None:
        raise MissingExtraError(
            "missing-matplotlib", "matplotlib is not installed", hint="pip install 'xyntra[report]'"
        )


def write_roofline(
    path: str, roofs: Roofs, kernels: Sequence[Kernel], nanoseconds: Sequence[int], title: str
) -> None:
    """Draw every kernel as a point, as large as the time that it takes.

    Args:
        path: ends in .svg, .png or .html.
        roofs: of the machine.
        kernels: of a call.
        nanoseconds: what each took.
        title: what was run.

    Raises:
        InputError, MissingExtraError: as `check_name`.
        ArchiveError: the file cannot be written.
    """
    check_name(path)
    kind = Path(path).suffix[1:]
    figure = _figure(roofs, kernels, nanoseconds, title)
    data = io.BytesIO()
    figure.savefig(data, format="png" if kind == "png" else "svg", dpi=144)
    drawn = data.getvalue()
    if kind == "html":
        picture = drawn[drawn.index(b"<svg") :].decode()
        name = escape(printable(title))
        drawn = f"<!doctype html><meta charset=utf-8><title>{name}</title>{picture}".encode()
    replace_file(path, [drawn])


def _figure(roofs: Roofs, kernels: Sequence[Kernel], nanoseconds: Sequence[int], title: str) -> Any:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 5.5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    shown = [
        (kernel, taken)
        for kernel, taken in zip(kernels, nanoseconds, strict=True)
        if share_of_roof(roofs, kernel, taken) is not None
    ]
    whole = sum(nanoseconds) or 1
    for kind in dict.fromkeys(kernel.kind for kernel, _ in shown):
        own = [(kernel, taken) for kernel, taken in shown if kernel.kind == kind]
        axes.scatter(
            [kernel.flops / kernel.bytes for kernel, _ in own],
            [kernel.flops / taken for kernel, taken in own],
            s=[20 + 1500 * taken / whole for _, taken in own],
            color=KIND_COLOURS.get(kind, KIND_COLOURS["generic"])[1],
            alpha=0.6,
            linewidths=0,
            label=kind,
        )
    _draw_roofs(axes, roofs, [kernel.flops / kernel.bytes for kernel, _ in shown])
    left_out = len(kernels) - len(shown)
    note = f"; {left_out} that compute nothing are left out" if left_out else ""
    axes.set_title(f"{printable(title)}: {len(shown)} kernels, areas are times{note}", fontsize=10)
    if shown:
        axes.legend(loc="lower right", markerscale=0.5)
    return figure


def _draw_roofs(axes: Any, roofs: Roofs, intensities: Sequence[float]) -> None:
    ridge = roofs.compute / roofs.bandwidth
    low = min([ridge / 100, *(each / 2 for each in intensities)])
    high = max([ridge * 10, *(each * 2 for each in intensities)])
    axes.plot([low, ridge, high], [roofs.at(low), roofs.compute, roofs.compute], color="#444")
    axes.annotate(
        f"{roofs.bandwidth:.0f} GB/s", (low, roofs.at(low)), (6, 10), textcoords="offset points"
    )
    axes.annotate(
        f"{roofs.compute:.0f} GFLOP/s", (high, roofs.compute), (-6, 5),
        textcoords="offset points", ha="right",
    )  # fmt: skip
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("operations a byte")
    axes.set_ylabel("GFLOP/s")
    axes.grid(visible=True, which="both", color="#eee")
    axes.set_axisbelow(True)

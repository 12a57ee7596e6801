# SPDX-License-Identifier: MIT OR Apache-2.0
"""Draws the roofline of a model on an H100: `python -m bench.documents.roofline [MODEL]`.

Kernels come from `bench.kernel_times`; the roofs are the copy and the largest product that
`bench.cuda` has measured.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from bench.documents.kernel_times import kernel_of_row, time_of
from bench.harness.measure import ROOT
from xyntra.observe.timing.roofline import Roofs, write_roofline

__all__ = ["main"]

_RESULTS = ROOT / "bench" / "results"
_DEVICE = "nvidia-h100-80gb-hbm3"
_PRODUCT = "matmul 8192x8192x8192 bf16"


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw docs/images/roofline.png; returns 0."""
    parser = argparse.ArgumentParser(prog="python -m bench.documents.roofline", description=__doc__)
    parser.add_argument("model", nargs="?", default="resnet50 b8 f16")
    options = parser.parse_args(arguments)
    peaks = json.loads((_RESULTS / f"cuda-{_DEVICE}.json").read_text("utf-8"))
    times = json.loads((_RESULTS / f"kernel_times-{_DEVICE}.json").read_text("utf-8"))
    rows = [row for row in times["models"][options.model] if time_of(row) > 0]
    product = next(row for row in peaks["rows"] if row["name"] == _PRODUCT)
    roofs = Roofs(peaks["copy_bytes_per_second"] / 1e9, product["flops_per_second"] / 1e9)
    kernels = [kernel_of_row(row) for row in rows]
    title = f"{options.model} on an H100"
    path = str(ROOT / "docs" / "images" / "roofline.png")
    write_roofline(path, roofs, kernels, [round(time_of(row)) for row in rows], title)
    print("wrote docs/images/roofline.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())

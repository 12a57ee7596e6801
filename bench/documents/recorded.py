# SPDX-License-Identifier: MIT OR Apache-2.0
"""Lists which part of which document is written from which recorded result, and writes them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bench.documents import cpu, cuda, fusion, kernel_times, model_table, sweep, tuning
from bench.documents.charts import CHARTS
from bench.documents.markdown import Region
from bench.harness.files import atomic_path
from bench.harness.measure import ROOT

__all__ = ["PARTS", "Part", "stale", "write_all"]

RESULTS = ROOT / "bench" / "results"
_CPU = "cpu-amd-epyc-family-25-model-1-2c"
_OLDER = "amd-epyc-family-25-model-1-2c"
_NEWER = "amd-epyc-family-25-model-17-2c"
_SWEEP = f"partial-sweep-seed-8-{_NEWER}"
_H100 = "nvidia-h100-80gb-hbm3"


@dataclass(frozen=True)
class Part:
    """What lies between two markers of a document.

    Attributes:
        document: its path in the project.
        region: the markers.
        recorded: name of the result in bench/results, without its ending.
        render: returns the text.
    """

    document: str
    region: Region
    recorded: str
    render: Callable[[Any], str]

    def text(self) -> str:
        """Return what the recorded result renders to."""
        result: Mapping[str, Any] = json.loads(
            (RESULTS / f"{self.recorded}.json").read_text("utf-8")
        )
        return self.render(result)


_FUSION = "docs/fusion-results.md"
PARTS = (
    Part("README.md", cpu.SUMMARY, _CPU, cpu.render_summary),
    Part("docs/performance.md", cpu.DETAILS, _CPU, cpu.render_details),
    Part("README.md", cuda.SUMMARY, f"cuda-{_H100}", cuda.render_summary),
    Part("docs/performance-cuda.md", cuda.DETAILS, f"cuda-{_H100}", cuda.render_details),
    Part("README.md", sweep.SUMMARY, f"sweep-{_H100}", sweep.render_summary),
    Part(
        "docs/performance-cuda.md", sweep.LAYERS, f"sweep-{_H100}", partial(sweep.render, "layer")
    ),
    Part(
        "docs/performance-cuda.md",
        sweep.NETWORKS,
        f"sweep-networks-{_H100}",
        partial(sweep.render, "network"),
    ),
    Part("docs/performance.md", sweep.LAYERS, f"{_SWEEP}-1t", partial(sweep.render, "layer")),
    Part(
        "docs/performance.md",
        sweep.LAYERS_2_THREADS,
        f"{_SWEEP}-2t",
        partial(sweep.render, "layer"),
    ),
    Part("docs/models.md", model_table.REGION, f"model_table-{_OLDER}", model_table.render),
    Part(
        _FUSION,
        Region("python -m bench.fusion.table"),
        f"fusion_table-{_OLDER}",
        partial(fusion.render, "fusion_table"),
    ),
    Part(
        _FUSION,
        Region("python -m bench.fusion.scale"),
        f"fusion_scale-{_OLDER}",
        partial(fusion.render, "fusion_scale"),
    ),
    Part("docs/measuring.md", kernel_times.ON_CPU, f"kernel_times-{_NEWER}", kernel_times.render),
    Part("docs/measuring.md", kernel_times.ON_GPU, f"kernel_times-{_H100}", kernel_times.render),
    Part("docs/tuning.md", tuning.REGION, f"cuda_tuning-{_H100}", tuning.render),
)


def stale() -> list[str]:
    """Return which parts and charts are not what the recorded results render to."""
    found = []
    for part in PARTS:
        written = (ROOT / part.document).read_text("utf-8")
        if part.region.replace(written, part.text()) != written:
            found.append(f"{part.document}: {part.region.begin}")
    for name, (recorded, draw) in CHARTS.items():
        drawn = draw(json.loads((RESULTS / recorded).read_text("utf-8")))
        if (ROOT / "docs/images" / name).read_text("utf-8") != drawn:
            found.append(f"docs/images/{name}")
    return found


def write_all() -> None:
    """Write all parts and charts again; nothing is measured."""
    for part in PARTS:
        part.region.update(ROOT / part.document, part.text())
    for name, (recorded, draw) in CHARTS.items():
        result = json.loads((RESULTS / recorded).read_text("utf-8"))
        with atomic_path(ROOT / "docs/images" / name) as temporary:
            Path(temporary).write_text(draw(result), encoding="utf-8")

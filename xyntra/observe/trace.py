# SPDX-License-Identifier: MIT OR Apache-2.0
"""A timeline of one call in the Chrome trace format, for Perfetto and chrome://tracing."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence

from xyntra.plan.files import replace_file
from xyntra.plan.kernel import kernels_of
from xyntra.plan.plan import Plan


def write_trace(path: str | os.PathLike[str], plan: Plan, nanoseconds: Sequence[int]) -> None:
    """Write the kernels one after another, as long as they took.

    Args:
        path: the JSON file.
        plan: what was run.
        nanoseconds: time of each kernel of a call, from `Executable.time_kernels`.
    """
    events = []
    start = 0.0
    for kernel, duration in zip(kernels_of(plan), nanoseconds, strict=True):
        events.append(
            {
                "name": f"{kernel.kind}: {', '.join(kernel.fused[:3]) or kernel.name}",
                "cat": kernel.kind,
                "ph": "X",
                "ts": start,
                "dur": duration / 1e3,
                "pid": 0,
                "tid": 0,
                "args": {
                    "kernel": kernel.name,
                    "nodes": list(kernel.fused),
                    "bytes": kernel.bytes,
                    "flops": kernel.flops,
                },
            }
        )
        start += duration / 1e3
    replace_file(path, [json.dumps({"traceEvents": events, "displayTimeUnit": "ns"}).encode()])

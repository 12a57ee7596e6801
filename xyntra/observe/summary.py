# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes the `repr` of an executable, on a few lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from xyntra.observe.free_sizes import shown_shape
from xyntra.plan.artifact import Artifact
from xyntra.plan.free.expressions import FreeSizes
from xyntra.plan.plan import Plan, Port
from xyntra.targets.table import backend_of

__all__ = ["summary"]

_MOST = 8
"""Inputs or outputs that are shown."""
_UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def summary(artifact: Artifact) -> str:
    """The inputs, outputs, kernels, weights and target of a compiled model."""
    plan = artifact.plan
    called = [plan.kernels[step.kernel].kind for step in plan.steps if not step.once]
    at_load = len(plan.steps) - len(called)
    kernels = f"{len(called)} a call"
    if called:
        kinds = [f"{count} {kind}" for kind, count in Counter(called).most_common()]
        kernels += f": {', '.join(kinds)}"
    weights = [buffer.nbytes for buffer in plan.buffers if buffer.kind == "parameter"]
    entries = [
        ("inputs", _ports(plan, plan.inputs, 0)),
        ("outputs", _ports(plan, plan.outputs, len(plan.inputs))),
        *([("free", _free(plan.free))] if plan.free else []),
        ("kernels", [kernels + (f"; {at_load} at load" if at_load else "")]),
        ("weights", [f"{len(weights)}, {_size(sum(weights))}"] if weights else ["none"]),
        ("target", [backend_of(artifact.target).summary_of(artifact.target)]),
    ]
    lines = ["<xyntra.Executable"]
    for label, values in entries:
        lines += [f"  {label if not n else '':8} {value}" for n, value in enumerate(values)]
    return "\n".join(lines) + ">"


def _free(free: FreeSizes) -> list[str]:
    own = [each for each in free.symbols if not each.definition]
    return [f"{_printable(each.name)}: {each.sizes[0]} to {each.sizes[-1]}" for each in own]


def _ports(plan: Plan, ports: Sequence[Port], first: int) -> list[str]:
    """A line for each port; `first` is the number of the first one among inputs and outputs."""
    shapes = [
        shown_shape(plan.free, first + n) if plan.free else p.shape for n, p in enumerate(ports)
    ]
    lines = [
        f"{_printable(port.name)}: {port.dtype} {shape}"
        for port, shape in zip(ports[:_MOST], shapes, strict=False)
    ]
    if len(ports) > _MOST:
        lines.append(f"and {len(ports) - _MOST} more")
    return lines or ["none"]


def _printable(name: str) -> str:
    """A name of a model file without what would act on a terminal, cut where it is long."""
    text = "".join(c if c.isprintable() else "?" for c in name[:100])
    return text if len(name) <= 100 else f"{text}…"


def _size(count: int) -> str:
    for size, unit in _UNITS:
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} bytes"

# SPDX-License-Identifier: MIT OR Apache-2.0
"""The launches of a plan as users see them."""

from __future__ import annotations

from dataclasses import dataclass, field

from xyntra.errors import InputError
from xyntra.plan.plan import Plan, Step


@dataclass(frozen=True)
class Kernel:
    """One launch in the plan, as users see it.

    Attributes:
        name: name of the kernel function; equal kernels share it.
        kind: elementwise, row, contraction, conv, attention, data or generic.
        fused: the model's nodes that it computes.
        bytes: bytes that it must read and write at least.
        flops: floating-point operations.
        schedule: text of its `#xyntra.schedule`, or "".
        once: runs when the model is loaded, not at every call.
        text: its MLIR function at the kernel level.
    """

    name: str
    kind: str
    fused: tuple[str, ...]
    bytes: int
    flops: int
    schedule: str
    once: bool
    text: str = field(repr=False)

    def source(self, level: str = "kernels") -> str:
        """The kernel's text at a level; only "kernels", its MLIR function, is kept."""
        if level != "kernels":
            raise InputError(
                "unknown-level",
                f"an executable keeps its kernels at the level 'kernels', not '{level}'",
                hint=f"xyntra compile MODEL --emit {level}",
            )
        return self.text


def kernels_of(plan: Plan) -> list[Kernel]:
    """Every launch of the plan, in order."""
    return [_kernel(plan, step) for step in plan.steps]


def _kernel(plan: Plan, step: Step) -> Kernel:
    code = plan.kernels[step.kernel]
    return Kernel(
        step.kernel,
        code.kind,
        step.nodes,
        plan.step_bytes(step),
        code.flops,
        code.schedule,
        step.once,
        code.source,
    )

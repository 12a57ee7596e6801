# SPDX-License-Identifier: MIT OR Apache-2.0
"""The launches of a plan as users see them."""

from __future__ import annotations

from dataclasses import dataclass, field

from xyntra.errors import InputError
from xyntra.plan.costs.cost import Bound, Boundary
from xyntra.plan.plan import Plan, Step


@dataclass(frozen=True)
class Kernel:
    """One launch in the plan, as users see it.

    Attributes:
        name: name of the kernel function; equal kernels share it.
        kind: elementwise, row, contraction, conv, attention, data or generic.
        fused: the model's nodes that it computes.
        bytes: bytes that it reads and writes, as the cost model counts them; without a cost model,
            the sizes of its operands.
        flops: floating-point operations.
        schedules: by which emitter the code of each of its launches on a GPU, or of each loop nest
            on a CPU, was made, and what that was told, in words; empty where nothing is known.
        tuned: where the schedules were found by measuring, the nanoseconds that a launch took then.
        packaged: whether they came with the package, and were not found on this machine.
        once: runs when the model is loaded, not at every call.
        text: its MLIR function at the kernel level.
        predicted: nanoseconds that the cost model expects, or None where nothing is known.
        bound: what it expects the time to go into ("memory", "compute" or "launch"), or None.
        boundaries: for the tensors that it reads from other kernels, why it was not fused with
            those; None where nothing is known.
    """

    name: str
    kind: str
    fused: tuple[str, ...]
    bytes: int
    flops: int
    schedules: tuple[str, ...]
    once: bool
    text: str = field(repr=False)
    predicted: float | None = None
    bound: Bound | None = None
    boundaries: tuple[Boundary, ...] | None = field(default=None, repr=False)
    tuned: float | None = None
    packaged: bool = False

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
    """Every launch of a call, in order."""
    return [kernel_of(plan, step) for step in plan.steps if not step.once]


def kernels_at_load(plan: Plan) -> list[Kernel]:
    """Every launch that happens once, when the model is loaded, in order."""
    return [kernel_of(plan, step) for step in plan.steps if step.once]


def kernel_of(plan: Plan, step: Step) -> Kernel:
    """One launch as users see it."""
    code = plan.kernels[step.kernel]
    cost = step.cost
    return Kernel(
        step.kernel,
        code.kind,
        step.nodes,
        cost.bytes if cost else plan.step_bytes(step),
        cost.flops if cost else code.flops,
        code.schedules,
        step.once,
        code.source,
        cost.nanoseconds if cost else None,
        cost.bound if cost else None,
        step.boundaries,
        code.tuned,
        code.packaged,
    )

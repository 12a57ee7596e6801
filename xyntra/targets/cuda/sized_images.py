# SPDX-License-Identifier: MIT OR Apache-2.0
"""Makes the static plan for given sizes of one with free dimensions, and its kernels' launches."""

from __future__ import annotations

from collections.abc import Mapping

from xyntra.plan.free.expressions import FreeSizes
from xyntra.plan.free.sized import sized_plan
from xyntra.plan.plan import Plan
from xyntra.targets.cuda.code.kernel_image import KernelImage

__all__ = ["sized_images"]


def sized_images(
    plan: Plan, free: FreeSizes, images: Mapping[str, KernelImage], sizes: Mapping[str, int]
) -> tuple[Plan, dict[str, KernelImage]]:
    """Return the static plan, and the kernels that it runs.

    Args:
        plan: with free dimensions.
        free: these.
        images: all its kernels, with their variants.
        sizes: of the symbols, by their identifiers.

    Raises:
        CompileError: no variant of a kernel can have these sizes.
    """
    static = sized_plan(plan, free, sizes).plan
    values = free.values(sizes)
    used = dict.fromkeys(step.kernel for step in static.steps)
    return static, {name: images[name].at(values) for name in used}

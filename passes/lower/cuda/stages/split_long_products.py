# SPDX-License-Identifier: MIT OR Apache-2.0
"""`split-long-products`: contractions with few outputs are summed in parts, for the whole GPU.

On an H100, 64x64x65536 took 20.1 us whole, and 5.6 us in 128 parts and their sum.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.kernel_function import kernel_function
from xyntra.passes.lower.cuda.matmul.select import (
    plan_on_warpgroups,
    plan_on_warps,
    time_on_warps,
)
from xyntra.passes.lower.cuda.matmul.wgmma.tiles import Tile, microseconds
from xyntra.passes.lower.gpu.contraction.group import ContractionGroup
from xyntra.passes.lower.gpu.contraction.product import BatchedMatmul, product_of
from xyntra.passes.lower.gpu.device import DEFAULT, GpuDevice, device_of
from xyntra.passes.lower.gpu.emit.combiner import Combiner
from xyntra.passes.lower.gpu.stages.long_reductions import ReductionSplit, has_plain_maps, split
from xyntra.passes.lower.gpu.stages.stage import Work, tidy
from xyntra.passes.lower.kernels.fills import is_arithmetic_reduction
from xyntra.passes.lower.loops.linear_nest import Loop, linear_nest
from xyntra.passes.registry import register_pass

_TILE = Tile(64, 64)
_STEPS = 64  # of the reduction, of which parts are multiples
_LAUNCH = 2.5  # microseconds of the launch that adds up what parts give
_ADD = 2e6  # bytes in a microsecond, of what parts give
_GAIN = 0.85  # of the time without parts, below which they are worth it


@register_pass
@dataclass(frozen=True)
class SplitLongProducts:
    """Compute parts of a long product with few outputs side by side, and then their sum.

    Applies where an estimate says that the two take less time than the whole.
    """

    name: ClassVar[str] = "split-long-products"
    device: str = DEFAULT
    """What the code is for, by its name in the table of devices."""

    def run(self, module: ir.Operation) -> None:
        """Rewrite the kernel of `module`."""
        device = device_of(self.device)
        function = kernel_function(module)
        groups = Work.of(function).contractions
        for found in [_cut_of(group, device) for group in groups]:
            if found is not None:
                split(*found)
        tidy(function)


def _cut_of(
    group: ContractionGroup, device: GpuDevice
) -> tuple[ir.Operation, ReductionSplit] | None:
    """Return a contraction and how its reduction is cut; None where it takes less time whole."""
    if group.windows or not group.roles.rows or len(group.roles.reductions) != 1:
        return None
    product = product_of(group.nest, group.roles, group.initial)
    whole = plan_on_warpgroups(group, device)
    if product is None or whole is None or product.batch:
        return None
    generic = next(op for op in group.operations if is_arithmetic_reduction(op))
    nest = linear_nest(generic)
    combiner = Combiner.of(nest)
    if combiner is None or len(nest.reductions) != 1 or not has_plain_maps(generic):
        return None
    loop = nest.reductions[0]
    extent = nest.loops[loop].extent
    most = device.multiprocessors // _tiles(product)
    parts = [each for each in range(2, most + 1) if extent % (each * _STEPS) == 0]
    warps = plan_on_warps(group, device)
    now = whole.microseconds
    if warps is not None:
        now = min(now, time_on_warps(warps))
    if not parts or _in_parts(product, parts[-1], device) > _GAIN * now:
        return None
    return generic, ReductionSplit(loop, parts[-1], last=False, combiner=combiner)


def _tiles(product: BatchedMatmul) -> int:
    rows, columns = product.size(product.rows), product.size(product.columns)
    return -(-rows // _TILE.rows) * -(-columns // _TILE.columns)


def _in_parts(product: BatchedMatmul, parts: int, device: GpuDevice) -> float:
    """Return about how many microseconds a product takes whose parts are computed at once."""
    loops = list(product.nest.loops)
    (deep,) = product.depth
    loops[deep] = Loop(loops[deep].extent // parts, is_reduction=True)
    part = replace(product, nest=replace(product.nest, loops=tuple(loops)))
    outputs = product.size(product.rows) * product.size(product.columns)
    return microseconds(part, _TILE, 0, device) + _LAUNCH + parts * outputs * 4 / _ADD

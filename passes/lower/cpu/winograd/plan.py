# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds convolutions of 3 x 3 taps that take fewer multiplications as Winograd's F(2x2, 3x3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xyntra.passes.analysis.multiply_add import is_multiply_add
from xyntra.passes.lower.cpu.conv.plan import step_cycles, tile_shape
from xyntra.passes.lower.cpu.matmul.tile_plan import Registers, TilePlan
from xyntra.passes.lower.cpu.winograd.transforms import OUTPUTS, POINTS
from xyntra.passes.lower.kernels.prepared_operands import is_constant
from xyntra.passes.lower.loops.linear_nest import BufferOperand, LinearNest
from xyntra.passes.winograd import MIN_CHANNELS, TAPS

_NEAR_BYTES = 384 << 10  # of a usual second-level cache
_MOST_BYTES = 4 << 20
_BLOCKS = (8, 9, 10, 11, *range(12, 24, 2), *(2**n * m for n in range(3, 16) for m in (3, 4, 5)))
"""How many blocks there may be: one, whose parts threads share, or enough for threads to share."""
_SPILLED = 4  # how often what does not stay in that cache is moved
_FAR_CYCLES = 0.08  # a byte from outside of it
_TRANSFORM_CYCLES = 110.0  # of a vector of channels of one tile, on the way in and out together
_GAIN = 0.9  # of the time of the direct kernel, above which that one is kept


@dataclass(frozen=True)
class WinogradLoops:
    """The loops of a convolution of 3 x 3 taps, by what they are for.

    Attributes:
        nest: the convolution.
        image: number of the input that is not the weights.
        outer: the loops around the image.
        positions: the loops over rows and columns of the image.
        taps: the loops over rows and columns of the filter.
        column: the loop over output channels.
        channel: the loop over input channels.
    """

    nest: LinearNest
    image: int
    outer: tuple[int, ...]
    positions: tuple[int, int]
    taps: tuple[int, int]
    column: int
    channel: int

    @property
    def weights(self) -> BufferOperand:
        """The other input."""
        return self.nest.inputs[1 - self.image]

    @property
    def channels(self) -> int:
        """Input channels."""
        return self.nest.loops[self.channel].extent

    @property
    def columns(self) -> int:
        """Output channels."""
        return self.nest.loops[self.column].extent

    @property
    def size(self) -> tuple[int, int]:
        """Rows and columns of the result."""
        rows, columns = (self.nest.loops[number].extent for number in self.positions)
        return rows, columns

    @property
    def grid(self) -> tuple[int, ...]:
        """Return how many tiles lie along the loops in `outer` and `positions`."""
        around = [self.nest.loops[number].extent for number in self.outer]
        return (*around, *(-(-extent // OUTPUTS) for extent in self.size))

    @property
    def tiles(self) -> int:
        """Tiles of 2 x 2 outputs in all."""
        return prod(self.grid)


@dataclass(frozen=True)
class WinogradPlan(WinogradLoops):
    """A plan of a convolution in tiles of 2 x 2 outputs.

    Attributes:
        tile: the registers of a product: rows are tiles of the image, columns output channels.
        block: how many tiles of the image are done together.
    """

    tile: TilePlan
    block: int

    @property
    def panels(self) -> int:
        """Panels of weights, the last one filled up."""
        return -(-self.columns // self.tile.columns)


def find_filter(
    nest: LinearNest, companions: Sequence[BufferOperand], lanes: int
) -> WinogradLoops | None:
    """Return `nest` as a convolution of 3 x 3 taps, or None where it is none.

    Args:
        nest: a reduction of two inputs.
        companions: what is read or written for each element of the output.
        lanes: elements of a vector, of which there must be one of channels at least.
    """
    if len(nest.inputs) != 2 or any(access.is_scalar for access in nest.inputs):
        return None
    if not is_multiply_add(nest.body):
        return None
    for image in (0, 1):
        if is_constant(nest.inputs[1 - image]):
            found = _filter(nest, image, lanes)
            if found is not None and all(e.strides[found.column] in (0, 1) for e in companions):
                return found
    return None


def plan_winograd(
    found: WinogradLoops, registers: Registers, item_bytes: int, *, exact: bool
) -> WinogradPlan | None:
    """Return the tiles of `found`, or None where a direct convolution does as well.

    Args:
        found: the convolution.
        registers: what tiles may use.
        item_bytes: bytes of one element.
        exact: no element of the output may be computed twice.
    """
    plan = min(
        winograd_plans(found, registers),
        key=lambda plan: _far_bytes(plan, item_bytes),
        default=None,
    )
    if plan is None or (exact and found.columns % plan.tile.lanes):
        return None
    gains = _cycles(plan, item_bytes) < _GAIN * _direct_cycles(found, registers)
    return plan if gains else None


def _filter(nest: LinearNest, image: int, lanes: int) -> WinogradLoops | None:
    x, out = nest.inputs[image], nest.outputs[0]
    parallel = [number for number, loop in enumerate(nest.loops) if not loop.is_reduction]
    columns = [i for i in parallel if out.strides[i] == 1 and not x.strides[i]]
    reductions = sorted(nest.reductions, key=lambda i: -x.strides[i])
    if len(columns) != 1 or len(reductions) != 3:
        return None
    down, along, channel = reductions
    positions = [i for tap in (down, along) for i in parallel if x.strides[i] == x.strides[tap]]
    if len(positions) != 2 or x.strides[channel] != 1:
        return None
    outer = [i for i in parallel if i not in positions and i not in columns]
    found = WinogradLoops(
        nest,
        image,
        tuple(sorted(outer, key=lambda i: -out.strides[i])),
        (positions[0], positions[1]),
        (down, along),
        columns[0],
        channel,
    )
    return found if _is_regular(found, lanes) else None


def _is_regular(found: WinogradLoops, lanes: int) -> bool:
    """Tell whether loops move as they should, and channels are enough for whole vectors."""
    x, weights = found.nest.inputs[found.image], found.weights
    if any(found.nest.loops[i].extent != TAPS for i in found.taps):
        return False
    if min(found.channels, found.columns) < max(MIN_CHANNELS, lanes):
        return False
    # A weight for every tap and pair of channels, the same all over the image.
    if not all(weights.strides[i] for i in (*found.taps, found.column, found.channel)):
        return False
    if any(weights.strides[i] for i in (*found.outer, *found.positions)):
        return False
    return all(x.strides[i] > 0 for i in found.outer)


def winograd_plans(found: WinogradLoops, registers: Registers) -> list[WinogradPlan]:
    """Return the plans with the best tile, by the size of their blocks."""
    shape = tile_shape(found.tiles, found.columns, registers, exact=False)
    if shape is None:
        return []
    tile = TilePlan(None, (found.column,), *shape, frozenset(), 0.0)
    most = _tiles(found.tiles, tile.rows)
    counts = [1, *(count for count in _BLOCKS if count <= most), max(most, 1)]
    blocks = {_tiles(most, count) * tile.rows for count in counts}
    return [
        WinogradPlan(**vars(found), tile=tile, block=min(block, found.tiles))
        for block in sorted(blocks)
    ]


def _far_bytes(plan: WinogradPlan, item_bytes: int) -> int:
    points = POINTS * POINTS * item_bytes
    weights = points * plan.channels * plan.panels * plan.tile.columns
    tile = points * (plan.channels + plan.panels * plan.tile.columns)
    spilled = _SPILLED * tile * plan.tiles if tile * plan.block > _NEAR_BYTES else 0
    is_huge = tile * plan.block > _MOST_BYTES
    return spilled + weights * _tiles(plan.tiles, plan.block) + _SPILLED * spilled * is_huge


def _cycles(plan: WinogradPlan, item_bytes: int) -> float:
    tile = plan.tile
    products = _tiles(plan.tiles, tile.rows) * plan.panels * plan.channels * POINTS * POINTS
    vectors = (plan.channels + plan.columns) / tile.lanes
    transforms = _TRANSFORM_CYCLES / 2 * vectors * plan.tiles
    work = products * step_cycles(tile.rows, tile.vectors)
    return work + transforms + _FAR_CYCLES * _far_bytes(plan, item_bytes)


def _direct_cycles(found: WinogradLoops, registers: Registers) -> float:
    rows = prod(found.size) * prod(found.nest.loops[i].extent for i in found.outer)
    shape = tile_shape(rows, found.columns, registers, exact=False)
    if shape is None:
        return 0.0
    height, vectors, lanes = shape
    tiles = _tiles(rows, height) * _tiles(found.columns, vectors * lanes)
    return tiles * TAPS * TAPS * found.channels * step_cycles(height, vectors)


def _tiles(extent: int, size: int) -> int:
    return -(-extent // size)

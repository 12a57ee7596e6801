# SPDX-License-Identifier: MIT OR Apache-2.0
"""`register-tiles`: contractions keep a tile of their output in vector registers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from xyntra.dialects.dtypes import ITEM_BYTES
from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.sizes.size import Size
from xyntra.passes.lower.cpu.machine import LoweringOptions
from xyntra.passes.lower.cpu.matmul.inner_products import InnerProducts
from xyntra.passes.lower.cpu.matmul.preceding_nests import preceding_nests
from xyntra.passes.lower.cpu.matmul.streamed_product import StreamedProducts
from xyntra.passes.lower.cpu.matmul.tile_blocking import (
    Blocking,
    blocking_of,
    choose_blocking,
    tiles_of,
)
from xyntra.passes.lower.cpu.matmul.tile_emitter import TileEmitter
from xyntra.passes.lower.cpu.matmul.tile_plan import TilePlan, Tiling
from xyntra.passes.lower.cpu.rows.filled_reductions import Filled, filled
from xyntra.passes.lower.cpu.schedule.emitter import (
    EmitterSweep,
    NestEmitter,
    ScheduledNest,
    TileChoices,
    check_tile,
    emit_scheduled,
    require,
)
from xyntra.passes.lower.cpu.schedule.told import bad_schedule
from xyntra.passes.lower.kernels.epilogue import Epilogue, FusedNest
from xyntra.passes.lower.kernels.fills import is_arithmetic_reduction
from xyntra.passes.lower.kernels.prepared_operands import is_constant
from xyntra.passes.lower.kernels.row_group import aligned, shared_loops, with_row_buffers
from xyntra.passes.lower.loops.linear_nest import LinearNest, collapsed, linear_nest
from xyntra.passes.lower.loops.loop_builder import Position, nested_loops
from xyntra.passes.lower.loops.scalar_nest import emit_nest
from xyntra.passes.lower.loops.taken import Taken
from xyntra.passes.registry import register_pass

_MAX_SLOWDOWN = 1.1  # of a contraction whose tiles suit what follows, against the best tiles
_MOST_TRIED = 64
_NO_LOOP = -1


@dataclass(frozen=True)
class RegisterChoices(TileChoices):
    """The choices of the emitter. Loops are numbered as they are after those that walk on merge.

    Attributes:
        row: the loop that the rows of a tile are taken from; -1 for one row.
        columns: the loops that its columns are taken from, outermost first, as one long loop.
        blocks: tiles below each other in a block, and how many blocks lie beside each other.
        steps: of the outermost reduction in a part of it; 0 for all of them.
        rows_outside: whether the loop over blocks below each other is the outer one.
        producers: how many nests in front are computed in the loops that they can share.
    """

    row: int = _NO_LOOP
    columns: tuple[int, ...] = ()
    blocks: tuple[int, ...] = (1, 1)
    steps: int = 0
    rows_outside: bool = False
    producers: int = 0


@dataclass(frozen=True)
class _Contraction(Filled):
    @cached_property
    def before(self) -> list[ir.Operation]:
        """Return what makes its operands right in front, and can share loops with it."""
        return preceding_nests(self.fill, self.op, self.following, self.taken)


@dataclass(frozen=True)
class _Loops:
    """A contraction as loops.

    Attributes:
        together: the contraction with what follows.
        nests: the producers, and both of these.
        count: the outer loops that they share.
        nest: the contraction.
        code: what follows.
    """

    together: FusedNest
    nests: list[LinearNest]
    count: int
    nest: LinearNest
    code: Epilogue | None

    @property
    def exact(self) -> bool:
        """Tell whether no element of the output may be computed twice."""
        return self.together.is_in_place

    def tiling(self, item_bytes: int) -> Tiling:
        companions = () if self.code is None else self.code.accesses
        constant = _constants(self.nest)
        return Tiling(self.nest, item_bytes, companions, self.exact, self.count, constant)


class _RegisterTiles(NestEmitter):
    name = "register-tiles"
    choices = RegisterChoices

    def choose(self, place: _Contraction, machine: LoweringOptions) -> RegisterChoices | None:
        item_bytes = ITEM_BYTES[str(place.initial.type)]
        registers = machine.registers(place.initial.type)
        alone = place.reduction(epilogue=False)
        if alone is None:
            return None
        free = Tiling(alone.nest, item_bytes, constant=_constants(alone.nest)).best(registers)
        if free is None:
            return None
        for epilogue in (True, False) if place.following is not None else (False,):
            for producers in (len(place.before), 0) if place.before else (0,):
                found = _loops(place, epilogue=epilogue, producers=producers)
                plan = None if found is None else found.tiling(item_bytes).best(registers)
                if found is None or plan is None or plan.cost > _MAX_SLOWDOWN * free.cost:
                    continue
                return _told(found, plan, item_bytes, epilogue=epilogue)
        return None

    def check(self, place: _Contraction, choices: RegisterChoices) -> None:
        before, producers = len(place.before), choices.producers
        fits = 0 <= producers <= before
        require(fits, place, "producers", producers, f"allowed are 0 to {before}")
        place.checked(epilogue=choices.epilogue)
        found = _loops(place, epilogue=choices.epilogue, producers=producers)
        if found is None:
            raise bad_schedule(place.op, f"producers = {producers}: they share no loops")
        plan = _plan(place, found, choices)
        if plan is None:
            loops = f"row = {choices.row}, columns = {list(choices.columns)}"
            raise bad_schedule(place.op, f"{loops}: tiles cannot be taken from these loops")
        rows = 1 if plan.row_loop is None else found.nest.loops[plan.row_loop].extent
        check_tile(place, choices, rows, plan.extent(found.nest), exact=found.exact)
        _check_blocks(place, found.nest, plan, choices)

    def group(self, place: _Contraction, choices: RegisterChoices) -> list[ir.Operation]:
        return [*_producers(place, choices.producers), *place.group(epilogue=choices.epilogue)]

    def emit(self, place: _Contraction, choices: RegisterChoices) -> None:
        epilogue, producers = choices.epilogue, choices.producers
        found = _loops(place, epilogue=epilogue, producers=producers, flat=True)
        if found is None:
            raise ValueError("the schedule has not been checked")
        plan = _plan(place, found, choices)
        if plan is None:
            raise ValueError("the schedule has not been checked")
        nest, code, count = found.nest, found.code, found.count
        nests = found.nests
        if producers:
            nests = with_row_buffers(nests, count, self.group(place, choices))
            nest, code = found.together.parts(collapsed(nests[-1], fixed=count))
        emitter = TileEmitter(nest, plan, _blocking(nest, plan, choices), place.initial, code)
        rows = [collapsed(each, fixed=count) for each in nests[:-1]]
        loops = [(number, loop.extent) for number, loop in enumerate(nest.loops[:count])]

        def emit_row(position: Position) -> None:
            for each in rows:
                emit_nest(each, position)
            emitter.emit(position)

        nested_loops(loops, {}, emit_row, parallel=True)

    def space(self, place: _Contraction, machine: LoweringOptions) -> Iterator[RegisterChoices]:
        item_bytes = ITEM_BYTES[str(place.initial.type)]
        registers = machine.registers(place.initial.type)
        for epilogue in (True, False):
            for producers in {len(place.before), 0}:
                found = _loops(place, epilogue=epilogue, producers=producers)
                if found is None:
                    continue
                plans = found.tiling(item_bytes).plans(registers)
                for plan in sorted(plans, key=lambda plan: plan.cost)[:_MOST_TRIED]:
                    yield _told(found, plan, item_bytes, epilogue=epilogue)


def _producers(place: _Contraction, count: int) -> list[ir.Operation]:
    return place.before[len(place.before) - count :]


def _loops(
    place: _Contraction, *, epilogue: bool, producers: int, flat: bool = False
) -> _Loops | None:
    """Return the loops; None where those of `producers` nests in front cannot be shared."""
    found = place.reduction(epilogue=epilogue, flat=flat)
    if found is None:
        return None
    together = found.together
    if not producers:
        return _Loops(together, [together.nest], 0, found.nest, found.code)
    before = [linear_nest(op, flat=flat) for op in _producers(place, producers)]
    nests = aligned([*before, together.nest])
    count = shared_loops(nests)
    nest, code = together.parts(collapsed(nests[-1], fixed=count))
    return _Loops(together, nests, count, nest, code) if count else None


def _told(found: _Loops, plan: TilePlan, item_bytes: int, *, epilogue: bool) -> RegisterChoices:
    blocking = choose_blocking(found.nest, plan, item_bytes)
    return RegisterChoices(
        (plan.rows, plan.columns),
        plan.lanes,
        epilogue,
        _NO_LOOP if plan.row_loop is None else plan.row_loop,
        plan.column_loops,
        (blocking.rows, blocking.column_blocks),
        blocking.steps or 0,
        blocking.rows_outside,
        len(found.nests) - 1,
    )


def _plan(place: Filled, found: _Loops, choices: RegisterChoices) -> TilePlan | None:
    row = None if choices.row == _NO_LOOP else choices.row
    if len(choices.tile) != 2 or not choices.vector:
        return None
    shape = (choices.tile[0], choices.tile[1] // choices.vector, choices.vector)
    item_bytes = ITEM_BYTES[str(place.initial.type)]
    return found.tiling(item_bytes).told(row, choices.columns, shape)


def _blocking(nest: LinearNest, plan: TilePlan, choices: RegisterChoices) -> Blocking:
    rows, column_blocks = choices.blocks
    steps = choices.steps or None
    return blocking_of(nest, plan, rows, column_blocks, steps, rows_outside=choices.rows_outside)


def _check_blocks(
    place: ScheduledNest, nest: LinearNest, plan: TilePlan, choices: RegisterChoices
) -> None:
    blocks, steps = choices.blocks, choices.steps
    rows, columns = tiles_of(nest, plan)
    fits = len(blocks) == 2 and blocks[0] > 0 and blocks[1] > 0
    # There may be fewer tiles than a block has: so it is where the sizes are told.
    fits = fits and all(
        isinstance(most, Size) or block <= most
        for block, most in zip(blocks, (rows, columns), strict=True)
    )
    allowed = f"allowed are 1 to {rows} tiles of rows, and 1 to {columns} blocks of columns"
    require(fits, place, "blocks", blocks, allowed)
    most = nest.loops[nest.reductions[0]].extent if len(plan.column_loops) == 1 else 0
    require(0 <= steps <= most, place, "steps", steps, f"allowed are 0 to {most}")
    is_ready = not choices.rows_outside or not plan.packed
    allowed = "panels are packed for every block of columns, whose loop has to be outside"
    require(is_ready, place, "rows_outside", choices.rows_outside, allowed)


def _constants(nest: LinearNest) -> frozenset[int]:
    return frozenset(i for i, access in enumerate(nest.inputs) if is_constant(access))


_find_filled = filled(is_arithmetic_reduction)


def _find(op: ir.Operation, taken: Taken) -> _Contraction | None:
    found = _find_filled(op, taken)
    return None if found is None else _Contraction(found.op, found.fill, found.taken)


STAGE = EmitterSweep(
    "register-tiles",
    _find,
    (StreamedProducts(), InnerProducts(), _RegisterTiles()),
)


@register_pass
@dataclass(frozen=True)
class RegisterTiles:
    """Rewrite matrix products and convolutions on memrefs as register tiles.

    Applies to a linalg.generic with reductions, linear accesses and a purely arithmetic body, whose
    output is filled with one value right before; the fill disappears. What comes next and computes
    on the output element by element is done to a tile before it is stored. A product of a few rows
    with a large matrix may be scheduled as `streamed-product` instead, which reads that in order.
    """

    name: ClassVar[str] = "register-tiles"

    def run(self, module: ir.Operation) -> None:
        """Rewrite what is scheduled so below `module`."""
        emit_scheduled(module, STAGE)

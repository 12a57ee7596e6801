# SPDX-License-Identifier: MIT OR Apache-2.0
"""`nest-loops`: linalg on memrefs becomes loops over flat buffers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, ClassVar

from xyntra.dialects.attention import OP as ATTENTION
from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.views import MEMREF_VIEWS
from xyntra.passes.lower.cpu.machine import LoweringOptions
from xyntra.passes.lower.cpu.rows.gather_plan import GatherChoices, looks_up_tables, plan_gathers
from xyntra.passes.lower.cpu.rows.streams import moved_bytes
from xyntra.passes.lower.cpu.rows.transposed_tiles import EDGES, emit_transposed, transposes
from xyntra.passes.lower.cpu.rows.vector_nests import (
    RowChoices,
    emit_vector_nest,
    emit_vector_rows,
    fit_rows,
    in_row_order,
)
from xyntra.passes.lower.cpu.schedule.emitter import (
    Choices,
    EmitterSweep,
    NestEmitter,
    emit_scheduled,
    require,
)
from xyntra.passes.lower.cpu.schedule.told import bad_schedule, own_schedule
from xyntra.passes.lower.kernels.row_group import (
    aligned,
    exchange_values,
    shared_loops,
    with_row_buffers,
)
from xyntra.passes.lower.loops.linear_nest import LinearNest, collapsed, is_linear, linear_nest
from xyntra.passes.lower.loops.loop_builder import Position, loop
from xyntra.passes.lower.loops.memrefs import is_private
from xyntra.passes.lower.loops.scalar_nest import emit_nest, is_scalar_code
from xyntra.passes.lower.loops.taken import Taken
from xyntra.passes.registry import register_pass

SCALAR_LOOPS = "scalar-loops"
"""The emitter whose loops LLVM is to vectorise."""
_BETWEEN = MEMREF_VIEWS | {"arith.constant", "memref.alloc"}
_BITS = 32
_LONG_RUN = 4
_BLOCKS = (512, 1024, 2048, 4096, 8192)


@dataclass(frozen=True)
class ScalarChoices(Choices):
    """The choices of the emitter of scalar loops.

    Attributes:
        nests: how many nests share their loops over rows.
    """

    nests: int = 1


@dataclass(frozen=True)
class TransposedChoices(Choices):
    """The choices of the emitter of transpositions.

    Attributes:
        edge: rows and columns of a tile.
    """

    edge: int = 0


@dataclass(frozen=True)
class _Shared:
    """Nests that share their `count` outer loops; a single one has as few loops as can be."""

    nests: list[LinearNest]
    count: int


@dataclass(frozen=True)
class _Run:
    """A nest, and those right behind it that could share its loops.

    Attributes:
        op: the first nest.
        taken: what others make code of.
    """

    op: ir.Operation
    taken: Taken

    @cached_property
    def operations(self) -> list[ir.Operation]:
        """The nests with nothing but views and allocations between them."""
        found: list[ir.Operation] = []
        for op in self.taken.left(self.op.parent.regions[0].blocks[0]):
            if op == self.op or (found and self._may_follow(op)):
                found.append(op)
            elif found and op.name not in _BETWEEN:
                break
        return found or [self.op]  # it is in another block than the first of a region

    def _may_follow(self, op: ir.Operation) -> bool:
        return self.taken.is_nest(op) and is_suitable(op) and not own_schedule(op)

    @cached_property
    def longest(self) -> int:
        """How many nests share loops best: one that looks elements up is computed by itself."""
        alone = next((at for at, op in enumerate(self.operations) if _gathers(op)), None)
        everything = [linear_nest(op, flat=False) for op in self.operations[: alone or None]]
        nests = everything[:1] if alone == 0 else _longest_run(everything)
        return len(nests) if exchange_values(nests) else 1

    @cached_property
    def _known(self) -> dict[int, _Shared]:
        return {}

    def shared(self, nests: int) -> _Shared:
        """Return the first `nests` of them as loops, which code cannot be made of."""
        if nests not in self._known:
            found = [linear_nest(op, flat=False) for op in self.operations[:nests]]
            self._known[nests] = _sharing(found)
        return self._known[nests]

    def with_buffers(self, nests: int) -> _Shared:
        """Return them as loops over flat views; what they exchange is in buffers of a row."""
        operations = self.operations[:nests]
        found = _sharing([linear_nest(op) for op in operations])
        if nests == 1:
            return found
        rows = with_row_buffers(found.nests, found.count, operations)
        return _Shared([collapsed(each, fixed=found.count) for each in rows], found.count)

    def check_length(self, nests: int) -> None:
        """Check that the loops of so many nests can be shared."""
        most = len(self.operations)
        require(0 < nests <= most, self, "nests", nests, f"allowed are 1 to {most}")
        fits = nests == 1 or self.shared(nests).count > 0
        require(fits, self, "nests", nests, "they share no loops")


def _longest_run(everything: Sequence[LinearNest]) -> Sequence[LinearNest]:
    """Return the first nests, as many as share loops."""
    # Pieces of a concatenation mostly share loops all together: then no part of them is tried.
    if len(everything) > _LONG_RUN and _share(everything[:2]) and _share(everything):
        return everything
    count = 1
    while count < len(everything) and _share(everything[: count + 1]):
        count += 1
    return everything[:count]


def _share(nests: Sequence[LinearNest]) -> bool:
    return shared_loops(aligned(nests)) > 0


def _sharing(nests: Sequence[LinearNest]) -> _Shared:
    if len(nests) == 1:
        return _Shared([collapsed(nests[0])], 0)
    found = aligned(nests)
    return _Shared(found, shared_loops(found))


class _Loops(NestEmitter):
    def group(self, place: _Run, choices: Any) -> list[ir.Operation]:
        return place.operations[: getattr(choices, "nests", 1)]


def _gathers(op: ir.Operation) -> bool:
    """Tell whether `op` looks elements up in vectors, which shared loops would not be."""
    if all(view.operation.name != "memref.load" for view in op.regions[0].blocks[0].operations):
        return False
    found = plan_gathers(collapsed(linear_nest(op, flat=False)))
    return found is not None and found.gathers


class _VectorRows(_Loops):
    name = "vector-rows"
    choices = RowChoices

    def choose(self, place: _Run, machine: LoweringOptions) -> RowChoices | None:
        if not machine.vector_bits or not _fits(place, place.longest):
            return None
        nests, operations = place.shared(place.longest).nests, place.operations[: place.longest]
        shares = len(nests) > 1
        moved = moved_bytes(nests, lambda memory: shares and is_private(memory, operations))
        lanes = machine.vector_bits // _BITS
        return RowChoices(len(nests), lanes, past_caches=moved >= machine.cache_bytes)

    def check(self, place: _Run, choices: RowChoices) -> None:
        place.check_length(choices.nests)
        if not _fits(place, choices.nests):
            raise bad_schedule(place.op, f"{self.name}: rows cannot be walked through in vectors")
        vector, block = choices.vector, choices.block
        is_power = vector > 1 and vector & (vector - 1) == 0
        require(is_power, place, "vector", vector, "allowed are powers of two from 2 on")
        require(block >= vector, place, "block", block, f"allowed are {vector} and more")

    def emit(self, place: _Run, choices: RowChoices) -> None:
        found = place.with_buffers(choices.nests)
        if choices.nests > 1:
            emit_vector_rows(found.nests, found.count, choices)
            return
        nest = in_row_order(found.nests[0])
        if nest is None:
            raise ValueError("the schedule has not been checked")
        emit_vector_nest(nest, choices)

    def space(self, place: _Run, machine: LoweringOptions) -> Iterator[RowChoices]:
        vector = machine.vector_bits // _BITS
        for nests in {place.longest, 1} if vector else ():
            for past_caches in (False, True):
                for block in _BLOCKS:
                    yield RowChoices(nests, vector, block, past_caches)


def _fits(place: _Run, nests: int) -> bool:
    found = place.shared(nests)
    if nests == 1:
        return in_row_order(found.nests[0]) is not None
    return fit_rows([collapsed(each, fixed=found.count) for each in found.nests], found.count)


class _TransposedTiles(_Loops):
    name = "transposed-tiles"
    choices = TransposedChoices

    def choose(self, place: _Run, machine: LoweringOptions) -> TransposedChoices | None:
        edge = min(EDGES[-1], machine.vector_bits // _BITS)
        if place.longest > 1 or not transposes(place.shared(1).nests[0], edge):
            return None
        return TransposedChoices(edge)

    def check(self, place: _Run, choices: TransposedChoices) -> None:
        edge = choices.edge
        allowed = [each for each in EDGES if transposes(place.shared(1).nests[0], each)]
        require(edge in allowed, place, "edge", edge, f"allowed are {allowed}")

    def emit(self, place: _Run, choices: TransposedChoices) -> None:
        emit_transposed(place.with_buffers(1).nests[0], choices.edge)

    def space(self, place: _Run, machine: LoweringOptions) -> Iterator[TransposedChoices]:
        yield from map(TransposedChoices, EDGES)


class _GatheredRows(_Loops):
    name = "gathered-rows"
    choices = GatherChoices

    def choose(self, place: _Run, machine: LoweringOptions) -> GatherChoices | None:
        found = plan_gathers(place.shared(1).nests[0]) if place.longest == 1 else None
        if found is None:
            return None
        lanes = found.widest(machine.vector_bits // _BITS)
        if lanes < max(2, found.repeats):
            return None
        moved = moved_bytes([found.nest], lambda memory: is_private(memory, place.operations[:1]))
        reused = found.reuse is not None
        runs = found.table is not None and not found.is_in_place
        past_caches = moved >= machine.cache_bytes and not (reused or runs)
        neighbours = looks_up_tables(found) and not runs
        separable = found.separable is not None
        return GatherChoices(lanes, past_caches, separable, reused, runs, neighbours)

    def check(self, place: _Run, choices: GatherChoices) -> None:
        found = plan_gathers(place.shared(1).nests[0])
        if found is None:
            raise bad_schedule(place.op, f"{self.name} makes no code of this")
        vector = choices.vector
        least = max(2, found.repeats)
        is_legal = least <= vector <= found.extent and vector & (vector - 1) == 0
        allowed = f"allowed are powers of two from {least} to {found.extent}"
        require(is_legal, place, "vector", vector, allowed)
        is_legal = vector <= found.widest(vector)
        allowed = "the result is written over an input: whole vectors have to make a row"
        require(is_legal, place, "vector", vector, allowed)
        is_legal = found.separable is not None or not choices.separable
        require(is_legal, place, "separable", choices.separable, "it is no sum of rows")
        is_legal = found.reuse is not None or not choices.reused
        require(is_legal, place, "reused", choices.reused, "no loop can go inside")
        is_legal = (found.table is not None and not found.is_in_place) or not choices.runs
        require(is_legal, place, "runs", choices.runs, "no table of many rows holds the columns")
        is_legal = not (choices.past_caches and (choices.reused or choices.runs))
        allowed = "reused or runs = true stores no rows from end to end"
        require(is_legal, place, "past_caches", choices.past_caches, allowed)

    def emit(self, place: _Run, choices: GatherChoices) -> None:
        found = plan_gathers(place.with_buffers(1).nests[0])
        if found is None:
            raise ValueError("the schedule has not been checked")
        from xyntra.passes.lower.cpu.rows.gathered_rows import GatheredRows

        GatheredRows.of(found, choices).emit()

    def space(self, place: _Run, machine: LoweringOptions) -> Iterator[GatherChoices]:
        widest = machine.vector_bits // _BITS
        for vector in (widest, widest // 2):
            for told in product((False, True), repeat=5):
                yield GatherChoices(vector, *told)


class _ScalarLoops(_Loops):
    name = SCALAR_LOOPS
    choices = ScalarChoices

    def choose(self, place: _Run, machine: LoweringOptions) -> ScalarChoices:
        return ScalarChoices(place.longest)

    def check(self, place: _Run, choices: ScalarChoices) -> None:
        place.check_length(choices.nests)

    def emit(self, place: _Run, choices: ScalarChoices) -> None:
        found = place.with_buffers(choices.nests)
        _emit_shared(found.nests, found.count, {})

    def space(self, place: _Run, machine: LoweringOptions) -> Iterator[ScalarChoices]:
        yield from map(ScalarChoices, range(1, place.longest + 1))


def is_suitable(op: ir.Operation) -> bool:
    """Tell whether loops can be made of a linalg.generic here."""
    is_whole = ATTENTION not in op.attributes and is_linear(op)
    return is_whole and is_scalar_code(op.regions[0].blocks[0])


def _emit_shared(nests: Sequence[LinearNest], count: int, position: Position) -> None:
    if len(position) == count:
        for nest in nests:
            emit_nest(nest, position)
        return
    number = len(position)
    with loop(nests[0].loops[number].extent, parallel=True) as step:
        _emit_shared(nests, count, position | {number: step})


def _find(op: ir.Operation, taken: Taken) -> _Run | None:
    return _Run(op, taken) if is_suitable(op) else None


STAGE = EmitterSweep(
    "nest-loops", _find, (_VectorRows(), _TransposedTiles(), _GatheredRows(), _ScalarLoops())
)


@register_pass
@dataclass(frozen=True)
class NestLoops:
    """Rewrite linalg.generic whose accesses are linear in its loops.

    Loops that continue each other become one, so that small inner dimensions do not keep LLVM from
    vectorising. Neighbours that exchange rows share the loop over the rows. Rows are walked through
    in vectors (`vector-rows`), transpositions done in tiles of registers (`transposed-tiles`), and
    everything else becomes loops around scalar code (`scalar-loops`).
    """

    name: ClassVar[str] = "nest-loops"

    def run(self, module: ir.Operation) -> None:
        """Rewrite what is scheduled so below `module`."""
        emit_scheduled(module, STAGE)

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Loads what one thread combines with windows of an image: weights, as vectors of its outputs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.gpu.conv.sliding import SlidingWindows
from xyntra.passes.lower.gpu.emit.vectors import lanes_in_memory, load_vector, vector_of
from xyntra.passes.lower.loops.integers import addi
from xyntra.passes.lower.loops.linear_nest import BufferOperand
from xyntra.passes.lower.loops.loop_builder import Position, index, load, offset
from xyntra.passes.lower.loops.vector_body import broadcast, lane_of

_WIDENING = ("arith.extf", "arith.extsi", "arith.extui")


class WeightArgument:
    """An argument of the body, and what it is widened to before anything else, if it is.

    Values are widened where they are loaded, once for all that they are combined with.
    """

    def __init__(self, argument: ir.Value) -> None:
        uses = [use.owner.operation for use in argument.uses]
        is_widened = len(uses) == 1 and uses[0].name in _WIDENING
        self.op = uses[0] if is_widened else None
        self.key = argument if self.op is None else self.op.result

    def widened(self, vector: ir.Value) -> ir.Value:
        """Return the values of a vector as the body first uses them."""
        if self.op is None:
            return vector
        kind = ir.VectorType.get(ir.VectorType(vector.type).shape, self.op.result.type)
        return emit(self.op.name, [vector], kind)


@dataclass(frozen=True)
class ThreadWeights:
    """The weights of one thread, loaded as they are asked for.

    Attributes:
        windows: the reduction.
        access: the weights.
        argument: of its body that they are.
        lanes: outputs of a vector.
        position: of the loops that they move with, but for those of a tile.
    """

    windows: SlidingWindows
    access: BufferOperand
    argument: WeightArgument
    lanes: int
    position: Position
    _loaded: dict[tuple[int | None, int, int], ir.Value] = field(default_factory=dict)

    def at(self, down: int | None, across: int, channel: int) -> ir.Value:
        """Return a vector for a tap; `channel` is that of each group."""
        if (down, across, channel) not in self._loaded:
            self._load(down, across, channel)
        return self._loaded[down, across, channel]

    def _load(self, down: int | None, across: int, channel: int) -> None:
        windows, position = self.windows, dict(self.position)
        for axis, tap in ((windows.down, down), (windows.across, across)):
            if axis.tap is not None and tap is not None:
                position[axis.tap] = index(tap)
        run = self._run
        if windows.depth is not None:
            position[windows.depth] = index(channel // run * run)
        if run == 1:
            self._loaded[down, across, channel] = self._vector(position)
            return
        for number, vector in enumerate(self._vectors_of(run, position)):
            self._loaded[down, across, channel // run * run + number] = vector

    @property
    def _run(self) -> int:
        """Channels of a group whose weights are loaded at once."""
        windows = self.windows
        if windows.depth is None or self.access.strides[windows.depth] != 1:
            return 1
        return self._lanes_along(windows.depth)

    def _lanes_along(self, loop: int) -> int:
        alone = replace(self.windows.nest, inputs=(self.access,), outputs=())
        return lanes_in_memory(alone, loop)

    def _vectors_of(self, run: int, position: Position) -> list[ir.Value]:
        """Return a vector for each of `run` channels that are contiguous in memory."""
        access, first = self.access, offset(self.access, position)
        step = access.strides[self.windows.inner]
        loaded = [
            self.argument.widened(load_vector(access, run, addi(first, index(lane * step))))
            for lane in range(self.lanes)
        ]
        kind = ir.VectorType.get([self.lanes], ir.VectorType(loaded[0].type).element_type)
        return [
            emit("vector.from_elements", [lane_of(each, number) for each in loaded], kind)
            for number in range(run)
        ]

    def _vector(self, position: Position) -> ir.Value:
        windows, lanes, access, argument = self.windows, self.lanes, self.access, self.argument
        if windows.slides_inside or not access.strides[windows.inner]:
            single = argument.widened(broadcast(load(access, offset(access, position)), 1))
            return broadcast(lane_of(single, 0), lanes)
        if self._lanes_along(windows.inner) % lanes == 0:
            return argument.widened(vector_of(access, windows.inner, lanes, position))
        place, step = offset(access, position), access.strides[windows.inner]
        elements = [load(access, addi(place, index(i * step))) for i in range(lanes)]
        kind = ir.VectorType.get([lanes], elements[0].type)
        return argument.widened(emit("vector.from_elements", elements, kind))

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads a sliding window over each channel, channels innermost, into plain integers."""

from __future__ import annotations

from dataclasses import dataclass

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.loops.access_strides import loop_extents
from xyntra.passes.lower.loops.linear_nest import BufferOperand, LinearNest
from xyntra.passes.lower.loops.memrefs import allocate, flattened
from xyntra.passes.lower.tensor.row_major import row_major_steps

_COMBINING = frozenset({"arith.addf", "arith.maximumf", "arith.minimumf"})


@dataclass(frozen=True)
class Slide:
    """A dimension along which the window slides.

    Attributes:
        place: the loop over positions.
        tap: the loop over taps.
        stride: distance of neighbouring positions.
        dilation: distance of neighbouring taps.
        low: how far the first position starts before the first element.
        extent: elements.
        places, taps: iterations of the loops.
    """

    place: int
    tap: int
    stride: int
    dilation: int
    low: int
    extent: int
    places: int
    taps: int

    def start(self, place: int) -> int:
        """The element of the first tap at a position; may be outside."""
        return place * self.stride - self.low

    def taps_at(self, place: int) -> list[int]:
        """The taps that meet elements at a position."""
        first = self.start(place)
        return [k for k in range(self.taps) if 0 <= first + k * self.dilation < self.extent]

    @property
    def inner(self) -> range:
        """The positions at which all taps meet elements."""
        found = [place for place in range(self.places) if len(self.taps_at(place)) == self.taps]
        return range(found[0], found[-1] + 1) if found else range(0)

    @property
    def is_inside(self) -> bool:
        """Tell whether all taps meet elements everywhere."""
        return len(self.inner) == self.places


@dataclass(frozen=True)
class FramedInput:
    """An input that is another one with a frame around.

    Attributes:
        source: what is inside. Where `is_part`, it is that part of the padded memory.
        lows: the width of the frame before it, by dimension.
        operations: what writes the frame, and what copies `source` into it.
        is_part: something else than a copy writes `source`, which can be memory without a frame.
    """

    source: ir.Value
    lows: tuple[int, ...]
    operations: tuple[ir.Operation, ...]
    is_part: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents of what is inside."""
        return tuple(ir.MemRefType(self.source.type).shape)

    @property
    def steps(self) -> tuple[int, ...]:
        """Return how many elements apart the neighbours along each dimension will lie."""
        if self.is_part:
            return tuple(row_major_steps(self.shape))
        steps, _ = ir.MemRefType(self.source.type).get_strides_and_offset()
        return tuple(steps)

    def flat(self) -> ir.Value:
        """Return a flat view of what is inside, which is moved to memory of its own if need be."""
        if not self.is_part:
            return flattened(self.source)
        with ir.InsertionPoint(self.source.owner):
            memory = allocate(self.shape, ir.MemRefType(self.source.type).element_type)
        self.source.replace_all_uses_with(memory)
        return flattened(memory)


@dataclass(frozen=True)
class WindowReduction:
    """A reduction over windows of each channel.

    Attributes:
        image: what is read.
        slides: the dimensions that it slides along, the one with the closest elements last.
        channel: the loop over channels.
        outer: the other loops.
    """

    image: BufferOperand
    slides: tuple[Slide, ...]
    channel: int
    outer: tuple[int, ...]


def read_window(
    generic: ir.Operation, nest: LinearNest, padding: FramedInput | None, *, flat: bool = True
) -> WindowReduction | None:
    """Return `generic` as a window, or None where it is none.

    Args:
        generic: reductions over one output, of two inputs, of which the second may be unused.
        nest: the same as loops.
        padding: what to read instead of the first input.
        flat: make the flat view that code is made of.
    """
    found = read_slides(generic, nest, padding, flat=flat)
    return None if found is None else _window(nest, *found)


def read_slides(
    generic: ir.Operation, nest: LinearNest, padding: FramedInput | None, *, flat: bool = True
) -> tuple[BufferOperand, list[Slide]] | None:
    """Return the first input without its padding, and how windows slide over it.

    Dimensions without padding that are indexed by one reduction alone, such as the channels of a
    convolution, are none that windows slide along. None where `generic` has another form.

    Args:
        generic, padding, flat: as for `read_window`.
        nest: the same as loops, those of `generic`.
    """
    memory = generic.operands[0]
    steps = ir.MemRefType(memory.type).get_strides_and_offset()[0]
    shape, lows = tuple(memory.type.shape), (0,) * len(memory.type.shape)
    if padding is not None:
        steps, shape, lows = padding.steps, padding.shape, padding.lows
    expressions = ir.AffineMapAttr(generic.attributes["indexing_maps"][0]).value.results
    extents = loop_extents(generic)
    strides = [0] * len(extents)
    slides: list[Slide] = []
    start = 0
    for expression, low, step, extent in zip(expressions, lows, steps, shape, strict=True):
        terms = _terms(expression)
        if terms is None:
            return None
        for loop, factor in terms.items():
            strides[loop] += factor * step
        start -= low * step
        taps = [loop for loop in terms if nest.loops[loop].is_reduction]
        places = [loop for loop in terms if not nest.loops[loop].is_reduction]
        if not low and (not taps or (not places and len(taps) == 1)):
            continue
        if len(taps) != 1 or len(places) != 1:
            return None
        place, tap = places[0], taps[0]
        found = (place, tap, terms[place], terms[tap], low, extent, extents[place], extents[tap])
        slides.append(Slide(*found))
    if not flat:
        return BufferOperand(
            memory if padding is None else padding.source, start, tuple(strides)
        ), slides
    image = flattened(memory) if padding is None else padding.flat()
    return BufferOperand(image, start, tuple(strides)), slides


def _window(nest: LinearNest, image: BufferOperand, slides: list[Slide]) -> WindowReduction | None:
    out = nest.outputs[0]
    places = {slide.place for slide in slides}
    channels = [
        loop
        for loop, each in enumerate(nest.loops)
        if not each.is_reduction
        and loop not in places
        and image.strides[loop] == 1
        and out.strides[loop] == 1
    ]
    taps = {slide.tap for slide in slides}
    if len(channels) != 1 or not slides or taps != set(nest.reductions):
        return None
    slides.sort(key=lambda slide: -image.strides[slide.place])
    used = {channels[0], slides[-1].place, *taps}
    outer = tuple(loop for loop in range(len(nest.loops)) if loop not in used)
    return WindowReduction(image, tuple(slides), channels[0], outer)


def _terms(expression: ir.AffineExpr) -> dict[int, int] | None:
    """The loops of a sum with their factors; None for anything else."""
    if isinstance(expression, ir.AffineDimExpr):
        return {expression.position: 1}
    if isinstance(expression, ir.AffineConstantExpr):
        return {} if expression.value == 0 else None
    if isinstance(expression, ir.AffineMulExpr):
        inner, factor = _terms(expression.lhs), expression.rhs
        if inner is None or not isinstance(factor, ir.AffineConstantExpr) or factor.value < 1:
            return None
        return {loop: each * int(factor.value) for loop, each in inner.items()}
    if isinstance(expression, ir.AffineAddExpr):
        left, right = _terms(expression.lhs), _terms(expression.rhs)
        return None if left is None or right is None or left.keys() & right.keys() else left | right
    return None


def ignores(body: ir.Block, value: ir.Value | None, initial: ir.Value) -> bool:
    """Tell whether an element that is `value` changes nothing, so that it need not be read.

    Args:
        body: combines an element, a weight and the running value.
        value: a constant.
        initial: what the running value starts from.
    """
    number, first = _constant(value), _constant(initial)
    names = [view.operation.name for view in body.operations]
    element, weight, running = body.arguments
    if names == ["arith.mulf", "arith.addf", "linalg.yield"]:
        product, total, _ = (view.operation for view in body.operations)
        multiplies = set(product.operands) == {element, weight}
        return number == 0 and multiplies and running in list(total.operands)
    if len(names) == 2 and names[0] in _COMBINING:
        op = body.operations[0].operation
        is_neutral = number == first and (names[0] != "arith.addf" or number == 0)
        return set(op.operands) == {element, running} and number is not None and is_neutral
    return False


def _constant(value: ir.Value | None) -> float | None:
    if value is None or isinstance(value.owner, ir.Block):
        return None
    op = value.owner.operation
    if op.name != "arith.constant" or not isinstance(op.attributes["value"], ir.FloatAttr):
        return None
    return float(ir.FloatAttr(op.attributes["value"]).value)

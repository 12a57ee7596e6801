# SPDX-License-Identifier: MIT OR Apache-2.0
"""Convolutions as `linalg.generic`, over any number of spatial dimensions.

Loops of which the extent is always one (taps of a 1x1 kernel, channels of a depthwise group) are
left out, so that a 1x1 convolution is a plain contraction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch_mlir import ir

from xyntra.dialects.builder import Iterator, Tensor, TensorBuilder

__all__ = ["convolve", "convolve_transposed"]


@dataclass(frozen=True)
class _Channels:
    """A split of channels into groups: `outputs` and `inputs` count those of one group."""

    groups: int
    outputs: int
    inputs: int

    @property
    def has_outputs(self) -> bool:
        return self.outputs > 1 or self.groups == 1

    @property
    def has_inputs(self) -> bool:
        return self.inputs > 1 or self.groups == 1

    def output_sizes(self) -> dict[str, int]:
        """Sizes of the loops over output channels, by name."""
        group = {"g": self.groups} if self.groups > 1 else {}
        return group | ({"m": self.outputs} if self.has_outputs else {})

    def input_sizes(self) -> dict[str, int]:
        """Sizes of the dimensions that hold the input's channels, by loop."""
        group = {"g": self.groups} if self.groups > 1 else {}
        return group | self.reduced_sizes()

    def reduced_sizes(self) -> dict[str, int]:
        """Size of the loop over input channels, by name."""
        return {"c": self.inputs} if self.has_inputs else {}


def convolve(
    b: TensorBuilder,
    x: Tensor,
    weight: Tensor,
    *,
    strides: Sequence[int],
    dilations: Sequence[int],
    groups: int,
    accumulator: str,
) -> Tensor:
    """The convolution (cross-correlation) of a padded input.

    Args:
        b: where to build.
        x: [N, C, *spatial], padded already.
        weight: [M, C / groups, *kernel].
        strides: by spatial dimension.
        dilations: distance between neighbouring taps, by spatial dimension.
        groups: output channels of group i see only the input channels of group i.
        accumulator: dtype of products, sums and result.

    Returns:
        [N, M, *output] in the accumulator's dtype.
    """
    kernel, batch = weight.shape[2:], x.shape[0]
    channels = _Channels(groups, weight.shape[0] // groups, weight.shape[1])
    output = [
        (size - dilation * (taps - 1) - 1) // stride + 1
        for size, taps, stride, dilation in zip(
            x.shape[2:], kernel, strides, dilations, strict=True
        )
    ]
    positions = {f"o{axis}": size for axis, size in enumerate(output)}
    taps = {f"k{axis}": size for axis, size in enumerate(kernel) if size > 1}
    loops = _Loops(b, {"n": batch} | channels.output_sizes() | positions, channels, taps)
    x = b.reshape(x, [batch, *channels.input_sizes().values(), *x.shape[2:]])
    factors = channels.output_sizes() | channels.reduced_sizes()
    weight = b.reshape(weight, [*factors.values(), *taps.values()])
    read = [
        loops.expression({f"o{axis}": stride, f"k{axis}": dilation})
        for axis, (stride, dilation) in enumerate(zip(strides, dilations, strict=True))
    ]
    x_map = loops.map([*loops.plain(["n", *channels.input_sizes()]), *read])
    weight_map = loops.map(loops.plain([*factors, *taps]))
    result = loops.contract((x, x_map), (weight, weight_map), accumulator)
    return b.reshape(result, [batch, groups * channels.outputs, *output])


@dataclass(frozen=True)
class _Upsampling:
    """One spatial dimension of a transposed convolution as a convolution by phases.

    Output position q * phases + r sums `taps` inputs, `step` apart, that end at q: of the kernel
    it takes every `phases`-th element from r on. So no zeros are inserted between inputs.

    Attributes:
        phases: distance of the kernels of neighbouring inputs.
        taps: of each phase.
        step: from one of these to the next, in inputs.
        first: q of the first output.
        count: of the q.
        halves: the result begins with the second half of the phases at `first`; of each q there
            are those, then the first half of the phases at q + 1.
        crop: outputs in front of those that are wanted.
        size: outputs that are wanted.
    """

    phases: int
    taps: int
    step: int
    first: int
    count: int
    halves: bool
    crop: int
    size: int

    @property
    def low(self) -> int:
        """Return how far the first output sees in front of the input."""
        return self.step * (self.taps - 1) - self.first

    @property
    def end(self) -> int:
        """The position behind the last one that an output sees."""
        return self.first + self.count + self.halves

    def phase_sizes(self, axis: int) -> dict[str, int]:
        """Sizes of the loops over phases, by name."""
        if not self.halves:
            return {f"r{axis}": self.phases} if self.phases > 1 else {}
        rest = {f"r{axis}": self.phases // 2} if self.phases > 2 else {}
        return {f"h{axis}": 2} | rest


def convolve_transposed(
    b: TensorBuilder,
    x: Tensor,
    weight: Tensor,
    *,
    strides: Sequence[int],
    dilations: Sequence[int],
    groups: int,
    accumulator: str,
    starts: Sequence[int],
    sizes: Sequence[int],
) -> tuple[Tensor, list[int]]:
    """The transposed convolution: every input adds a scaled kernel to the output.

    Args:
        b: where to build.
        x: [N, C, *spatial].
        weight: [C, M / groups, *kernel].
        strides: distance between the kernels of neighbouring inputs.
        dilations: distance between neighbouring taps.
        groups: as in `convolve`.
        accumulator: dtype of products, sums and result.
        starts: the first output that is wanted, by spatial dimension.
        sizes: how many are wanted, likewise; those that no input adds to are zero.

    Returns:
        [N, M, *more], of which what is wanted is a slice, and where that begins by spatial
        dimension. It is the whole in most cases: where outputs begin with a phase of the kernel
        that is the first one, or in the middle, and there is a whole number of all phases.
    """
    batch = x.shape[0]
    channels = _Channels(groups, weight.shape[1], weight.shape[0] // groups)
    known = zip(weight.shape[2:], strides, dilations, starts, sizes, strict=True)
    axes = [_plan_axis(*each) for each in known]
    x = _framed(b, x, axes)
    positions: dict[str, int] = {}
    taps: dict[str, int] = {}
    tap_loops: dict[str, int] = {}
    for axis, plan in enumerate(axes):
        phases = plan.phase_sizes(axis)
        tap = {f"k{axis}": plan.taps} if plan.taps > 1 else {}
        positions |= {f"q{axis}": plan.count} | phases
        taps |= tap
        tap_loops |= tap | phases
    loops = _Loops(b, {"n": batch} | channels.output_sizes() | positions, channels, taps)
    x = b.reshape(x, [batch, *channels.input_sizes().values(), *x.shape[2:]])
    stored = channels.input_sizes() | ({"m": channels.outputs} if channels.has_outputs else {})
    stored |= tap_loops
    weight = b.reshape(_by_phase(b, weight, axes, dilations), list(stored.values()))
    read = [
        loops.expression({f"q{i}": 1, f"h{i}": 1, f"k{i}": plan.step})
        for i, plan in enumerate(axes)
    ]
    x_map = loops.map([*loops.plain(["n", *channels.input_sizes()]), *read])
    result = loops.contract((x, x_map), (weight, loops.map(loops.plain(stored))), accumulator)
    shape = [plan.count * plan.phases for plan in axes]
    return b.reshape(result, [batch, groups * channels.outputs, *shape]), [
        plan.crop for plan in axes
    ]


def _plan_axis(taps: int, stride: int, dilation: int, start: int, size: int) -> _Upsampling:
    if stride == 1:
        return _Upsampling(1, taps, dilation, start, size, False, 0, size)
    extent = dilation * (taps - 1) + 1
    each = -(-extent // stride)
    first, phase = divmod(start, stride)
    if phase == 0 or 2 * phase == stride:
        return _Upsampling(stride, each, 1, first, -(-size // stride), phase > 0, 0, size)
    count = -(-(phase + size) // stride)
    return _Upsampling(stride, each, 1, first, count, False, phase, size)


def _framed(b: TensorBuilder, x: Tensor, axes: Sequence[_Upsampling]) -> Tensor:
    """Return what outputs see of the input, with zeros around it."""
    lengths = x.shape[2:]
    low = [0, 0, *(plan.low for plan in axes)]
    high = [0, 0, *(plan.end - size for plan, size in zip(axes, lengths, strict=True))]
    if min(*low, *high) < 0:
        starts = [max(0, -each) for each in low]
        ends = [size + min(0, each) for size, each in zip(x.shape, high, strict=True)]
        shape = [end - start for start, end in zip(starts, ends, strict=True)]
        x = b.slice(x, starts, shape, [1] * x.rank)
    return b.pad(x, [max(0, each) for each in low], [max(0, each) for each in high], 0)


def _by_phase(
    b: TensorBuilder, weight: Tensor, axes: Sequence[_Upsampling], dilations: Sequence[int]
) -> Tensor:
    """The weight as [C, M / groups, taps, 2, phases / 2, taps, 2, phases / 2, …].

    The last taps come first, and where outputs begin in the middle of the phases, the second half
    of these; elsewhere phases are not split.
    """
    shape, reverse = list(weight.shape[:2]), [False, False]
    for axis, (plan, dilation) in enumerate(zip(axes, dilations, strict=True)):
        if plan.phases > 1:
            weight = _spread(b, weight, axis + 2, dilation, plan.taps * plan.phases)
        parts = 2 if plan.halves else 1
        shape += [plan.taps, parts, plan.phases // parts]
        reverse += [plan.taps > 1, plan.halves, False]
    return b.flip(b.reshape(weight, shape), reverse)


def _spread(b: TensorBuilder, source: Tensor, axis: int, step: int, size: int) -> Tensor:
    """Move element i of `axis` to i * step, with zeros between and after, `size` in all."""
    # Where there is no weight is a negative zero: kernels may leave out taps of nothing else.
    nothing = 0 if source.dtype.startswith(("int", "uint", "bool")) else -0.0
    shape = list(source.shape)
    if step > 1:
        low = [0] * (source.rank + 1)
        high = [step - 1 if d == axis + 1 else 0 for d in range(source.rank + 1)]
        split = b.reshape(source, [*shape[: axis + 1], 1, *shape[axis + 1 :]])
        shape[axis] *= step
        source = b.reshape(b.pad(split, low, high, nothing), shape)
    if size < shape[axis]:
        shape[axis] = size
        return b.slice(source, [0] * source.rank, shape, [1] * source.rank)
    high = [size - shape[axis] if d == axis else 0 for d in range(source.rank)]
    return b.pad(source, [0] * source.rank, high, nothing)


class _Loops:
    """The iteration space: parallel loops, then the reduced channels and taps."""

    def __init__(
        self, b: TensorBuilder, parallel: dict[str, int], channels: _Channels, taps: dict[str, int]
    ) -> None:
        self.b = b
        self.parallel = parallel
        self.names = [*parallel, *channels.reduced_sizes(), *taps]

    def plain(self, names: Sequence[str] | dict[str, int]) -> list[ir.AffineExpr]:
        """The loop indices of `names`."""
        return [self.expression({name: 1}) for name in names]

    def expression(self, factors: dict[str, int]) -> ir.AffineExpr:
        """The sum of loop indices times their factors; loops that do not exist count as zero."""
        with self.b.location:
            result = ir.AffineConstantExpr.get(0)
            for name, factor in factors.items():
                if name in self.names:
                    result = ir.AffineDimExpr.get(self.names.index(name)) * factor + result
        return result

    def map(self, expressions: Sequence[ir.AffineExpr]) -> ir.AffineMap:
        """The indexing map with these results."""
        with self.b.location:
            return ir.AffineMap.get(len(self.names), 0, list(expressions))

    def contract(
        self, x: tuple[Tensor, ir.AffineMap], weight: tuple[Tensor, ir.AffineMap], dtype: str
    ) -> Tensor:
        """The sum of products over the reduced loops."""
        initial = self.b.fill(list(self.parallel.values()), dtype, 0)
        reduced = len(self.names) - len(self.parallel)
        iterators: list[Iterator] = ["parallel"] * len(self.parallel)
        iterators += ["reduction"] * reduced
        write = self.map(self.plain(self.parallel))
        return self.b.generic(
            [x, weight],
            [(initial, dtype, write)],
            iterators,
            lambda a, w, running: running + a.cast(dtype) * w.cast(dtype),
        )[0]

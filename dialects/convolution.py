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
    """How channels split: `outputs` and `inputs` count those of one group."""

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
    """

    phases: int
    taps: int
    step: int

    @property
    def reach(self) -> int:
        """How far the first and the last output see beyond the input."""
        return self.step * (self.taps - 1)


def convolve_transposed(
    b: TensorBuilder,
    x: Tensor,
    weight: Tensor,
    *,
    strides: Sequence[int],
    dilations: Sequence[int],
    groups: int,
    accumulator: str,
) -> Tensor:
    """The transposed convolution: every input adds a scaled kernel to the output.

    Args:
        b: where to build.
        x: [N, C, *spatial].
        weight: [C, M / groups, *kernel].
        strides: distance between the kernels of neighbouring inputs.
        dilations: distance between neighbouring taps.
        groups: as in `convolve`.
        accumulator: dtype of products, sums and result.

    Returns:
        [N, M, *full]; full is at least stride * (spatial - 1) + dilation * (kernel - 1) + 1, and
        what is beyond that is zero.
    """
    batch, spatial = x.shape[0], x.shape[2:]
    channels = _Channels(groups, weight.shape[1], weight.shape[0] // groups)
    axes = [
        _plan_axis(size, stride, dilation)
        for size, stride, dilation in zip(weight.shape[2:], strides, dilations, strict=True)
    ]
    reach = [0, 0, *(plan.reach for plan in axes)]
    x = b.pad(x, reach, reach, 0)
    positions: dict[str, int] = {}
    taps: dict[str, int] = {}
    tap_loops: dict[str, int] = {}
    for axis, (plan, size) in enumerate(zip(axes, spatial, strict=True)):
        phase = {f"r{axis}": plan.phases} if plan.phases > 1 else {}
        tap = {f"k{axis}": plan.taps} if plan.taps > 1 else {}
        positions |= {f"q{axis}": size + plan.reach} | phase
        taps |= tap
        tap_loops |= tap | phase
    loops = _Loops(b, {"n": batch} | channels.output_sizes() | positions, channels, taps)
    x = b.reshape(x, [batch, *channels.input_sizes().values(), *x.shape[2:]])
    stored = channels.input_sizes() | ({"m": channels.outputs} if channels.has_outputs else {})
    stored |= tap_loops
    weight = b.reshape(_by_phase(b, weight, axes, dilations), list(stored.values()))
    read = [loops.expression({f"q{i}": 1, f"k{i}": plan.step}) for i, plan in enumerate(axes)]
    x_map = loops.map([*loops.plain(["n", *channels.input_sizes()]), *read])
    result = loops.contract((x, x_map), (weight, loops.map(loops.plain(stored))), accumulator)
    sizes = [(size + plan.reach) * plan.phases for plan, size in zip(axes, spatial, strict=True)]
    return b.reshape(result, [batch, groups * channels.outputs, *sizes])


def _plan_axis(taps: int, stride: int, dilation: int) -> _Upsampling:
    if stride == 1:
        return _Upsampling(1, taps, dilation)
    extent = dilation * (taps - 1) + 1
    return _Upsampling(stride, -(-extent // stride), 1)


def _by_phase(
    b: TensorBuilder, weight: Tensor, axes: Sequence[_Upsampling], dilations: Sequence[int]
) -> Tensor:
    """The weight as [C, M / groups, taps, phases, taps, phases, …], the last taps first."""
    shape, reverse = list(weight.shape[:2]), [False, False]
    for axis, (plan, dilation) in enumerate(zip(axes, dilations, strict=True)):
        if plan.phases > 1:
            weight = _spread(b, weight, axis + 2, dilation, plan.taps * plan.phases)
        shape += [plan.taps, plan.phases]
        reverse += [plan.taps > 1, False]
    return b.flip(b.reshape(weight, shape), reverse)


def _spread(b: TensorBuilder, source: Tensor, axis: int, step: int, size: int) -> Tensor:
    """Move element i of `axis` to i * step, with zeros between and after, `size` in all."""
    shape = list(source.shape)
    if step > 1:
        low = [0] * (source.rank + 1)
        high = [step - 1 if d == axis + 1 else 0 for d in range(source.rank + 1)]
        split = b.reshape(source, [*shape[: axis + 1], 1, *shape[axis + 1 :]])
        shape[axis] *= step
        source = b.reshape(b.pad(split, low, high, 0), shape)
    if size < shape[axis]:
        shape[axis] = size
        return b.slice(source, [0] * source.rank, shape, [1] * source.rank)
    high = [size - shape[axis] if d == axis else 0 for d in range(source.rank)]
    return b.pad(source, [0] * source.rank, high, 0)


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

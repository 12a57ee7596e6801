# SPDX-License-Identifier: MIT OR Apache-2.0
"""Random graphs of views, contractions, convolutions and row operations, of any size.

Nothing is computed: what is fused depends on sizes far above those of graphs that tests can run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from random import Random

from torch_mlir import ir

from xyntra.dialects import make_context
from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.named import gelu, layer_norm, rms_norm, softmax
from xyntra.dialects.tensors.broadcasting import broadcast_shapes
from xyntra.dialects.tensors.convolution import convolve
from xyntra.dialects.tensors.slices import concatenate, insert_slice
from xyntra.passes.manager import run_pipeline
from xyntra.passes.pipelines import fusion_pipeline, kernel_pipeline
from xyntra.plan.build import build_plan

__all__ = ["compile_random"]

_SIZES = (1, 1, 2, 3, 4, 7, 8, 16, 31, 32, 64, 77, 128, 256, 1024, 4096)
_LARGEST = 1 << 24
"""Elements of one tensor."""
_DTYPES = ("float32", "float32", "float16", "bfloat16")


def compile_random(seed: int, target: str) -> None:
    """Fuse a random graph for `target`, check its kernels and build the plan."""
    with make_context(), ir.Location.unknown():
        module = _Graph(Random(seed)).module()
        passes = fusion_pipeline(egraph=False, fast_math=False, target=target)
        kernels = kernel_pipeline(target)
        run_pipeline(module, ["canonicalize", "cse", *passes, *kernels], verify_each=False)
        assert module.operation.verify()
        build_plan(module.operation, 0)


class _Graph:
    """A function under construction; `values` may be read by further operations."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.dtype = random.choice(_DTYPES)
        self.arguments: list[tuple[ir.Value, bool]] = []
        self.values: list[Tensor] = []

    def module(self) -> ir.Module:
        module = ir.Module.create()
        function = ir.Operation.create(
            "func.func",
            attributes={
                "sym_name": ir.StringAttr.get("main"),
                "function_type": ir.TypeAttr.get(ir.FunctionType.get([], [])),
            },
            regions=1,
            ip=ir.InsertionPoint(module.body),
        )
        self.block = function.regions[0].blocks.append()
        self.b = TensorBuilder(ir.InsertionPoint(self.block), ir.Location.current)
        self.leaf(self.shape(), is_weight=False)
        for _ in range(self.random.randint(3, 14)):
            made = self.random.choice(_STEPS)(self, self.pick())
            if made is not None and prod(made.shape) <= _LARGEST:
                self.values.append(made)
        returned = [self.values[-1]]
        returned += [each for each in self.values[:-1] if self.random.random() < 0.1]
        self.b.emit("func.return", [each.value for each in returned], [])
        types = [value.type for value, _ in self.arguments], [each.value.type for each in returned]
        function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(*types))
        names = [
            ir.DictAttr.get({"xyntra.parameter": ir.StringAttr.get(f"w{i}")} if is_weight else {})
            for i, (_, is_weight) in enumerate(self.arguments)
        ]
        function.attributes["arg_attrs"] = ir.ArrayAttr.get(names)
        assert module.operation.verify()
        return module

    def pick(self) -> Tensor:
        """A value, mostly one of the last."""
        last = len(self.values) - 1
        return self.values[max(self.random.randint(0, last), self.random.randint(0, last))]

    def shape(self) -> list[int]:
        sizes = [self.random.choice(_SIZES) for _ in range(self.random.choice((2, 3, 3, 4, 4)))]
        while prod(sizes) > _LARGEST:
            sizes[sizes.index(max(sizes))] = 3
        return sizes

    def leaf(self, shape: Sequence[int], *, is_weight: bool = True) -> Tensor:
        type_ = self.b.tensor_type(shape, self.dtype)
        value = self.block.add_argument(type_, ir.Location.current)
        self.arguments.append((value, is_weight))
        tensor = Tensor(value, self.dtype)
        if not is_weight:
            self.values.append(tensor)
        return tensor

    def sometimes(self, probability: float = 0.5) -> bool:
        return self.random.random() < probability


def _transpose(g: _Graph, x: Tensor) -> Tensor:
    return g.b.transpose(x, g.random.sample(range(x.rank), x.rank))


def _reshape(g: _Graph, x: Tensor) -> Tensor | None:
    """Joins neighbouring dimensions, or splits one."""
    shape = list(x.shape)
    at = g.random.randrange(x.rank)
    if g.sometimes() and at:
        shape[at - 1 : at + 1] = [shape[at - 1] * shape[at]]
    elif x.rank < 5:
        factor = g.random.choice([d for d in (1, 2, 4, 7, 8, 16, 32, 64) if shape[at] % d == 0])
        shape[at : at + 1] = g.random.choice(
            [[factor, shape[at] // factor], [shape[at] // factor, factor]]
        )
    return g.b.reshape(x, shape)


def _slice(g: _Graph, x: Tensor) -> Tensor:
    axis = g.random.randrange(x.rank)
    size = x.shape[axis]
    length = g.random.randint(1, size) if g.sometimes() else max(size // 2, 1)
    starts, sizes = [0] * x.rank, list(x.shape)
    starts[axis], sizes[axis] = g.random.choice([0, size - length]), length
    return g.b.slice(x, starts, sizes, [1] * x.rank)


def _concatenate(g: _Graph, x: Tensor) -> Tensor:
    axis = g.random.randrange(x.rank)
    parts = [x, g.leaf(x.shape, is_weight=False) if g.sometimes() else _unary(g, x)]
    return concatenate(g.b, parts, axis)


def _unary(g: _Graph, x: Tensor) -> Tensor:
    if g.sometimes(0.3):
        return gelu(g.b, x)
    return g.b.map(lambda v, *_: (v + v).math("tanh"), x, dtype=x.dtype)


def _binary(g: _Graph, x: Tensor) -> Tensor:
    fitting = [y for y in g.values if _broadcasts(x.shape, y.shape)]
    if g.sometimes(0.4) or not fitting:
        kept = g.random.randint(0, x.rank)
        y = g.leaf([1] * kept + list(x.shape[kept:]), is_weight=g.sometimes(0.7))
    else:
        y = g.random.choice(fitting)
    return g.b.map(lambda v, w, *_: v + w, x, y, dtype=x.dtype)


def _broadcasts(one: Sequence[int], other: Sequence[int]) -> bool:
    try:
        return prod(broadcast_shapes(one, other)) <= _LARGEST
    except ValueError:
        return False


def _row(g: _Graph, x: Tensor) -> Tensor:
    axis = g.random.choice([x.rank - 1, g.random.randrange(x.rank)])
    kind = g.random.choice(("softmax", "layer_norm", "rms_norm"))
    if kind == "softmax":
        return softmax(g.b, x, axis)
    scale = g.leaf(x.shape[axis:]) if g.sometimes() else None
    if kind == "layer_norm":
        return layer_norm(g.b, x, axis, 1e-5, scale)
    return rms_norm(g.b, x, axis, 1e-5, scale)


def _reduce(g: _Graph, x: Tensor) -> Tensor | None:
    axes = sorted(g.random.sample(range(x.rank), g.random.randint(1, min(2, x.rank))))
    keep = g.sometimes(0.7) or len(axes) == x.rank
    reduced = g.b.reduce(x, axes, g.random.choice(("sum", "max")), keepdims=keep)
    if keep and g.sometimes():
        return g.b.map(lambda v, w, *_: v - w, x, reduced, dtype=x.dtype)
    return reduced if reduced.rank >= 2 else None


def _project(g: _Graph, x: Tensor) -> Tensor:
    """A product with a weight, plain or transposed."""
    k, n = x.shape[-1], g.random.choice((1, 7, 16, 64, 256, 1000))
    letters = "abcde"[: x.rank - 1]
    shape, right = ((k, n), "kn") if g.sometimes() else ((n, k), "nk")
    out = f"{letters}n" if g.sometimes(0.8) else f"{letters[:-1]}n{letters[-1:]}"
    return g.b.einsum(f"{letters}k,{right}->{out}", x, g.leaf(shape))


def _product(g: _Graph, x: Tensor) -> Tensor | None:
    """A product of two tensors that are computed, as attention has it."""
    if x.rank < 3 or prod(x.shape[:-1]) * x.shape[-2] > _LARGEST:
        return None
    others = [y for y in g.values if y.shape == x.shape]
    letters = "abc"[: x.rank - 2]
    out = g.random.choice((f"{letters}ij", f"{letters}ji"))
    return g.b.einsum(f"{letters}ik,{letters}jk->{out}", x, g.random.choice(others))


def _image(g: _Graph, x: Tensor) -> Tensor | None:
    """`x` as [N, C, H, W]."""
    if x.rank == 4:
        return x
    if x.rank != 3:
        return None
    x = g.b.transpose(x, (0, 2, 1)) if g.sometimes() else x
    n, channels, positions = x.shape
    height = max(d for d in (1, 2, 4, 7, 8, 16, 32, 64) if positions % d == 0)
    return g.b.reshape(x, (n, channels, height, positions // height))


def _convolve(g: _Graph, x: Tensor) -> Tensor | None:
    image = _image(g, x)
    if image is None:
        return None
    taps, stride = g.random.choice((1, 3, 3, 5)), g.random.choice((1, 1, 2))
    channels = image.shape[1]
    groups = g.random.choice([1, channels, channels])
    outputs = g.random.choice([groups, 2 * groups]) if groups > 1 else g.random.choice((1, 8, 64))
    padded = _padded(g.b, image, taps // 2)
    if min(padded.shape[2:]) < taps:
        return None
    weight = g.leaf((outputs, channels // groups, taps, taps))
    result = convolve(
        g.b,
        padded,
        weight,
        strides=[stride] * 2,
        dilations=[1, 1],
        groups=groups,
        accumulator="float32",
    )
    if g.dtype != "float32":
        result = g.b.map(lambda v, *_: v.cast(g.dtype), result, dtype=g.dtype)
    return _as_sequence(g, result)


def _pool(g: _Graph, x: Tensor) -> Tensor | None:
    """The maximum of every 2 x 2 elements of an image."""
    image = _image(g, x)
    if image is None or min(image.shape[2:]) < 2:
        return None
    n, c, h, w = image.shape
    even = g.b.slice(image, [0] * 4, [n, c, h // 2 * 2, w // 2 * 2], [1] * 4)
    halves = g.b.reshape(even, (n, c, h // 2, 2, w // 2, 2))
    return g.b.reduce(halves, [3, 5], "max", keepdims=False)


def _padded(b: TensorBuilder, x: Tensor, pad: int) -> Tensor:
    if not pad:
        return x
    wide = [*x.shape[:2], *(size + 2 * pad for size in x.shape[2:])]
    return insert_slice(b, x, b.fill(wide, x.dtype, 0), [0, 0, pad, pad])


def _as_sequence(g: _Graph, image: Tensor) -> Tensor:
    """An image as it is, or as [N, H W, C]."""
    if g.sometimes(0.4):
        return image
    n, c, h, w = image.shape
    return g.b.transpose(g.b.reshape(image, (n, c, h * w)), (0, 2, 1))


_Step = Callable[[_Graph, Tensor], Tensor | None]
_STEPS: list[_Step] = [
    _transpose,
    _transpose,
    _reshape,
    _reshape,
    _slice,
    _concatenate,
    _unary,
    _binary,
    _binary,
    _row,
    _row,
    _reduce,
    _project,
    _project,
    _product,
    _convolve,
    _convolve,
    _pool,
]

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Operators on sequences, of which a random graph is made: each takes a value and adds another."""

from __future__ import annotations

from collections.abc import Callable

from verify.free_sizes.maker import Maker, Shape

__all__ = ["STEPS", "unary"]

_WIDTHS = (3, 8, 24, 32, 48)
_UNARY = ("Relu", "Exp", "Tanh", "Neg", "Sigmoid", "Abs", "Erf", "Sqrt")
_REDUCTIONS = ("ReduceSum", "ReduceMean", "ReduceMax")


def unary(maker: Maker, name: str, shape: Shape) -> None:
    """Add a function of each element."""
    kind = maker.random.choice(_UNARY)
    if kind == "Sqrt":
        maker.op("Abs", [name], shape)
        name = maker.tensors[-1][0]
    if kind == "Exp":
        maker.op("Tanh", [name], shape)
        name = maker.tensors[-1][0]
    maker.op(kind, [name], shape)


def _bias(maker: Maker, name: str, shape: Shape) -> None:
    last = shape[-1] if shape else 1
    size = last if isinstance(last, int) else 1
    maker.op(maker.random.choice(("Add", "Mul", "Sub")), [name, maker.drawn(size)], shape)


def _pair(maker: Maker, name: str, shape: Shape) -> None:
    same = [other for other, found in maker.tensors if found == shape]
    tails = [other for other, found in maker.tensors if found and found == shape[-len(found) :]]
    other = maker.random.choice(same + tails)
    maker.op(maker.random.choice(("Add", "Mul", "Max", "Sub")), [name, other], shape)


def _product(maker: Maker, name: str, shape: Shape) -> None:
    if len(shape) < 2 or not isinstance(shape[-1], int):
        return
    width = maker.random.choice(_WIDTHS)
    maker.op("MatMul", [name, maker.drawn(shape[-1], width)], (*shape[:-1], width))


def _scores(maker: Maker, name: str, shape: Shape) -> None:
    if len(shape) < 2:
        return
    order = [*range(len(shape) - 2), len(shape) - 1, len(shape) - 2]
    turned = tuple(shape[axis] for axis in order)
    maker.op("Transpose", [name], turned, perm=order)
    maker.op("MatMul", [name, maker.tensors[-1][0]], (*shape[:-1], shape[-2]))


def _attention(maker: Maker, name: str, shape: Shape) -> None:
    if len(shape) != 3 or not isinstance(shape[-1], int):
        return
    _scores(maker, name, shape)
    scores, found = maker.tensors[-1]
    maker.op("Softmax", [scores], found, axis=-1)
    maker.op("MatMul", [maker.tensors[-1][0], name], shape)


def _softmax(maker: Maker, name: str, shape: Shape) -> None:
    if shape:
        maker.op("Softmax", [name], shape, axis=maker.random.randrange(len(shape)))


def _norm(maker: Maker, name: str, shape: Shape) -> None:
    if shape and isinstance(shape[-1], int):
        scales = [maker.drawn(shape[-1]), maker.drawn(shape[-1])]
        maker.op("LayerNormalization", [name, *scales], shape, axis=-1)


def _reduce(maker: Maker, name: str, shape: Shape) -> None:
    if not shape:
        return
    axis, keeps = maker.random.randrange(len(shape)), maker.random.randrange(2)
    middle: Shape = (1,) if keeps else ()
    result = (*shape[:axis], *middle, *shape[axis + 1 :])
    kind = maker.random.choice(_REDUCTIONS)
    maker.op(kind, [name, maker.numbers(axis)], result, keepdims=keeps)


def _transpose(maker: Maker, name: str, shape: Shape) -> None:
    order = list(range(len(shape)))
    if not order:
        return
    maker.random.shuffle(order)
    maker.op("Transpose", [name], tuple(shape[axis] for axis in order), perm=order)


def _concat(maker: Maker, name: str, shape: Shape) -> None:
    places = [axis for axis, size in enumerate(shape) if isinstance(size, int)]
    same = [other for other, found in maker.tensors if found == shape]
    if places:
        axis = maker.random.choice(places)
        size = shape[axis]
        doubled = (*shape[:axis], 2 * size if isinstance(size, int) else size, *shape[axis + 1 :])
        maker.op("Concat", [name, maker.random.choice(same)], doubled, axis=axis)


def _slice(maker: Maker, name: str, shape: Shape) -> None:
    places = [axis for axis, size in enumerate(shape) if isinstance(size, int) and size > 2]
    if places:
        axis = maker.random.choice(places)
        size = shape[axis]
        left = maker.random.randrange(1, int(size) - 1)
        ends = [maker.numbers(left), maker.numbers(int(size)), maker.numbers(axis)]
        maker.op("Slice", [name, *ends], (*shape[:axis], int(size) - left, *shape[axis + 1 :]))


def _heads(maker: Maker, name: str, shape: Shape) -> None:
    if len(shape) == 3 and shape[:2] == ("b", "s") and isinstance(shape[2], int):
        width = shape[2] // 4 if shape[2] % 4 == 0 else shape[2]
        heads = shape[2] // width
        maker.op("Reshape", [name, maker.numbers(0, 0, heads, width)], ("b", "s", heads, width))
        maker.op("Transpose", [maker.tensors[-1][0]], ("b", heads, "s", width), perm=[0, 2, 1, 3])


def _flat(maker: Maker, name: str, shape: Shape) -> None:
    if len(shape) == 3 and shape[:2] == ("b", "s") and isinstance(shape[2], int):
        maker.op("Reshape", [name, maker.numbers(-1, shape[2])], ("b*s", shape[2]))


def _expand(maker: Maker, name: str, shape: Shape) -> None:
    if len(shape) > 1 and isinstance(shape[-1], int):
        maker.op("Shape", [name], (len(shape),))
        sizes = maker.tensors.pop()[0]
        maker.op("Expand", [maker.drawn(shape[-1]), sizes], shape)


STEPS: tuple[Callable[[Maker, str, Shape], None], ...] = (
    unary, unary, _bias, _bias, _pair, _product, _product, _scores, _attention, _softmax, _norm,
    _reduce, _transpose, _concat, _slice, _heads, _flat, _expand,
)  # fmt: skip

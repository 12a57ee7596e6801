# SPDX-License-Identifier: MIT OR Apache-2.0
"""Draws random expressions, each of which is built of our arrays and of numpy's alike."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import xyntra.array as xa

__all__ = ["Expression", "draw"]

Build = Callable[[Any, list[Any]], Any]
"""Takes the namespace (`xyntra.array`, or numpy in float64) and operands, and returns a result."""


@dataclass
class Expression:
    """A value that both libraries build.

    Attributes:
        text: what it computes, for people.
        build: makes it of the inputs, in a namespace.
        inputs: arrays of float64, whose values float32 holds.
        smooth: whether it can be differentiated at these inputs.
    """

    text: str
    build: Callable[[Any, list[Any]], Any]
    inputs: list[np.ndarray]
    smooth: bool


_UNARY: dict[str, tuple[Callable[[Any, Any], Any], bool]] = {
    "tanh": (lambda n, x: n.tanh(x), True),
    "sin": (lambda n, x: n.sin(x), True),
    "cos": (lambda n, x: n.cos(x), True),
    "exp": (lambda n, x: n.exp(n.tanh(x)), True),
    "log": (lambda n, x: n.log(n.square(x) + 1.0), True),
    "sqrt": (lambda n, x: n.sqrt(n.square(x) + 0.5), True),
    "reciprocal": (lambda n, x: n.reciprocal(n.square(x) + 1.0), True),
    "negative": (lambda n, x: -x, True),
    "expm1": (lambda n, x: n.expm1(n.sin(x)), True),
    "log1p": (lambda n, x: n.log1p(n.square(x)), True),
    "atan": (lambda n, x: n.atan(x), True),
    "asinh": (lambda n, x: n.asinh(x), True),
    "sinh": (lambda n, x: n.sinh(n.tanh(x)), True),
    "cosh": (lambda n, x: n.cosh(n.tanh(x)), True),
    "abs": (lambda n, x: n.abs(x), False),
    "floor": (lambda n, x: n.floor(x * 3.0), False),
    "sign": (lambda n, x: n.sign(x), False),
    "round": (lambda n, x: n.round(x * 2.0), False),
    "clip": (lambda n, x: n.clip(x, -0.5, 0.75), False),
    "power": (lambda n, x: x**3, True),
}
_BINARY: dict[str, tuple[Callable[[Any, Any, Any], Any], bool]] = {
    "add": (lambda n, x, y: x + y, True),
    "subtract": (lambda n, x, y: x - y, True),
    "multiply": (lambda n, x, y: x * y, True),
    "divide": (lambda n, x, y: x / (n.square(y) + 1.0), True),
    "hypot": (lambda n, x, y: n.hypot(x, y + 2.5), True),
    "atan2": (lambda n, x, y: n.atan2(x, n.square(y) + 0.5), True),
    "logaddexp": (lambda n, x, y: n.logaddexp(x, y), True),
    "maximum": (lambda n, x, y: n.maximum(x, y), False),
    "minimum": (lambda n, x, y: n.minimum(x, y), False),
    "where": (lambda n, x, y: n.where(x > y, x * 2.0, y), False),
    "pow": (lambda n, x, y: n.pow(n.square(x) + 0.5, n.tanh(y)), True),
}
_SHAPES = ((), (1,), (5,), (7, 3), (1, 4), (2, 3, 5), (4, 1, 3), (6, 17), (2, 1), (3, 33))


class _Maker:
    """Draws one expression, whose values are pairs of a builder and a shape."""

    def __init__(self, source: random.Random) -> None:
        self.source = source
        self.inputs: list[np.ndarray] = []
        self.smooth = True

    def leaf(self, shape: tuple[int, ...]) -> tuple[Build, str]:
        values = np.random.default_rng(self.source.getrandbits(60))
        drawn = values.uniform(-2, 2, shape).astype(np.float32).astype(np.float64)
        place = len(self.inputs)
        self.inputs.append(drawn)
        return (lambda _, given: given[place]), f"x{place}{list(shape)}"

    def value(self, depth: int, shape: tuple[int, ...]) -> tuple[Build, str]:
        """Return an expression of a shape."""
        if depth == 0:
            return self.leaf(shape)
        kinds = ["unary", "binary", "binary", "broadcast", "reduce", "move", "index", "join"]
        if len(shape) == 2:
            kinds += ["matmul", "matmul", "softmax"]
        if shape:
            kinds.append("scan")
        make: Callable[..., tuple[Build, str]] = getattr(self, f"_{self.source.choice(kinds)}")
        return make(depth - 1, shape)

    def _unary(self, depth: int, shape: tuple[int, ...]) -> tuple[Build, str]:
        name, (function, smooth) = self.source.choice(list(_UNARY.items()))
        self.smooth &= smooth
        inner, text = self.value(depth, shape)
        return (lambda n, g: function(n, inner(n, g))), f"{name}({text})"

    def _binary(self, depth: int, shape: tuple[int, ...]) -> tuple[Build, str]:
        name, (function, smooth) = self.source.choice(list(_BINARY.items()))
        self.smooth &= smooth
        one, first = self.value(depth, shape)
        two, second = self.value(self.source.randrange(depth + 1), shape)
        return (lambda n, g: function(n, one(n, g), two(n, g))), f"{name}({first}, {second})"

    def _broadcast(self, depth: int, shape: tuple[int, ...]) -> tuple[Build, str]:
        narrow = tuple(1 if self.source.random() < 0.5 else size for size in shape)
        narrow = narrow[self.source.randrange(len(shape) + 1) :]
        one, first = self.value(depth, shape)
        two, second = self.value(depth, narrow)
        return (lambda n, g: one(n, g) * two(n, g)), f"({first} * {second})"

    def _reduce(self, depth: int, shape: tuple[int, ...]) -> tuple[Build, str]:
        name = self.source.choice(("sum", "mean", "max", "min", "var", "logsumexp"))
        self.smooth &= name not in ("max", "min")
        place = self.source.randrange(len(shape) + 1)
        size = self.source.choice((1, 2, 5, 19))
        wide = (*shape[:place], size, *shape[place:])
        inner, text = self.value(depth, wide)

        def build(n: Any, g: list[Any]) -> Any:
            x = inner(n, g)
            if name == "logsumexp" and n is not xa:
                top = n.max(x, axis=place, keepdims=True)
                return n.log(n.sum(n.exp(x - top), axis=place)) + n.squeeze(top, place)
            return getattr(n, name)(x, axis=place)

        return build, f"{name}({text}, {place})"

    def _move(self, depth: int, shape: tuple[int, ...]) -> tuple[Build, str]:
        kind = self.source.choice(("transpose", "reshape", "flip", "roll"))
        rank = len(shape)
        if kind == "transpose":
            order = self.source.sample(range(rank), rank)
            inner, text = self.value(depth, tuple(shape[order.index(d)] for d in range(rank)))
            return (lambda n, g: n.permute_dims(inner(n, g), tuple(order))), f"permute({text})"
        size = int(np.prod(shape, dtype=int))
        inner, text = self.value(depth, (size,) if kind == "reshape" else shape)
        if kind == "reshape":
            return (lambda n, g: n.reshape(inner(n, g), shape)), f"reshape({text})"
        if kind == "flip":
            return (lambda n, g: n.flip(inner(n, g))), f"flip({text})"
        return (lambda n, g: n.roll(inner(n, g), 2)), f"roll({text})"

    def _index(self, depth: int, shape: tuple[int, ...]) -> tuple[Build, str]:
        if not shape:
            return self._unary(depth, shape)
        if self.source.random() < 0.3:
            places = np.array([self.source.randrange(-4, 4) for _ in range(shape[0])])
            inner, text = self.value(depth, (4, *shape[1:]))
            return (
                lambda n, g: n.take(inner(n, g), n.asarray(places % 4), axis=0)
            ), f"take({text})"
        keys, wide = [], []
        for size in shape:
            step = self.source.choice((1, 1, 2, -1, -2))
            before, behind = self.source.randrange(3), self.source.randrange(3)
            span = (size - 1) * abs(step) + 1
            wide.append(before + span + behind)
            keys.append(
                slice(before, before + span, step)
                if step > 0
                else slice(before + span - 1, before - 1 if before else None, step)
            )
        inner, text = self.value(depth, tuple(wide))
        return (lambda n, g: inner(n, g)[tuple(keys)]), f"{text}[{keys}]"

    def _join(self, depth: int, shape: tuple[int, ...]) -> tuple[Build, str]:
        if not shape or shape[0] < 2:
            return self._binary(depth, shape)
        cut = self.source.randrange(1, shape[0])
        one, first = self.value(depth, (cut, *shape[1:]))
        two, second = self.value(depth, (shape[0] - cut, *shape[1:]))
        return (lambda n, g: n.concat([one(n, g), two(n, g)], axis=0)), f"concat({first}, {second})"

    def _matmul(self, depth: int, shape: tuple[int, ...]) -> tuple[Build, str]:
        inner = self.source.choice((1, 4, 11))
        one, first = self.value(depth, (shape[0], inner))
        two, second = self.value(depth, (inner, shape[1]))
        return (lambda n, g: n.matmul(one(n, g), two(n, g))), f"({first} @ {second})"

    def _softmax(self, depth: int, shape: tuple[int, ...]) -> tuple[Build, str]:
        inner, text = self.value(depth, shape)

        def build(n: Any, g: list[Any]) -> Any:
            x = inner(n, g)
            if n is xa:
                return n.softmax(x, axis=1)
            powers = n.exp(x - n.max(x, axis=1, keepdims=True))
            return powers / n.sum(powers, axis=1, keepdims=True)

        return build, f"softmax({text})"

    def _scan(self, depth: int, shape: tuple[int, ...]) -> tuple[Build, str]:
        axis = self.source.randrange(len(shape))
        inner, text = self.value(depth, shape)
        return (
            lambda n, g: n.cumulative_sum(inner(n, g), axis=axis)
        ), f"cumulative_sum({text}, {axis})"


def draw(seed: int) -> Expression:
    """Return the expression of a seed."""
    source = random.Random(seed)
    maker = _Maker(source)
    build, text = maker.value(source.randrange(1, 5), source.choice(_SHAPES))
    return Expression(text, build, maker.inputs, maker.smooth)

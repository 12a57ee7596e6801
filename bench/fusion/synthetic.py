# SPDX-License-Identifier: MIT OR Apache-2.0
"""Synthetic graphs of level 1, of any size, with the mixture of operations that models have.

A graph is a chain of blocks of about twenty operations: a matrix product with bias, a chain of
elementwise operations with a skip connection and a broadcast operand, a row operation or a
hand-written normalisation, and views. Operations are drawn at random. As the layers of a model
repeat, so do the blocks: each is one of a number of templates.
"""

from __future__ import annotations

from random import Random

import numpy as np

from verify.fusion.level1 import FunctionBuilder
from xyntra.dialects import named
from xyntra.dialects.builder import Tensor
from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import Scalar

__all__ = ["synthetic_module"]

_ROWS, _COLUMNS = 128, 64
_UNARY = ("tanh", "exp", "erf", "absf", "sqrt", "sin", "cos", "rsqrt")


def synthetic_module(
    operations: int, seed: int, context: ir.Context, *, templates: int | None = 50
) -> ir.Module:
    """A module with about `operations` operations of level 1; the same for the same seed.

    Args:
        operations: compute operations, as `count_operations` counts them.
        seed: of the random choices.
        context: where to build, with the xyntra dialect loaded.
        templates: number of different blocks; None where no block repeats another on purpose.
    """
    return _Synthetic(FunctionBuilder(context), seed, templates).run(operations)


class _Synthetic:
    def __init__(self, function: FunctionBuilder, seed: int, templates: int | None) -> None:
        self.function = function
        self.b = function.b
        self.seed = seed
        self.templates = templates
        self.order = Random(seed)
        self.random = Random(seed)
        self.count = 0
        self.weights = [
            function.argument(f"w{i}", (_COLUMNS, _COLUMNS), "float32", "parameter")
            for i in range(8)
        ]
        self.biases = [
            function.argument(f"b{i}", (_COLUMNS,), "float32", "parameter") for i in range(8)
        ]

    def run(self, operations: int) -> ir.Module:
        x = self.function.argument("x", (_ROWS, _COLUMNS), "float32")
        early = x
        while self.count < operations:
            if self.templates is not None:
                self.random = Random(f"{self.seed}:{self.order.randrange(self.templates)}")
            x = self._block(x, early)
            early = x if self.order.random() < 0.1 else early
        return self.function.finish({"y": x})

    def _counted(self, label: str, operations: int = 1) -> None:
        self.count += operations
        self.function.name(f"{label}_{self.count}")

    def _block(self, x: Tensor, early: Tensor) -> Tensor:
        skip = x
        x = self._matmul(x)
        x = self._chain(x, self.random.randint(3, 6))
        x = self._add(x, skip)
        x = self._row(x)
        x = self._chain(x, self.random.randint(2, 4))
        if self.random.random() < 0.3:
            x = self._add(x, early)
        x = self._views(x)
        return self._chain(x, self.random.randint(1, 3))

    def _matmul(self, x: Tensor) -> Tensor:
        self._counted("matmul", 2)
        x = self.b.einsum("mk,kn->mn", x, self.random.choice(self.weights))
        self._counted("bias")
        bias = self.random.choice(self.biases)
        return self.b.map(lambda v, w: v + w, x, bias, dtype="float32")

    def _chain(self, x: Tensor, length: int) -> Tensor:
        for _ in range(length):
            x = self._elementwise(x)
        return x

    def _elementwise(self, x: Tensor) -> Tensor:
        self._counted("map")
        choice = self.random.randrange(4)
        if choice == 0:
            name = self.random.choice(_UNARY)
            return self.b.map(lambda v: v.math(name), x, dtype="float32")
        factor = np.float32(self.random.uniform(0.5, 2.0))
        if choice == 1:
            return self.b.map(lambda v, w: v * w, x, np.asarray(factor), dtype="float32")
        other = self.random.choice(self.biases)
        if choice == 2:
            return self.b.map(lambda v, w: v * w, x, other, dtype="float32")
        return self.b.map(lambda v, w: v.maximum(w), x, other, dtype="float32")

    def _add(self, x: Tensor, y: Tensor) -> Tensor:
        self._counted("add")
        return self.b.map(lambda v, w: v + w, x, y, dtype="float32")

    def _row(self, x: Tensor) -> Tensor:
        if self.random.random() < 0.4:
            self._counted("named")
            scale, bias = self.random.choice(self.biases), self.random.choice(self.biases)
            if self.random.random() < 0.5:
                return named.softmax(self.b, x, 1)
            return named.layer_norm(self.b, x, 1, 1e-5, scale, bias)
        return self._normalised(x)

    def _normalised(self, x: Tensor) -> Tensor:
        """Divide `x` by its row's sum of absolute values, in single operations."""
        self._counted("reduce", 3)

        def magnitude(v: Scalar) -> Scalar:
            return v.absolute()

        total = self.b.reduce(x, [1], "sum", element=magnitude)
        self._counted("divide")
        return self.b.map(lambda v, w: v / w, x, total, dtype="float32")

    def _views(self, x: Tensor) -> Tensor:
        choice = self.random.randrange(3)
        if choice == 0:
            self._counted("reshape", 4)
            heads = self.b.reshape(x, (_ROWS, 4, _COLUMNS // 4))
            turned = self.b.transpose(heads, [1, 0, 2])
            back = self.b.transpose(turned, [1, 0, 2])
            return self.b.reshape(back, (_ROWS, _COLUMNS))
        if choice == 1:
            self._counted("transpose", 2)
            turned = self.b.map(
                lambda v: v.math("tanh"), self.b.transpose(x, [1, 0]), dtype="float32"
            )
            return self.b.transpose(turned, [1, 0])
        self._counted("slice", 3)
        half = self.b.slice(x, [0, 0], [_ROWS, _COLUMNS // 2], [1, 1])
        other = self.b.slice(x, [0, _COLUMNS // 2], [_ROWS, _COLUMNS // 2], [1, 1])
        both = self.b.map(lambda v, w: v + w, half, other, dtype="float32")
        return self.b.pad(both, [0, 0], [0, _COLUMNS // 2], 0.0)

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Collects the nodes of a random graph, and knows what each of them computes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from random import Random
from typing import Any

import ml_dtypes  # noqa: F401  (numpy learns bfloat16)
import numpy as np

from verify.fusion.graphs import LEAVES, Graph, Node, refer
from verify.fusion.values import Known
from xyntra.dialects.dtypes import is_float

__all__ = ["LARGEST", "SIZES", "GraphMaker"]

SIZES = (1, 2, 3, 5, 7, 8, 9, 16, 17, 31, 33)
LARGEST = 1 << 14
"""Elements of one tensor."""
_DTYPES = ("float32",) * 12 + ("float64", "float16", "bfloat16", "int32", "int64")


class GraphMaker:
    """A graph under construction: nodes, what they compute, and the choices of one `Random`."""

    def __init__(self, random: Random, sizes: Sequence[int] = SIZES) -> None:
        self.random = random
        self.sizes = tuple(sizes)
        self.nodes: list[Node] = []
        self.known: list[Known] = []
        self.dtype = random.choice(_DTYPES)
        self.empty = random.random() < 0.03
        self.leaf(self.shape(), self.dtype, "input")

    @property
    def operations(self) -> int:
        return sum(node.op not in LEAVES for node in self.nodes)

    def shape(self, rank: int | None = None) -> tuple[int, ...]:
        rank = self.random.choice((0, 1, 2, 2, 2, 3, 3, 3, 4, 5)) if rank is None else rank
        small = tuple(size for size in self.sizes if size < 8) or (2,)
        sizes = [self.random.choice(self.sizes if rank < 4 else small) for _ in range(rank)]
        while prod(sizes) > LARGEST:
            sizes[sizes.index(max(sizes))] = 2
        if sizes and self.empty and self.random.random() < 0.5:
            sizes[self.random.randrange(rank)] = 0
        return tuple(sizes)

    def leaf(self, shape: Sequence[int], dtype: str, op: str | None = None) -> int:
        op = op or self.random.choice(("input", "parameter", "constant"))
        if op == "constant" and prod(shape) > 64:
            op = "parameter"
        # Weights are taken to be finite: what folds them into one another counts on it.
        special = op != "parameter"
        return self.add(Node(op, data=_contents(self.random, shape, dtype, special)))

    def indices(self, shape: Sequence[int], size: int) -> int:
        generator = np.random.default_rng(self.random.randrange(1 << 30))
        return self.add(Node("input", data=generator.integers(-size, size, shape)))

    def add(self, node: Node) -> int:
        self.nodes.append(node)
        self.known.append(refer(node, [self.known[i] for i in node.operands]))
        return len(self.nodes) - 1

    def op(self, name: str, /, *operands: int, **attributes: Any) -> int:
        return self.add(Node(name, operands, attributes or None))

    def pick(self, accept: Callable[[Known], bool] = lambda _: True) -> int | None:
        """An earlier value, rather a late one."""
        found = [i for i, known in enumerate(self.known) if accept(known)]
        if not found:
            return None
        if self.random.random() < 0.6:
            return found[-1]
        return self.random.choice(found)

    def finish(self) -> Graph:
        used = {i for node in self.nodes for i in node.operands}
        sinks = [i for i, node in enumerate(self.nodes)
                 if i not in used and node.op not in LEAVES]  # fmt: skip
        outputs = sinks or [len(self.nodes) - 1]
        for _ in range(2):
            if self.random.random() < 0.25:
                outputs.append(self.random.randrange(len(self.nodes)))
        return Graph(tuple(self.nodes), tuple(outputs))


def _contents(random: Random, shape: Sequence[int], dtype: str, special: bool = True) -> np.ndarray:
    generator = np.random.default_rng(random.randrange(1 << 30))
    if dtype == "bool":
        return np.asarray(generator.random(shape) < 0.5)
    if not is_float(dtype):
        limit = 1 << 62 if dtype == "int64" else 1 << 30
        reach = limit if random.random() < 0.1 else 9
        return np.asarray(generator.integers(-reach, reach, shape), dtype)
    data = np.asarray(generator.standard_normal(shape))
    if random.random() < 0.06 and data.size and special:
        values = generator.choice([np.nan, np.inf, -np.inf, 0.0, -0.0], data.shape)
        data = np.where(generator.random(data.shape) < 0.1, values, data)
    return np.asarray(data).astype(np.dtype(dtype))

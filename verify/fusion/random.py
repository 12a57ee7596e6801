# SPDX-License-Identifier: MIT OR Apache-2.0
"""Random graphs: every family of operations that fusion meets, on ragged and on empty shapes.

The generator evaluates what it builds, and so steers clear of graphs of which nothing can be
checked. It takes its decisions from one `Random`, a hypothesis one included.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from verify.fusion import model_recipes, recipes, row_recipes
from verify.fusion.graphs import Graph
from verify.fusion.maker import LARGEST, SIZES, GraphMaker

__all__ = ["generate"]

_TABLE = recipes.RECIPES | row_recipes.RECIPES | model_recipes.RECIPES


def generate(random: Random, size: int, sizes: Sequence[int] = SIZES) -> Graph:
    """A graph of about `size` operations that are no leaves, with dimensions of `sizes`."""
    maker = GraphMaker(random, sizes)
    while maker.operations < size:
        _step(maker)
    return maker.finish()


def _step(maker: GraphMaker) -> None:
    """Add what one random recipe makes, unless nothing would be known of the result."""
    before = len(maker.nodes)
    recipe = maker.random.choices(list(_TABLE), list(_TABLE.values()))[0]
    recipe(maker)
    added = maker.known[before:]
    blurred = any(k.error.size and not k.certain.mean() > 0.4 for k in added)
    if blurred or any(k.value.size > LARGEST for k in added):
        del maker.nodes[before:], maker.known[before:]
        if maker.random.random() < 0.2:
            maker.leaf(maker.shape(), maker.dtype, "input")

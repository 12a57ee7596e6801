# SPDX-License-Identifier: MIT OR Apache-2.0
"""A plan with costs and boundaries, made by hand; helper modules are importable from here."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from xyntra.plan.costs.cost import Boundary, Cost, Unfused
from xyntra.plan.plan import Buffer, KernelCode, Plan, Port, Step, TensorType

sys.path.insert(0, str(Path(__file__).resolve().parent))
F32 = TensorType("float32", (250,))


def layer(index: int, reads: int, source: str) -> list[Step]:
    """A matrix product and a softmax; the second reads the first."""
    product, softmax = f"/l/{index}/mm", f"/l/{index}/soft"
    return [
        Step(
            "dot_1",
            (reads, 0),
            (reads + 1,),
            (product, f"/l/{index}/add"),
            once=False,
            cost=Cost(2000, 500_000, 4000.0, "compute"),
            boundaries=(Boundary(source, product, "row-before-anchor", 1000, 300.0),),
        ),
        Step(
            "row_1",
            (reads + 1,),
            (reads + 2,),
            (softmax,),
            once=False,
            cost=Cost(2000, 1000, 1000.0, "memory"),
            boundaries=(Boundary(f"/l/{index}/add", softmax, "two-anchors", 1000, 700.0),),
        ),
    ]


@pytest.fixture
def costed() -> Plan:
    """A step at load, then two equal layers of two kernels each: 0 -> w', x -> ... -> y."""
    buffers = [Buffer("prepared", 1000), Buffer("parameter", 1000, name="w")]
    buffers += [Buffer("input", 1000)] + [Buffer("temporary", 1000)] * 3 + [Buffer("output", 1000)]
    at_load = Step("data_1", (1,), (0,), ("/l/t",), once=True, boundaries=())
    return Plan(
        inputs=(Port("x", "float32", (250,), 2),),
        outputs=(Port("y", "float32", (250,), 6),),
        buffers=tuple(buffers),
        steps=(at_load, *layer(0, 2, "/l/t"), *layer(1, 4, "/l/0/soft")),
        kernels={
            "data_1": KernelCode("data", 0, 0, (), "func @data_1", (F32,), (F32,)),
            "dot_1": KernelCode("contraction", 9, 0, (), "func @dot_1", (F32, F32), (F32,)),
            "row_1": KernelCode("row", 9, 0, (), "func @row_1", (F32,), (F32,)),
        },
        operations=12,
        unfused=Unfused(12, 24_000, 30_000.0),
    )

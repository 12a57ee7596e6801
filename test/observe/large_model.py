# SPDX-License-Identifier: MIT OR Apache-2.0
"""A compiled model of many nodes, made by hand: layers of attention-like chains."""

from __future__ import annotations

from xyntra.plan.costs.cost import Boundary, Cost, Unfused
from xyntra.plan.plan import Buffer, KernelCode, Plan, Port, Step, TensorType
from xyntra.plan.source_graph import SourceGraph, SourceNode

T = TensorType("float32", (1, 128, 768))
NBYTES = 4 * 128 * 768
# Operator, kernel of the layer that holds it (or none), and whom it reads: 0 is the layer's input.
LAYER: list[tuple[str, int | None, tuple[int, ...]]] = [
    ("LayerNormalization", 0, (0,)),
    ("MatMul", 1, (1,)),
    ("Split", None, (2,)),
    ("Reshape", None, (3,)),
    ("Transpose", 2, (4,)),
    ("Reshape", None, (3,)),
    ("Transpose", 2, (6,)),
    ("Reshape", None, (3,)),
    ("Transpose", 2, (8,)),
    ("MatMul", 2, (5, 7)),
    ("Mul", 2, (10,)),
    ("Add", 2, (11, -1)),
    ("Softmax", 2, (12,)),
    ("MatMul", 2, (13, 9)),
    ("Transpose", 3, (14,)),
    ("Reshape", 3, (15,)),
    ("MatMul", 3, (16,)),
    ("Add", 3, (17,)),
    ("Add", 3, (18, 0)),
    ("LayerNormalization", 4, (19,)),
    ("MatMul", 5, (20,)),
    ("Add", 5, (21,)),
    ("Gelu", 5, (22,)),
    ("MatMul", 6, (23,)),
    ("Add", 6, (24, 19)),
]
KINDS = ["row", "contraction", "attention", "contraction", "row", "contraction", "contraction"]
TIMES = [14e3, 180e3, 95e3, 70e3, 14e3, 240e3, 235e3]
READS = [(0,), (1,), (2,), (3, 0), (4,), (5,), (6, 4)]
REASONS = ["row-before-anchor", "two-anchors", "two-anchors", "row-before-anchor"]
REASONS += ["row-before-anchor", "two-anchors"]


def node_name(layer: int, index: int) -> str:
    return f"/encoder/layer.{layer}/{LAYER[index][0].lower()}_{index}"


def source_graph(layers: int) -> SourceGraph:
    nodes: list[SourceNode] = []
    before = -1
    for layer in range(layers):
        first = len(nodes) - 1
        for index, (op, _, reads) in enumerate(LAYER):
            found = [before if read == 0 else -2 if read < 0 else first + read for read in reads]
            name = (node_name(layer, index),)
            nodes.append(SourceNode(name, op, ("linalg.generic", "arith.addf"), (T,), tuple(found)))
        before = len(nodes) - 1
    return SourceGraph(tuple(nodes), (before,))


def plan(layers: int) -> Plan:
    steps: list[Step] = []
    for layer in range(layers):
        first = 2 + 7 * layer
        inputs = [0 if layer == 0 else first - 1, *range(first, first + 7)]
        for kernel, kind in enumerate(KINDS):
            held = [i for i, (_, holder, _) in enumerate(LAYER) if holder == kernel]
            nodes = tuple(node_name(layer, index) for index in held)
            read = tuple(inputs[i] for i in READS[kernel]) + ((1,) if kernel == 2 else ())
            boundaries: tuple[Boundary, ...] = ()
            if kernel:
                source = steps[-1].nodes[-1]
                reason = REASONS[kernel - 1]
                boundaries = (Boundary(source, nodes[0], reason, NBYTES, 65_000.0),)
            cost = Cost(
                NBYTES * 2, 150_000_000, TIMES[kernel], "memory" if kind == "row" else "compute"
            )
            outputs = (first + kernel,)
            steps.append(Step(f"{kind}_{kernel}", read, outputs, nodes, False, cost, boundaries))
    count = 7 * layers
    buffers = [Buffer("input", NBYTES), Buffer("input", NBYTES)]
    buffers += [Buffer("temporary", NBYTES)] * (count - 1) + [Buffer("output", NBYTES)]
    text = "func.func private @{}(%arg0: tensor<1x128x768xf32>) -> tensor<1x128x768xf32>"
    return Plan(
        inputs=(Port("hidden", "float32", T.shape, 0), Port("mask", "float32", T.shape, 1)),
        outputs=(Port("result", "float32", T.shape, count + 1),),
        buffers=tuple(buffers),
        steps=tuple(steps),
        kernels={
            f"{kind}_{index}": KernelCode(
                kind, 1, 0, (), text.format(f"{kind}_{index}"), (T, T, T), (T,)
            )
            for index, kind in enumerate(KINDS)
        },
        operations=len(LAYER) * layers,
        unfused=Unfused(22 * layers, 30 * NBYTES * layers, 2.1e6 * layers),
    )

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Models of many families keep their numbers, and large images the kernels of every target."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnxruntime
import pytest
from odd_graphs import FAMILIES, Graph
from torch_mlir import ir

import xyntra
from xyntra.dialects import make_context
from xyntra.frontends.onnx.importer import import_model
from xyntra.passes.manager import run_pipeline
from xyntra.passes.pipelines import fusion_pipeline, kernel_pipeline
from xyntra.plan.build import build_plan


def plan(graph: Graph, target: str) -> None:
    """Fuse `graph` for `target`, check its kernels and build the plan, without machine code."""
    with make_context() as context, ir.Location.unknown():
        module = import_model(
            graph.model().SerializeToString(), {}, context=context, max_tensor_bytes=1 << 31
        )
        fuse = fusion_pipeline(egraph=True, fast_math=False, target=target)
        passes = ["prepare", *fuse, *kernel_pipeline(target)]
        run_pipeline(module, passes, verify_each=False)
        build_plan(module.operation, 0)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_families(family: Callable[[Graph], None], settings: dict[str, object]) -> None:
    graph = Graph()
    family(graph)
    plan(graph, "cuda")
    found = xyntra.compile(graph.model(), config=settings).run(graph.feeds)
    session = onnxruntime.InferenceSession(graph.model().SerializeToString())
    for name, wanted in zip(graph.results, session.run(None, graph.feeds), strict=True):
        np.testing.assert_allclose(found[name], wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("target", ["cpu", "cuda"])
@pytest.mark.parametrize("shape", [(1, 320, 64, 64), (2, 320, 32, 32), (1, 128, 256, 256)])
def test_norms_of_large_images_between_products(
    shape: tuple[int, int, int, int], target: str
) -> None:
    graph = Graph()
    n, c, h, w = shape
    x = graph.conv(graph.x(*shape), c, c, group=c)
    for groups in (32, 1):
        y = graph.reshape(graph.group_norm(x, shape, groups), n, c, h * w)
        tokens = graph.linear(graph.transpose(y, 0, 2, 1), c, c)
        back = graph.reshape(graph.transpose(tokens, 0, 2, 1), *shape)
        x = graph.conv(graph.silu(graph.op("Add", x, back)), c, c, group=c)
    graph.give(x, graph.op("ArgMax", x, axis=1), graph.op("ReduceMean", x, keepdims=0))
    plan(graph, target)


@pytest.mark.parametrize("target", ["cpu", "cuda"])
@pytest.mark.parametrize("rows", [1, 3, 64])
def test_long_rows(rows: int, target: str) -> None:
    graph = Graph()
    hidden = graph.norm(graph.x(rows, 64), 64)
    logits = graph.op("MatMul", hidden, graph.op("Expand", graph.w(64, 1), np.array([64, 300001])))
    shares = graph.op("Softmax", logits, axis=-1)
    graph.give(*graph.op("TopK", shares, np.array([5]), outputs=2, axis=-1))
    graph.give(graph.op("ArgMax", logits, axis=-1), graph.op("ReduceLogSumExp", logits, keepdims=0))
    plan(graph, target)

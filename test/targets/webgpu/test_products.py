# SPDX-License-Identifier: MIT OR Apache-2.0
"""Products of matrices in tiles: every order of the factors, and remainders of every kind."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

import xyntra

_node, _value = onnx.helper.make_node, onnx.helper.make_tensor_value_info


def _product(left: tuple[int, ...], right: tuple[int, ...], layout: str) -> onnx.ModelProto:
    """Return gelu(a b + 1), of factors that lie transposed where the layout says "t"."""
    order = [*range(len(left) - 2), len(left) - 1, len(left) - 2]
    nodes = [
        _node("Transpose" if kind == "t" else "Identity", [name], [name + name], **given)
        for name, kind in zip("ab", layout, strict=True)
        for given in [{"perm": order} if kind == "t" else {}]
    ]
    nodes += [
        _node("MatMul", ["aa", "bb"], ["p"]),
        _node("Add", ["p", "one"], ["q"]),
        _node("Gelu", ["q"], ["y"]),
    ]
    kind = onnx.TensorProto.FLOAT
    graph = onnx.helper.make_graph(
        nodes,
        "product",
        [_value("a", kind, left), _value("b", kind, right)],
        [_value("y", kind, None)],
        [onnx.numpy_helper.from_array(np.ones(1, np.float32), "one")],
    )
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 20)])


@pytest.mark.parametrize(
    ("batch", "rows", "columns", "depth", "layout"),
    [
        *(((), 64, 64, 256, layout) for layout in ("nn", "nt", "tn", "tt")),  # in teams
        *(((), 200, 192, 52, layout) for layout in ("nn", "tt")),  # a part that is not whole
        ((3,), 70, 68, 37, "nn"),  # no vectors at all
        ((3,), 70, 68, 37, "tt"),
        ((2,), 33, 36, 20, "nt"),
        ((), 640, 1280, 24, "nn"),  # large tiles
        ((), 640, 1280, 24, "tt"),
    ],
)
def test_products_agree(
    has_gpu: None,
    monkeypatch: pytest.MonkeyPatch,
    batch: tuple[int, ...],
    rows: int,
    columns: int,
    depth: int,
    layout: str,
) -> None:
    monkeypatch.setenv("XYNTRA_STRICT", "1")
    rng = np.random.default_rng(0)
    shapes = [(rows, depth), (depth, columns)]
    arrays = [rng.standard_normal((*batch, *shape), np.float32) for shape in shapes]
    given = [
        np.ascontiguousarray(each.swapaxes(-1, -2)) if kind == "t" else each
        for each, kind in zip(arrays, layout, strict=True)
    ]
    model = _product(given[0].shape, given[1].shape, layout)
    found = xyntra.compile(model, target="webgpu")(*given)
    exact = arrays[0].astype(np.float64) @ arrays[1] + 1
    expected = xyntra.compile(_gelu(exact.shape), target="cpu")(exact)
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5)


def _gelu(shape: tuple[int, ...]) -> onnx.ModelProto:
    kind = onnx.TensorProto.DOUBLE
    graph = onnx.helper.make_graph(
        [_node("Gelu", ["x"], ["y"])],
        "gelu",
        [_value("x", kind, shape)],
        [_value("y", kind, shape)],
    )
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 20)])

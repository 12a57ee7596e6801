# SPDX-License-Identifier: MIT OR Apache-2.0
"""Models with free dimensions on GPUs: one compilation, whose launches are told their sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from emulator import run_sized
from onnx_models import make_model

import xyntra
from xyntra.errors import InputError
from xyntra.executable import Executable
from xyntra.targets.cuda.code.kernel_image import KernelImage
from xyntra.targets.cuda.sized_images import sized_images

Array = np.ndarray[Any, Any]
RANGES = {"batch": range(1, 5), "seq": range(1, 49)}
SIZES = ((1, 1), (3, 5), (2, 13), (1, 37), (4, 48))


def _drawn(seed: int, *shape: int) -> Array:
    values = np.random.default_rng(seed).standard_normal(shape)
    return (values / np.sqrt(shape[0])).astype(np.float32)


def _network() -> onnx.ModelProto:
    """Products by a weight and of two free sizes, a softmax over a free axis, a norm."""
    return make_model(
        [
            ("MatMul", ["x", "w"], ["q"]),
            onnx.helper.make_node("Transpose", ["x"], ["t"], perm=[0, 2, 1]),
            ("MatMul", ["q", "t"], ["s"]),
            onnx.helper.make_node("Softmax", ["s"], ["p"], axis=-1),
            ("MatMul", ["p", "x"], ["y"]),
            onnx.helper.make_node("LayerNormalization", ["y", "g", "b"], ["z"], axis=-1),
            ("Add", ["z", "x"], ["a"]),
            ("Tanh", ["a"], ["h"]),
        ],
        {"x": ["batch", "seq", 32]},
        ["h", "p"],
        {"w": _drawn(1, 32, 32), "g": _drawn(2, 32), "b": _drawn(3, 32)},
    )


def _expected(x: Array) -> tuple[Array, Array]:
    x = x.astype(np.float64)
    scores = x @ _drawn(1, 32, 32) @ x.swapaxes(1, 2)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    y = weights @ x
    y = (y - y.mean(-1, keepdims=True)) / np.sqrt(y.var(-1, keepdims=True) + 1e-5)
    return np.tanh(y * _drawn(2, 32) + _drawn(3, 32) + x), weights


@pytest.fixture(scope="module")
def network() -> Executable:
    settings = {"cache": False, "strict": True, "isolate": False, "jobs": 1}
    return xyntra.compile(_network(), target="cuda:sm_90a", dims=RANGES, config=settings)


@pytest.mark.parametrize(("batch", "seq"), SIZES)
def test_one_compilation_takes_all_sizes(network: Executable, batch: int, seq: int) -> None:
    rng = np.random.default_rng(batch * 1000 + seq)
    x = rng.standard_normal((batch, seq, 32)).astype(np.float32)
    found = run_sized(network.artifact, [x], network._weights, batch=batch, seq=seq)
    for one, other in zip(found, _expected(x), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("seq", [1, 9, 35, 79])
def test_columns_of_a_free_length_are_summed_up(columns: Executable, seq: int) -> None:
    x = np.random.default_rng(seq).standard_normal((seq, 24)).astype(np.float32)
    (found,) = run_sized(columns.artifact, [x], {}, seq=seq)
    np.testing.assert_allclose(found, x.sum(0, dtype=np.float64), rtol=1e-4, atol=1e-5)


@pytest.fixture(scope="module")
def columns() -> Executable:
    """A sum whose code at samples is alike, and another one at sizes that lie apart."""
    node = onnx.helper.make_node("ReduceSum", ["x", "axes"], ["y"], keepdims=0)
    model = make_model([node], {"x": ["seq", 24]}, ["y"], {"axes": np.array([0])})
    settings = {"cache": False, "strict": True, "isolate": False, "jobs": 1}
    dims = {"seq": range(1, 80)}
    return xyntra.compile(model, target="cuda:sm_90a", dims=dims, config=settings)


def test_launches_and_memory_follow_the_sizes(network: Executable) -> None:
    plan = network.plan
    assert plan.free is not None
    images = {n: KernelImage.from_bytes(code) for n, code in network.artifact.objects.items()}
    grids, memory = [], []
    for seq in (4, 48):
        static, sized = sized_images(plan, plan.free, images, {"batch": 4, "seq": seq})
        grids.append(sum(each.grid for image in sized.values() for each in image.launches))
        memory.append(sum(buffer.nbytes for buffer in static.buffers))
        assert all(image.told for image in sized.values())
    assert grids[0] < grids[1]
    assert memory[0] < memory[1] / 4


def test_a_saved_model_has_the_same_launches(network: Executable) -> None:
    data = network.artifact.to_bytes()
    again = type(network.artifact).from_bytes(data, "here")
    assert again.plan.free == network.plan.free
    x = np.ones((1, 3, 32), np.float32)
    found = run_sized(again, [x], network._weights, batch=1, seq=3)
    np.testing.assert_allclose(found[1], np.full((1, 3, 3), 1 / 3), rtol=1e-5)


def test_shapes_are_checked_before_a_gpu_is_looked_for(network: Executable) -> None:
    with pytest.raises(InputError, match="seq = 49 is not in its range"):
        network(np.ones((1, 49, 32), np.float32))


def test_filters_may_be_more_than_the_positions_of_an_image() -> None:
    """Which factor is the image must not depend on the batch: no size is ruled out by it."""
    weights = _drawn(4, 48, 8, 3, 3) / 3
    node = onnx.helper.make_node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1])
    model = make_model([node], {"x": ["batch", 8, 5, 5]}, ["y"], {"w": weights})
    settings = {"cache": False, "strict": True, "isolate": False, "jobs": 1}
    dims = {"batch": range(1, 9)}
    exe = xyntra.compile(model, target="cuda:sm_90a", dims=dims, config=settings)
    assert exe.plan.free is not None
    assert not any("loops" in each.words for each in exe.plan.free.kernels)
    for batch in (1, 2, 7):
        x = np.random.default_rng(batch).standard_normal((batch, 8, 5, 5)).astype(np.float32)
        (found,) = run_sized(exe.artifact, [x], exe._weights, batch=batch)
        padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (1, 1), (1, 1)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
        expected = np.einsum("nchwij,ocij->nohw", windows, weights)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("rows", [1, 23, 131])
def test_products_of_few_rows_share_reductions_and_fold_norms(
    layers: Executable, rows: int
) -> None:
    """What is fast for few rows is chosen for few, also where the samples have many."""
    free = layers.plan.free
    assert free is not None
    chosen = {n: " ".join(each.schedules) for n, each in layers.plan.kernels.items()}
    assert not any("rows" in chosen[name] for each in free.kernels for name in each.variants)
    images = {n: KernelImage.from_bytes(code) for n, code in layers.artifact.objects.items()}
    _, sized = sized_images(layers.plan, free, images, {"rows": rows})
    assert any("split_k" in chosen[name] for name in sized)
    x = np.random.default_rng(rows).standard_normal((rows, 64)).astype(np.float32)
    (found,) = run_sized(layers.artifact, [x], layers._weights, rows=rows)
    h = np.maximum(x.astype(np.float64) @ _drawn(10, 64, 1024), 0) @ _drawn(11, 1024, 64) + x
    normed = (h - h.mean(-1, keepdims=True)) / np.sqrt(h.var(-1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(found, normed @ _drawn(12, 64, 128), rtol=2e-2, atol=2e-2)


@pytest.fixture(scope="module")
def layers() -> Executable:
    """Two products, a residual, and a norm with a product behind it, in f16."""
    node = onnx.helper.make_node
    model = make_model(
        [
            node("MatMul", ["x", "up"], ["a"]),
            node("Relu", ["a"], ["r"]),
            node("MatMul", ["r", "down"], ["m"]),
            node("Add", ["x", "m"], ["h"]),
            node("LayerNormalization", ["h", "one", "none"], ["n"], axis=-1),
            node("MatMul", ["n", "last"], ["y"]),
        ],
        {"x": ["rows", 64]},
        ["y"],
        {
            "up": _drawn(10, 64, 1024),
            "down": _drawn(11, 1024, 64),
            "last": _drawn(12, 64, 128),
            "one": np.ones(64, np.float32),
            "none": np.zeros(64, np.float32),
        },
    )
    settings = {"cache": False, "strict": True, "isolate": False, "jobs": 1, "precision": "f16"}
    dims = {"rows": range(1, 513)}
    return xyntra.compile(model, target="cuda:sm_90a", dims=dims, config=settings)


def test_images_of_any_size_are_convolved_in_tiles() -> None:
    """Distances in what is padded are those of both sizes with borders."""
    weights = _drawn(5, 32, 16, 3, 3) / 3
    node = onnx.helper.make_node("Conv", ["x", "w"], ["y"], pads=[1] * 4, strides=[2, 2])
    model = make_model([node], {"x": ["b", 16, "h", "w"]}, ["y"], {"w": weights})
    settings = {"cache": False, "strict": True, "isolate": False, "jobs": 1}
    dims = {"b": range(1, 5), "h": range(32, 321, 32), "w": range(32, 321, 32)}
    exe = xyntra.compile(model, target="cuda:sm_90a", dims=dims, config=settings)
    assert exe.plan.free is not None
    assert not any("loops" in each.words for each in exe.plan.free.kernels)
    for batch, height, width in ((1, 32, 32), (2, 32, 64)):
        x = np.random.default_rng(width).standard_normal((batch, 16, height, width))
        sizes = {"b": batch, "h": height // 32, "w": width // 32}
        (found,) = run_sized(exe.artifact, [x.astype(np.float32)], exe._weights, **sizes)
        padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))[:, :, ::2, ::2]
        expected = np.einsum("nchwij,ocij->nohw", windows, weights)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_a_past_may_have_no_positions() -> None:
    """Nothing is launched for what has no elements."""
    nodes = [
        onnx.helper.make_node("Concat", ["past", "x"], ["all"], axis=0),
        onnx.helper.make_node("Transpose", ["all"], ["t"], perm=[1, 0]),
        ("MatMul", ["x", "t"], ["s"]),
        onnx.helper.make_node("Softmax", ["s"], ["p"], axis=-1),
        ("MatMul", ["p", "all"], ["y"]),
        ("Tanh", ["past"], ["h"]),
    ]
    inputs = {"past": ["past", 16], "x": ["seq", 16]}
    model = make_model(nodes, inputs, ["y", "all", "h"])
    settings = {"cache": False, "strict": True, "isolate": False, "jobs": 1}
    dims = {"seq": range(1, 33), "past": range(33)}
    exe = xyntra.compile(model, target="cuda:sm_90a", dims=dims, config=settings)
    for past, seq in ((0, 1), (0, 32), (5, 3), (32, 1)):
        rng = np.random.default_rng(past + seq)
        given = [rng.standard_normal((n, 16)).astype(np.float32) for n in (past, seq)]
        found = run_sized(exe.artifact, given, exe._weights, past=past, seq=seq)
        whole = np.concatenate(given).astype(np.float64)
        scores = given[1] @ whole.T
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        for one, other in zip(found, (weights @ whole, whole, np.tanh(given[0])), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_rows_and_columns_of_a_free_length_are_shared_by_threads() -> None:
    """Blocks go along rows in rounds, and threads above one another along columns."""
    node = onnx.helper.make_node
    nodes = [
        node("Softmax", ["x"], ["p"], axis=-1),
        node("ReduceSum", ["z", "row"], ["r"], keepdims=0),
        node("ReduceMean", ["y", "axis"], ["m"], keepdims=0),
    ]
    held = {"axis": np.array([1]), "row": np.array([1])}
    inputs = {"x": ["batch", "seq"], "z": ["batch", "seq"], "y": ["batch", "seq", 24]}
    model = make_model(nodes, inputs, ["p", "r", "m"], held)
    settings = {"cache": False, "strict": True, "isolate": False, "jobs": 1}
    dims = {"batch": range(1, 9), "seq": range(1, 301)}
    exe = xyntra.compile(model, target="cuda:sm_90a", dims=dims, config=settings)
    assert exe.plan.free is not None
    for kernel in exe.plan.free.kernels:
        assert kernel.words[0] != "loops"
    for batch, seq in ((1, 1), (2, 2), (3, 33), (1, 300), (8, 131)):
        rng = np.random.default_rng(batch * 1000 + seq)
        x, z = (rng.standard_normal((batch, seq)).astype(np.float32) for _ in range(2))
        y = rng.standard_normal((batch, seq, 24)).astype(np.float32)
        p, r, m = run_sized(exe.artifact, [x, z, y], exe._weights, batch=batch, seq=seq)
        weights = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
        np.testing.assert_allclose(p, weights / weights.sum(1, keepdims=True), rtol=1e-4)
        np.testing.assert_allclose(r, z.sum(1, dtype=np.float64), rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(m, y.mean(1, dtype=np.float64), rtol=1e-4, atol=1e-5)

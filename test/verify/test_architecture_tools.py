# SPDX-License-Identifier: MIT OR Apache-2.0
"""Comparisons, registration, weights from seeds, and rewriting of types."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from verify.architectures import registry
from verify.architectures.catalogue import load
from verify.architectures.children import ChildFailure, call
from verify.architectures.comparison import distance, mismatch
from verify.architectures.half import narrowed, widened
from verify.architectures.packed import sampled
from verify.architectures.page import render
from verify.architectures.weightless import fill, strip


def array(*values: float) -> np.ndarray[Any, Any]:
    return np.array(values, np.float32)


def test_distance_is_relative_to_the_largest_element() -> None:
    assert distance([array(1, -4)], [array(1, -5)]) == pytest.approx(0.2)


def test_distance_takes_the_worst_output() -> None:
    assert distance([array(1), array(2)], [array(1), array(4)]) == pytest.approx(0.5)


def test_distance_of_integers_is_the_share_that_differs() -> None:
    assert distance([np.array([1, 2, 3, 4])], [np.array([1, 2, 3, 5])]) == 0.25


def test_equal_special_values_agree() -> None:
    values = array(math.nan, math.inf, -math.inf, 2)
    assert distance([values], [values.copy()]) == 0.0


@pytest.mark.parametrize(
    ("ours", "theirs", "said"),
    [
        (array(1), array(1, 2), "shape"),
        (array(1), array(1).astype(np.float64), "float64"),
        (array(math.nan), array(1), "not finite"),
        (array(math.inf), array(-math.inf), "not finite"),
        (array(math.inf), array(math.nan), "not finite"),
    ],
)
def test_mismatches_are_infinitely_far(ours: Any, theirs: Any, said: str) -> None:
    assert said in str(mismatch([ours], [theirs]))
    assert distance([ours], [theirs]) == math.inf


def test_missing_outputs_are_a_mismatch() -> None:
    assert mismatch([array(1)], [array(1), array(2)]) == "1 outputs, expected 2"


def test_names_are_unique(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_REGISTRY", {})
    registry.register("a", "f", "l", partial(print, 1))
    with pytest.raises(ValueError, match="two architectures"):
        registry.register("a", "f", "l", partial(print, 2))


def test_keys_follow_arguments_and_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_REGISTRY", {})
    builds: list[Any] = [
        partial(_first, {"width": 1}),
        partial(_first, {"width": 2}),
        partial(_second, {"width": 1}),
        partial(_first, {"width": lambda: 1}),
        partial(_first, {"width": lambda: 2}),
    ]
    for number, build in enumerate(builds):
        registry.register(str(number), "f", "l", build)
    registry.register("again", "f", "l", partial(_first, {"width": 1}))
    found = registry.registered()
    assert len({found[str(number)].key for number in range(len(builds))}) == len(builds)
    assert found["again"].key == found["0"].key


def _first(settings: Any) -> Any:
    return settings


def _second(settings: Any) -> Any:
    return [settings]


def test_the_list_is_long_and_imports_no_model_library() -> None:
    found = call(_list_without_libraries, seconds=60)
    assert found["count"] >= 120
    assert found["imported"] == []


def _list_without_libraries() -> dict[str, Any]:
    import sys

    before = set(sys.modules)
    count = len(load())
    libraries = {"torch", "transformers", "timm", "torchvision", "diffusers"}
    return {"count": count, "imported": sorted(libraries & (set(sys.modules) - before))}


def test_children_give_results_and_end() -> None:
    assert call(sum, [1, 2], seconds=30) == 3
    for function, kind in ((_raise, "exception"), (_crash, "crash"), (_hang, "hang")):
        with pytest.raises(ChildFailure) as failure:
            call(function, seconds=2 if kind == "hang" else 30)
        assert failure.value.kind == kind


def _raise() -> None:
    raise ValueError("no")


def _crash() -> None:
    import os
    import signal

    os.kill(os.getpid(), signal.SIGKILL)


def _hang() -> None:
    import time

    time.sleep(60)


def model(weight: np.ndarray[Any, Any], small: np.ndarray[Any, Any]) -> onnx.ModelProto:
    """relu(x @ weight + small), resized by two, plus a range."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["p"]),
        helper.make_node("Add", ["p", "b"], ["s"]),
        helper.make_node("Cast", ["s"], ["c"], to=TensorProto.FLOAT),
        helper.make_node("Resize", ["c", "", "scales"], ["r"], mode="nearest"),
        helper.make_node("Range", ["zero", "stop", "one"], ["places"]),
        helper.make_node("Add", ["r", "places"], ["y"]),
    ]
    stop = float(2 * weight.shape[1])
    constants = {"w": weight, "b": small, "scales": array(1, 2)}
    constants |= {name: np.array(v, np.float32) for name, v in (("zero", 0), ("stop", stop))}
    constants["one"] = np.array(1, np.float32)
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, weight.shape[0]])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3, int(stop)])],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    opset = helper.make_opsetid("", 18)
    return helper.make_model(graph, opset_imports=[opset], ir_version=9)


def run(given: onnx.ModelProto, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(
        given.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return np.asarray(session.run(None, {"x": x})[0])


def test_types_are_rewritten_both_ways() -> None:
    rng = np.random.default_rng()
    weight = rng.normal(size=(20, 12)).astype(np.float32)
    original = model(weight, rng.normal(size=12).astype(np.float32))
    x = rng.normal(size=(3, 20)).astype(np.float16)
    half = narrowed(original)
    onnx.checker.check_model(half, full_check=True)
    found = run(half, x)
    assert found.dtype == np.float16
    expected = run(original, x.astype(np.float32))
    np.testing.assert_allclose(found, expected, rtol=1e-2, atol=3e-2)
    back = run(widened(half), x.astype(np.float32))
    np.testing.assert_allclose(back, expected, rtol=1e-2, atol=3e-2)


def test_constants_beyond_f16_stay_finite_and_infinities_stay() -> None:
    half = narrowed(model(np.full((20, 12), -3e38, np.float32), np.full(12, -np.inf, np.float32)))
    arrays = {t.name: numpy_helper.to_array(t) for t in half.graph.initializer}
    assert (arrays["w"] == -65504).all()
    assert np.isneginf(arrays["b"]).all()


def test_weights_come_back_with_their_spread() -> None:
    rng = np.random.default_rng()
    weight = rng.normal(0.5, 2.0, size=(80, 60)).astype(np.float32)
    given = model(weight, rng.normal(size=60).astype(np.float32))
    whole = len(given.SerializeToString())
    spreads = strip(given)
    assert set(spreads) == {"w"}
    assert len(given.SerializeToString()) < whole / 8
    other = onnx.ModelProto()
    other.CopyFrom(given)
    fill(given, spreads)
    fill(other, spreads)
    assert given == other
    found = next(numpy_helper.to_array(t) for t in given.graph.initializer if t.name == "w")
    assert found.shape == weight.shape
    assert found.mean() == pytest.approx(weight.mean(), abs=0.15)
    assert found.std() == pytest.approx(weight.std(), rel=0.05)


def test_tables_and_masks_are_kept() -> None:
    mask = np.where(np.tri(70, 70, dtype=bool), 0, -np.inf).astype(np.float32)
    given = model(mask, np.zeros(70, np.float32))
    assert strip(given) == {}


def test_depthwise_weights_are_kept() -> None:
    weight = np.random.default_rng().normal(size=(400, 1, 3, 3)).astype(np.float32)
    given = model(np.zeros((3, 3), np.float32), np.zeros(3, np.float32))
    given.graph.initializer.append(numpy_helper.from_array(weight, "depthwise"))
    given.graph.initializer.append(numpy_helper.from_array(weight.reshape(40, 90), "dense"))
    assert set(strip(given)) == {"dense"}


def test_samples_hold_the_scale() -> None:
    values = np.random.default_rng().normal(size=100_000).astype(np.float32)
    found = sampled(values, 1)
    assert found.size == 4097
    assert abs(found[-1]) == np.abs(values).max()
    assert np.isin(found, values).all()


def test_the_page_lists_failures(root: Path) -> None:
    shared = {"family": "text", "exporter": "dynamo", "nodes": 3, "kernels": 2}
    rows = [
        {"name": "a", **shared, "status": "ok", "error": 1e-6, "compile_seconds": 1.0},
        {"name": "b", **shared, "status": "wrong", "message": "error 0.5"},
        {"name": "c", "family": "text", "exporter": "dynamo", "status": "not exported"},
    ]
    machine = {
        "date": "2026-01-01T00:00:00",
        "cpu": "one",
        "cores_allowed": 1,
        "memory_bytes": 1 << 30,
        "os": "Linux",
        "python": "CPython",
        "versions": {},
        "load_average": 0.0,
    }
    text = render({"machine": machine, "settings": {"threads": 1}, "rows": rows})
    assert "3 architectures, of which PyTorch exports 2; 1 of these compile" in text
    assert "| a | dynamo | ok | 3 | 2 | 1.0 | 1.0e-06 |" in text
    assert "* b, dynamo: `error 0.5`" in text
    assert (root / "docs" / "architectures.md").read_text("utf-8").count("<!-- begin: ") == 1

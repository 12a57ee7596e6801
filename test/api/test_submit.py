# SPDX-License-Identifier: MIT OR Apache-2.0
"""Calls that are started, and whose results are asked for later."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

import xyntra
from xyntra.errors import InputError, UnsupportedError


@pytest.fixture(scope="module")
def twice(settings):
    kind = onnx.TensorProto.FLOAT
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Add", ["x", "x"], ["y"])],
        "g",
        [onnx.helper.make_tensor_value_info("x", kind, (4, 5))],
        [onnx.helper.make_tensor_value_info("y", kind, (4, 5))],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)])
    return xyntra.compile(model, target="cpu", config=settings)


def test_results_belong_to_their_calls(twice):
    inputs = [np.full((4, 5), number, np.float32) for number in range(20)]
    futures = [twice.submit(each) for each in inputs]
    for future, given in reversed(list(zip(futures, inputs, strict=True))):
        assert np.array_equal(future.result(timeout=60), given + given)
        assert future.done()


def test_a_wrong_number_of_inputs_is_refused_at_once(twice):
    with pytest.raises(InputError) as caught:
        twice.submit()
    assert caught.value.code == "input-count"


def test_what_goes_wrong_in_a_call_is_raised_by_its_result(twice):
    future = twice.submit(np.zeros((5, 4), np.float32))
    with pytest.raises(InputError) as caught:
        future.result(timeout=60)
    assert caught.value.code == "input-shape"


def test_only_models_for_gpus_have_launches(twice):
    assert twice.explain_launches() == ""
    with pytest.raises(UnsupportedError):
        twice.launches([0, 0])

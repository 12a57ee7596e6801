# SPDX-License-Identifier: MIT OR Apache-2.0
"""Weights give way to what the load makes of them, where that is smaller."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import xyntra
from xyntra.errors import InputError
from xyntra.plan.settled import settlement

SIZE = 256
RNG = np.random.default_rng(3)
WEIGHTS = {name: (RNG.standard_normal((SIZE, SIZE)) / 16).astype(np.float32) for name in ("v", "w")}
CALLS = [{"x": RNG.standard_normal((8, SIZE)).astype(np.float32)} for _ in range(4)]


def quantized(*, also_read: bool = False) -> xyntra.Executable:
    """Two products in 8 bits; the second weight may be read in f32, too."""
    nodes = [
        helper.make_node("MatMul", ["x", "v"], ["h"]),
        helper.make_node("Tanh", ["h"], ["t"]),
        helper.make_node("MatMul", ["t", "w"], ["y"]),
    ]
    outputs = ["y"]
    if also_read:
        nodes.append(helper.make_node("Add", ["x0", "w"], ["z"]))
        outputs.append("z")
    info = helper.make_tensor_value_info
    inputs = [info("x", TensorProto.FLOAT, (8, SIZE))]
    if also_read:
        inputs.append(info("x0", TensorProto.FLOAT, (SIZE, SIZE)))
    graph = helper.make_graph(
        nodes,
        "test",
        inputs,
        [info(name, TensorProto.FLOAT, None) for name in outputs],
        [numpy_helper.from_array(array, name) for name, array in WEIGHTS.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    more = {"x0": np.zeros((SIZE, SIZE), np.float32)} if also_read else {}
    samples = [call | more for call in CALLS]
    return xyntra.compile(model, target="cpu", precision="int8", samples=samples)


def test_integers_take_the_place_of_floats(tmp_path: Path) -> None:
    exe = quantized()
    elements = sum(array.size for array in WEIGHTS.values())
    held = sum(array.nbytes for array in exe.weights.values())
    assert elements <= held <= 1.1 * elements
    assert not exe.kernels_at_load
    expected = exe(**CALLS[0])
    exe.save(tmp_path / "held.xyn")
    exe.save(tmp_path / "apart.xyn", weights=False)
    code = (tmp_path / "apart.xyn").stat().st_size
    assert (tmp_path / "held.xyn").stat().st_size < code + 1.1 * elements
    again = (
        xyntra.load(tmp_path / "held.xyn"),
        xyntra.load(tmp_path / "apart.xyn", weights=WEIGHTS),
        pickle.loads(pickle.dumps(exe)),
    )
    for each in again:
        np.testing.assert_array_equal(each(**CALLS[0]), expected)
        assert sum(array.nbytes for array in each.weights.values()) == held
    with pytest.raises(InputError, match="the weight 'v' cannot be given") as caught:
        xyntra.load(tmp_path / "held.xyn", weights=WEIGHTS)
    assert caught.value.code == "weight-settled"


def test_what_something_else_reads_stays(tmp_path: Path) -> None:
    exe = quantized(also_read=True)
    assert set(WEIGHTS) & set(exe.weights) == {"w"}
    np.testing.assert_array_equal(exe.weights["w"], WEIGHTS["w"])
    x0 = RNG.standard_normal((SIZE, SIZE)).astype(np.float32)
    np.testing.assert_array_equal(exe(x=CALLS[0]["x"], x0=x0)[1], x0 + WEIGHTS["w"])
    exe.save(tmp_path / "held.xyn")
    loaded = xyntra.load(tmp_path / "held.xyn")
    np.testing.assert_array_equal(loaded(x=CALLS[0]["x"], x0=x0)[1], x0 + WEIGHTS["w"])


def test_a_settled_plan_has_nothing_left_to_settle() -> None:
    assert settlement(quantized().plan) is None

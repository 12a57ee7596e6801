# SPDX-License-Identifier: MIT OR Apache-2.0
"""Outputs that are written where inputs lie, on a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T
from onnx import helper as h

import xyntra
from xyntra.errors import InputError
from xyntra.executable import Executable
from xyntra.targets.cuda.driver.device import cuda_devices

BATCH, HEADS, ROOM, SIZE = 2, 3, 320, 8
needs_gpu = pytest.mark.skipif(not cuda_devices(), reason="there is no GPU")
Array = np.ndarray[Any, Any]


def model() -> onnx.ModelProto:
    """Two caches that are appended to, and the sums of what they then hold."""
    shape = [BATCH, HEADS, ROOM, SIZE]
    nodes, inputs, outputs = [], [h.make_tensor_value_info("at", T.INT64, [BATCH])], []
    for name in "kv":
        nodes.append(
            h.make_node("TensorScatter", [f"{name}_past", name, "at"], [f"{name}_now"], axis=2)
        )
        nodes.append(h.make_node("ReduceSum", [f"{name}_now", "axes"], [f"{name}_sum"], keepdims=0))
        inputs.append(h.make_tensor_value_info(f"{name}_past", T.FLOAT, shape))
        inputs.append(h.make_tensor_value_info(name, T.FLOAT, [BATCH, HEADS, 1, SIZE]))
        outputs.append(h.make_tensor_value_info(f"{name}_now", T.FLOAT, shape))
        outputs.append(h.make_tensor_value_info(f"{name}_sum", T.FLOAT, [BATCH, HEADS, SIZE]))
    axes = h.make_tensor("axes", T.INT64, [1], [2])
    graph = h.make_graph(nodes, "caches", inputs, outputs, [axes])
    return h.make_model(graph, opset_imports=[h.make_opsetid("", 24)], ir_version=10)


ALIASES = {"k_now": "k_past", "v_now": "v_past"}


def compiled(target: str) -> Executable:
    config = {"cache": False, "strict": True}
    return xyntra.compile(model(), target=target, aliases=ALIASES, config=config)


def test_no_launch_has_memory_of_the_size_of_a_cache() -> None:
    exe = compiled("cuda:sm_90a")
    nbytes = BATCH * HEADS * ROOM * SIZE * 4
    kinds = [buffer.kind for buffer in exe.plan.buffers if buffer.nbytes >= nbytes]
    assert kinds == ["state", "state"]
    assert not any(port.copied for port in exe.outputs)


@needs_gpu
def test_caches_stay_where_they_are() -> None:
    exe = compiled("cuda")
    states = exe.new_states()
    places = {name: array.address for name, array in states.items()}
    draw = np.random.default_rng(0)
    expected = {name: np.zeros((BATCH, HEADS, ROOM, SIZE), np.float32) for name in "kv"}
    for step in range(12):  # longer than graphs take to be made
        at = np.array([step, ROOM - 1 - step])
        new = {n: draw.standard_normal((BATCH, HEADS, 1, SIZE), np.float32) for n in "kv"}
        for name, array in new.items():
            for row, start in enumerate(at):
                expected[name][row, :, start] = array[row, :, 0]
        found = exe.run({"at": at, **new, **states})
        for name in "kv":
            assert found[f"{name}_now"] is states[f"{name}_past"]
            np.testing.assert_array_equal(found[f"{name}_now"].numpy(), expected[name])
            sums = np.asarray(found[f"{name}_sum"])
            np.testing.assert_allclose(sums, expected[name].sum(2), rtol=1e-4, atol=1e-5)
    assert {name: array.address for name, array in states.items()} == places


@needs_gpu
def test_tensors_of_pytorch_are_written_where_they_lie() -> None:
    torch = pytest.importorskip("torch")
    exe = compiled("cuda")
    given = {
        port.name: torch.zeros(port.shape, dtype=getattr(torch, port.dtype), device="cuda")
        for port in exe.inputs
    }
    for step in range(12):
        given["at"].fill_(step)
        given["k"].fill_(step + 1)
        found = exe.run(given)
        assert found["k_now"] is given["k_past"]
        torch.cuda.synchronize()
        assert float(given["k_past"][0, 0, step, 0]) == step + 1
    given["at"].fill_(ROOM)
    before = given["k_past"].clone()
    exe.run(given)
    assert torch.equal(before, given["k_past"])


@needs_gpu
def test_what_cannot_be_written_is_refused() -> None:
    exe = compiled("cuda")
    states = exe.new_states()
    new = {n: np.zeros((BATCH, HEADS, 1, SIZE), np.float32) for n in "kv"}
    given = {"at": np.zeros(BATCH, np.int64), **new, **states}
    host = np.zeros((BATCH, HEADS, ROOM, SIZE), np.float32)
    for code, change in {
        "state-on-host": {"k_past": host},
        "state-overlap": {"k_past": states["v_past"]},
    }.items():
        with pytest.raises(InputError) as failure:
            exe.run({**given, **change})
        assert failure.value.code == code

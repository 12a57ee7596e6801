# SPDX-License-Identifier: MIT OR Apache-2.0
"""Steps of recurrent layers in the emulator: a launch each, or all of a cluster; finds races."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from emulator import run_artifact
from onnx import helper, numpy_helper

import xyntra
from xyntra.targets.cuda.code.kernel_image import KernelImage

_GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
_STEPS = 5


def _model(kind, dtype, batch, hidden, directions, **attributes):
    rng = np.random.default_rng(2)

    def weight(*shape):
        return rng.uniform(-0.4, 0.4, shape).astype(dtype)

    gates = _GATES[kind]
    weights = {
        "w": weight(directions, gates * hidden, 12),
        "r": weight(directions, gates * hidden, hidden),
        "b": weight(directions, 2 * gates * hidden),
    }
    tensor = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    x = helper.make_tensor_value_info("x", tensor, (_STEPS, batch, 12))
    outputs = ["y", "h", "c"][: 3 if kind == "LSTM" else 2]
    direction = "bidirectional" if directions == 2 else "forward"
    names = ["x", "w", "r", "b"]
    node = helper.make_node(
        kind, names, outputs, hidden_size=hidden, direction=direction, **attributes
    )
    results = [helper.make_tensor_value_info(name, tensor, None) for name in outputs]
    constants = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    graph = helper.make_graph([node], "graph", [x], results, constants)
    imports = [helper.make_opsetid("", 14)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8), weights


@pytest.mark.parametrize(
    ("kind", "batch", "hidden", "directions"),
    [
        ("LSTM", 1, 32, 1),
        ("LSTM", 4, 20, 2),
        ("LSTM", 1, 33, 2),
        ("GRU", 1, 32, 2),
        ("GRU", 3, 16, 1),
        ("RNN", 1, 32, 2),
        ("LSTM", 9, 16, 1),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_steps(kind, batch, hidden, directions, dtype):
    given = {"linear_before_reset": 1} if kind == "GRU" else {}
    wide, _ = _model(kind, np.float32, batch, hidden, directions, **given)
    model, weights = _model(kind, dtype, batch, hidden, directions, **given)
    x = np.random.default_rng(4).uniform(-1, 1, (_STEPS, batch, 12)).astype(dtype)
    options = onnxruntime.SessionOptions()
    session = onnxruntime.InferenceSession(
        wide.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    wanted = session.run(None, {"x": x.astype(np.float32)})
    artifact = xyntra.compile(model, target="cuda:sm_90a").artifact
    known = {each.name: weights[each.name] for each in artifact.plan.buffers if each.name}
    found = run_artifact(artifact, [x], known)
    tolerance = 3e-3 if dtype == "float16" else 1e-5
    for mine, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(mine.astype(np.float32), theirs, tolerance, tolerance)
    launches = _launches(artifact)
    joined = [each.cluster for each in launches if each.steps >= _STEPS - 1]
    assert joined == ([8] if directions == 1 and batch < 9 else [])  # others have enough to do
    if kind != "RNN":
        # The projections of all inputs are one contraction, and a step is none.
        assert sum(" simt " in f" {each.schedule} " for each in launches) <= 1


def _launches(artifact):
    images = {name: KernelImage.from_bytes(code) for name, code in artifact.objects.items()}
    steps = [step for step in artifact.plan.steps if not step.once]
    return [launch for step in steps for launch in images[step.kernel].launches]


def test_steps_are_called_with_parts():
    """One kernel is given another part of the same tensor in every step."""
    model, weights = _model("RNN", np.float32, 1, 16, 1)
    x = np.random.default_rng(4).uniform(-1, 1, (_STEPS, 1, 12)).astype(np.float32)
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    artifact = xyntra.compile(model, target="cuda:sm_90a").artifact
    plan = artifact.plan
    parts = {n for n, each in enumerate(plan.buffers) if each.kind == "part"}
    given = [step.kernel for step in plan.steps if parts.intersection(step.inputs)]
    assert len(given) >= 4 > len(set(given))
    known = {each.name: weights[each.name] for each in plan.buffers if each.name}
    found = run_artifact(artifact, [x], known)
    for mine, theirs in zip(found, session.run(None, {"x": x}), strict=True):
        np.testing.assert_allclose(mine, theirs, 1e-5, 1e-5)

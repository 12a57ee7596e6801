# SPDX-License-Identifier: MIT OR Apache-2.0
"""Single elements of softmaxes and norms, in the emulator and on this processor."""

from __future__ import annotations

import numpy as np
import pytest
from emulator import run_artifact
from onnx import helper

import xyntra

_ROWS = (3, 5)
_LENGTH = 70


def _model(nodes, x, at):
    infos = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
        for n, v in {"x": x, "at": at}.items()
    ]
    outputs = ["r"] if len(nodes) < 3 else ["r", "s"]
    results = [
        helper.make_tensor_value_info(n, infos[0].type.tensor_type.elem_type, None) for n in outputs
    ]
    graph = helper.make_graph(nodes, "graph", infos, results)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def _softmax(x, op):
    shifted = x - x.max(-1, keepdims=True)
    exponents = np.exp(shifted)
    total = exponents.sum(-1, keepdims=True)
    return shifted - np.log(total) if op == "LogSoftmax" else exponents / total


@pytest.mark.parametrize("op", ["LogSoftmax", "Softmax"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("special", [False, True])
def test_one_probability_of_each_row(op, dtype, special):
    rng = np.random.default_rng(3)
    x = (4 * rng.standard_normal((*_ROWS, _LENGTH))).astype(dtype)
    at = rng.integers(-_LENGTH, _LENGTH, (*_ROWS, 1))
    if special:
        x[0, 0, 3], x[0, 1, 4], x[1, 0, :7], x[1, 1] = np.nan, np.inf, -np.inf, -np.inf
        at[1, 0], at[2, 0] = 2, _LENGTH  # minus infinity, and an element that is not there
    nodes = [
        helper.make_node(op, ["x"], ["p"], axis=-1),
        helper.make_node("GatherElements", ["p", "at"], ["r"], axis=-1),
    ]
    with np.errstate(all="ignore"):
        every = _softmax(x.astype(np.float64), op)
    inside = np.where(at < _LENGTH, at, 0)
    wanted = np.where(at < _LENGTH, np.take_along_axis(every, inside, -1), np.nan)
    _check(_model(nodes, x, at), x, at, wanted, dtype)


@pytest.mark.parametrize("axis", [0, 1])
def test_elements_of_a_norm_and_all_of_its_rows(axis):
    """The norm is stored for what reads all of it; what follows it is computed for the few."""
    rng = np.random.default_rng(4)
    x = rng.standard_normal((40, _LENGTH)).astype(np.float32)
    at = rng.integers(0, min(x.shape), (1, 9) if axis == 0 else (7, 1))
    scale = rng.standard_normal(_LENGTH).astype(np.float32)
    nodes = [
        helper.make_node("Constant", [], ["g"], value_floats=scale.tolist()),
        helper.make_node("LayerNormalization", ["x", "g"], ["n"], axis=-1, epsilon=1e-5),
        helper.make_node("Relu", ["n"], ["p"]),
        helper.make_node("GatherElements", ["p", "at"], ["r"], axis=axis),
        helper.make_node("ReduceMax", ["n"], ["s"], keepdims=0),
    ]
    wide = x.astype(np.float64)
    centred = wide - wide.mean(-1, keepdims=True)
    every = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * scale
    wanted = np.take_along_axis(
        np.maximum(every, 0)[:, : at.shape[1] if axis == 0 else None][
            slice(None) if axis == 0 else slice(at.shape[0])
        ],
        at,
        axis,
    )
    _check(_model(nodes, x, at), x, at, wanted, np.float32)


def _check(model, x, at, wanted, dtype):
    tolerance = 2e-3 if dtype is np.float16 else 2e-6
    for target in ("cuda:sm_90a", "cpu"):
        executable = xyntra.compile(model, target=target)
        if target == "cpu":
            found = executable(x, at)
        else:
            found = run_artifact(executable.artifact, [x, at], {})
        first = found[0] if isinstance(found, (list, tuple)) else found
        np.testing.assert_allclose(np.asarray(first), wanted, tolerance, tolerance)


def test_what_is_not_read_is_not_stored():
    x, at = np.zeros((16, 4096), np.float16), np.zeros((16, 1), np.int64)
    nodes = [
        helper.make_node("LogSoftmax", ["x"], ["p"], axis=-1),
        helper.make_node("GatherElements", ["p", "at"], ["r"], axis=-1),
    ]
    executable = xyntra.compile(_model(nodes, x, at), target="cuda:sm_90a")
    assert sum(each.bytes for each in executable.kernels) < 1.1 * x.nbytes

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Norms folded into products of 16-bit floats: numbers beside float64, and what is left alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from normed_network import DTYPES, LAYER, RMS, Network, errors
from onnx import helper
from pipeline_with import compile_with

from xyntra.executable import Executable
from xyntra.passes.fusion.partition.reasons import REASONS


def compiled(model: onnx.ModelProto, folder: Path, *, fold: bool) -> Executable:
    passes = ["fold-norms"] if fold else []
    without = ["widen-contractions"]  # as for GPUs: products are of 16-bit floats
    return compile_with(model, passes, without, folder, after="fuse-operations")


def is_folded(executable: Executable) -> bool:
    return REASONS["norm-shared"] in executable.explain()


def check(network: Network, folder: Path, residual: np.ndarray | float = 0.0) -> None:
    """Folded, results must be about as exact as they are without."""
    inputs = network.inputs(residual)
    found = []
    for fold in (False, True):
        executable = compiled(network.model(), folder, fold=fold)
        assert is_folded(executable) is fold
        found.append(errors(network, [np.asarray(each) for each in executable(*inputs)]))
    for plain, folded in zip(*found, strict=True):
        assert folded < 1.3 * plain, found


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("norm", [LAYER, RMS])
@pytest.mark.parametrize(("rows", "columns", "hidden"), [(1, 64, 40), (33, 96, 64), (12, 32, 17)])
def test_results_are_as_exact(tmp_path, rows, columns, hidden, norm, dtype):
    network = Network(rows, columns, hidden, dtype)
    network.norm, network.post = norm, rows > 1
    check(network, tmp_path)


@pytest.mark.parametrize("ratio", [10.0, 100.0, 500.0])
def test_large_means(tmp_path, ratio):
    network = Network(24, 256, 32)
    signs = np.arange(24)[:, None] % 3 - 1.0
    check(network, tmp_path, residual=ratio * signs)


@pytest.mark.parametrize("factor", [1e-7, 1e-3, 3e3])
def test_scales_far_from_one(tmp_path, factor):
    network = Network(9, 64, 48)
    network.weights["scale"] *= factor
    network.weights["w1"] *= 0.25 / factor if factor > 1 else 1
    network.weights["w1"][:, :3] *= [0.0, 1e-3, 30.0 if factor < 1 else 1.0]
    network.weights["bias"] *= 0.0
    check(network, tmp_path)


def test_rows_of_equal_values_give_the_bias(tmp_path):
    network = Network(6, 64, 16)
    network.epsilon = 1e-12
    network.weights["w0"] *= 0.0
    values = np.array([0.0, 1.0, -3.0, 1000.0, 0.1, 65504.0])
    inputs = [np.zeros((6, 64), np.float16), np.tile(values.astype(np.float16)[:, None], 64)]
    x, h, y = compiled(network.model(), tmp_path, fold=True)(*inputs)
    want_h, want_y = network.expected(np.zeros((6, 64)))
    np.testing.assert_array_equal(x, inputs[1])
    np.testing.assert_allclose(h, want_h, rtol=2e-3, atol=2e-3)
    np.testing.assert_allclose(y, want_y, rtol=4e-3, atol=4e-3)


def test_bad_rows_spoil_themselves_alone(tmp_path):
    network = Network(7, 64, 16)
    clean = network.inputs()
    spoiled = [each.copy() for each in clean]
    spoiled[1][1, 5], spoiled[1][3, 0], spoiled[1][6, :] = np.nan, np.inf, -np.inf
    executable = compiled(network.model(), tmp_path, fold=True)
    for good, bad in zip(executable(*clean), executable(*spoiled), strict=True):
        np.testing.assert_array_equal(np.delete(bad, [1, 3, 6], 0), np.delete(good, [1, 3, 6], 0))
    for bad in executable(*spoiled)[1:]:
        assert np.isnan(bad[[1, 3, 6]]).all()


def test_queries_keys_and_values_share_a_norm(tmp_path):
    network = Network(20, 64, 48)
    model = network.model()
    weights = {name: network.normal(64, 24) / 8 for name in ("wq", "wk", "wv")}
    weights = {name: array.astype(np.float16) for name, array in weights.items()}
    del model.graph.node[3:], model.graph.output[1:]
    for name, array in weights.items():
        model.graph.initializer.append(network.tensor(name, array))
        model.graph.node.append(helper.make_node("MatMul", ["n", name], [name + "_y"]))
        model.graph.output.append(onnx.ValueInfoProto(name=name + "_y"))
    executable = compiled(model, tmp_path, fold=True)
    assert is_folded(executable)
    assert len(executable.kernels) == 2
    x, *found = executable(*network.inputs())
    network.weights["w1"], network.weights["b1"] = np.hstack(list(weights.values())), np.zeros(72)
    network.weights["w2"] = np.zeros((72, 64))
    np.testing.assert_allclose(np.hstack(found), network.expected(x)[0], rtol=4e-3, atol=4e-3)


@pytest.mark.parametrize(("rows", "columns"), [(513, 32), (16, 40)])
def test_many_rows_and_broken_parts_are_left_alone(tmp_path, rows, columns):
    network = Network(rows, columns, 16)
    executable = compiled(network.model(), tmp_path, fold=True)
    assert not is_folded(executable)
    outputs = [np.asarray(each) for each in executable(*network.inputs())]
    assert max(errors(network, outputs)) < 1e-3

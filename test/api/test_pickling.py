# SPDX-License-Identifier: MIT OR Apache-2.0
"""Executables are pickled, copied, and sent to other processes."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto
from onnx_models import make_model, mlp

import xyntra
from xyntra.errors import ArchiveError
from xyntra.executable import Executable

Settings = dict[str, object]
X = np.random.default_rng(6).standard_normal((4, 32)).astype(np.float32)
PROTOCOLS = range(2, pickle.HIGHEST_PROTOCOL + 1)


@pytest.fixture(scope="module")
def perceptron(settings: Settings) -> Executable:
    return xyntra.compile(mlp(), threads=1, config=settings)


def through(exe: Executable, protocol: int = pickle.HIGHEST_PROTOCOL) -> Executable:
    again: Executable = pickle.loads(pickle.dumps(exe, protocol))
    return again


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_pickle_computes_the_same(perceptron: Executable, protocol: int) -> None:
    again = through(perceptron, protocol)
    assert again(X).tobytes() == perceptron(X).tobytes()
    assert again.plan == perceptron.plan
    assert repr(again) == repr(perceptron)
    assert again.explain() == perceptron.explain()
    assert not again.weights["w"].flags.writeable
    assert through(again)(X).tobytes() == perceptron(X).tobytes()


def test_weights_may_travel_out_of_band(perceptron: Executable) -> None:
    buffers: list[pickle.PickleBuffer] = []
    data = pickle.dumps(perceptron, 5, buffer_callback=buffers.append)
    assert sum(buffer.raw().nbytes for buffer in buffers) == 32 * 16 * 4
    again = pickle.loads(data, buffers=buffers)
    assert again(X).tobytes() == perceptron(X).tobytes()


@pytest.mark.parametrize("make", [copy.copy, copy.deepcopy])
def test_copies_share_their_weights(perceptron: Executable, make: Any) -> None:
    made = make({"model": perceptron})["model"] if make is copy.deepcopy else make(perceptron)
    assert made is not perceptron
    assert made(X).tobytes() == perceptron(X).tobytes()
    assert np.shares_memory(made.weights["w"], perceptron.weights["w"])


def test_sizes_that_were_fixed_and_threads_are_kept(settings: Settings) -> None:
    model = make_model([("Neg", ["x"], ["y"])], {"x": ["batch", 3]}, ["y"])
    exe = xyntra.compile(model, dims={"batch": 2}, threads=2, config=settings)
    again = through(exe)
    assert again.inputs == exe.inputs
    assert again.__reduce__()[1][2:] == ("cpu", 2)


def test_weights_of_16_bits(settings: Settings) -> None:
    weight = np.arange(1024).astype(ml_dtypes.bfloat16)
    model = make_model(
        [("Add", ["x", "w"], ["y"])],
        {"x": [1024]},
        ["y"],
        {"w": weight},
        dtype=TensorProto.BFLOAT16,
    )
    again = through(xyntra.compile(model, config=settings))
    np.testing.assert_array_equal(again(np.zeros_like(weight)), weight)


def test_code_for_a_gpu_is_pickled_without_one(settings: Settings) -> None:
    exe = xyntra.compile(mlp(), target="cuda:sm_90a", config=settings)
    assert repr(through(exe)) == repr(exe)


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_other_processes_run_it(perceptron: Executable, method: str) -> None:
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(1, mp_context=context) as processes:
        found = processes.submit(perceptron, X).result(120)
    assert found.tobytes() == perceptron(X).tobytes()


def test_a_pickle_of_another_machine_is_refused(perceptron: Executable) -> None:
    load, (data, *rest) = perceptron.__reduce__()[:2]
    name = xyntra.devices()[0].name
    assert name.encode() in data
    with pytest.raises(ArchiveError) as caught:
        load(data.replace(f"cpu={name}".encode(), b"cpu=" + b"?" * len(name)), *rest)
    assert "a pickled model" in str(caught.value.place)

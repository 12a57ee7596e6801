# SPDX-License-Identifier: MIT OR Apache-2.0
"""Models compiled for GPUs, on machines with and without one."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

import xyntra
from xyntra.compiler.code_target import CodeTarget, target_of
from xyntra.errors import ArchiveError, ConfigError, DeviceError, UnsupportedError
from xyntra.plan.artifact import Artifact
from xyntra.plan.storage.container import read_container
from xyntra.targets.cuda.driver.device import cuda_devices

TARGET = "cuda:sm_90a"


def model() -> onnx.ModelProto:
    """softmax(x @ w + b)."""
    rng = np.random.default_rng(3)
    weights = {"w": rng.standard_normal((24, 40), np.float32), "b": np.ones(40, np.float32)}
    nodes = [
        onnx.helper.make_node("MatMul", ["x", "w"], ["m"]),
        onnx.helper.make_node("Add", ["m", "b"], ["a"]),
        onnx.helper.make_node("Softmax", ["a"], ["y"], axis=-1),
    ]
    kind = onnx.TensorProto.FLOAT
    graph = onnx.helper.make_graph(
        nodes,
        "g",
        [onnx.helper.make_tensor_value_info("x", kind, (5, 24))],
        [onnx.helper.make_tensor_value_info("y", kind, (5, 40))],
        [onnx.numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)])


def test_code_is_generated_and_saved_without_a_gpu(tmp_path):
    executable = xyntra.compile(model(), target=TARGET)
    assert executable.artifact.target.endswith(";sm_90a")
    executable.save(tmp_path / "m.xyn")
    loaded = xyntra.load(tmp_path / "m.xyn")
    assert loaded.plan == executable.plan
    assert [kernel.name for kernel in loaded.kernels] == [k.name for k in executable.kernels]


def test_a_saved_model_is_loaded_for_another_gpu(tmp_path):
    xyntra.compile(model(), target=TARGET).save(tmp_path / "m.xyn")
    for target, ordinal in (("auto", 0), ("cuda", 0), ("cuda:1", 1), (TARGET, 0)):
        container = read_container(memoryview((tmp_path / "m.xyn").read_bytes()), "m.xyn")
        artifact = Artifact.from_container(container, "m.xyn")
        assert target_of(artifact, "m.xyn", target) == CodeTarget("sm_90a", ordinal)
        xyntra.load(tmp_path / "m.xyn", target=target)


@pytest.mark.parametrize("target", ["cpu", "cuda:sm_80"])
def test_a_saved_model_is_not_loaded_for_what_cannot_run_it(tmp_path, target):
    xyntra.compile(model(), target=TARGET).save(tmp_path / "m.xyn")
    with pytest.raises(ArchiveError) as caught:
        xyntra.load(tmp_path / "m.xyn", target=target)
    assert caught.value.code == "archive-target"
    assert f"{target} was asked for" in caught.value.cause


def test_a_model_for_the_processor_is_not_loaded_onto_a_gpu(tmp_path):
    xyntra.compile(model()).save(tmp_path / "m.xyn")
    with pytest.raises(ArchiveError) as caught:
        xyntra.load(tmp_path / "m.xyn", target=TARGET)
    assert caught.value.code == "archive-target"


@pytest.mark.skipif(bool(cuda_devices()), reason="there is a GPU")
def test_running_without_a_gpu_is_an_error():
    executable = xyntra.compile(model(), target=TARGET)
    with pytest.raises(xyntra.XyntraError) as caught:
        executable(np.zeros((5, 24), np.float32))
    assert caught.value.code in ("no-gpu", "missing-extra")


@pytest.mark.skipif(bool(cuda_devices()), reason="there is a GPU")
def test_a_device_that_is_not_there_is_an_error():
    with pytest.raises(xyntra.XyntraError) as caught:
        xyntra.compile(model(), target="cuda:7")
    assert caught.value.code in ("no-gpu", "missing-extra")


@pytest.mark.parametrize("target", ["cuda:sm_12", "cuda:x", "gpu", "cuda:12345"])
def test_unknown_targets_are_refused(target):
    with pytest.raises((UnsupportedError, ConfigError, DeviceError)) as caught:
        xyntra.compile(model(), target=target)
    assert caught.value.code == "target-unsupported"


@pytest.mark.cuda
@pytest.mark.skipif(not cuda_devices(), reason="there is no GPU")
def test_a_model_on_a_gpu_agrees_with_the_cpu():
    x = np.random.default_rng(4).standard_normal((5, 24), np.float32)
    ours = xyntra.compile(model(), target="cuda")(x)
    np.testing.assert_allclose(ours, xyntra.compile(model())(x), rtol=1e-5, atol=1e-6)

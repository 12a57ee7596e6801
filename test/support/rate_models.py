# SPDX-License-Identifier: MIT OR Apache-2.0
"""Models that hold one branch for each sampling rate, as voice-activity detectors do."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
SAMPLES = {16000: 512, 8000: 256}
FRAMES, CHANNELS = 8, 4


def model(
    nodes: list[onnx.NodeProto],
    inputs: list[onnx.ValueInfoProto],
    outputs: list[str],
    constants: dict[str, np.ndarray] | None = None,
    functions: list[onnx.FunctionProto] | None = None,
) -> onnx.ModelProto:
    """A model of some nodes."""
    graph = helper.make_graph(
        nodes,
        "g",
        inputs,
        [onnx.ValueInfoProto(name=name) for name in outputs],
        [numpy_helper.from_array(array, name) for name, array in (constants or {}).items()],
    )
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("own", 1)]
    return helper.make_model(
        graph, opset_imports=opsets, ir_version=10, functions=functions or []
    )  # fmt: skip


def rate_branch(rate: int, source: str = "x") -> onnx.GraphProto:
    """Frames of audio through a convolution; what follows fits one number of samples alone."""
    rng = np.random.default_rng(rate)
    stride = SAMPLES[rate] // FRAMES
    weights = {
        "filters": rng.standard_normal((CHANNELS, 1, stride)) / stride,
        "mix": rng.standard_normal((CHANNELS * FRAMES, 3)) / 8,
        "bias": rng.standard_normal(3),
    }
    name = f"rate{rate}"
    nodes = [
        helper.make_node("Constant", [], [f"{name}_axis"], value_ints=[1]),
        helper.make_node("Unsqueeze", [source, f"{name}_axis"], [f"{name}_in"]),
        helper.make_node(
            "Conv", [f"{name}_in", f"{name}_filters"], [f"{name}_c"], name=f"{name}/conv",
            strides=[stride],
        ),
        helper.make_node("Relu", [f"{name}_c"], [f"{name}_r"]),
        helper.make_node("Flatten", [f"{name}_r"], [f"{name}_f"]),
        helper.make_node("MatMul", [f"{name}_f", f"{name}_mix"], [f"{name}_m"], name=f"{name}/mix"),
        helper.make_node("Add", [f"{name}_m", f"{name}_bias"], [f"{name}_a"]),
        helper.make_node("Sigmoid", [f"{name}_a"], [f"{name}_out"]),
    ]  # fmt: skip
    held = [
        numpy_helper.from_array(array.astype(np.float32), f"{name}_{key}")
        for key, array in weights.items()
    ]
    return helper.make_graph(
        nodes, name, [], [helper.make_tensor_value_info(f"{name}_out", FLOAT, None)], held
    )


def voice_model() -> onnx.ModelProto:
    """Audio `x` and its rate `sr` to three probabilities and their sum."""
    nodes = [
        helper.make_node("Equal", ["sr", "fast"], ["is_fast"]),
        helper.make_node(
            "If", ["is_fast"], ["p"], name="choose", then_branch=rate_branch(16000),
            else_branch=rate_branch(8000),
        ),
        helper.make_node("ReduceSum", ["p"], ["total"], keepdims=0),
    ]  # fmt: skip
    inputs = [
        helper.make_tensor_value_info("x", FLOAT, ["batch", "samples"]),
        helper.make_tensor_value_info("sr", INT64, []),
    ]
    return model(nodes, inputs, ["p", "total"], {"fast": np.array(16000)})


def audio(rate: int, batch: int = 2, seed: int = 0) -> np.ndarray:
    """Random samples of a rate."""
    rng = np.random.default_rng([rate, batch, seed])
    return rng.standard_normal((batch, SAMPLES[rate])).astype(np.float32)

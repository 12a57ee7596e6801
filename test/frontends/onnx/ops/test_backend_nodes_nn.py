# SPDX-License-Identifier: MIT OR Apache-2.0
"""The onnx package's own tests of the operators that networks are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from arrays import TOLERANCES
from harness import run
from official import load_cases

from xyntra.errors import UnsupportedError

MODULES = """
attention averagepool batch_normalization causal_conv_with_state celu clip col2im conv convinteger
convtranspose deformconv dequantizelinear dropout dynamicquantizelinear einsum elu flexattention
gelu gemm globalaveragepool globalmaxpool groupnormalization gru hardsigmoid hardswish
instance_normalization layernormalization leakyrelu linear_attention logsoftmax lpnormalization
lppool lrn lstm matmul matmulinteger maxpool maxunpool meanvariancenormalization mish
negativeloglikelihoodloss prelu qlinearconv qlinearmatmul quantizelinear relu resize
rmsnormalization rnn roialign rotaryembedding selu shrink sigmoid softmax softmax_cross_entropy_loss
softplus softsign swiglu swish thresholdedrelu upsample
""".split()

SHAPES = {
    "Col2Im": (1, 2), "Dropout": (1, 2), "MaxUnpool": (2,), "Resize": (1, 2, 3), "Upsample": (1,),
}  # fmt: skip
"""Inputs that must be known at compile time: the test's values become constants."""

RANDOM = """
test_training_dropout_default test_training_dropout_default_mask test_training_dropout
test_training_dropout_mask
""".split()
UNSUPPORTED = set(RANDOM)

# The tests take `length_resized` of align_corners as input * scale, which is fractional here. By
# the operator's text it is the length of the resized tensor; onnxruntime and PyTorch agree.
DIFFERENT = {
    "test_resize_downsample_scales_linear_align_corners",
    "test_resize_downsample_scales_cubic_align_corners",
}


def as_array(value: Any) -> np.ndarray:
    if isinstance(value, onnx.TensorProto):
        return onnx.numpy_helper.to_array(value)
    return np.asarray(value)


def freeze(model: onnx.ModelProto, feeds: dict[str, np.ndarray]) -> onnx.ModelProto:
    """The model with inputs that decide shapes as initializers, which leave `feeds`."""
    node = model.graph.node[0]
    positions = SHAPES.get(node.op_type, ())
    names = [node.input[i] for i in positions if i < len(node.input)]
    frozen = onnx.ModelProto.FromString(model.SerializeToString())
    for name in filter(None, names):
        if name in feeds:
            frozen.graph.initializer.append(onnx.numpy_helper.from_array(feeds.pop(name), name))
    return frozen


def run_case(case: Any) -> list[tuple[Sequence[np.ndarray], Sequence[np.ndarray]]]:
    """What we compute and what the test expects, for each of its data sets."""
    pairs = []
    for inputs, wanted in case.data_sets:
        names = [value.name for value in case.model.graph.input]
        feeds = dict(zip(names, map(as_array, inputs), strict=True))
        model = freeze(case.model, feeds)
        pairs.append((run(model, feeds), [as_array(value) for value in wanted]))
    return pairs


def matches(case: Any, found: np.ndarray, wanted: np.ndarray) -> bool:
    """Whether a result is right, to the last bit or so of a 16-bit dtype."""
    if (found.dtype, found.shape) != (wanted.dtype, wanted.shape):
        return False
    allowed = TOLERANCES.get(found.dtype.name, {"rtol": 0, "atol": 0})
    rtol, atol = max(case.rtol, allowed["rtol"]), max(case.atol, allowed["atol"])
    return np.allclose(
        found.astype(np.float64), wanted.astype(np.float64), rtol=rtol, atol=atol, equal_nan=True
    )


def outcome(case: Any) -> str:
    """Return "right", "different" or "unsupported"."""
    try:
        pairs = run_case(case)
    except UnsupportedError:
        return "unsupported"
    for found, wanted in pairs:
        if not all(matches(case, a, b) for a, b in zip(found, wanted, strict=True)):
            return "different"
    return "right"


def expected(name: str) -> str:
    if name in UNSUPPORTED:
        return "unsupported"
    return "different" if name in DIFFERENT else "right"


@pytest.mark.parametrize("module", MODULES)
def test_nodes(module: str) -> None:
    found = {case.name: outcome(case) for case in load_cases(module)}
    assert found, "onnx makes no tests of this name"
    assert found == {name: expected(name) for name in found}


def test_every_exception_is_a_test() -> None:
    modules = ("dropout", "resize")
    names = {case.name for module in modules for case in load_cases(module)}
    assert names >= UNSUPPORTED | DIFFERENT

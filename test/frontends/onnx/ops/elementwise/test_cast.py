# SPDX-License-Identifier: MIT OR Apache-2.0
"""Conversions between element types, against onnxruntime."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx
import pytest
from harness import check, check_node, graph_model, node_model, run
from onnx import TensorProto
from onnx.helper import np_dtype_to_tensor_dtype
from refusals import check_invalid, check_unsupported

DTYPES = [
    np.float16, np.float32, np.float64, np.int8, np.int16, np.int32, np.int64, np.uint8,
    np.uint16, np.uint32, np.uint64, np.bool_,
]  # fmt: skip
VALUES = [0, 1, -1, 2.5, -2.5, 100, -100, 127, 128, 255, 256, 300, -300, 30000, 65000, 1e-8]


@pytest.mark.parametrize("source", DTYPES)
def test_every_pair(source: type) -> None:
    values = (
        np.array(VALUES).astype(np.int64) if np.dtype(source).kind in "iu" else np.array(VALUES)
    )
    feeds, nodes = {}, []
    for target in DTYPES:
        name, kept = np.dtype(target).name, values
        if np.dtype(target).kind in "iu" and np.dtype(source).kind == "f":
            info = np.iinfo(target)
            kept = values[(values >= info.min) & (values <= info.max)]
        feeds[name] = kept.astype(source)
        to = int(np_dtype_to_tensor_dtype(np.dtype(target)))
        nodes.append(onnx.helper.make_node("Cast", [name], [f"as_{name}"], to=to))
    check(graph_model(nodes, feeds, [node.output[0] for node in nodes]), feeds, rtol=0, atol=0)


@pytest.mark.parametrize("target", [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16])
@pytest.mark.parametrize("source", [np.float32, np.float64])
def test_floats_out_of_range_become_what_x86_gives(source: type, target: type) -> None:
    x = np.array([np.nan, np.inf, -np.inf, 300, -300, 70000, 3e9, -3e9, 5e18, 1e19, -1e19], source)
    check_node("Cast", {"x": x}, to=int(np_dtype_to_tensor_dtype(np.dtype(target))))


def test_large_unsigned() -> None:
    x = np.array([0, 1, -1, 2**31, 2**32 - 256, 2**63, 1.5 * 2**63, np.nan, np.inf], np.float32)
    check_node("Cast", {"x": x}, to=TensorProto.UINT64)
    (found,) = run(node_model("Cast", {"x": x[:5]}, to=TensorProto.UINT32), {"x": x[:5]})
    assert found.tolist() == [0, 1, 2**32 - 1, 2**31, 2**32 - 256]


def test_nan_is_true() -> None:
    check_node("Cast", {"x": np.array([np.nan, 0.0, -0.0, 1e-40], np.float32)}, to=TensorProto.BOOL)


@pytest.mark.parametrize("source", [np.float32, np.float64, np.float16, np.int32, np.int64])
def test_bfloat16(source: type) -> None:
    x = np.array([0, 1, -3, 257, 1000, 65000, 1 / 3]).astype(source)
    (found,) = run(node_model("Cast", {"x": x}, to=TensorProto.BFLOAT16), {"x": x})
    wanted = x.astype(np.float32).astype(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(found, wanted)
    back = int(np_dtype_to_tensor_dtype(np.dtype(source)))
    (again,) = run(node_model("Cast", {"x": wanted}, to=back), {"x": wanted})
    np.testing.assert_array_equal(again, wanted.astype(np.float32).astype(source))


def test_cast_like() -> None:
    feeds = {"x": np.array([1.7, -2.3], np.float32), "like": np.zeros((3, 2), np.int64)}
    check_node("CastLike", feeds)
    same = {"x": feeds["x"], "like": np.zeros(1, np.float32)}
    check_node("CastLike", same)


@pytest.mark.parametrize(
    ("source", "target"),
    [(np.float32, np.int32), (np.int64, np.float64), (np.uint8, np.int8), (np.uint16, np.float16)],
)
def test_bit_cast(source: type, target: type) -> None:
    x = np.random.default_rng(0).integers(0, 200, 21).astype(source)
    to = int(np_dtype_to_tensor_dtype(np.dtype(target)))
    (found,) = run(node_model("BitCast", {"x": x}, opset=26, to=to), {"x": x})
    np.testing.assert_array_equal(found, x.view(target))


def test_bit_cast_needs_equal_widths() -> None:
    check_invalid("BitCast", {"x": np.ones(3, np.float32)}, "bits", opset=26, to=TensorProto.INT64)


def test_types_without_an_mlir_type_are_refused() -> None:
    for to in (TensorProto.STRING, TensorProto.COMPLEX64):
        check_unsupported(
            "Cast", {"x": np.ones(3, np.float32)}, "is not supported", opset=21, to=to
        )

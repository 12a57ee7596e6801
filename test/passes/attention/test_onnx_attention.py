# SPDX-License-Identifier: MIT OR Apache-2.0
"""Attention in ONNX graphs, as exporters write it: one operation, and onnxruntime's numbers."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest
from attention_cases import context, evaluate_module

from xyntra.dialects.mlir import ir
from xyntra.frontends.onnx.importer import import_model
from xyntra.passes.manager import run_pipeline

Array = np.ndarray

QKV = "float[2,4,5,8] q, float[2,4,6,8] k, float[2,4,6,8] v"
SCALES = "<float r = {0.35355338}, float r2 = {0.59460355}, float root = {2.828427}>"
TRANSPOSED = "kt = Transpose<perm=[0,1,3,2]>(k)"

GRAPHS = {
    "division": (
        QKV,
        f"{TRANSPOSED} s = MatMul(q, kt) a = Div(s, root) p = Softmax(a) y = MatMul(p, v)",
    ),
    "query first": (
        QKV,
        f"{TRANSPOSED} a = Mul(q, r) s = MatMul(a, kt) p = Softmax(s) y = MatMul(p, v)",
    ),
    "scaled_dot_product_attention": (
        f"{QKV}, float[2,1,5,6] m",
        f"{TRANSPOSED} a = Mul(q, r2) b = Mul(kt, r2) s = MatMul(a, b) t = Add(s, m) "
        "p = Softmax(t) n = IsNaN(p) zero = Constant<value_float=0.0>() c = Where(n, zero, p) "
        "y = MatMul(c, v)",
    ),
    "masked_fill": (
        f"{QKV}, bool[2,1,1,6] m",
        f"{TRANSPOSED} s = MatMul(q, kt) a = Mul(s, r) low = Constant<value_float=-3.4e38>() "
        "t = Where(m, low, a) p = Softmax(t) y = MatMul(p, v)",
    ),
    "where keep": (
        f"{QKV}, bool[5,6] m",
        f"{TRANSPOSED} s = MatMul(q, kt) a = Mul(s, r) low = Constant<value_float=-1e9>() "
        "t = Where(m, a, low) p = Softmax(t) y = MatMul(p, v)",
    ),
    "lower triangle": (
        QKV,
        f"{TRANSPOSED} s = MatMul(q, kt) shape = Constant<value_ints=[5,6]>() "
        "ones = ConstantOfShape<value = bool[1] {1}>(shape) m = Trilu<upper=0>(ones) "
        "low = Constant<value_float=-1e30>() t = Where(m, s, low) p = Softmax(t) y = MatMul(p, v)",
    ),
    "heads of a hidden size": (
        "float[2,5,32] x, float[2,6,32] z",
        "h = Constant<value_ints=[0,0,4,8]>() f = Constant<value_ints=[0,0,32]>() "
        "q1 = Reshape(x, h) q = Transpose<perm=[0,2,1,3]>(q1) k1 = Reshape(z, h) "
        "kt = Transpose<perm=[0,2,3,1]>(k1) v = Transpose<perm=[0,2,1,3]>(k1) s = MatMul(q, kt) "
        "a = Mul(s, r) p = Softmax(a) o = MatMul(p, v) o1 = Transpose<perm=[0,2,1,3]>(o) "
        "y = Reshape(o1, f)",
    ),
    "split of one product": (
        "float[2,5,96] x",
        "h = Constant<value_ints=[0,0,4,8]>() f = Constant<value_ints=[0,0,32]>() "
        "a, b, c = Split<axis=-1, num_outputs=3>(x) q1 = Reshape(a, h) k1 = Reshape(b, h) "
        "v1 = Reshape(c, h) q = Transpose<perm=[0,2,1,3]>(q1) kt = Transpose<perm=[0,2,3,1]>(k1) "
        "v = Transpose<perm=[0,2,1,3]>(v1) s = MatMul(q, kt) d = Div(s, root) p = Softmax(d) "
        "o = MatMul(p, v) o1 = Transpose<perm=[0,2,1,3]>(o) y = Reshape(o1, f)",
    ),
    "three in a dimension": (
        "float[2,5,96] x",
        "h = Constant<value_ints=[2,5,3,4,8]>() f = Constant<value_ints=[2,5,32]>() "
        "x1 = Reshape(x, h) x2 = Transpose<perm=[2,0,3,1,4]>(x1) i0 = Constant<value_int=0>() "
        "i1 = Constant<value_int=1>() i2 = Constant<value_int=2>() q = Gather(x2, i0) "
        "k = Gather(x2, i1) v = Gather(x2, i2) kt = Transpose<perm=[0,1,3,2]>(k) a = Mul(q, r) "
        "s = MatMul(a, kt) p = Softmax(s) o = MatMul(p, v) o1 = Transpose<perm=[0,2,1,3]>(o) "
        "y = Reshape(o1, f)",
    ),
    "repeated keys": (
        "float[2,4,5,8] q, float[2,2,6,8] k0, float[2,2,6,8] v0",
        "axis = Constant<value_ints=[2]>() e = Constant<value_ints=[2,2,2,6,8]>() "
        "g = Constant<value_ints=[2,4,6,8]>() k1 = Unsqueeze(k0, axis) k2 = Expand(k1, e) "
        "k = Reshape(k2, g) v1 = Unsqueeze(v0, axis) v2 = Expand(v1, e) v = Reshape(v2, g) "
        f"{TRANSPOSED} s = MatMul(q, kt) a = Mul(s, r) p = Softmax(a) y = MatMul(p, v)",
    ),
    "Attention": (QKV, "y = Attention(q, k, v)"),
    "Attention, causal": (QKV, "y = Attention<is_causal=1>(q, k, v)"),
    "Attention, keep": (f"{QKV}, bool[5,6] m", "y = Attention(q, k, v, m)"),
    "Attention, bias": (f"{QKV}, float[4,5,6] m", "y = Attention(q, k, v, m)"),
    "Attention, hidden": (
        "float[2,5,32] q, float[2,6,16] k, float[2,6,16] v",
        "y = Attention<q_num_heads=4, kv_num_heads=2>(q, k, v)",
    ),
}


def model_of(inputs: str, body: str) -> onnx.ModelProto:
    """A model written in onnx's text form."""
    head = '<ir_version: 10, opset_import: ["" : 23]> g'
    text = f"{head} ({inputs}) => (float[] y) {SCALES} {{ {body} }}"
    model = onnx.parser.parse_model(text)
    model.graph.output[0].type.tensor_type.ClearField("shape")
    return model


def feeds_of(model: onnx.ModelProto) -> dict[str, Array]:
    """Random inputs; masks are true for three of four, and at least for the first key."""
    source = np.random.default_rng(7)
    feeds = {}
    for value in model.graph.input:
        shape = [d.dim_value for d in value.type.tensor_type.shape.dim]
        if value.type.tensor_type.elem_type == onnx.TensorProto.BOOL:
            feeds[value.name] = source.random(shape) < 0.75
            feeds[value.name][..., 0] = value.name == "m"
        else:
            feeds[value.name] = source.standard_normal(shape).astype("f4")
    return feeds


@pytest.mark.parametrize("name", GRAPHS)
def test_graph(name: str) -> None:
    """One attention and no softmax, with onnxruntime's numbers."""
    model = model_of(*GRAPHS[name])
    feeds = feeds_of(model)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    (wanted,) = session.run(None, feeds)
    shapes = {name: array.shape for name, array in feeds.items()}
    with context(), ir.Location.unknown():
        module = import_model(
            model.SerializeToString(), shapes, context=context(), max_tensor_bytes=1 << 20
        )
        run_pipeline(module, ["cse", "canonicalize", "recognize"])
    text = str(module.operation.get_asm())
    assert (text.count('"xyntra.attention"'), text.count('"xyntra.softmax"')) == (1, 0)
    (found,) = evaluate_module(module, *feeds.values())
    np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=2e-6)

# SPDX-License-Identifier: MIT OR Apache-2.0
"""The operations of `bench.cuda` as ONNX models."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import onnx

from bench.cuda.operations import Operation

__all__ = ["host_model", "onnx_model", "tiny_model"]

_TYPES = {
    "f32": onnx.TensorProto.FLOAT,
    "f16": onnx.TensorProto.FLOAT16,
    "bf16": onnx.TensorProto.BFLOAT16,
    "i8": onnx.TensorProto.INT8,
    "i32": onnx.TensorProto.INT32,
}
_OPSET = 23
Nodes = list[onnx.NodeProto]
Constants = list[onnx.TensorProto]


def onnx_model(operation: Operation) -> onnx.ModelProto:
    """Return the model; its inputs are a, b, c … and its output is y."""
    names = [chr(ord("a") + number) for number in range(len(operation.inputs))]
    nodes, constants = _BUILDERS[operation.kind](operation, names)
    kind = _TYPES[operation.dtype]
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        nodes,
        operation.kind,
        [value(name, kind, shape) for name, shape in zip(names, operation.inputs, strict=True)],
        [value("y", _TYPES[operation.result_dtype], operation.output)],
        constants,
    )
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", _OPSET)])


def host_model() -> onnx.ModelProto:
    """Return a small model of several kernels: a dozen times a product, GELU, sum and norm."""
    rng = np.random.default_rng(0)
    size, node = 128, onnx.helper.make_node
    nodes: Nodes = []
    weights: dict[str, np.ndarray] = {}
    last = "x"
    for number in range(12):
        w, g, b = (f"{name}{number}" for name in "wgb")
        weights[w] = (rng.integers(-8, 8, (size, size)) / 64).astype(np.float32)
        weights[g], weights[b] = np.ones(size, np.float32), np.zeros(size, np.float32)
        p, q, r, y = (f"{name}{number}" for name in "pqry")
        nodes += [
            node("MatMul", [last, w], [p]),
            node("Gelu", [p], [q]),
            node("Add", [q, last], [r]),
            node("LayerNormalization", [r, g, b], [y], axis=-1),
        ]
        last = y
    return _of_one_array("host-model", nodes, weights, last, (size, size))


def tiny_model() -> onnx.ModelProto:
    """Return a model of one kernel, which adds 1 to four numbers."""
    nodes = [onnx.helper.make_node("Add", ["x", "one"], ["y"])]
    return _of_one_array("tiny-model", nodes, {"one": np.ones(1, np.float32)}, "y", (4,))


def _of_one_array(
    name: str, nodes: Nodes, weights: dict[str, np.ndarray], result: str, shape: tuple[int, ...]
) -> onnx.ModelProto:
    """Return a model from an input "x" to an output of the same shape in f32."""
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        nodes,
        name,
        [value("x", onnx.TensorProto.FLOAT, shape)],
        [value(result, onnx.TensorProto.FLOAT, shape)],
        [onnx.numpy_helper.from_array(array, each) for each, array in weights.items()],
    )
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", _OPSET)])


def _chain(_: Operation, names: Sequence[str]) -> tuple[Nodes, Constants]:
    x, a, b, c = names
    node = onnx.helper.make_node
    nodes = [
        node("Mul", [x, a], ["p"]),
        node("Add", ["p", b], ["q"]),
        node("Gelu", ["q"], ["r"]),
        node("Mul", ["r", c], ["y"]),
    ]
    return nodes, []


def _softmax(_: Operation, names: Sequence[str]) -> tuple[Nodes, Constants]:
    return [onnx.helper.make_node("Softmax", list(names), ["y"], axis=-1)], []


def _layer_norm(_: Operation, names: Sequence[str]) -> tuple[Nodes, Constants]:
    return [onnx.helper.make_node("LayerNormalization", list(names), ["y"], axis=-1)], []


def _rms_norm(_: Operation, names: Sequence[str]) -> tuple[Nodes, Constants]:
    return [onnx.helper.make_node("RMSNormalization", list(names), ["y"], axis=-1)], []


def _product(operation: Operation, names: Sequence[str]) -> tuple[Nodes, Constants]:
    nodes, factors = [], []
    rank = len(operation.output)
    order = [*range(rank - 2), rank - 1, rank - 2]
    for name, layout in zip(names, operation.kind[-2:], strict=True):
        factors.append(name if layout == "n" else f"{name}t")
        if layout == "t":
            nodes.append(onnx.helper.make_node("Transpose", [name], [f"{name}t"], perm=order))
    return [*nodes, onnx.helper.make_node("MatMul", factors, ["y"])], []


def _matmul(_: Operation, names: Sequence[str]) -> tuple[Nodes, Constants]:
    return [onnx.helper.make_node("MatMul", list(names), ["y"])], []


def _integer_product(_: Operation, names: Sequence[str]) -> tuple[Nodes, Constants]:
    node = onnx.helper.make_node
    nodes = [
        node("Transpose", [names[1]], ["t"], perm=[1, 0]),
        node("MatMulInteger", [names[0], "t"], ["y"]),
    ]
    return nodes, []


def _matmul_bias_gelu(_: Operation, names: Sequence[str]) -> tuple[Nodes, Constants]:
    node = onnx.helper.make_node
    nodes = [
        node("MatMul", list(names[:2]), ["p"]),
        node("Add", ["p", names[2]], ["q"]),
        node("Gelu", ["q"], ["y"]),
    ]
    return nodes, []


def _attention(operation: Operation, names: Sequence[str]) -> tuple[Nodes, Constants]:
    if operation.inputs[0] != operation.inputs[1]:
        return _attention_node(names)
    q, k, v = names
    node = onnx.helper.make_node
    scale = np.array(operation.inputs[0][-1] ** -0.5, np.float32)
    nodes = [
        node("Transpose", [k], ["t"], perm=[0, 1, 3, 2]),
        node("MatMul", [q, "t"], ["s"]),
        node("Cast", ["scale"], ["f"], to=_TYPES[operation.dtype]),
        node("Mul", ["s", "f"], ["m"]),
        node("Softmax", ["m"], ["p"], axis=-1),
        node("MatMul", ["p", v], ["y"]),
    ]
    return nodes, [onnx.numpy_helper.from_array(scale, "scale")]


def _attention_node(names: Sequence[str], **attributes: int) -> tuple[Nodes, Constants]:
    return [onnx.helper.make_node("Attention", list(names), ["y"], **attributes)], []


def _convolution(
    operation: Operation, names: Sequence[str], *, acts: bool = True
) -> tuple[Nodes, Constants]:
    """Return a convolution with scale and shift; images and filters have channels innermost."""
    node, (size, taps) = onnx.helper.make_node, (each[1] for each in operation.inputs[:2])
    step = -(-size // operation.output[1])
    first, last = [0, 3, 1, 2], [0, 2, 3, 1]
    conv = node("Conv", ["x", "w"], ["v"], strides=[step] * 2, pads=[taps // 2] * 4)
    nodes = [
        node("Transpose", [names[0]], ["x"], perm=first),
        node("Transpose", [names[1]], ["w"], perm=first),
        conv,
        node("Transpose", ["v"], ["p"], perm=last),
        node("Mul", ["p", names[2]], ["q"]),
        node("Add", ["q", names[3]], ["r"]),
    ]
    for name in names[4:]:
        nodes.append(node("Add", ["r", name], ["s"]))
    if acts:
        nodes.append(node("Relu", list(nodes[-1].output), ["y"]))
    nodes[-1].output[0] = "y"
    return nodes, []


_BUILDERS: dict[str, Callable[[Operation, Sequence[str]], tuple[Nodes, Constants]]] = {
    "chain": _chain,
    "softmax": _softmax,
    "layer_norm": _layer_norm,
    "rms_norm": _rms_norm,
    "matmul": _matmul,
    "integer_product": _integer_product,
    **{f"product_{layout}": _product for layout in ("nn", "nt", "tn", "tt")},
    "matmul_bias_gelu": _matmul_bias_gelu,
    "attention": _attention,
    "causal_attention": lambda _, names: _attention_node(names, is_causal=1),
    "masked_attention": lambda _, names: _attention_node(names),
    "conv_norm": lambda operation, names: _convolution(operation, names, acts=False),
    "conv_norm_relu": _convolution,
    "conv_norm_add_relu": _convolution,
}

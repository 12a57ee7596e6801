# SPDX-License-Identifier: MIT OR Apache-2.0
"""onnxruntime's LSTM with weights of 8 bits: inputs and states are quantized as they come."""

from __future__ import annotations

from xyntra.dialects.builder import Tensor
from xyntra.dialects.scalar import Scalar
from xyntra.frontends.onnx.node import Node, handles
from xyntra.frontends.onnx.ops.quantized.contraction import integer_product
from xyntra.frontends.onnx.ops.quantized.quantize import quantize_dynamically
from xyntra.frontends.onnx.ops.recurrent.layer import Product
from xyntra.frontends.onnx.ops.recurrent.recurrent import lstm_layer
from xyntra.frontends.onnx.opsets import MICROSOFT

_SCALES = 8
"""Position of the first scale; the zero point of W, scale and zero point of R follow."""


@handles("DynamicQuantizeLSTM", domain=MICROSOFT)
def dynamic_quantize_lstm(node: Node) -> list[Tensor]:
    """The weights are [directions, inputs, 4 * hidden], their scales one a direction or column.

    All inputs are quantized together, and the states of all sequences at each step.
    """
    return lstm_layer(node, lambda i: (_product(node, 1, i), _product(node, 2, i)))


def _product(node: Node, position: int, direction: int) -> Product:
    """Multiplies by direction `direction` of the weight at an input."""
    b, whole = node.b, node.tensor(position)
    if whole.rank != 3 or whole.dtype not in ("int8", "uint8"):
        raise node.invalid(f"input {position} has shape {whole.shape} and dtype {whole.dtype}")
    rows, columns = whole.shape[1:]
    weight = b.reshape(
        b.slice(whole, [direction, 0, 0], [1, rows, columns], [1] * 3), whole.shape[1:]
    )
    at = _SCALES + 2 * (position - 1)
    weight_scale, weight_zero = (
        _parameter(node, at + i, direction, whole.shape[0], columns) for i in range(2)
    )

    def product(x: Tensor) -> Tensor:
        narrow, scale, zero = quantize_dynamically(node, x)
        total = integer_product(node, narrow, weight, zero, weight_zero)

        def body(value: Scalar, one: Scalar, other: Scalar) -> Scalar:
            return value.cast("float32") * (one * other)

        return b.map(body, total, scale, weight_scale, dtype="float32")

    return product


def _parameter(node: Node, position: int, direction: int, count: int, columns: int) -> Tensor:
    """The scale or zero point of a direction, of [1] or [1, columns]."""
    given = node.tensor(position)
    if given.shape not in ((count,), (count, columns)):
        raise node.invalid(f"input {position} has shape {given.shape} for {count} directions")
    sizes = [1, *given.shape[1:]]
    return node.b.slice(given, [direction, *([0] * (given.rank - 1))], sizes, [1] * given.rank)

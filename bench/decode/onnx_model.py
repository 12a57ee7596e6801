# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes a decoder as ONNX, as exporters of language models do, with GroupQueryAttention."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from bench.decode.packed_weights import BLOCK, PackedMatrix
from bench.decode.size import Decoder, rotation

__all__ = ["aliases_of", "decoder_model"]

Array = np.ndarray[Any, Any]
_EPSILON = 1e-5


def decoder_model(
    decoder: Decoder,
    weights: Mapping[str, Array | PackedMatrix],
    batch: int,
    room: int,
    accuracy_level: int = 0,
) -> onnx.ModelProto:
    """A step of one token: "x", the lengths so far and the caches, to "y" and the caches.

    Args:
        decoder: its sizes.
        weights: by name; what is packed is multiplied with by MatMulNBits.
        batch: sequences.
        room: positions that the caches hold at most.
        accuracy_level: of MatMulNBits; with 4, onnxruntime rounds rows to 8 bits.
    """
    return _Writer(decoder, batch, room, weights, accuracy_level).write()


def aliases_of(decoder: Decoder) -> dict[str, str]:
    """The caches that are returned, which are written where those that are given lie."""
    return {
        f"present.{n}.{part}": f"past.{n}.{part}"
        for n in range(decoder.layers)
        for part in ("key", "value")
    }


class _Writer:
    def __init__(
        self,
        decoder: Decoder,
        batch: int,
        room: int,
        weights: Mapping[str, Array | PackedMatrix],
        accuracy_level: int,
    ) -> None:
        self._decoder, self._batch, self._room = decoder, batch, room
        self._weights, self._accuracy_level = weights, accuracy_level
        self._type = helper.np_dtype_to_tensor_dtype(np.dtype(decoder.dtype))
        self._nodes: list[onnx.NodeProto] = []

    def write(self) -> onnx.ModelProto:
        decoder = self._decoder
        held: dict[str, Array] = {}
        for name, weight in self._weights.items():
            if isinstance(weight, PackedMatrix):
                held |= {f"{name}.integers": weight.integers, f"{name}.scales": weight.scales}
            else:
                held[name] = weight
        held["cosine"], held["sine"] = rotation(decoder, self._room)
        held["total"] = np.array(self._room, np.int32)
        x = "x"
        for number in range(decoder.layers):
            x = self._layer(number, x)
        x = self._norm(x, "norm")
        if decoder.vocabulary:
            x = self._product(x, "head")
        self._nodes[-1].output[0] = "y"
        width = decoder.vocabulary or decoder.hidden
        states = [
            (name, [self._batch, decoder.groups, self._room, decoder.size])
            for name in aliases_of(decoder)
        ]
        inputs = [self._value("x", [self._batch, 1, decoder.hidden])]
        inputs.append(helper.make_tensor_value_info("last", onnx.TensorProto.INT32, [self._batch]))
        inputs += [self._value(aliases_of(decoder)[name], shape) for name, shape in states]
        outputs = [self._value("y", [self._batch, 1, width])]
        outputs += [self._value(*each) for each in states]
        initializers = [numpy_helper.from_array(array, name) for name, array in held.items()]
        graph = helper.make_graph(self._nodes, "decode", inputs, outputs, initializers)
        opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10)

    def _value(self, name: str, shape: list[int]) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, self._type, shape)

    def _add(self, op: str, inputs: list[str], **attributes: Any) -> str:
        name = f"{op}.{len(self._nodes)}"
        self._nodes.append(helper.make_node(op, inputs, [name], name, **attributes))
        return name

    def _product(self, x: str, name: str) -> str:
        weight = self._weights[name]
        if not isinstance(weight, PackedMatrix):
            return self._add("MatMul", [x, name])
        columns, blocks, _ = weight.integers.shape
        return self._add(
            "MatMulNBits",
            [x, f"{name}.integers", f"{name}.scales"],
            domain="com.microsoft",
            K=blocks * BLOCK,
            N=columns,
            bits=4,
            block_size=BLOCK,
            accuracy_level=self._accuracy_level,
        )

    def _norm(self, x: str, weight: str) -> str:
        return self._add("SimplifiedLayerNormalization", [x, weight], axis=-1, epsilon=_EPSILON)

    def _layer(self, number: int, x: str) -> str:
        normed = self._norm(x, f"{number}.norm1")
        parts = [self._product(normed, f"{number}.{part}") for part in "qkv"]
        attended = f"attended.{number}"
        pasts = [f"past.{number}.{part}" for part in ("key", "value")]
        presents = [f"present.{number}.{part}" for part in ("key", "value")]
        self._nodes.append(
            helper.make_node(
                "GroupQueryAttention",
                [*parts, *pasts, "last", "total", "cosine", "sine"],
                [attended, *presents],
                attended,
                domain="com.microsoft",
                num_heads=self._decoder.heads,
                kv_num_heads=self._decoder.groups,
                do_rotary=1,
            )
        )
        x = self._add("Add", [x, self._product(attended, f"{number}.o")])
        normed = self._norm(x, f"{number}.norm2")
        gate = self._product(normed, f"{number}.gate")
        silu = self._add("Mul", [gate, self._add("Sigmoid", [gate])])
        inner = self._add("Mul", [silu, self._product(normed, f"{number}.up")])
        return self._add("Add", [x, self._product(inner, f"{number}.down")])

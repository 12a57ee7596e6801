# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes a directory like those of language models on the Hub: config.json and model.onnx.

The weights are random, so that what comes of it is noise, at the speed of a real model. Attention
is com.microsoft's GroupQueryAttention, as in the exports of onnx-community and onnxruntime-genai.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

CONFIG = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 256,
    "intermediate_size": 768,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "num_hidden_layers": 4,
    "max_position_embeddings": 2048,
    "rope_theta": 10000.0,
    "rms_norm_eps": 1e-5,
    "vocab_size": 50257,
    "eos_token_id": 50256,
    "torch_dtype": "float32",
}
_SCALE = 0.05


def write_decoder(folder: Path, seed: int = 0, **changes: Any) -> Path:
    """Write a decoder with random weights.

    Args:
        folder: where; it is made.
        seed: of the weights.
        changes: of `CONFIG`.
    """
    config = {**CONFIG, **changes}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config, indent=2))
    onnx.save(_Decoder(config, seed).model(), folder / "model.onnx")
    return folder


class _Decoder:
    def __init__(self, config: dict[str, Any], seed: int) -> None:
        self.config = config
        self.heads, self.groups = config["num_attention_heads"], config["num_key_value_heads"]
        self.size = config["hidden_size"] // self.heads
        self.type = helper.np_dtype_to_tensor_dtype(np.dtype(config["torch_dtype"]))
        self.draw = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.held: list[onnx.TensorProto] = []

    def model(self) -> onnx.ModelProto:
        config = self.config
        layers, hidden = config["num_hidden_layers"], config["hidden_size"]
        embedding = self.weight((config["vocab_size"], hidden))
        x = self.add("Gather", [embedding, "input_ids"])
        last, total = self.lengths()
        tables = self.rotation()
        for number in range(layers):
            x = self.layer(number, x, [last, total, *tables])
        x = self.norm(x)
        head = self.weight((hidden, config["vocab_size"]))
        self.nodes.append(helper.make_node("MatMul", [x, head], ["logits"]))
        past = ["batch_size", self.groups, "past_sequence_length", self.size]
        now = ["batch_size", self.groups, "total_sequence_length", self.size]
        ids = ["batch_size", "sequence_length"]
        mask = ["batch_size", "total_sequence_length"]
        inputs = [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ids)]
        inputs.append(helper.make_tensor_value_info("attention_mask", TensorProto.INT64, mask))
        logits = [*ids, config["vocab_size"]]
        outputs = [helper.make_tensor_value_info("logits", self.type, logits)]
        for number in range(layers):
            for part in ("key", "value"):
                name = f"past_key_values.{number}.{part}"
                inputs.append(helper.make_tensor_value_info(name, self.type, past))
                name = f"present.{number}.{part}"
                outputs.append(helper.make_tensor_value_info(name, self.type, now))
        graph = helper.make_graph(self.nodes, "decoder", inputs, outputs, self.held)
        opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10)

    def add(self, op: str, inputs: list[str], **attributes: Any) -> str:
        name = f"{op}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name, **attributes))
        return name

    def hold(self, array: np.ndarray[Any, Any]) -> str:
        name = f"held_{len(self.held)}"
        self.held.append(numpy_helper.from_array(array, name))
        return name

    def weight(self, shape: tuple[int, ...]) -> str:
        drawn = self.draw.standard_normal(shape, np.float32) * _SCALE
        return self.hold(drawn.astype(self.config["torch_dtype"]))

    def lengths(self) -> tuple[str, str]:
        """The last position of each sequence, and the positions that the mask has room for."""
        axis = self.hold(np.array([1], np.int64))
        count = self.add("ReduceSum", ["attention_mask", axis], keepdims=0)
        last = self.add("Sub", [count, self.hold(np.array(1, np.int64))])
        shape = self.add("Shape", ["attention_mask"], start=1, end=2)
        to = TensorProto.INT32
        return self.add("Cast", [last], to=to), self.add("Cast", [shape], to=to)

    def rotation(self) -> list[str]:
        powers = np.arange(0, self.size, 2) / self.size
        places = np.arange(self.config["max_position_embeddings"])[:, None]
        angles = places / self.config["rope_theta"] ** powers
        dtype = self.config["torch_dtype"]
        return [self.hold(each(angles).astype(dtype)) for each in (np.cos, np.sin)]

    def norm(self, x: str) -> str:
        scale = self.hold(np.ones(self.config["hidden_size"], self.config["torch_dtype"]))
        epsilon = self.config["rms_norm_eps"]
        return self.add("SimplifiedLayerNormalization", [x, scale], axis=-1, epsilon=epsilon)

    def layer(self, number: int, x: str, shared: list[str]) -> str:
        hidden, inner = self.config["hidden_size"], self.config["intermediate_size"]
        normed = self.norm(x)
        parts = [
            self.add("MatMul", [normed, self.weight((hidden, count * self.size))])
            for count in (self.heads, self.groups, self.groups)
        ]
        parts += [f"past_key_values.{number}.{part}" for part in ("key", "value")]
        results = [f"attended_{number}", *(f"present.{number}.{part}" for part in ("key", "value"))]
        attributes = {"num_heads": self.heads, "kv_num_heads": self.groups, "do_rotary": 1}
        self.nodes.append(
            helper.make_node(
                "GroupQueryAttention",
                [*parts, *shared],
                results,
                domain="com.microsoft",
                **attributes,
            )
        )
        out = self.add("MatMul", [results[0], self.weight((hidden, hidden))])
        x = self.add("Add", [x, out])
        normed = self.norm(x)
        gate, up = (self.add("MatMul", [normed, self.weight((hidden, inner))]) for _ in range(2))
        gate = self.add("Mul", [gate, self.add("Sigmoid", [gate])])
        down = self.weight((inner, hidden))
        return self.add("Add", [x, self.add("MatMul", [self.add("Mul", [gate, up]), down])])

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Makes random ONNX graphs whose inputs have named dimensions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

__all__ = ["RANGES", "Graph", "random_graph"]

RANGES = {"b": range(1, 7), "s": range(1, 80)}
_WIDTHS = (3, 8, 24, 32, 48)
_UNARY = ("Relu", "Exp", "Tanh", "Neg", "Sigmoid", "Abs", "Erf", "Sqrt")
_REDUCTIONS = ("ReduceSum", "ReduceMean", "ReduceMax")

Shape = tuple[int | str, ...]


@dataclass(frozen=True)
class Graph:
    """A model, and the shapes of its inputs."""

    model: onnx.ModelProto
    inputs: dict[str, Shape]


@dataclass
class _Maker:
    random: Random
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    weights: list[onnx.TensorProto] = field(default_factory=list)
    inputs: dict[str, Shape] = field(default_factory=dict)
    tensors: list[tuple[str, Shape]] = field(default_factory=list)

    def op(self, kind: str, inputs: list[str], shape: Shape, **attributes: Any) -> None:
        name = f"t{len(self.nodes)}"
        self.nodes.append(
            helper.make_node(kind, inputs, [name], name=f"{kind}_{name}", **attributes)
        )
        self.tensors.append((name, shape))

    def weight(self, values: np.ndarray[Any, Any]) -> str:
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(values, name))
        return name

    def drawn(self, *shape: int) -> str:
        rng = np.random.default_rng(self.random.randrange(1 << 30))
        values = rng.standard_normal(shape) / np.sqrt(shape[0] if shape else 1)
        return self.weight(values.astype(np.float32))

    def numbers(self, *values: int) -> str:
        return self.weight(np.array(values, np.int64))

    def pick(self) -> tuple[str, Shape]:
        # Mostly what has just been computed, so that chains are long.
        if self.random.random() < 0.7:
            return self.tensors[-1]
        return self.random.choice(self.tensors)


def random_graph(seed: int) -> Graph:
    """Return a graph of some operations; equal seeds give equal graphs."""
    random = Random(seed)
    maker = _Maker(random)
    width = random.choice(_WIDTHS)
    shape: Shape = random.choice(
        [("b", "s", width), ("s", width), ("b", width), ("b", width, "s"), ("b", 4, "s", 8)]
    )
    names = [axis for axis in shape if isinstance(axis, str)]
    maker.inputs["x"] = shape
    maker.tensors.append(("x", shape))
    if random.random() < 0.4:
        maker.inputs["y"] = shape
        maker.tensors.append(("y", shape))
    if "s" in names and random.random() < 0.3:
        maker.inputs["m"] = ("s",)
        maker.tensors.append(("m", ("s",)))
    for _ in range(random.randrange(1, 9)):
        name, found = maker.pick()
        random.choice(_STEPS)(maker, name, found)
    return Graph(_model(maker), maker.inputs)


def _model(maker: _Maker) -> onnx.ModelProto:
    used = {name for node in maker.nodes for name in node.input}
    if not maker.nodes:
        _unary(maker, *maker.tensors[0])
    outputs = [node.output[0] for node in maker.nodes if node.output[0] not in used][-3:]
    graph = helper.make_graph(
        maker.nodes,
        "graph",
        [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
            for name, shape in maker.inputs.items()
        ],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        maker.weights,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def _unary(maker: _Maker, name: str, shape: Shape) -> None:
    kind = maker.random.choice(_UNARY)
    if kind == "Sqrt":
        maker.op("Abs", [name], shape)
        name = maker.tensors[-1][0]
    if kind == "Exp":
        maker.op("Tanh", [name], shape)
        name = maker.tensors[-1][0]
    maker.op(kind, [name], shape)


def _bias(maker: _Maker, name: str, shape: Shape) -> None:
    last = shape[-1] if shape else 1
    size = last if isinstance(last, int) else 1
    maker.op(maker.random.choice(("Add", "Mul", "Sub")), [name, maker.drawn(size)], shape)


def _pair(maker: _Maker, name: str, shape: Shape) -> None:
    same = [other for other, found in maker.tensors if found == shape]
    tails = [other for other, found in maker.tensors if found and found == shape[-len(found) :]]
    other = maker.random.choice(same + tails)
    maker.op(maker.random.choice(("Add", "Mul", "Max", "Sub")), [name, other], shape)


def _product(maker: _Maker, name: str, shape: Shape) -> None:
    if len(shape) < 2 or not isinstance(shape[-1], int):
        return
    width = maker.random.choice(_WIDTHS)
    maker.op("MatMul", [name, maker.drawn(shape[-1], width)], (*shape[:-1], width))


def _scores(maker: _Maker, name: str, shape: Shape) -> None:
    if len(shape) < 2:
        return
    order = [*range(len(shape) - 2), len(shape) - 1, len(shape) - 2]
    turned = tuple(shape[axis] for axis in order)
    maker.op("Transpose", [name], turned, perm=order)
    maker.op("MatMul", [name, maker.tensors[-1][0]], (*shape[:-1], shape[-2]))


def _attention(maker: _Maker, name: str, shape: Shape) -> None:
    if len(shape) != 3 or not isinstance(shape[-1], int):
        return
    _scores(maker, name, shape)
    scores, found = maker.tensors[-1]
    maker.op("Softmax", [scores], found, axis=-1)
    maker.op("MatMul", [maker.tensors[-1][0], name], shape)


def _softmax(maker: _Maker, name: str, shape: Shape) -> None:
    if shape:
        maker.op("Softmax", [name], shape, axis=maker.random.randrange(len(shape)))


def _norm(maker: _Maker, name: str, shape: Shape) -> None:
    if shape and isinstance(shape[-1], int):
        scales = [maker.drawn(shape[-1]), maker.drawn(shape[-1])]
        maker.op("LayerNormalization", [name, *scales], shape, axis=-1)


def _reduce(maker: _Maker, name: str, shape: Shape) -> None:
    if not shape:
        return
    axis, keeps = maker.random.randrange(len(shape)), maker.random.randrange(2)
    middle: Shape = (1,) if keeps else ()
    result = (*shape[:axis], *middle, *shape[axis + 1 :])
    kind = maker.random.choice(_REDUCTIONS)
    maker.op(kind, [name, maker.numbers(axis)], result, keepdims=keeps)


def _transpose(maker: _Maker, name: str, shape: Shape) -> None:
    order = list(range(len(shape)))
    if not order:
        return
    maker.random.shuffle(order)
    maker.op("Transpose", [name], tuple(shape[axis] for axis in order), perm=order)


def _concat(maker: _Maker, name: str, shape: Shape) -> None:
    places = [axis for axis, size in enumerate(shape) if isinstance(size, int)]
    same = [other for other, found in maker.tensors if found == shape]
    if places:
        axis = maker.random.choice(places)
        size = shape[axis]
        doubled = (*shape[:axis], 2 * size if isinstance(size, int) else size, *shape[axis + 1 :])
        maker.op("Concat", [name, maker.random.choice(same)], doubled, axis=axis)


def _slice(maker: _Maker, name: str, shape: Shape) -> None:
    places = [axis for axis, size in enumerate(shape) if isinstance(size, int) and size > 2]
    if places:
        axis = maker.random.choice(places)
        size = shape[axis]
        left = maker.random.randrange(1, int(size) - 1)
        ends = [maker.numbers(left), maker.numbers(int(size)), maker.numbers(axis)]
        maker.op("Slice", [name, *ends], (*shape[:axis], int(size) - left, *shape[axis + 1 :]))


def _heads(maker: _Maker, name: str, shape: Shape) -> None:
    if len(shape) == 3 and shape[:2] == ("b", "s") and isinstance(shape[2], int):
        width = shape[2] // 4 if shape[2] % 4 == 0 else shape[2]
        heads = shape[2] // width
        maker.op("Reshape", [name, maker.numbers(0, 0, heads, width)], ("b", "s", heads, width))
        maker.op("Transpose", [maker.tensors[-1][0]], ("b", heads, "s", width), perm=[0, 2, 1, 3])


def _flat(maker: _Maker, name: str, shape: Shape) -> None:
    if len(shape) == 3 and shape[:2] == ("b", "s") and isinstance(shape[2], int):
        maker.op("Reshape", [name, maker.numbers(-1, shape[2])], ("b*s", shape[2]))


def _expand(maker: _Maker, name: str, shape: Shape) -> None:
    if len(shape) > 1 and isinstance(shape[-1], int):
        maker.op("Shape", [name], (len(shape),))
        sizes = maker.tensors.pop()[0]
        maker.op("Expand", [maker.drawn(shape[-1]), sizes], shape)


_STEPS: tuple[Callable[[_Maker, str, Shape], None], ...] = (
    _unary, _unary, _bias, _bias, _pair, _product, _product, _scores, _attention, _softmax, _norm,
    _reduce, _transpose, _concat, _slice, _heads, _flat, _expand,
)  # fmt: skip

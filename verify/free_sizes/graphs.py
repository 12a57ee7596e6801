# SPDX-License-Identifier: MIT OR Apache-2.0
"""Makes random ONNX graphs whose inputs have named dimensions."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import onnx
from onnx import TensorProto, helper

from verify.free_sizes.image_steps import IMAGE_STEPS
from verify.free_sizes.maker import Maker, Shape
from verify.free_sizes.more_steps import MORE_STEPS
from verify.free_sizes.steps import STEPS, unary

__all__ = ["RANGES", "Graph", "random_graph"]

RANGES = {
    "b": range(1, 7),
    "s": range(1, 80),
    "p": range(48),
    "h": range(8, 73, 8),
    "v": range(8, 65, 8),
}
_WIDTHS = (3, 8, 24, 32, 48)
_CHANNELS = (3, 8, 16)
_IMAGES = 0.3
"""The share of graphs that begin with an image."""


@dataclass(frozen=True)
class Graph:
    """A model, and the shapes of its inputs."""

    model: onnx.ModelProto
    inputs: dict[str, Shape]


def random_graph(seed: int) -> Graph:
    """Return a graph of some operations; equal seeds give equal graphs."""
    random = Random(seed)
    maker = Maker(random)
    if random.random() < _IMAGES:
        shape, steps = _image(random), (*IMAGE_STEPS, *IMAGE_STEPS, *STEPS, *MORE_STEPS)
    else:
        shape, steps = _sequence(random), (*STEPS, *STEPS, *MORE_STEPS, *IMAGE_STEPS[:3])
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
        random.choice(steps)(maker, name, found)
    return Graph(_model(maker), maker.inputs)


def _sequence(random: Random) -> Shape:
    width = random.choice(_WIDTHS)
    return random.choice(
        [("b", "s", width), ("s", width), ("b", width), ("b", width, "s"), ("b", 4, "s", 8)]
    )


def _image(random: Random) -> Shape:
    channels = random.choice(_CHANNELS)
    return random.choice(
        [
            ("b", channels, "h", "v"),
            ("b", channels, "h", 16),
            (1, channels, "h", "v"),
            ("b", channels, "h"),
        ]
    )


def _model(maker: Maker) -> onnx.ModelProto:
    used = {name for node in maker.nodes for name in node.input}
    if not maker.nodes:
        unary(maker, *maker.tensors[0])
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

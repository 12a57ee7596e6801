# SPDX-License-Identifier: MIT OR Apache-2.0
"""Single operations as small ONNX models, with the work that each has to do at least.

The work is what the floor of an operation is computed from: the bytes of inputs and outputs where
memory limits it, the floating-point operations of its products where arithmetic does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from bench.models.spec import InputSpec

__all__ = ["OPSET", "Graph", "Operation", "normal"]

OPSET = 17
_IR_VERSION = 8
_CONTRIBUTED = "com.microsoft"
FLOAT_BYTES = 4


def normal(scale: float = 1.0) -> Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]:
    """Draws f32 values from a normal distribution around 0."""
    return lambda rng, shape: rng.standard_normal(shape, np.float32) * np.float32(scale)


@dataclass(frozen=True)
class Operation:
    """One row of the table of operations.

    Attributes:
        name: for the command line.
        title: for the table.
        inputs: of the model, in order; all f32.
        model: makes it.
        work: floating-point operations, or bytes.
        unit: "FLOP" or "B", the unit of `work`.
        limit: what ours / onnxruntime is to be at most; None where nothing is claimed.
        best: the same function as onnxruntime computes it fastest, where that is another graph.
    """

    name: str
    title: str
    inputs: tuple[InputSpec, ...]
    model: Callable[[], onnx.ModelProto]
    work: float
    unit: str
    limit: float | None = None
    best: Callable[[], onnx.ModelProto] | None = None

    def random_inputs(self, seed: int) -> dict[str, np.ndarray]:
        """Return one array for each input; equal seeds give equal arrays."""
        rng = np.random.default_rng(seed)
        return {spec.name: spec.sample(rng) for spec in self.inputs}


class Graph:
    """A small ONNX graph under construction; every value is named by its first user."""

    def __init__(self, inputs: Mapping[str, Sequence[int]]) -> None:
        self._inputs = inputs
        self._nodes: list[onnx.NodeProto] = []
        self._weights: list[onnx.TensorProto] = []
        self._rng = np.random.default_rng(1)
        self._contributed = False

    def node(self, op: str, *inputs: str, contributed: bool = False, **attributes: object) -> str:
        """Append a node with one output and return that."""
        result = f"{op.lower()}_{len(self._nodes)}"
        domain = _CONTRIBUTED if contributed else ""
        self._contributed |= contributed
        made = helper.make_node(op, list(inputs), [result], domain=domain, **attributes)
        self._nodes.append(made)
        return result

    def weight(self, *shape: int, scale: float | None = None) -> str:
        """A constant of random values; by default sums over all but its first axis stay near 1."""
        fan_in = math.prod(shape[1:]) if len(shape) > 1 else 1
        values = self._rng.standard_normal(shape, np.float32)
        return self.constant(values * np.float32(scale or 1 / math.sqrt(fan_in)))

    def constant(self, value: np.ndarray | float | Sequence[int]) -> str:
        """A constant; a float becomes an f32 scalar, integers an int64 vector."""
        dtype = np.float32 if isinstance(value, float) else np.int64
        array = value if isinstance(value, np.ndarray) else np.array(value, dtype)
        name = f"constant_{len(self._weights)}"
        self._weights.append(numpy_helper.from_array(array, name))
        return name

    def model(self, output: str, shape: Sequence[int]) -> onnx.ModelProto:
        """The model with one f32 output."""
        ports = [_port(name, dims) for name, dims in self._inputs.items()]
        graph = helper.make_graph(
            self._nodes, "operation", ports, [_port(output, shape)], self._weights
        )
        opsets = [helper.make_opsetid("", OPSET)]
        if self._contributed:
            opsets.append(helper.make_opsetid(_CONTRIBUTED, 1))
        return helper.make_model(graph, opset_imports=opsets, ir_version=_IR_VERSION)


def _port(name: str, shape: Sequence[int]) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, list(shape))

# SPDX-License-Identifier: MIT OR Apache-2.0
"""The graph after fusion as an ONNX model: one node a kernel, in the domain `xyntra`.

A value has the type of what writes it. A kernel may read it through another shape of as many
elements in the same order; its MLIR, an attribute of the node, says which. Weights stay in the file
that holds them, or are inputs of the graph: none is copied.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import onnx
from onnx import AttributeProto, TensorProto, helper

from xyntra.observe.launches import Launch, launches_of, sentence
from xyntra.plan.plan import Plan, TensorType, numpy_dtype
from xyntra.version import VERSION

DOMAIN, DOMAIN_VERSION = "xyntra", 1
IR_VERSION, OPSET = 10, 20


@dataclass(frozen=True)
class WeightRange:
    """The place of a weight's bytes: a path relative to the model's folder, and a range."""

    location: str
    offset: int
    length: int


def reduced_model(
    plan: Plan,
    weights: Mapping[str, TensorType],
    stored: Mapping[str, WeightRange],
    title: str = "",
) -> onnx.ModelProto:
    """The kernels at load and of a call as an ONNX model.

    Args:
        plan: the kernels.
        weights: type of every weight that the plan reads, by name.
        stored: where weights are; those that are not here become inputs of the graph.
        title: name of the graph.
    """
    graph = _Writer(plan, weights, stored).graph(title)
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(DOMAIN, DOMAIN_VERSION)]
    return helper.make_model(
        graph,
        opset_imports=opsets,
        ir_version=IR_VERSION,
        producer_name="xyntra",
        producer_version=VERSION,
    )


class _Writer:
    def __init__(
        self, plan: Plan, weights: Mapping[str, TensorType], stored: Mapping[str, WeightRange]
    ) -> None:
        self.plan = plan
        self.weights = weights
        self.stored = stored
        self.taken: set[str] = set()
        self.values: dict[int, str] = {}
        self.inputs: list[onnx.ValueInfoProto] = []
        self.initializers: list[onnx.TensorProto] = []
        self.inner: list[onnx.ValueInfoProto] = []

    def graph(self, title: str) -> onnx.GraphProto:
        plan = self.plan
        for port in plan.inputs:
            self.values[port.buffer] = self._unique(port.name)
            type_ = TensorType(port.dtype, port.shape)
            self.inputs.append(_value_info(self.values[port.buffer], type_))
        outputs = [self._unique(port.name) for port in plan.outputs]
        self._constants()
        written = {buffer: i for i, step in enumerate(plan.steps) for buffer in step.outputs}
        final = {
            (written[port.buffer], port.buffer): name
            for port, name in zip(plan.outputs, outputs, strict=True)
            if port.buffer in written
        }
        nodes = [
            self._node(position, launch, final) for position, launch in enumerate(launches_of(plan))
        ]
        results = [
            _value_info(name, TensorType(port.dtype, port.shape))
            for port, name in zip(plan.outputs, outputs, strict=True)
        ]
        return helper.make_graph(
            nodes, _text(title) or "model", self.inputs, results, self.initializers,
            value_info=self.inner,
        )  # fmt: skip

    def _constants(self) -> None:
        """Weights and constants: initializers, or inputs where no file can be referred to."""
        read = {
            buffer: type_
            for step in self.plan.steps
            for buffer, type_ in zip(
                step.inputs, self.plan.kernels[step.kernel].arguments, strict=True
            )
        }
        for index, buffer in enumerate(self.plan.buffers):
            if buffer.kind == "parameter":
                self.values[index] = self._unique(buffer.name)
                self._weight(buffer.name, self.values[index])
            elif buffer.kind == "constant" and index in read:
                self.values[index] = self._unique(f"constant_{index}")
                tensor = _tensor(self.values[index], read[index])
                tensor.raw_data = buffer.data
                self.initializers.append(tensor)

    def _weight(self, name: str, value: str) -> None:
        if name not in self.stored:
            self.inputs.append(_value_info(value, self.weights[name]))
            return
        place = self.stored[name]
        tensor = _tensor(value, self.weights[name])
        tensor.data_location = TensorProto.EXTERNAL
        entries = {"location": place.location, "offset": place.offset, "length": place.length}
        for key, entry in entries.items():
            tensor.external_data.add(key=key, value=str(entry))
        self.initializers.append(tensor)

    def _node(
        self, position: int, launch: Launch, final: Mapping[tuple[int, int], str]
    ) -> onnx.NodeProto:
        step = self.plan.steps[position]
        inputs = [self.values[buffer] for buffer in map(self.plan.home, step.inputs)]
        outputs = []
        types = self.plan.kernels[step.kernel].results
        for number, (buffer, type_) in enumerate(zip(step.outputs, types, strict=True)):
            name = final.get((position, buffer))
            if name is None:
                name = self._unique(f"kernel_{launch.label}" + (f"_{number}" if number else ""))
                self.inner.append(_value_info(name, type_))
            outputs.append(name)
            self.values[buffer] = name
        node = helper.make_node(
            launch.kernel.name,
            inputs,
            outputs,
            f"{launch.label}_{launch.kernel.kind}",
            domain=DOMAIN,
        )
        node.attribute.extend(_attributes(launch))
        return node

    def _unique(self, name: str) -> str:
        wanted = found = _text(name) or "value"
        number = 1
        while found in self.taken:
            number += 1
            found = f"{wanted}_{number}"
        self.taken.add(found)
        return found


def _attributes(launch: Launch) -> Iterator[AttributeProto]:
    kernel = launch.kernel
    values: dict[str, str | int | float | list[str] | None] = {
        "kind": kernel.kind,
        "nodes": list(kernel.fused),
        "at_load": int(kernel.once),
        "bytes": kernel.bytes,
        "flops": kernel.flops,
        "predicted_ns": kernel.predicted,
        "bound": kernel.bound,
        "mlir": kernel.text,
    }
    if kernel.boundaries is not None:
        values["boundaries"] = [
            f"{b.source} -> {b.target}: {sentence(b.reason)}" for b in kernel.boundaries
        ]
    for name, value in values.items():
        if isinstance(value, list):
            kind = AttributeProto.STRINGS
            yield helper.make_attribute(name, [_text(text) for text in value], attr_type=kind)
        elif value is not None:
            yield helper.make_attribute(name, _text(value) if isinstance(value, str) else value)


def _tensor(name: str, type_: TensorType) -> onnx.TensorProto:
    return TensorProto(name=name, data_type=_element_type(type_), dims=type_.shape)


def _value_info(name: str, type_: TensorType) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, _element_type(type_), type_.shape)


def _element_type(type_: TensorType) -> int:
    return int(helper.np_dtype_to_tensor_dtype(numpy_dtype(type_.dtype)))


def _text(text: str) -> str:
    """`text` as protobuf can hold it."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")

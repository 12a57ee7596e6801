# SPDX-License-Identifier: MIT OR Apache-2.0
"""Random damage to ONNX models: to their graphs through onnx's protobufs, and to their bytes.

Every function takes its randomness from the generator that it is given, so a seed repeats it.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import onnx
from onnx import AttributeProto, NodeProto

from verify.fuzz.bytes import BYTE_EDITS

__all__ = ["GRAPH_EDITS", "mutate"]

INTEGERS = (0, 1, 2, 3, 7, 255, 65_536, 2**31 - 1, 2**31, 2**40, 2**63 - 1)

GraphEdit = Callable[[onnx.ModelProto, Random], None]


def mutate(data: bytes, random: Random) -> tuple[bytes, list[str]]:
    """A damaged copy of the model `data`, and the names of the edits in order.

    Graphs are edited twice as often as bytes: most changed bytes are caught by the reader.
    """
    names = []
    edits = random.choice((1, 1, 1, 2, 3))
    if random.random() < 2 / 3:
        model = onnx.ModelProto.FromString(data)
        for _ in range(edits):
            name = random.choice(list(GRAPH_EDITS))
            names.append(name)
            GRAPH_EDITS[name](model, random)
        return bytes(model.SerializeToString()), names
    content = bytearray(data)
    for _ in range(edits):
        name = random.choice(list(BYTE_EDITS))
        names.append(name)
        if content:
            BYTE_EDITS[name](content, random)
    return bytes(content), names


def _node(model: onnx.ModelProto, random: Random) -> NodeProto:
    nodes = model.graph.node
    node: NodeProto = random.choice(nodes) if nodes else nodes.add()
    return node


def _values(model: onnx.ModelProto) -> list[str]:
    graph = model.graph
    names = [value.name for value in (*graph.input, *graph.initializer)]
    names += [name for node in graph.node for name in node.output]
    return names or ["missing"]


def _rename_input(model: onnx.ModelProto, random: Random) -> None:
    """Connects an input to another value: of another shape, defined later, or not at all."""
    node = _node(model, random)
    if node.input:
        name = random.choice((random.choice(_values(model)), "missing", ""))
        node.input[random.randrange(len(node.input))] = name


def _duplicate_input(model: onnx.ModelProto, random: Random) -> None:
    node = _node(model, random)
    node.input.append(random.choice([*node.input, ""]))


def _remove_input(model: onnx.ModelProto, random: Random) -> None:
    node = _node(model, random)
    if node.input:
        del node.input[random.randrange(len(node.input))]


def _make_cycle(model: onnx.ModelProto, random: Random) -> None:
    node = _node(model, random)
    if node.input and node.output:
        node.input[random.randrange(len(node.input))] = random.choice(node.output)


def _rename_output(model: onnx.ModelProto, random: Random) -> None:
    node = _node(model, random)
    if node.output:
        name = random.choice((random.choice(_values(model)), "fresh", ""))
        node.output[random.randrange(len(node.output))] = name


def _change_output_count(model: onnx.ModelProto, random: Random) -> None:
    node = _node(model, random)
    if node.output and random.random() < 1 / 2:
        del node.output[-1]
    else:
        node.output.append("extra")


def _remove_node(model: onnx.ModelProto, random: Random) -> None:
    if model.graph.node:
        del model.graph.node[random.randrange(len(model.graph.node))]


def _repeat_node(model: onnx.ModelProto, random: Random) -> None:
    model.graph.node.add().CopyFrom(_node(model, random))


def _shuffle_nodes(model: onnx.ModelProto, random: Random) -> None:
    nodes = [NodeProto.FromString(node.SerializeToString()) for node in model.graph.node]
    random.shuffle(nodes)
    del model.graph.node[:]
    model.graph.node.extend(nodes)


def _change_operator(model: onnx.ModelProto, random: Random) -> None:
    other = _node(model, random).op_type
    common = ("MatMul", "Conv", "Reshape", "Softmax", "Gather", "If", "Loop", "Constant", "Cast")
    _node(model, random).op_type = random.choice((other, "NoSuchOperator", *common))


def _change_domain(model: onnx.ModelProto, random: Random) -> None:
    _node(model, random).domain = random.choice(("ai.onnx", "ai.onnx.ml", "com.microsoft", "x"))


def _change_opset(model: onnx.ModelProto, random: Random) -> None:
    for entry in model.opset_import:
        entry.version = random.choice((-1, 0, 1, 5, 6, 7, 8, 10, 12, 13, 17, 21, 25, 1000, 2**40))
    if random.random() < 1 / 4:
        del model.opset_import[:]


def _change_dtype(model: onnx.ModelProto, random: Random) -> None:
    """Gives an initializer, an input or an output another element type."""
    code = random.randint(0, 30)
    graph = model.graph
    things: list[Any] = [*graph.initializer, *graph.input, *graph.output]
    if not things:
        return
    thing = random.choice(things)
    if isinstance(thing, onnx.TensorProto):
        thing.data_type = code
    else:
        thing.type.tensor_type.elem_type = code


def _change_dims(model: onnx.ModelProto, random: Random) -> None:
    """Changes the shape of an initializer, an input or an output."""
    graph = model.graph
    things: list[Any] = [*graph.initializer, *graph.input, *graph.output]
    if not things:
        return
    thing = random.choice(things)
    if isinstance(thing, onnx.TensorProto):
        _change_integers(thing.dims, random)
        return
    dims = thing.type.tensor_type.shape.dim
    if not dims or random.random() < 1 / 4:
        dims.add().dim_value = _integer(random)
    elif random.random() < 1 / 4:
        del dims[random.randrange(len(dims))]
    else:
        dims[random.randrange(len(dims))].dim_value = _integer(random)


def _integer(random: Random) -> int:
    return random.choice((1, 1, 1, -1)) * random.choice(INTEGERS)


def _change_integers(values: Any, random: Random) -> None:
    kind = random.randrange(4)
    if kind == 0 and values:
        del values[random.randrange(len(values))]
    elif kind == 1:
        values.append(_integer(random))
    elif values:
        at = random.randrange(len(values))
        change = random.choice((-1, 1)) if kind == 2 else None
        new = values[at] + change if change else _integer(random)
        values[at] = max(min(new, 2**63 - 1), -(2**63))


def _change_attribute(model: onnx.ModelProto, random: Random) -> None:
    """Changes, removes or retypes an attribute of a node that has some."""
    nodes = [node for node in model.graph.node if node.attribute]
    if not nodes:
        return
    node = random.choice(nodes)
    at = random.randrange(len(node.attribute))
    attribute = node.attribute[at]
    kind = random.randrange(8)
    if kind == 0:
        del node.attribute[at]
    elif kind == 1:
        attribute.type = random.choice(AttributeProto.AttributeType.values())
    elif kind == 2:
        attribute.name = random.choice(("axis", "perm", "value", "to", "pads", "nonsense", ""))
    elif kind == 3:
        node.attribute.add().CopyFrom(attribute)
    else:
        _change_attribute_value(attribute, random)


def _change_attribute_value(attribute: AttributeProto, random: Random) -> None:
    if attribute.type == AttributeProto.INT:
        attribute.i = _integer(random)
    elif attribute.type == AttributeProto.FLOAT:
        attribute.f = random.choice((0.0, -1.0, 1e38, float("inf"), float("nan"), 1e-45))
    elif attribute.type == AttributeProto.INTS:
        _change_integers(attribute.ints, random)
    elif attribute.type == AttributeProto.STRING:
        attribute.s = random.choice((b"", b"NOTSET", b"SAME_UPPER", b"linear", b"\xff", b"x" * 999))
    elif attribute.type == AttributeProto.TENSOR:
        _change_integers(attribute.t.dims, random)
    else:
        attribute.ClearField("g")


def _remove_initializer(model: onnx.ModelProto, random: Random) -> None:
    tensors = model.graph.initializer
    if tensors:
        del tensors[random.randrange(len(tensors))]


def _swap_initializers(model: onnx.ModelProto, random: Random) -> None:
    tensors = model.graph.initializer
    if tensors:
        one, other = random.choice(tensors), random.choice(tensors)
        one.name, other.name = other.name, one.name


def _change_small_constant(model: onnx.ModelProto, random: Random) -> None:
    """Changes a number of an int64 tensor: shapes, axes, indices and slices are such tensors."""
    tensors = [t for t in model.graph.initializer if t.data_type == 7 and 0 < len(t.raw_data) < 512]
    attributes = [a for node in model.graph.node for a in node.attribute]
    tensors += [a.t for a in attributes if a.t.data_type == 7 and 0 < len(a.t.raw_data) < 512]
    if tensors:
        tensor = random.choice(tensors)
        at = 8 * random.randrange(len(tensor.raw_data) // 8 or 1)
        new = _integer(random).to_bytes(8, "little", signed=True)
        tensor.raw_data = tensor.raw_data[:at] + new + tensor.raw_data[at + 8 :]


def _change_interface(model: onnx.ModelProto, random: Random) -> None:
    """Removes, repeats or renames an input or an output of the graph."""
    values = random.choice((model.graph.input, model.graph.output))
    kind = random.randrange(3)
    if not values or kind == 0:
        values.add().name = random.choice(_values(model))
    elif kind == 1:
        del values[random.randrange(len(values))]
    else:
        values[random.randrange(len(values))].name = random.choice((*_values(model), "missing"))


GRAPH_EDITS: dict[str, GraphEdit] = {
    edit.__name__.strip("_"): edit
    for edit in (
        _rename_input, _duplicate_input, _remove_input, _make_cycle, _rename_output,
        _change_output_count, _remove_node, _repeat_node, _shuffle_nodes, _change_operator,
        _change_domain, _change_opset, _change_dtype, _change_dims, _change_attribute,
        _remove_initializer, _swap_initializers, _change_small_constant, _change_interface,
    )
}  # fmt: skip

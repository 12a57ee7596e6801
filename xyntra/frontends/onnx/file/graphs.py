# SPDX-License-Identifier: MIT OR Apache-2.0
"""Cutting of weights out of serialized graphs: initializers and Constant nodes, also in subgraphs.

Field numbers are those of GraphProto, NodeProto, AttributeProto and FunctionProto in onnx.proto.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from xyntra.errors import ModelError, UnsupportedError
from xyntra.frontends.onnx.file.external import ExternalFiles
from xyntra.frontends.onnx.file.patterns import find_pattern
from xyntra.frontends.onnx.file.tensors import (
    STRING,
    TensorFields,
    element_count,
    locate,
    marked,
    read_tensor,
)
from xyntra.frontends.onnx.file.wire import BYTES, Field, Patch, WireReader, enclose, splice
from xyntra.frontends.weight_types import DTYPE_BITS
from xyntra.frontends.weights import Fingerprint, WeightRef, WeightSource

INLINE_BYTES = 1024
"""Tensors of more bytes than this, in the file or in memory, are cut out."""

MAX_GRAPH_DEPTH = 32
"""Graphs inside graphs; protobuf's readers stop at 100 messages, of which a level takes three."""

_GRAPH_NODE, _GRAPH_INITIALIZER = 1, 5
_NODE_OUTPUT, _NODE_NAME, _NODE_OP_TYPE, _NODE_ATTRIBUTE, _NODE_DOMAIN = 2, 3, 4, 5, 7
_ATTRIBUTE_NAME, _ATTRIBUTE_TENSOR, _ATTRIBUTE_GRAPH = 1, 5, 6
_ATTRIBUTE_TENSORS, _ATTRIBUTE_GRAPHS = 10, 11
_FUNCTION_NAME, _FUNCTION_NODE, _FUNCTION_DOMAIN = 1, 7, 10

# A one-byte varint can stand for an eight-byte element: below this no tensor needs cutting.
_SMALL = INLINE_BYTES // 8
# Nodes up to this size are searched for what makes them worth reading, which is much faster.
_SEARCHED = 1 << 16
# A node's field 5 with a length of two bytes or more; the first byte of longer forms of its tag.
_LARGE_ATTRIBUTE = re.compile(rb"\x2a[\x80-\xff]")
_LONG_ATTRIBUTE_TAG = b"\xaa"
_VALUE, _DATA_LOCATION_EXTERNAL = b"value", b"\x70\x01"
_SCOPE_NAME_CHARS = 64


@dataclass(slots=True)
class _Node:
    item: Field
    name: str
    output: str
    is_constant: bool
    attributes: list[Field]


@dataclass(slots=True)
class _Attribute:
    name: str = ""
    tensors: list[Field] = field(default_factory=list)
    graphs: list[Field] = field(default_factory=list)


class Cutter:
    """Finds the weights of one model; `weights` fills up while graphs are cut.

    `file` is the path and fingerprint of the model file, both None for a model given as bytes.
    """

    def __init__(
        self,
        reader: WireReader,
        externals: ExternalFiles,
        file: tuple[str | None, Fingerprint | None],
    ) -> None:
        self.weights: dict[str, WeightRef] = {}
        self._reader = reader
        self._externals = externals
        self._file = file
        self._source = WeightSource(reader.data)
        self._copies: dict[str, int] = {}
        self._main_names: set[str] = set()

    def graph(self, item: Field) -> Patch | None:
        """The model's graph, stored in field `item`, without its weights; None if it has none."""
        return self._rebuilt(item, self._graph(item, "", 1, self._main_names))

    def function(self, item: Field) -> Patch | None:
        """Return a FunctionProto without its weights, as `graph` does."""
        reader = self._reader
        names = {_FUNCTION_NAME: "", _FUNCTION_DOMAIN: ""}
        nodes = []
        for inner in reader.fields(item[3], item[4]):
            if inner[0] in names:
                reader.expect(inner, BYTES, "function's name")
                names[inner[0]] = reader.text(inner[3], inner[4])[:_SCOPE_NAME_CHARS]
            elif inner[0] == _FUNCTION_NODE:
                reader.expect(inner, BYTES, "node")
                if self._interesting(inner):
                    nodes.append(inner)
        scope = f"{names[_FUNCTION_DOMAIN]}.{names[_FUNCTION_NAME]}/"
        return self._rebuilt(item, self._nodes(nodes, scope, 1, set()))

    def _rebuilt(self, item: Field, patches: list[Patch]) -> Patch | None:
        if not patches:
            return None
        data = self._reader.data
        return enclose(data, item, splice(data, item[3], item[4], patches))

    def _graph(self, item: Field, scope: str, depth: int, names: set[str]) -> list[Patch]:
        reader = self._reader
        if depth > MAX_GRAPH_DEPTH:
            raise UnsupportedError(
                "model-too-deep",
                f"graphs are nested more than {MAX_GRAPH_DEPTH} deep",
                place=reader.place(item[2]),
            )
        patches = []
        nodes = []
        # Initializers first, wherever they stand: their names must not depend on other weights.
        for inner in reader.fields(item[3], item[4]):
            if inner[0] == _GRAPH_NODE:
                reader.expect(inner, BYTES, "node")
                if self._interesting(inner):
                    nodes.append(inner)
            elif inner[0] == _GRAPH_INITIALIZER:
                patch = self._initializer(inner, scope, names)
                if patch:
                    patches.append(patch)
        return patches + self._nodes(nodes, scope, depth, names)

    def _interesting(self, item: Field) -> bool:
        """Whether a node can hold something to cut: a large attribute, a value, external data."""
        size = item[4] - item[3]
        if size > _SEARCHED:
            return True
        content = bytes(self._reader.data[item[3] : item[4]])
        if _has_value(content) or _LONG_ATTRIBUTE_TAG in content:
            return True
        return size > _SMALL and _LARGE_ATTRIBUTE.search(content) is not None

    def _initializer(self, item: Field, scope: str, names: set[str]) -> Patch | None:
        reader = self._reader
        reader.expect(item, BYTES, "initializer")
        tensor = read_tensor(reader, item[3], item[4])
        place = reader.place(item[2], f"initializer {_short(tensor.name)!r}")
        if tensor.name:
            _claim(tensor.name, names, place)
        return self._cut(item, tensor, tensor.name, scope, place)

    def _nodes(self, items: list[Field], scope: str, depth: int, names: set[str]) -> list[Patch]:
        nodes = list(filter(None, map(self._read_node, items)))
        patches = []
        # Names inside subgraphs are made up, so they come last.
        for node in sorted(nodes, key=lambda node: not node.is_constant):
            if node.is_constant:
                inner = self._constant(node, scope, names)
            else:
                inner = self._subgraphs(node, scope, depth)
            patch = self._rebuilt(node.item, inner)
            if patch:
                patches.append(patch)
        return patches

    def _read_node(self, item: Field) -> _Node | None:
        """The node of field `item`, or None where none of its attributes is of interest."""
        data = self._reader.data
        found: dict[int, Field] = {}
        attributes = []
        for inner in self._reader.fields(item[3], item[4]):
            if inner[0] != _NODE_ATTRIBUTE:
                # The first output names a Constant's weight.
                if inner[0] != _NODE_OUTPUT or _NODE_OUTPUT not in found:
                    found[inner[0]] = inner
            elif inner[4] - inner[3] > _SMALL or _has_value(bytes(data[inner[3] : inner[4]])):
                self._reader.expect(inner, BYTES, "attribute")
                attributes.append(inner)
        if not attributes:
            return None
        name, output, op_type, domain = (
            self._name(found[number]) if number in found else ""
            for number in (_NODE_NAME, _NODE_OUTPUT, _NODE_OP_TYPE, _NODE_DOMAIN)
        )
        is_constant = op_type == "Constant" and domain in ("", "ai.onnx")
        return _Node(item, name, output, is_constant, attributes)

    def _name(self, item: Field) -> str:
        self._reader.expect(item, BYTES, "name")
        return self._reader.text(item[3], item[4])

    def _read_attribute(self, item: Field) -> _Attribute:
        attribute = _Attribute()
        for inner in self._reader.fields(item[3], item[4]):
            if inner[0] == _ATTRIBUTE_NAME:
                attribute.name = self._name(inner)
            elif inner[0] in (_ATTRIBUTE_TENSOR, _ATTRIBUTE_TENSORS):
                self._reader.expect(inner, BYTES, "attribute's tensor")
                attribute.tensors.append(inner)
            elif inner[0] in (_ATTRIBUTE_GRAPH, _ATTRIBUTE_GRAPHS):
                self._reader.expect(inner, BYTES, "attribute's graph")
                attribute.graphs.append(inner)
        return attribute

    def _constant(self, node: _Node, scope: str, names: set[str]) -> list[Patch]:
        reader = self._reader
        place = reader.place(node.item[2], f"Constant with output {_short(node.output)!r}")
        patches: list[Patch] = []
        for item in node.attributes:
            attribute = self._read_attribute(item)
            if attribute.name != "value" or not attribute.tensors:
                continue
            if len(attribute.tensors) > 1:
                raise ModelError("model-malformed", "an attribute has two tensors", place=place)
            inner = attribute.tensors[0]
            tensor = read_tensor(reader, inner[3], inner[4])
            cut = self._cut(inner, tensor, node.output, scope, place)
            if cut:
                _claim(node.output, names, place)
                patches += filter(None, [self._rebuilt(item, [cut])])
        return patches

    def _subgraphs(self, node: _Node, scope: str, depth: int) -> list[Patch]:
        patches: list[Patch] = []
        owner = (node.name or node.output)[:_SCOPE_NAME_CHARS]
        for item in node.attributes:
            attribute = self._read_attribute(item)
            self._refuse_external(attribute)
            prefix = f"{scope}{owner}.{attribute.name[:_SCOPE_NAME_CHARS]}"
            cuts: list[Patch] = []
            for index, graph in enumerate(attribute.graphs):
                inner = f"{prefix}[{index}]/" if len(attribute.graphs) > 1 else f"{prefix}/"
                weights = self._graph(graph, inner, depth + 1, set())
                cuts += filter(None, [self._rebuilt(graph, weights)])
            patches += filter(None, [self._rebuilt(item, cuts)])
        return patches

    def _refuse_external(self, attribute: _Attribute) -> None:
        reader = self._reader
        for item in attribute.tensors:
            if read_tensor(reader, item[3], item[4]).external:
                raise UnsupportedError(
                    "external-data-attribute",
                    "only initializers and Constant nodes may keep data in another file",
                    place=reader.place(item[2], f"attribute {_short(attribute.name)!r}"),
                )

    def _cut(
        self, item: Field, tensor: TensorFields, name: str, scope: str, place: str
    ) -> Patch | None:
        """The tensor of field `item` with a marker in place of its data; None where it stays."""
        reader = self._reader
        count = element_count(tensor, place)
        if tensor.data_type == STRING and not tensor.external:
            return None
        size = max(tensor.stored, count * DTYPE_BITS.get(tensor.dtype, 0) // 8)
        stays = size <= INLINE_BYTES and not tensor.external
        if stays and (tensor.dtype not in DTYPE_BITS or not tensor.in_one_piece):
            return None
        unique = name if stays else self._unique(scope + name)
        ref = locate(reader, tensor, unique, count, place, self._externals, self._file)
        if stays:
            return None
        if not name:
            raise ModelError("tensor-unnamed", "a weight has no name", place=place)
        self.weights[unique] = ref
        pattern = find_pattern(self._source, ref)
        text = None if pattern is None else pattern.text
        return enclose(reader.data, item, marked(reader, tensor, unique, text))

    def _unique(self, name: str) -> str:
        unique = name
        while unique in self.weights:
            self._copies[name] = self._copies.get(name, 1) + 1
            unique = f"{name}~{self._copies[name]}"
        return unique


def _has_value(content: bytes) -> bool:
    return _VALUE in content or _DATA_LOCATION_EXTERNAL in content


def _claim(name: str, names: set[str], place: str) -> None:
    if name in names:
        raise ModelError(
            "duplicate-name", f"two tensors of one graph are called {_short(name)!r}", place=place
        )
    names.add(name)


def _short(name: str) -> str:
    return name if len(name) <= 80 else f"{name[:77]}..."

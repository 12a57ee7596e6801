# SPDX-License-Identifier: MIT OR Apache-2.0
"""Scanning against onnx's own reader: the skeleton, the weights, and all that must be kept."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from xyntra.frontends.onnx.file.container import INLINE_BYTES, MARKER_KEY, ScannedModel, scan
from xyntra.frontends.onnx.file.wire import encode_bytes, encode_varint

SHAPE = (3, 701)
DTYPES = [
    name
    for name, _ in TensorProto.DataType.items()
    if name not in ("UNDEFINED", "STRING", "FLOAT6E2M3", "FLOAT6E3M2", "INT2", "UINT2")
]
UNPACKED_TAGS = {
    "float_data": 4,
    "int32_data": 5,
    "int64_data": 7,
    "double_data": 10,
    "uint64_data": 11,
}


def model_of(
    initializers: list[TensorProto] = [],  # noqa: B006
    nodes: list[onnx.NodeProto] = [],  # noqa: B006
    functions: list[onnx.FunctionProto] = [],  # noqa: B006
) -> onnx.ModelProto:
    graph = helper.make_graph(nodes, "graph", [], [], initializers)
    return helper.make_model(graph, functions=functions)


def floats(*shape: int, seed: int = 0) -> NDArray[np.float32]:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def constant(output: str, array: NDArray[np.float32], **more: str) -> onnx.NodeProto:
    return helper.make_node("Constant", [], [output], value=numpy_helper.from_array(array), **more)


def random_tensor(dtype: str, stored: str, shape: tuple[int, ...] = SHAPE) -> TensorProto:
    """A tensor of random bits, either in raw_data or in the field that is typed for it."""
    code = TensorProto.DataType.Value(dtype)
    array_dtype = helper.tensor_dtype_to_np_dtype(code)
    rng = np.random.default_rng(code)
    bits = 4 if dtype in ("INT4", "UINT4", "FLOAT4E2M1") else array_dtype.itemsize * 8
    raw = rng.integers(0, 256, (int(np.prod(shape)) * bits + 7) // 8, np.uint8)
    if dtype == "BOOL":
        raw &= 1
    if bits == 4:
        raw[-1] &= 0x0F
    tensor = TensorProto(name="w", data_type=code, dims=shape, raw_data=raw.tobytes())
    if stored == "raw":
        return tensor
    tensor.ClearField("raw_data")
    field = helper.tensor_dtype_to_field(code)
    # int32_data holds numbers as they are, anything else (also pairs of 4 bits) as unsigned bits.
    signed = "i" if dtype in ("INT8", "INT16", "INT32", "INT64") else "u"
    kind = {"float_data": "f4", "double_data": "f8"}.get(field, f"{signed}{max(bits, 8) // 8}")
    getattr(tensor, field).extend(raw.view(kind).tolist())
    return tensor


def unpacked(tensor: TensorProto) -> bytes:
    """The tensor with each element in a field of its own, as writers without packing store it."""
    (field,) = [name for name in UNPACKED_TAGS if len(getattr(tensor, name))]
    values = list(getattr(tensor, field))
    tag = UNPACKED_TAGS[field]
    tensor.ClearField(field)
    if field == "float_data":
        parts = [encode_varint(tag << 3 | 5) + np.float32(value).tobytes() for value in values]
    elif field == "double_data":
        parts = [encode_varint(tag << 3 | 1) + np.float64(value).tobytes() for value in values]
    else:
        parts = [encode_varint(tag << 3) + encode_varint(value % 2**64) for value in values]
    return b"".join([tensor.SerializeToString(), *parts])


def wrap(tensor: bytes) -> bytes:
    """A model with one initializer, given as bytes."""
    graph = encode_bytes(2, b"graph") + encode_bytes(5, tensor)
    return b"\x08\x0a" + encode_bytes(7, graph) + encode_bytes(8, b"\x0a\x00\x10\x14")


def marker(tensor: TensorProto) -> str:
    assert tensor.data_location == TensorProto.EXTERNAL
    (entry,) = tensor.external_data
    assert entry.key == MARKER_KEY
    return str(entry.value)


def assert_same(scanned: ScannedModel, name: str, expected: NDArray[np.generic]) -> None:
    found = scanned.source().load(scanned.weights[name])
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("stored", ["raw", "typed"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_reads_as_onnx_reads_it(dtype: str, stored: str) -> None:
    tensor = random_tensor(dtype, stored)
    scanned = scan(model_of([tensor]).SerializeToString())
    assert_same(scanned, "w", numpy_helper.to_array(tensor))
    (cut,) = onnx.ModelProto.FromString(scanned.skeleton).graph.initializer
    assert marker(cut) == cut.name == "w"
    assert (list(cut.dims), cut.data_type) == (list(SHAPE), tensor.data_type)
    assert len(scanned.skeleton) < INLINE_BYTES


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_reads_without_packing(dtype: str) -> None:
    tensor = random_tensor(dtype, "typed")
    data = wrap(unpacked(random_tensor(dtype, "typed")))
    assert_same(scan(data), "w", numpy_helper.to_array(tensor))


@pytest.mark.parametrize("dtype", ["INT2", "UINT2"])
@pytest.mark.parametrize("stored", ["raw", "typed"])
def test_two_bit_types(dtype: str, stored: str) -> None:
    array_dtype = helper.tensor_dtype_to_np_dtype(TensorProto.DataType.Value(dtype))
    array = np.random.default_rng(0).integers(0, 2, (9, 501)).astype(np.int8).astype(array_dtype)
    tensor = numpy_helper.from_array(array, "w")
    if stored == "typed":
        tensor.int32_data.extend(tensor.raw_data)
        tensor.ClearField("raw_data")
    assert_same(scan(model_of([tensor]).SerializeToString()), "w", numpy_helper.to_array(tensor))


@pytest.mark.parametrize("value", [-(2**31), -1, 2**31 - 1])
def test_an_int32_may_be_stored_in_five_bytes(value: int) -> None:
    numbers = encode_varint(value % 2**32) * 300
    tensor = TensorProto(name="w", data_type=TensorProto.INT32, dims=[300]).SerializeToString()
    scanned = scan(wrap(tensor + encode_bytes(5, numbers)))
    assert_same(scanned, "w", np.full(300, value, np.int32))


@pytest.mark.parametrize(("count", "cut"), [(0, False), (1, False), (256, False), (257, True)])
def test_only_large_tensors_are_cut(count: int, cut: bool) -> None:
    model = model_of([numpy_helper.from_array(floats(count), "w")]).SerializeToString()
    scanned = scan(model)
    assert bool(scanned.weights) is cut
    assert (scanned.skeleton == model) is not cut


def test_a_tensor_that_is_large_only_in_memory_is_cut() -> None:
    tensor = helper.make_tensor("w", TensorProto.INT64, [200], [1] * 200)
    assert len(tensor.SerializeToString()) < INLINE_BYTES
    assert_same(scan(model_of([tensor]).SerializeToString()), "w", np.ones(200, np.int64))
    node = helper.make_node("Constant", [], ["c"], value=tensor)
    assert_same(scan(model_of(nodes=[node]).SerializeToString()), "c", np.ones(200, np.int64))
    loop = helper.make_node("Loop", [], ["y"], body=helper.make_graph([], "g", [], [], [tensor]))
    assert_same(
        scan(model_of(nodes=[loop]).SerializeToString()), "y.body/w", np.ones(200, np.int64)
    )


def test_strings_stay() -> None:
    tensor = numpy_helper.from_array(np.array(["a" * 3000, "b"], object), "s")
    model = model_of([tensor]).SerializeToString()
    assert scan(model).skeleton == model


def test_attributes_of_other_nodes_and_sparse_tensors_stay() -> None:
    tensor = numpy_helper.from_array(floats(2000), "t")
    indices = numpy_helper.from_array(np.arange(2000), "i")
    sparse = helper.make_sparse_tensor(tensor, indices, [4000])
    model = model_of(
        nodes=[
            helper.make_node("Custom", [], ["a"], domain="my", value=tensor),
            helper.make_node("Constant", [], ["b"], domain="my", value=tensor),
            helper.make_node("Constant", [], ["c"], sparse_value=sparse),
            helper.make_node("Constant", [], ["d"], value_floats=[1.0] * 2000),
        ]
    )
    model.graph.sparse_initializer.append(sparse)
    data = model.SerializeToString()
    assert scan(data).skeleton == data


def test_everything_else_is_kept() -> None:
    array = floats(40, 40)
    tensor = numpy_helper.from_array(array, "w")
    tensor.doc_string = "kept"
    model = model_of([tensor], [helper.make_node("Add", ["w", "w"], ["y"], doc_string="d" * 3000)])
    model.metadata_props.add(key="k", value="v" * 5000)
    scanned = scan(model.SerializeToString())
    found = onnx.ModelProto.FromString(scanned.skeleton)
    restored = found.graph.initializer[0]
    assert marker(restored) == "w"
    restored.ClearField("external_data")
    restored.ClearField("data_location")
    restored.raw_data = array.tobytes()
    assert found == model


def test_unknown_fields_and_their_order_are_kept() -> None:
    unknown = encode_bytes(1000, b"from the future") + encode_varint(1001 << 3) + b"\x07"
    tensor = TensorProto(name="w", data_type=1, dims=[500]).SerializeToString()
    raw = encode_bytes(9, floats(500).tobytes())
    head, tail = encode_bytes(2, b"graph") + unknown, unknown + encode_bytes(10, b"doc")
    opset = encode_bytes(8, b"\x10\x14")

    def model(initializer: bytes) -> bytes:
        graph = head + encode_bytes(5, initializer) + tail
        return b"\x08\x0a" + unknown + encode_bytes(7, graph) + unknown + opset

    skeleton = scan(model(unknown + tensor + raw + unknown)).skeleton
    entry = encode_bytes(1, MARKER_KEY.encode()) + encode_bytes(2, b"w")
    mark = encode_bytes(13, entry) + encode_varint(14 << 3) + b"\x01"
    assert skeleton == model(unknown + tensor + unknown + mark)


def test_tags_in_longer_form_are_understood() -> None:
    tensor = numpy_helper.from_array(floats(1000), "w").SerializeToString()
    attribute = encode_bytes(1, b"body") + encode_bytes(6, encode_bytes(5, tensor))
    node = encode_bytes(2, b"y") + b"\xaa\x80\x00" + encode_varint(len(attribute)) + attribute
    graph = encode_bytes(1, node)
    data = b"\x08\x0a" + encode_bytes(7, graph) + encode_bytes(8, b"\x10\x14")
    assert_same(scan(data), "y.body/w", floats(1000))
    assert b"\xaa\x80\x00" in scan(data).skeleton


def test_constant_nodes() -> None:
    large, small = floats(33, 33), floats(2)
    model = model_of(nodes=[constant("c", large), constant("d", small), constant("e", large)])
    scanned = scan(model.SerializeToString())
    assert list(scanned.weights) == ["c", "e"]
    assert_same(scanned, "c", large)
    nodes = onnx.ModelProto.FromString(scanned.skeleton).graph.node
    assert marker(nodes[0].attribute[0].t) == "c"
    assert nodes[1] == model.graph.node[1]


def test_a_constant_is_named_after_its_first_output() -> None:
    node = constant("c", floats(400))
    node.output.append("d")
    assert list(scan(model_of(nodes=[node]).SerializeToString()).weights) == ["c"]


def test_a_constant_in_the_default_domain_by_its_name() -> None:
    model = model_of(nodes=[constant("c", floats(400), domain="ai.onnx")])
    assert list(scan(model.SerializeToString()).weights) == ["c"]


def branches(depth: int, name: str, seed: int) -> onnx.NodeProto:
    """An If whose branches hold weights of the same names, nested `depth` deep."""
    graphs = []
    for branch in (0, 1):
        tensor = numpy_helper.from_array(floats(300, seed=2 * seed + branch), "w")
        nodes = [constant("c", floats(400, seed=2 * seed + branch))]
        if depth > 1:
            nodes.append(branches(depth - 1, "inner", seed + 10 + branch))
        graphs.append(helper.make_graph(nodes, "g", [], [], [tensor]))
    return helper.make_node(
        "If", ["p"], ["y"], name=name, then_branch=graphs[0], else_branch=graphs[1]
    )


def graphs_of(node: onnx.NodeProto) -> dict[str, onnx.GraphProto]:
    return {a.name: a.g for a in node.attribute if a.type == onnx.AttributeProto.GRAPH}


def assert_subgraphs_match(
    scanned: ScannedModel, found: onnx.NodeProto, original: onnx.NodeProto
) -> int:
    """Compares the weights of all subgraphs through their markers; returns how many there were."""
    count = 0
    for name, graph in graphs_of(original).items():
        cut = graphs_of(found)[name]
        pairs = list(zip(cut.initializer, graph.initializer, strict=True))
        for node, other in zip(cut.node, graph.node, strict=True):
            if node.op_type == "Constant":
                pairs.append((node.attribute[0].t, other.attribute[0].t))
            count += assert_subgraphs_match(scanned, node, other)
        for tensor, other in pairs:
            assert_same(scanned, marker(tensor), numpy_helper.to_array(other))
        count += len(pairs)
    return count


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("names", [("a", "b"), ("a", "a"), ("", "")])
def test_weights_of_subgraphs(depth: int, names: tuple[str, str]) -> None:
    nodes = [branches(depth, name, seed) for seed, name in enumerate(names)]
    model = model_of([numpy_helper.from_array(floats(999), "w")], nodes)
    scanned = scan(model.SerializeToString())
    found = onnx.ModelProto.FromString(scanned.skeleton)
    pairs = zip(found.graph.node, model.graph.node, strict=True)
    count = sum(assert_subgraphs_match(scanned, node, other) for node, other in pairs)
    assert count == 2 * 4 * (2**depth - 1)
    assert len(scanned.weights) == count + 1
    assert_same(scanned, "w", floats(999))


def test_names_in_subgraphs_say_where_they_are() -> None:
    scanned = scan(model_of(nodes=[branches(1, "cond", 0)]).SerializeToString())
    assert set(scanned.weights) == {
        f"cond.{branch}_branch/{name}" for branch in ("then", "else") for name in ("w", "c")
    }


@pytest.mark.parametrize("as_constant", [True, False])
def test_names_of_the_main_graph_win_over_names_made_up(as_constant: bool) -> None:
    taken = "cond.then_branch/w"
    tensors = [] if as_constant else [numpy_helper.from_array(floats(555), taken)]
    nodes = [branches(1, "cond", 0)] + ([constant(taken, floats(555))] if as_constant else [])
    scanned = scan(model_of(tensors, nodes).SerializeToString())
    assert_same(scanned, taken, floats(555))
    assert_same(scanned, f"{taken}~2", floats(300, seed=0))


def test_attributes_with_several_graphs() -> None:
    graphs = [
        helper.make_graph([], "g", [], [], [numpy_helper.from_array(floats(300, seed=i), "w")])
        for i in range(2)
    ]
    node = helper.make_node("Switch", [], ["y"], domain="my", cases=graphs)
    scanned = scan(model_of(nodes=[node]).SerializeToString())
    assert_same(scanned, "y.cases[0]/w", floats(300, seed=0))
    assert_same(scanned, "y.cases[1]/w", floats(300, seed=1))


def test_constants_in_functions() -> None:
    function = helper.make_function(
        "my", "f", [], ["c"], [constant("c", floats(300))], [helper.make_opsetid("", 20)]
    )
    scanned = scan(model_of(functions=[function]).SerializeToString())
    assert_same(scanned, "my.f/c", floats(300))
    found = onnx.ModelProto.FromString(scanned.skeleton).functions[0]
    assert marker(found.node[0].attribute[0].t) == "my.f/c"


def test_a_graph_in_two_pieces_is_one_graph() -> None:
    pieces = [
        onnx.ModelProto(
            ir_version=10,
            graph=onnx.GraphProto(initializer=[numpy_helper.from_array(floats(300), name)]),
            opset_import=[helper.make_opsetid("", 20)],
        ).SerializeToString()
        for name in ("a", "b")
    ]
    scanned = scan(b"".join(pieces))
    found = onnx.ModelProto.FromString(scanned.skeleton).graph.initializer
    assert [marker(tensor) for tensor in found] == list(scanned.weights) == ["a", "b"]


def test_the_last_of_repeated_single_fields_counts() -> None:
    tensor = numpy_helper.from_array(floats(500), "first").SerializeToString()
    tensor += encode_bytes(8, b"second") + encode_bytes(9, floats(500, seed=1).tobytes())
    scanned = scan(wrap(tensor))
    assert_same(scanned, "second", floats(500, seed=1))
    (found,) = onnx.ModelProto.FromString(scanned.skeleton).graph.initializer
    assert marker(found) == "second"
    assert not found.HasField("raw_data")


def test_dims_may_be_packed() -> None:
    tensor = TensorProto(name="w", data_type=1, raw_data=floats(20, 30).tobytes())
    dims = encode_bytes(1, b"\x14\x1e")
    assert_same(scan(wrap(tensor.SerializeToString() + dims)), "w", floats(20, 30))


def test_versions() -> None:
    model = model_of()
    model.ir_version = 9
    del model.opset_import[:]
    model.opset_import.extend([helper.make_opsetid("ai.onnx", 17), helper.make_opsetid("my", 3)])
    scanned = scan(model.SerializeToString())
    assert (scanned.ir_version, scanned.opsets) == (9, {"": 17, "my": 3})


@pytest.mark.parametrize("as_text", [True, False])
def test_a_path(tmp_path: Path, as_text: bool) -> None:
    path = tmp_path / "model.onnx"
    data = model_of([numpy_helper.from_array(floats(1000), "w")]).SerializeToString()
    path.write_bytes(data)
    scanned = scan(str(path) if as_text else path)
    assert_same(scanned, "w", floats(1000))
    assert scanned.path == path
    assert scanned.buffer == data
    assert scanned.weights["w"].file == str(path)
    assert scanned.skeleton == scan(data).skeleton


def test_a_relative_path_survives_a_change_of_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    onnx.save_model(model_of([numpy_helper.from_array(floats(1000), "w")]), tmp_path / "m.onnx")
    monkeypatch.chdir(tmp_path)
    ref = scan("m.onnx").weights["w"]
    monkeypatch.chdir("/")
    assert ref.load().tobytes() == floats(1000).tobytes()


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_bytes(kind: type) -> None:
    data = model_of([numpy_helper.from_array(floats(1000), "w")]).SerializeToString()
    scanned = scan(kind(data))
    assert scanned.path is None
    assert scanned.weights["w"].file is None
    assert_same(scanned, "w", floats(1000))


def test_scanning_imports_no_heavy_library() -> None:
    data = model_of([numpy_helper.from_array(floats(1000), "w")]).SerializeToString()
    program = (
        "import sys; from xyntra.frontends.onnx.file.container import scan;"
        f"assert scan(bytes.fromhex('{data.hex()}')).weights;"
        "print([m for m in ('numpy', 'onnx', 'google.protobuf', 'ml_dtypes') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Models that are damaged or made to mislead: each gives a typed error."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from xyntra.errors import UnsupportedError, XyntraError
from xyntra.frontends.onnx.file import graphs
from xyntra.frontends.onnx.file.container import ScannedModel, scan
from xyntra.frontends.onnx.file.wire import encode_bytes


def tensor(**fields: Any) -> TensorProto:
    """An initializer of 600 floats, with `fields` set differently."""
    array = np.arange(600, dtype=np.float32)
    values: dict[str, Any] = {
        "name": "w",
        "data_type": 1,
        "dims": [600],
        "raw_data": array.tobytes(),
    }
    return TensorProto(**(values | fields))


def model_of(*initializers: TensorProto, nodes: tuple[onnx.NodeProto, ...] = ()) -> bytes:
    graph = helper.make_graph(nodes, "graph", [], [], initializers)
    return bytes(helper.make_model(graph).SerializeToString())


def wrap(*graph_fields: bytes) -> bytes:
    """A model around serialized fields of its graph."""
    return b"\x08\x0a" + encode_bytes(7, b"".join(graph_fields)) + encode_bytes(8, b"\x10\x14")


@functools.cache
def seed_model() -> bytes:
    """A model with every place that is read: initializers, constants, subgraphs, functions."""
    branch = helper.make_graph([], "g", [], [], [tensor(name="b")])
    small = numpy_helper.from_array(np.arange(4), "small")
    function = helper.make_function(
        "my", "f", [], ["c"], [helper.make_node("Constant", [], ["c"], value=tensor())], []
    )
    packed = helper.make_tensor("i", TensorProto.INT64, [300], range(300))
    nodes = [
        helper.make_node("Constant", [], ["k"], value=tensor(name="")),
        helper.make_node("If", ["p"], ["y"], then_branch=branch, else_branch=branch),
    ]
    graph = helper.make_graph(nodes, "graph", [], [], [tensor(), packed, small])
    model = helper.make_model(graph, functions=[function])
    return bytes(model.SerializeToString())


def refused(data: bytes) -> XyntraError:
    with pytest.raises(XyntraError) as caught:
        scan(data)
    assert caught.value.place
    assert caught.value.message
    return caught.value


def scan_or_refuse(data: bytes) -> ScannedModel | None:
    """The scan of damaged bytes with every weight loaded; None where a typed error says why not."""
    try:
        scanned = scan(data)
        source = scanned.source()
        for ref in scanned.weights.values():
            assert source.load(ref).shape == ref.shape
    except XyntraError:
        return None
    return scanned


BAD_TENSORS: dict[str, tuple[TensorProto, str]] = {
    "one element more": (tensor(dims=[601]), "tensor-size-mismatch"),
    "one element less": (tensor(dims=[599]), "tensor-size-mismatch"),
    "half of the data": (tensor(dims=[1200]), "tensor-size-mismatch"),
    "no data": (tensor(raw_data=b""), "tensor-size-mismatch"),
    "no data at all": (TensorProto(name="w", data_type=1, dims=[600]), "tensor-size-mismatch"),
    "data of a scalar": (tensor(dims=[]), "tensor-size-mismatch"),
    "data of nothing": (tensor(dims=[0]), "tensor-size-mismatch"),
    "part of an element": (tensor(raw_data=b"\0" * 2399), "tensor-size-mismatch"),
    "wider dtype": (tensor(data_type=TensorProto.DOUBLE), "tensor-size-mismatch"),
    "narrower dtype": (tensor(data_type=TensorProto.FLOAT16), "tensor-size-mismatch"),
    "small and wrong": (tensor(dims=[3], raw_data=b"\0" * 11), "tensor-size-mismatch"),
    "too few floats": (
        TensorProto(name="w", data_type=1, dims=[600], float_data=[0] * 599),
        "tensor-size-mismatch",
    ),
    "too many integers": (
        TensorProto(name="w", data_type=7, dims=[600], int64_data=[0] * 601),
        "tensor-size-mismatch",
    ),
    "too few pairs": (
        TensorProto(name="w", data_type=22, dims=[3001], int32_data=[0] * 1500),
        "tensor-size-mismatch",
    ),
    "negative dimension": (tensor(dims=[-600]), "tensor-shape-invalid"),
    "negative dimensions": (tensor(dims=[-20, -30]), "tensor-shape-invalid"),
    "lowest dimension": (tensor(dims=[-(2**63)]), "tensor-shape-invalid"),
    "product beyond 64 bits": (tensor(dims=[2**32, 2**32, 600]), "tensor-shape-invalid"),
    "product of zero in 64 bits": (tensor(dims=[2**32, 2**32]), "tensor-shape-invalid"),
    "empty but huge": (tensor(dims=[0, 2**62], raw_data=b""), "tensor-shape-invalid"),
    "largest dimension": (tensor(dims=[2**63 - 1]), "tensor-shape-invalid"),
    "terabytes": (tensor(dims=[2**40]), "tensor-size-mismatch"),
    "too many dimensions": (tensor(dims=[1] * 64 + [600]), "tensor-shape-invalid"),
    "dtype zero": (tensor(data_type=0), "tensor-dtype-unknown"),
    "dtype unknown": (tensor(data_type=29), "tensor-dtype-unknown"),
    "dtype negative": (tensor(data_type=-1), "tensor-dtype-unknown"),
    "dtype unreadable": (tensor(data_type=27), "tensor-dtype-unsupported"),
    "no name": (tensor(name=""), "tensor-unnamed"),
    "two kinds of data": (tensor(float_data=[1.0]), "tensor-data-ambiguous"),
    "data for another dtype": (
        TensorProto(name="w", data_type=1, dims=[600], int32_data=[0] * 600),
        "tensor-data-wrong-field",
    ),
    "unsigned data for another dtype": (
        TensorProto(name="w", data_type=6, dims=[600], uint64_data=[0] * 600),
        "tensor-data-wrong-field",
    ),
    "segments": (
        tensor(segment=TensorProto.Segment(begin=0, end=1)),
        "tensor-segment",
    ),
}


@pytest.mark.parametrize("as_constant", [False, True], ids=["initializer", "constant"])
@pytest.mark.parametrize("case", BAD_TENSORS)
def test_bad_tensors(case: str, as_constant: bool) -> None:
    bad, code = BAD_TENSORS[case]
    if as_constant:
        output = "out" if code != "tensor-unnamed" else ""
        node = helper.make_node("Constant", [], [output], value=bad)
        error = refused(model_of(nodes=(node,)))
        assert f"Constant with output {output!r}" in str(error.place)
    else:
        error = refused(model_of(bad))
        assert f"initializer {bad.name!r}" in str(error.place)
    assert error.code == code


def test_a_size_mismatch_says_what_was_expected() -> None:
    error = refused(model_of(tensor(dims=[20, 31])))
    assert error.cause == "shape 20x31 and dtype float32 needs 2480 bytes, the file has 2400"
    assert str(error.place).startswith("model given as bytes, initializer 'w', byte ")


NUMBERS = encode_bytes(5, b"\x01" * 700)
HEAD = TensorProto(name="w", data_type=6, dims=[1400]).SerializeToString()


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (HEAD + NUMBERS + NUMBERS, "tensor-data-split"),
        (HEAD + NUMBERS + b"\x28\x01" * 700, "tensor-data-split"),
        (
            HEAD + b"\x28\x01" * 700 + encode_bytes(12, b"doc") + b"\x28\x01" * 700,
            "tensor-data-split",
        ),
        (HEAD + b"\xa8\x00\x01" * 1400, "tensor-data-split"),
        (HEAD + b"\x28\x01" + b"\xa8\x00\x01" * 1399, "tensor-data-split"),
        (HEAD + b"\xa8\x00\x01" + b"\x28\x01" * 1399, "tensor-data-split"),
        (HEAD + b"\x28\x01" * 1399, "tensor-size-mismatch"),
        (HEAD + encode_bytes(5, b"\x01" * 1399 + b"\x80"), "model-malformed"),
        (HEAD + b"\x2d\x01\x02\x03\x04", "model-malformed"),
        (HEAD + b"\x48\x01", "model-malformed"),
        (HEAD + b"\x12\x01\x01", "model-malformed"),
        (HEAD + b"\x40\x01", "model-malformed"),
        (HEAD + b"\x42\x01\xff", "model-malformed"),
        (HEAD + b"\x0d\x00\x00\x00\x00", "model-malformed"),
        (HEAD + b"\x0a\x02\x01\x80", "model-malformed"),
        (HEAD + b"\x72\x01\x01", "model-malformed"),
        (HEAD + b"\x68\x01", "model-malformed"),
        (HEAD + b"\x6a\x02\x08\x01", "model-malformed"),
        (HEAD + b"\x0b\x0c", "model-malformed"),
        (HEAD + b"\x4a\x7f", "model-malformed"),
    ],
)
def test_bad_bytes_in_a_tensor(data: bytes, code: str) -> None:
    assert refused(wrap(encode_bytes(5, data))).code == code


@pytest.mark.parametrize(
    "graph",
    [
        b"\x08\x01",
        b"\x28\x01",
        encode_bytes(1, b"\x2a\x05value"),
        encode_bytes(1, b"\x28\x01" + b"value"),
        encode_bytes(1, encode_bytes(5, encode_bytes(1, b"value") + b"\x28\x01")),
        encode_bytes(1, encode_bytes(5, encode_bytes(1, b"value") + b"\x30\x01")),
        encode_bytes(1, encode_bytes(4, b"\xff\xff") + encode_bytes(5, encode_bytes(1, b"value"))),
    ],
)
def test_bad_bytes_in_a_graph(graph: bytes) -> None:
    assert refused(wrap(graph)).code == "model-malformed"


@pytest.mark.parametrize(
    "data",
    [
        b"\x0a\x01\x0a",
        b"\x08\x0a\x38\x01",
        b"\x08\x0a\xc8\x01\x01",
        b"\x08\x0a\x40\x01",
        b"\x08\x0a\x42\x02\x08\x01",
        b"\x08\x0a\x42\x03\x12\x01\x01",
        b"\x08\x0a\x42\x03\x0a\x01\xff",
    ],
)
def test_bad_bytes_in_the_model(data: bytes) -> None:
    assert refused(data + wrap()).code in ("model-malformed", "model-not-onnx")


def test_an_attribute_with_two_tensors() -> None:
    attribute = encode_bytes(1, b"value") + 2 * encode_bytes(5, tensor().SerializeToString())
    node = encode_bytes(2, b"y") + encode_bytes(4, b"Constant") + encode_bytes(5, attribute)
    assert refused(wrap(encode_bytes(1, node))).code == "model-malformed"


def constant_node(output: str) -> onnx.NodeProto:
    return helper.make_node("Constant", [], [output], value=tensor())


@pytest.mark.parametrize(
    "data",
    [
        model_of(tensor(), tensor()),
        model_of(tensor(), tensor(dims=[2], raw_data=b"\0" * 8)),
        model_of(*[tensor(dims=[2], raw_data=b"\0" * 8)] * 2),
        model_of(tensor(), nodes=(constant_node("w"),)),
        model_of(nodes=(constant_node("w"), constant_node("w"))),
        model_of(tensor()) + encode_bytes(7, encode_bytes(5, tensor().SerializeToString())),
    ],
    ids=["large", "large-small", "small", "constant", "constants", "two-graphs"],
)
def test_duplicate_names(data: bytes) -> None:
    assert refused(data).code == "duplicate-name"


def nested(depth: int) -> bytes:
    graph = encode_bytes(5, tensor().SerializeToString())
    for _ in range(depth - 1):
        attribute = encode_bytes(1, b"body") + encode_bytes(6, graph)
        graph = encode_bytes(1, encode_bytes(2, b"y") + encode_bytes(5, attribute))
    return wrap(graph)


def test_the_depth_of_graphs_is_bounded() -> None:
    deepest = scan(nested(graphs.MAX_GRAPH_DEPTH))
    assert len(deepest.weights) == 1
    assert onnx.ModelProto.FromString(deepest.skeleton).HasField("graph")
    for depth in (graphs.MAX_GRAPH_DEPTH + 1, 3000):
        error = refused(nested(depth))
        assert isinstance(error, UnsupportedError)
        assert error.code == "model-too-deep"


def test_long_names_do_not_multiply() -> None:
    long = "n" * 100_000
    branch = helper.make_graph([], "g", [], [], [tensor(name=str(i)) for i in range(50)])
    node = helper.make_node("If", ["p"], [long], name=long, then_branch=branch, else_branch=branch)
    scanned = scan(model_of(nodes=(node,)))
    assert len(scanned.weights) == 100
    assert max(map(len, scanned.weights)) < 200


def test_the_seed_model_is_sound() -> None:
    scanned = scan(seed_model())
    assert sorted(scanned.weights) == [
        "i",
        "k",
        "my.f/c",
        "w",
        "y.else_branch/b",
        "y.then_branch/b",
    ]


def test_truncation_at_every_byte() -> None:
    data = seed_model()
    whole = [n for n in range(len(data)) if scan_or_refuse(data[:n])]
    # A cut between two fields of the model, after the graph, is not visible in the file.
    assert all(scan(data[:n]).opsets for n in whole)
    assert len(whole) <= 3
    codes = {refused(data[:n]).code for n in range(len(data)) if n not in whole}
    assert codes <= {"model-empty", "model-truncated", "model-not-onnx", "opset-missing"}


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_changed_bytes_never_raise_anything_else(data: st.DataObject) -> None:
    damaged = bytearray(seed_model())
    for _ in range(data.draw(st.integers(1, 6))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    scan_or_refuse(bytes(damaged))


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_moved_bytes_never_raise_anything_else(data: st.DataObject) -> None:
    seed = seed_model()
    place = st.integers(0, len(seed))
    start, end, to = (data.draw(place) for _ in range(3))
    piece = seed[min(start, end) : max(start, end)]
    scan_or_refuse(seed[:to] + piece + seed[to:])
    scan_or_refuse(seed[: min(start, end)] + seed[max(start, end) :])


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200))
def test_random_graphs_never_raise_anything_else(graph: bytes) -> None:
    scan_or_refuse(wrap(graph))
    scan_or_refuse(wrap(encode_bytes(5, HEAD + graph)))
    scan_or_refuse(wrap(encode_bytes(1, b"\x22\x08Constant" + b"\x2a\x07\x0a\x05value" + graph)))


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300))
def test_random_files_never_raise_anything_else(data: bytes) -> None:
    scan_or_refuse(data)

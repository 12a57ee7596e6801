# SPDX-License-Identifier: MIT OR Apache-2.0
"""Outputs that are written where inputs lie."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T
from onnx import helper as h

import xyntra
from xyntra.errors import InputError, UnsupportedError, XyntraError

BATCH, HEADS, ROOM, SIZE = 2, 3, 32, 8
CONFIG = {"cache": False, "strict": True}
Array = np.ndarray[Any, Any]


def cache_model(
    length: int = 1, dtype: int = T.FLOAT, *, reads_old: bool = False
) -> onnx.ModelProto:
    """TensorScatter, the sum of what the cache then holds, and perhaps that of what it held."""
    shape = [BATCH, HEADS, ROOM, SIZE]
    nodes = [
        h.make_node("TensorScatter", ["past", "new", "at"], ["present"], axis=2),
        h.make_node("ReduceSum", ["present", "axes"], ["sums"], keepdims=0),
    ]
    outputs = [
        h.make_tensor_value_info("present", dtype, shape),
        h.make_tensor_value_info("sums", dtype, [BATCH, HEADS, SIZE]),
    ]
    if reads_old:
        nodes.append(h.make_node("ReduceSum", ["past", "axes"], ["before"], keepdims=0))
        outputs.append(h.make_tensor_value_info("before", dtype, [BATCH, HEADS, SIZE]))
    inputs = [
        h.make_tensor_value_info("past", dtype, shape),
        h.make_tensor_value_info("new", dtype, [BATCH, HEADS, length, SIZE]),
        h.make_tensor_value_info("at", T.INT64, [BATCH]),
    ]
    axes = h.make_tensor("axes", T.INT64, [1], [2])
    graph = h.make_graph(nodes, "cache", inputs, outputs, [axes])
    return h.make_model(graph, opset_imports=[h.make_opsetid("", 24)], ir_version=10)


def compiled(model: onnx.ModelProto, **aliases: str) -> xyntra.Executable:
    return xyntra.compile(model, target="cpu", aliases=aliases, config=CONFIG)


def arrays(length: int = 1, seed: int = 0) -> tuple[Array, Array]:
    draw = np.random.default_rng(seed)
    past = draw.standard_normal((BATCH, HEADS, ROOM, SIZE), np.float32)
    return past, draw.standard_normal((BATCH, HEADS, length, SIZE), np.float32)


def appended(past: Array, new: Array, at: Array) -> Array:
    result = past.copy()
    for row, start in enumerate(at):
        result[row, :, start : start + new.shape[2]] = new[row]
    return result


@pytest.fixture(scope="module")
def appending() -> xyntra.Executable:
    return compiled(cache_model(), present="past")


def test_a_cache_is_appended_to_where_it_lies(appending: xyntra.Executable) -> None:
    past, new = arrays()
    for step in range(3):
        at = np.array([step, ROOM - 1 - step])
        expected = appended(past, new, at)
        present, sums = appending(past, new, at)
        assert present is past
        np.testing.assert_array_equal(past, expected)
        np.testing.assert_allclose(sums, expected.sum(2), rtol=1e-4, atol=1e-5)
    assert appending.plan.aliases == ((0, 0),)
    assert not appending.plan.outputs[0].copied
    assert "present over past: in place" in appending.explain()


def test_what_is_not_appended_is_neither_read_nor_written(appending: xyntra.Executable) -> None:
    writers = [step for step in appending.plan.steps if step.outputs[0] == 0]
    assert len(writers) == 1
    # Nothing beside the outputs is as large as the cache: no copy of it can be anywhere.
    nbytes = appending.inputs[0].nbytes
    large = [buffer for buffer in appending.plan.buffers if buffer.nbytes >= nbytes]
    assert [buffer.kind for buffer in large] == ["state"]


@pytest.mark.parametrize("length", [1, 5, ROOM])
def test_readers_of_the_old_values_come_first(length: int) -> None:
    exe = compiled(cache_model(length, reads_old=True), present="past")
    past, new = arrays(length)
    at = np.array([0, ROOM - length])
    old, expected = past.copy(), appended(past, new, at)
    _, sums, before = exe(past, new, at)
    np.testing.assert_allclose(before, old.sum(2), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(sums, expected.sum(2), rtol=1e-4, atol=1e-5)
    assert not exe.plan.outputs[0].copied


def elementwise_model() -> onnx.ModelProto:
    """Results that take each other's places, and one that its own input is read again behind."""
    info = [h.make_tensor_value_info(name, T.FLOAT, [6, 7]) for name in "abpq"]
    nodes = [h.make_node("Neg", ["b"], ["p"]), h.make_node("Exp", ["a"], ["q"])]
    graph = h.make_graph(nodes, "swap", info[:2], info[2:])
    return h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)


def test_what_cannot_be_written_in_place_is_copied_and_says_so() -> None:
    exe = compiled(elementwise_model(), p="a", q="b")
    a, b = np.random.default_rng(1).standard_normal((2, 6, 7), np.float32)
    expected = -b, np.exp(a)
    p, q = exe(a, b)
    assert p is a
    assert q is b
    for found, wanted in zip((a, b), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-6)
    if any(port.copied for port in exe.outputs):
        assert "copied at the end, because" in exe.explain()


def test_outputs_may_be_given_by_name(appending: xyntra.Executable) -> None:
    past, new = arrays()
    at = np.array([4, 5])
    sums = np.empty((BATCH, HEADS, SIZE), np.float32)
    expected = appended(past, new, at)
    found = appending(past, new, at, out={"present": past, "sums": sums})
    assert found[0] is past
    assert found[1] is sums
    np.testing.assert_allclose(sums, expected.sum(2), rtol=1e-4, atol=1e-5)
    assert appending(past, new, at, out={"present": past})[0] is past
    assert set(appending.run({"past": past, "new": new, "at": at})) == {"present", "sums"}
    assert appending.submit(past, new, at).result()[0] is past


def test_states_are_made_and_kept_through_files(appending: xyntra.Executable) -> None:
    states = appending.new_states()
    assert list(states) == ["past"]
    assert not states["past"].any()
    again = pickle.loads(pickle.dumps(appending))
    assert again.plan.aliases == appending.plan.aliases
    _, new = arrays()
    again(states["past"], new, np.array([1, 2]))
    assert states["past"][0, :, 1].any()


def test_kernels_are_timed_on_a_copy(appending: xyntra.Executable) -> None:
    past, new = arrays()
    before = past.copy()
    appending.time_kernels({"past": past, "new": new, "at": np.array([0, 0])})
    np.testing.assert_array_equal(past, before)


def _read_only(past: Array) -> Array:
    past.flags.writeable = False
    return past


@pytest.mark.parametrize(
    ("code", "change"),
    [
        ("state-layout", lambda past: past[:, :, ::-1]),
        ("state-layout", _read_only),
        ("state-layout", lambda past: past.tolist()),
        ("input-dtype", lambda past: past.astype(np.float64)),
        ("input-shape", lambda past: past[:, :, 1:]),
    ],
)
def test_arrays_that_cannot_be_written_over_are_refused(
    appending: xyntra.Executable, code: str, change: Any
) -> None:
    past, new = arrays()
    given = change(past)
    with pytest.raises(InputError) as failure:
        appending(given, new, np.array([0, 0]))
    assert failure.value.code == code


def test_calls_that_contradict_themselves_write_nothing(appending: xyntra.Executable) -> None:
    past, new = arrays()
    before, at = past.copy(), np.array([0, 0])
    for code, call in {
        "state-full": lambda: appending(past, new, np.array([0, ROOM])),
        "state-moved": lambda: appending(past, new, at, out={"present": past.copy()}),
        "state-overlap": lambda: (
            appending(past, past[:, :, :1].reshape(new.shape), at)
            if BATCH * HEADS == 1
            else appending(past, past.reshape(-1)[: new.size].reshape(new.shape), at)
        ),
        "unknown-output": lambda: appending(past, new, at, out={"preset": past}),
        "output-count": lambda: appending(past, new, at, out=[past]),
        "input-count": lambda: appending(past, new),
    }.items():
        with pytest.raises(InputError) as failure:
            call()
        assert failure.value.code == code
        np.testing.assert_array_equal(past, before)


def test_an_output_over_an_input_has_to_be_declared() -> None:
    exe = compiled(cache_model())
    past, new = arrays()
    before = past.copy()
    sums = np.empty((BATCH, HEADS, SIZE), np.float32)
    with pytest.raises(InputError) as failure:
        exe(past, new, np.array([0, 0]), out={"present": past, "sums": sums})
    assert failure.value.code == "output-overlap"
    assert "aliases=" in str(failure.value)
    np.testing.assert_array_equal(past, before)


@pytest.mark.parametrize(
    ("code", "aliases"),
    [
        ("unknown-input", {"present": "pest"}),
        ("unknown-output", {"presents": "past"}),
        ("alias-shape", {"present": "new"}),
        ("alias-dtype", {"present": "at"}),
        ("alias-twice", {"present": "past", "sums": "past"}),
        ("alias-type", ["present"]),
    ],
)
def test_aliases_that_cannot_be_are_refused(code: str, aliases: Any) -> None:
    with pytest.raises(XyntraError) as failure:
        xyntra.compile(cache_model(), target="cpu", aliases=aliases, config=CONFIG)
    assert failure.value.code == code


def attention_model(queries: int, heads: int, groups: int, room: int) -> onnx.ModelProto:
    """GroupQueryAttention with caches of one size before and after."""
    info = h.make_tensor_value_info
    cache = [BATCH, groups, room, 16]
    inputs = [info("q", T.FLOAT, [BATCH, queries, heads * 16])]
    inputs += [info(name, T.FLOAT, [BATCH, queries, groups * 16]) for name in "kv"]
    inputs += [info("past_k", T.FLOAT, cache), info("past_v", T.FLOAT, cache)]
    inputs += [info("last", T.INT32, [BATCH]), info("total", T.INT32, [1])]
    outputs = [info("y", T.FLOAT, [BATCH, queries, heads * 16])]
    outputs += [info("now_k", T.FLOAT, cache), info("now_v", T.FLOAT, cache)]
    node = h.make_node(
        "GroupQueryAttention",
        [each.name for each in inputs],
        [each.name for each in outputs],
        domain="com.microsoft",
        num_heads=heads,
        kv_num_heads=groups,
    )
    graph = h.make_graph([node], "attention", inputs, outputs)
    opsets = [h.make_opsetid("", 20), h.make_opsetid("com.microsoft", 1)]
    return h.make_model(graph, opset_imports=opsets, ir_version=9)


@pytest.mark.parametrize(
    ("queries", "heads", "groups"), [(1, 4, 1), (1, 3, 3), (3, 4, 2), (1, 8, 1)]
)
def test_attention_reads_what_the_caches_hold_alone(queries: int, heads: int, groups: int) -> None:
    room = 600
    model = attention_model(queries, heads, groups, room)
    exe = compiled(model, now_k="past_k", now_v="past_v")
    draw = np.random.default_rng(queries)
    for length in (queries, 65, 513, room):
        lengths = np.array([length, max(length - 7, queries)])
        q, k, v = (
            draw.standard_normal((BATCH, queries, n * 16), np.float32)
            for n in (heads, groups, groups)
        )
        keys, values = draw.standard_normal((2, BATCH, groups, room, 16), np.float32)
        for row, filled in enumerate(lengths):  # what is behind is not even looked at
            keys[row, :, filled + 64 :] = values[row, :, filled + 64 :] = np.nan
        new = [each.reshape(BATCH, queries, groups, 16).transpose(0, 2, 1, 3) for each in (k, v)]
        whole = [
            appended(old, each, lengths - queries)
            for old, each in zip((keys, values), new, strict=True)
        ]
        last = (lengths - 1).astype(np.int32)
        found = exe(q, k, v, keys, values, last, np.array([length], np.int32))
        expected = _attended(q.reshape(BATCH, queries, heads, 16), *whole, lengths)
        np.testing.assert_allclose(found[0], expected, rtol=1e-4, atol=1e-5)
        np.testing.assert_array_equal(keys, whole[0])
        np.testing.assert_array_equal(values, whole[1])


def _attended(q: Array, keys: Array, values: Array, lengths: Array) -> Array:
    batch, queries, heads, size = q.shape
    result = np.empty(q.shape)
    for b in range(batch):
        for i in range(queries):
            seen = lengths[b] - queries + i + 1
            for head in range(heads):
                group = head * keys.shape[1] // heads
                scores = keys[b, group, :seen].astype(np.float64) @ q[b, i, head] / size**0.5
                weights = np.exp(scores - scores.max())
                result[b, i, head] = weights / weights.sum() @ values[b, group, :seen]
    return result.reshape(batch, queries, heads * size)


def concatenating_model(*, shape: bool = False, length: int = 1) -> onnx.ModelProto:
    """Concat of a cache and new positions, and perhaps the shape of the cache."""
    info = h.make_tensor_value_info
    inputs = [info("past", T.FLOAT, [BATCH, HEADS, ROOM, SIZE])]
    inputs.append(info("new", T.FLOAT, [BATCH, HEADS, length, SIZE]))
    outputs = [info("present", T.FLOAT, [BATCH, HEADS, None, SIZE])]
    nodes = [h.make_node("Concat", ["past", "new"], ["present"], axis=2)]
    if shape:
        nodes.append(h.make_node("Shape", ["past"], ["sizes"]))
        outputs.append(info("sizes", T.INT64, [4]))
    graph = h.make_graph(nodes, "concat", inputs, outputs)
    return h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)


def test_a_concat_appends_to_a_cache_with_room() -> None:
    exe = compiled(concatenating_model(), present="past")
    assert [port.name for port in exe.inputs] == ["past", "new", "cache_length"]
    past, new = arrays()
    expected = appended(past, new, np.array([3, 0]))
    assert exe(past, new, np.array([3, 0])) is past
    np.testing.assert_array_equal(past, expected)
    with pytest.raises(InputError) as failure:
        exe(past, new, np.array([0, ROOM]))
    assert failure.value.code == "state-full"
    assert f"room for {ROOM} positions has none for 1 more" in str(failure.value)
    np.testing.assert_array_equal(past, expected)


@pytest.mark.parametrize("model", [concatenating_model(shape=True), concatenating_model(length=2)])
def test_what_the_length_of_a_cache_decides_is_refused(model: onnx.ModelProto) -> None:
    with pytest.raises(UnsupportedError):
        compiled(model, present="past")

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Sizes that are sums and products of others: a cache, what is new, and a mask over both."""

from typing import Any

import numpy as np
import onnx
import pytest
from onnx_models import make_model

import xyntra
from xyntra.errors import InputError
from xyntra.executable import Executable

Array = np.ndarray[Any, Any]
SETTINGS = {"cache": False, "strict": True}
HEADS, WIDTH = 2, 8
RANGES: dict[str, Any] = {"b": range(1, 5), "past": range(1, 41), "seq": range(1, 21)}


def _decoder(total: str) -> onnx.ModelProto:
    """One step of attention over a cache, as decoders are exported: new keys are appended."""
    new = ["b", HEADS, "seq", WIDTH]
    past = ["b", HEADS, "past", WIDTH]
    nodes = [
        onnx.helper.make_node("Concat", ["past_k", "k"], ["present_k"], axis=2),
        onnx.helper.make_node("Concat", ["past_v", "v"], ["present_v"], axis=2),
        onnx.helper.make_node("Transpose", ["present_k"], ["turned"], perm=[0, 1, 3, 2]),
        ("MatMul", ["q", "turned"], ["scores"]),
        ("Unsqueeze", ["mask", "axes"], ["masked"]),
        ("Add", ["scores", "masked"], ["sums"]),
        onnx.helper.make_node("Softmax", ["sums"], ["weights"], axis=-1),
        ("MatMul", ["weights", "present_v"], ["y"]),
    ]
    inputs: dict[str, Any] = dict.fromkeys(("q", "k", "v"), new)
    inputs |= {"past_k": past, "past_v": past, "mask": ["b", total]}
    model: onnx.ModelProto = make_model(
        nodes, inputs, ["y", "present_k"], {"axes": np.array([1, 2])}
    )
    return model


def _arrays(b: int, past: int, seq: int) -> list[Array]:
    rng = np.random.default_rng(past)
    shapes = [(b, HEADS, n, WIDTH) for n in (seq, seq, seq, past, past)]
    arrays = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
    mask = np.where(rng.random((b, past + seq)) < 0.3, -1e4, 0).astype(np.float32)
    return [*arrays, mask]


def _expected(q: Array, k: Array, v: Array, past_k: Array, past_v: Array, mask: Array) -> Array:
    keys, values = (np.concatenate(each, 2) for each in ((past_k, k), (past_v, v)))
    scores = q.astype(np.float64) @ keys.swapaxes(2, 3) + mask[:, None, None]
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    result: Array = weights / weights.sum(-1, keepdims=True) @ values
    return result


@pytest.fixture(scope="module")
def decoder() -> Executable:
    return xyntra.compile(_decoder("past + seq"), target="cpu", dims=RANGES, config=SETTINGS)


@pytest.mark.parametrize("sizes", [(1, 1, 1), (2, 17, 1), (4, 40, 20), (3, 1, 13)])
def test_a_sum_of_sizes_is_as_large_as_these_say(
    decoder: Executable, sizes: tuple[int, int, int]
) -> None:
    arrays = _arrays(*sizes)
    y, present = decoder(*arrays)
    np.testing.assert_allclose(y, _expected(*arrays), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(present, np.concatenate([arrays[3], arrays[1]], 2))


def test_a_sum_that_does_not_fit_says_what_bound_its_parts(decoder: Executable) -> None:
    arrays = _arrays(2, 5, 3)
    arrays[-1] = np.zeros((2, 9), np.float32)
    with pytest.raises(InputError) as caught:
        decoder(*arrays)
    text = str(caught.value)
    assert "dimension 1 has to be past + seq = 8" in text
    assert "input 'q' bound seq = 3" in text
    assert "input 'past_k' bound past = 5" in text
    assert "past + seq" in decoder.explain()


def test_relations_are_given_where_the_model_does_not_say() -> None:
    dims = {**RANGES, "total": "past + seq"}
    exe = xyntra.compile(_decoder("total"), target="cpu", dims=dims, config=SETTINGS)
    arrays = _arrays(2, 9, 4)
    np.testing.assert_allclose(exe(*arrays)[0], _expected(*arrays), rtol=1e-4, atol=1e-5)
    fixed: dict[str, Any] = {"b": 2, "past": 9, "seq": 4, "total": "past + seq"}
    static = xyntra.compile(_decoder("total"), target="cpu", dims=fixed, config=SETTINGS)
    np.testing.assert_allclose(static(*arrays)[0], exe(*arrays)[0], rtol=1e-4, atol=1e-5)


def test_names_that_are_sums_need_no_size_of_their_own() -> None:
    sizes = {"b": 2, "past": 9, "seq": 4}
    exe = xyntra.compile(_decoder("past + seq"), target="cpu", dims=sizes, config=SETTINGS)
    assert exe.inputs[-1].shape == (2, 13)


@pytest.mark.parametrize(
    ("relation", "says"),
    [("past + more", "the size of 'more' is not given"), ("past +", "no expression of sizes")],
)
def test_relations_of_what_has_no_size_are_refused(relation: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        xyntra.compile(_decoder("total"), dims={**RANGES, "total": relation}, config=SETTINGS)


def test_a_multiple_of_a_size_binds_it() -> None:
    model = make_model([("Abs", ["x"], ["z"])], {"x": ["2*n", 3]}, ["z"])
    exe = xyntra.compile(model, target="cpu", dims={"n": range(1, 65)}, config=SETTINGS)
    assert exe(np.full((6, 3), -1, np.float32)).shape == (6, 3)
    with pytest.raises(InputError, match=r"dimension 0 is 7, which is no 2\*n"):
        exe(np.zeros((7, 3), np.float32))
    with pytest.raises(InputError, match="n = 65 is not in its range"):
        exe(np.zeros((130, 3), np.float32))


def test_a_size_has_two_names() -> None:
    model = make_model([("Add", ["x", "y"], ["z"])], {"x": ["n", 3], "y": ["m", 3]}, ["z"])
    dims = {"n": range(1, 65), "m": "n"}
    exe = xyntra.compile(model, target="cpu", dims=dims, config=SETTINGS)
    x = np.ones((7, 3), np.float32)
    np.testing.assert_array_equal(exe(x, x), x + x)
    assert "float32 (n, 3)" in repr(exe)
    with pytest.raises(InputError, match="bound n = 7"):
        exe(x, x[:1])

# SPDX-License-Identifier: MIT OR Apache-2.0
"""GroupQueryAttention of com.microsoft, against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from arrays import normal
from harness import compare, graph_model, node_model, reference, run
from refusals import check_invalid, check_unsupported

DOMAIN = "com.microsoft"
HEADS, GROUPS, SIZE, PLACES = 6, 2, 16, 24
ORDER = (
    "q", "k", "v", "past_k", "past_v", "lengths", "total", "cos", "sin", "places", "bias",
    "sink",
)  # fmt: skip


def inputs(
    batch: int, new: int, past: int, lengths: list[int], total: int, **more: np.ndarray
) -> dict[str, np.ndarray]:
    """The inputs of sequences with `lengths` positions, the `new` ones included."""
    own = {
        "q": normal(batch, new, HEADS * SIZE),
        "k": normal(batch, new, GROUPS * SIZE, seed=1),
        "v": normal(batch, new, GROUPS * SIZE, seed=2),
        "past_k": normal(batch, GROUPS, past, SIZE, seed=3),
        "past_v": normal(batch, GROUPS, past, SIZE, seed=4),
        "lengths": np.array(lengths, "int32") - 1,
        "total": np.array([total], "int32"),
    }
    if not past:
        del own["past_k"], own["past_v"]
    return own | more


ANGLES = {"cos": normal(PLACES, SIZE // 2, seed=5), "sin": normal(PLACES, SIZE // 2, seed=6)}


def node_of(
    given: dict[str, np.ndarray], *, total_is_known: bool = True, **attributes: Any
) -> tuple[Any, dict[str, np.ndarray]]:
    """A model of one node, and its inputs."""
    names = [name if name in given else "" for name in ORDER]
    while not names[-1]:
        names.pop()
    counts = {"num_heads": HEADS, "kv_num_heads": GROUPS}
    rest = {"domain": DOMAIN, "names": names, "outputs": 3} | counts | attributes
    known = {"total": given["total"]} if total_is_known else {}
    fed = {name: array for name, array in given.items() if name not in known}
    return node_model("GroupQueryAttention", fed, constants=known, **rest), fed


def check(given: dict[str, np.ndarray], **attributes: Any) -> None:
    model, fed = node_of(given, **attributes)
    compare(run(model, fed), reference(model, fed), 1e-4, 1e-5)


CACHES = {
    "a prompt": (2, 5, 0, [5, 5], 5),
    "one sequence": (1, 1, 7, [8], 8),
    "a cache with room": (1, 1, 12, [8], 8),
    "several at once": (1, 4, 7, [11], 11),
    "sequences of their own": (3, 1, 9, [10, 4, 7], 10),
}


@pytest.mark.parametrize("rotates", [0, 1])
@pytest.mark.parametrize("name", CACHES)
def test_caches(name: str, rotates: int) -> None:
    check(inputs(*CACHES[name], **(ANGLES if rotates else {})), do_rotary=rotates)


@pytest.mark.parametrize("name", ["a prompt", "one sequence", "sequences of their own"])
@pytest.mark.parametrize(
    "attributes",
    [
        {"scale": 0.3}, {"softcap": 2.0}, {"local_window_size": 3},
        {"local_window_size": 2, "softcap": 1.5}, {"smooth_softmax": 1},
    ],
)  # fmt: skip
def test_attributes(name: str, attributes: dict[str, float]) -> None:
    check(inputs(*CACHES[name]), **attributes)


BUFFERS = {
    "a prompt": (1, 4, 12, [4], 4),
    "a step": (1, 1, 12, [8], 8),
    "the last step": (1, 1, 12, [12], 12),
    "prompts": (2, 5, 12, [5, 3], 5),
    "sequences of their own": (3, 1, 12, [10, 4, 7], 10),
}


@pytest.mark.parametrize("attributes", [{}, {"do_rotary": 1}, {"local_window_size": 3}])
@pytest.mark.parametrize("name", BUFFERS)
def test_a_total_that_is_an_input(name: str, attributes: dict[str, int]) -> None:
    """One executable serves all steps: the past is a buffer of the final length."""
    given = inputs(*BUFFERS[name], **(ANGLES if "do_rotary" in attributes else {}))
    model, fed = node_of(given, total_is_known=False, **attributes)
    found, wanted = run(model, fed), reference(model, fed)
    for i, length in enumerate(BUFFERS[name][3]):
        new = min(BUFFERS[name][1], length)
        np.testing.assert_allclose(found[0][i, :new], wanted[0][i, :new], 1e-4, 1e-5)
        for mine, theirs in zip(found[1:], wanted[1:], strict=True):
            assert mine.shape == theirs.shape
            np.testing.assert_allclose(mine[i, :, :length], theirs[i, :, :length], 1e-4, 1e-5)


def test_a_total_without_room_in_the_past() -> None:
    given = inputs(1, 1, 7, [8], 8)
    model, fed = node_of(given, total_is_known=False)
    assert np.isnan(run(model, fed)[0]).all()


def test_several_queries_of_sequences_of_their_own() -> None:
    """onnxruntime takes one such sequence at a time."""
    lengths, new = [12, 5], 3
    together = inputs(2, new, 9, lengths, 12, **ANGLES)
    model, fed = node_of(together, do_rotary=1)
    found = run(model, fed)[0]
    for i, length in enumerate(lengths):
        alone = {name: array[i : i + 1] for name, array in together.items() if array.ndim > 2}
        for name in ("past_k", "past_v"):
            alone[name] = alone[name][:, :, : length - new]
        counts = {"lengths": np.array([length - 1], "int32"), "total": np.array([length], "int32")}
        model, fed = node_of(alone | counts | ANGLES, do_rotary=1)
        np.testing.assert_allclose(found[i : i + 1], reference(model, fed)[0], 1e-4, 1e-5)


def test_a_bias_and_positions() -> None:
    more = {"bias": normal(1, HEADS, 2, 9, seed=7), "places": np.array([[3, 11]])}
    check(inputs(1, 2, 7, [9], 9, **ANGLES, **more), do_rotary=1, rotary_interleaved=1)


@pytest.mark.parametrize("name", CACHES)
def test_scores_without_values(name: str) -> None:
    check(inputs(*CACHES[name], sink=normal(HEADS, seed=8)), local_window_size=4)


def test_queries_keys_and_values_in_one() -> None:
    given = inputs(1, 3, 7, [10], 10)
    given["q"] = np.concatenate([given.pop(name) for name in "qkv"], 2)
    check(given)


def test_halves() -> None:
    given = inputs(2, 1, 9, [10, 4], 10)
    narrow = {name: x.astype("f2") if x.dtype == "f4" else x for name, x in given.items()}
    model, fed = node_of(narrow)
    plain, wide = node_of(given)
    wanted = [each.astype("f2") for each in reference(plain, wide)]
    compare(run(model, fed), wanted, 1e-2, 1e-2)


@pytest.mark.parametrize("batch", [1, 2])
def test_lengths_of_a_mask(batch: int) -> None:
    """As exporters write it: lengths are sums of the mask, and the total is its shape."""
    given = inputs(batch, 1, 7, [8] * batch, 8)
    known = {"ones": np.array([1], "int64"), "place": np.array([1], "int64")}
    fed = {name: x for name, x in given.items() if name not in ("lengths", "total")}
    fed["mask"] = np.ones((batch, 8), "int64")
    node = onnx.helper.make_node
    nodes = [
        node("ReduceSum", ["mask", "ones"], ["sums"], keepdims=0),
        node("Sub", ["sums", "ones"], ["last"]),
        node("Cast", ["last"], ["lengths"], to=onnx.TensorProto.INT32),
        node("Shape", ["mask"], ["shape"]),
        node("Gather", ["shape", "place"], ["wide"]),
        node("Cast", ["wide"], ["total"], to=onnx.TensorProto.INT32),
        node(
            "GroupQueryAttention", list(ORDER[:7]), ["y", "y1", "y2"], domain=DOMAIN,
            num_heads=HEADS, kv_num_heads=GROUPS,
        ),
    ]  # fmt: skip
    model = graph_model(nodes, fed, ["y", "y1", "y2"], known, domain=DOMAIN)
    plain, plain_fed = node_of(given)  # onnxruntime's shape inference stumbles over the Cast
    compare(run(model, fed), reference(plain, plain_fed), 1e-4, 1e-5)


def test_refusals() -> None:
    counts = {"domain": DOMAIN, "num_heads": HEADS, "kv_num_heads": GROUPS}
    given = inputs(1, 2, 0, [2], 2)
    check_unsupported("GroupQueryAttention", given, "k_quant_type", k_quant_type="INT8", **counts)
    check_invalid("GroupQueryAttention", given, "groups", **(counts | {"kv_num_heads": 4}))

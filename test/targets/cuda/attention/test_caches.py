# SPDX-License-Identifier: MIT OR Apache-2.0
"""Attention beside caches that are written in place, run from its PTX without a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from emulator import run_artifact
from onnx import TensorProto as T
from onnx import helper as h

import xyntra
from xyntra.executable import Executable
from xyntra.targets.cuda.code.kernel_image import KernelImage

BATCH, HEADS, GROUPS, ROOM, SIZE = 2, 4, 2, 300, 16
ALIASES = {"now_k": "past_k", "now_v": "past_v"}
Array = np.ndarray[Any, Any]


def scattering() -> onnx.ModelProto:
    """TensorScatter and Attention of opset 24, as exporters write a static cache."""
    info = h.make_tensor_value_info
    cache, new = [BATCH, GROUPS, ROOM, SIZE], [BATCH, GROUPS, 1, SIZE]
    inputs = [info("q", T.FLOAT, [BATCH, HEADS, 1, SIZE])]
    inputs += [info("k", T.FLOAT, new), info("v", T.FLOAT, new)]
    inputs += [info("past_k", T.FLOAT, cache), info("past_v", T.FLOAT, cache)]
    inputs += [info("at", T.INT64, [BATCH]), info("length", T.INT64, [BATCH])]
    outputs = [info("y", T.FLOAT, [BATCH, HEADS, 1, SIZE])]
    outputs += [info("now_k", T.FLOAT, cache), info("now_v", T.FLOAT, cache)]
    nodes = [
        h.make_node("TensorScatter", ["past_k", "k", "at"], ["now_k"], axis=2),
        h.make_node("TensorScatter", ["past_v", "v", "at"], ["now_v"], axis=2),
        h.make_node("Attention", ["q", "now_k", "now_v", "", "", "", "length"], ["y"]),
    ]
    graph = h.make_graph(nodes, "decode", inputs, outputs)
    return h.make_model(graph, opset_imports=[h.make_opsetid("", 24)], ir_version=11)


@pytest.fixture(scope="module")
def decode() -> Executable:
    config = {"cache": False, "strict": True}
    return xyntra.compile(scattering(), target="cuda:sm_90a", aliases=ALIASES, config=config)


def drawn(filled: int) -> tuple[list[Array], Array, list[Array]]:
    """The inputs of a call, what it should return, and what the caches should hold then."""
    draw = np.random.default_rng(filled)
    length = np.array([filled, max(1, filled - 3)])
    q = draw.standard_normal((BATCH, HEADS, 1, SIZE), np.float32)
    new = draw.standard_normal((2, BATCH, GROUPS, 1, SIZE), np.float32)
    caches = draw.standard_normal((2, BATCH, GROUPS, ROOM, SIZE), np.float32)
    for row, count in enumerate(length):  # tiles behind the last key are not even looked at
        caches[:, row, :, count + 128 :] = np.nan
    after = caches.copy()
    y = np.empty((BATCH, HEADS, 1, SIZE))
    for row, count in enumerate(length):
        after[:, row, :, count - 1] = new[:, row, :, 0]
        for head in range(HEADS):
            keys, values = after[:, row, head * GROUPS // HEADS, :count].astype(np.float64)
            scores = keys @ q[row, head, 0] / SIZE**0.5
            weights = np.exp(scores - scores.max())
            y[row, head, 0] = weights / weights.sum() @ values
    return [q, *new, *caches, length - 1, length], y, list(after)


@pytest.mark.parametrize("filled", [1, 40, 129, ROOM])
def test_what_is_filled_is_read_alone(decode: Executable, filled: int) -> None:
    given, expected, after = drawn(filled)
    y, *caches = run_artifact(decode.artifact, given, decode.weights)
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5)
    for found, wanted in zip(caches, after, strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_nothing_is_written_behind_the_room(decode: Executable) -> None:
    given, _, _ = drawn(ROOM)
    given[5] = np.array([0, ROOM])
    _, *caches = run_artifact(decode.artifact, given, decode.weights)
    for found, before in zip(caches, given[3:5], strict=True):
        np.testing.assert_array_equal(found, before)


def test_caches_are_written_in_place_and_keys_split(decode: Executable) -> None:
    assert [port.copied for port in decode.outputs] == ["", "", ""]
    schedules = [line for kernel in decode.kernels for line in kernel.schedules]
    assert any(line.startswith("flash-decode") for line in schedules)


def test_a_thread_appends_one_element(decode: Executable) -> None:
    images = map(KernelImage.from_bytes, decode.artifact.objects.values())
    launches = [each for image in images for each in image.launches]
    appends = [each for each in launches if each.schedule.startswith("loops")]
    assert [each.grid * each.block for each in appends] == [BATCH * GROUPS * SIZE]

# SPDX-License-Identifier: MIT OR Apache-2.0
"""examples/generate.py: prompts of different lengths, caches that stay where they are."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper

sys.path.append(str(Path(__file__).resolve().parents[1] / "examples"))

import generate
from growing_caches import GrowingDecoder
from random_decoder import write_decoder

Array = np.ndarray[Any, Any]
SIZES = {
    "hidden_size": 64,
    "intermediate_size": 48,
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "vocab_size": 61,
    "eos_token_id": 60,
    "max_position_embeddings": 128,
}
PROMPTS = [[5, 17, 33, 2, 9], [11, 8]]
TOKENS = 6


def write_concatenating(folder: Path, *, asks: bool = False) -> Path:
    """A layer of attention that is spelled out, whose cache a Concat makes.

    Args:
        folder: where; it is made.
        asks: whether what may be attended to is computed of how long the cache is.
    """
    draw = np.random.default_rng(3)
    hidden, heads, size, vocabulary = 16, 2, 8, 61
    held = {
        name: (draw.standard_normal(shape) * 0.4).astype(np.float32)
        for name, shape in {
            "tokens": (vocabulary, hidden),
            "places": (128, hidden),
            "wq": (hidden, hidden),
            "wk": (hidden, hidden),
            "wv": (hidden, hidden),
            "head": (hidden, vocabulary),
        }.items()
    }
    held |= {"split": np.array([0, -1, heads, size]), "joined": np.array([0, -1, hidden])}
    held |= {"one": np.float32(1), "low": np.float32(-1e9), "axes": np.array([1, 2])}
    held |= {"root": np.float32(size**0.5)}
    nodes = [
        h.make_node("Gather", ["tokens", "input_ids"], ["t"]),
        h.make_node("Gather", ["places", "position_ids"], ["p"]),
        h.make_node("Add", ["t", "p"], ["x"]),
    ]
    for part, perm in (("q", [0, 2, 1, 3]), ("k", [0, 2, 1, 3]), ("v", [0, 2, 1, 3])):
        nodes.append(h.make_node("MatMul", ["x", f"w{part}"], [f"{part}1"]))
        nodes.append(h.make_node("Reshape", [f"{part}1", "split"], [f"{part}2"]))
        nodes.append(h.make_node("Transpose", [f"{part}2"], [part], perm=perm))
    for part, name in (("k", "key"), ("v", "value")):
        given, result = f"past_key_values.0.{name}", f"present.0.{name}"
        nodes.append(h.make_node("Concat", [given, part], [result], axis=2))
    nodes += [
        h.make_node("Transpose", ["present.0.key"], ["kt"], perm=[0, 1, 3, 2]),
        h.make_node("MatMul", ["q", "kt"], ["s1"]),
        h.make_node("Div", ["s1", "root"], ["s2"]),
        h.make_node("Cast", ["attention_mask"], ["m1"], to=T.FLOAT),
        h.make_node("Sub", ["one", "m1"], ["m2"]),
        h.make_node("Mul", ["m2", "low"], ["m3"]),
        h.make_node("Unsqueeze", ["m3", "axes"], ["m4"]),
        h.make_node("Add", ["s2", "m4"], ["s" if asks else "s3"]),
        h.make_node("Softmax", ["s3"], ["w"], axis=-1),
        h.make_node("MatMul", ["w", "present.0.value"], ["a1"]),
        h.make_node("Transpose", ["a1"], ["a2"], perm=[0, 2, 1, 3]),
        h.make_node("Reshape", ["a2", "joined"], ["a3"]),
        h.make_node("Add", ["x", "a3"], ["y"]),
        h.make_node("MatMul", ["y", "head"], ["logits"]),
    ]
    if asks:
        held |= {"zero": np.array(0), "step": np.array(1), "column": np.array([1])}
        softmax = next(n for n, each in enumerate(nodes) if each.op_type == "Softmax")
        nodes[softmax:softmax] = later_positions_hidden()
    info = h.make_tensor_value_info
    inputs = [info(name, T.INT64, ["b", "s"]) for name in ("input_ids", "position_ids")]
    inputs.append(info("attention_mask", T.INT64, ["b", "total"]))
    outputs = [info("logits", T.FLOAT, ["b", "s", vocabulary])]
    for name in ("key", "value"):
        inputs.append(info(f"past_key_values.0.{name}", T.FLOAT, ["b", heads, "past", size]))
        outputs.append(info(f"present.0.{name}", T.FLOAT, ["b", heads, "total", size]))
    initializers = [numpy_helper.from_array(np.asarray(a), name) for name, a in held.items()]
    graph = h.make_graph(nodes, "decoder", inputs, outputs, initializers)
    folder.mkdir(exist_ok=True)
    opsets = [h.make_opsetid("", 17)]
    onnx.save(h.make_model(graph, opset_imports=opsets, ir_version=8), folder / "model.onnx")
    (folder / "config.json").write_text('{"vocab_size": 61, "eos_token_id": 60}')
    return folder


def later_positions_hidden() -> list[onnx.NodeProto]:
    """A causal mask that is computed of the length of a cache."""
    return [
        h.make_node("Shape", ["past_key_values.0.key"], ["l1"], start=2, end=3),
        h.make_node("Shape", ["input_ids"], ["l2"], start=1, end=2),
        h.make_node("Squeeze", ["l1"], ["first"]),
        h.make_node("Add", ["l1", "l2"], ["l3"]),
        h.make_node("Squeeze", ["l3"], ["total"]),
        h.make_node("Range", ["first", "total", "step"], ["queries"]),
        h.make_node("Range", ["zero", "total", "step"], ["keys"]),
        h.make_node("Unsqueeze", ["queries", "column"], ["rows"]),
        h.make_node("Less", ["rows", "keys"], ["later"]),
        h.make_node("Where", ["later", "low", "s"], ["s3"]),
    ]


def one_by_one(path: Path, prompt: list[int], tokens: int) -> list[int]:
    """What onnxruntime writes, one token a step from an empty cache that grows."""
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    names = {each.name: each.shape for each in session.get_inputs()}
    caches = {
        name: np.zeros((1, shape[1], 0, shape[3]), np.float32)
        for name, shape in names.items()
        if name.startswith("past_key_values.")
    }
    written: list[int] = []
    given = list(prompt)
    for step in range(len(prompt) + tokens - 1):
        feed = {
            "input_ids": np.array([[given[step]]]),
            "position_ids": np.array([[step]]),
            "attention_mask": np.ones((1, step + 1), np.int64),
        }
        feed = {name: array for name, array in feed.items() if name in names}
        found = session.run(None, {**feed, **caches})
        outputs = [each.name for each in session.get_outputs()]
        results = dict(zip(outputs, found, strict=True))
        caches = {name: results[name.replace("past_key_values", "present")] for name in caches}
        if step + 1 >= len(prompt):
            written.append(int(results["logits"][0, -1].argmax()))
            given.append(written[-1])
    return written


@pytest.fixture(scope="module", params=["GroupQueryAttention", "Concat"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("decoder")
    return (
        write_concatenating(place) if request.param == "Concat" else write_decoder(place, **SIZES)
    )


def test_what_is_written_is_what_onnxruntime_writes(folder: Path) -> None:
    decoder = generate.Decoder(folder, len(PROMPTS), max(map(len, PROMPTS)), 64, "cpu")
    places = {name: array.ctypes.data for name, array in decoder.states.items()}
    steps = list(generate.generate(decoder, PROMPTS, TOKENS, generate.greedy))
    expected = [one_by_one(folder / "model.onnx", prompt, TOKENS) for prompt in PROMPTS]
    written = np.array(steps).T.tolist()
    for found, wanted in zip(written, expected, strict=True):
        assert found[: len(wanted)] == wanted[: len(found)]
    assert {name: array.ctypes.data for name, array in decoder.states.items()} == places
    assert not any(port.copied for port in decoder.decode.outputs)
    assert len(decoder.decode.plan.aliases) == len(decoder.states)


def test_caches_of_models_that_ask_how_long_they_are_grow(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_concatenating(tmp_path / "asking", asks=True)
    decoder = generate.decoder_of(folder, len(PROMPTS), max(map(len, PROMPTS)), 64, "cpu")
    assert isinstance(decoder, GrowingDecoder)
    assert "caches grow" in capsys.readouterr().out
    expected = [one_by_one(folder / "model.onnx", prompt, TOKENS) for prompt in PROMPTS]
    for _ in range(2):
        steps = list(generate.generate(decoder, PROMPTS, TOKENS, generate.greedy))
        for found, wanted in zip(np.array(steps).T.tolist(), expected, strict=True):
            assert found[: len(wanted)] == wanted[: len(found)]
    with pytest.raises(ValueError, match="room for 64"):
        decoder.logits(np.zeros((2, 60), int), np.array([9, 9]), np.array([60, 60]))


def test_the_room_of_a_cache_is_not_exceeded(folder: Path) -> None:
    decoder = generate.Decoder(folder, 1, 3, 64, "cpu")
    with pytest.raises(SystemExit, match="do not fit"):
        next(generate.generate(decoder, [[1, 2, 3]], 62, generate.greedy))
    with pytest.raises(ValueError, match="room for 64"):
        decoder.logits(np.array([[1]]), np.array([64]), np.array([1]))


def test_tokens_are_drawn_from_the_likeliest() -> None:
    logits = np.array([[0.0, 5.0, 4.0, -3.0], [9.0, 0.0, 0.0, 8.5]])
    choose = generate.sampler(1.0, 2, seed=0)
    drawn = np.array([choose(logits) for _ in range(200)])
    assert set(drawn[:, 0]) == {1, 2}
    assert set(drawn[:, 1]) == {0, 3}
    assert (drawn[:, 0] == 1).mean() > 0.6


def test_the_command_writes_text(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [str(folder), "--prompt", "ab", "--tokens", "4", "--room", "64", "--seed", "1"]
    assert generate.main([*arguments, "--temperature", "0.8"]) == 0
    assert "tokens per second" in capsys.readouterr().out


def test_what_is_no_decoder_is_refused(tmp_path: Path) -> None:
    info = h.make_tensor_value_info("x", T.FLOAT, [1])
    graph = h.make_graph([], "none", [info], [info])
    onnx.save(h.make_model(graph), tmp_path / "model.onnx")
    (tmp_path / "config.json").write_text('{"vocab_size": 2}')
    with pytest.raises(SystemExit, match="no decoder"):
        generate.Decoder(tmp_path, 1, 1, 8, "cpu")

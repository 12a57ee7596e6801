# SPDX-License-Identifier: MIT OR Apache-2.0
"""Nodes behind results whose size the data decides: right, or refused by name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto
from onnx.reference import ReferenceEvaluator

import xyntra
from xyntra.errors import InputError, ModelError, UnsupportedError

CONFIG = {"isolate": False, "jobs": 1, "cache": False}
X = np.random.default_rng(0).integers(-1, 2, (5, 7)).astype(np.float32)
Nodes = Sequence[tuple[str, str, str]]


def model_of(
    nodes: Sequence[onnx.NodeProto], outputs: Sequence[str], constants: Mapping[str, Any]
) -> onnx.ModelProto:
    graph = onnx.helper.make_graph(
        nodes,
        "test",
        [onnx.helper.make_tensor_value_info("x", TensorProto.FLOAT, [5, 7])],
        [onnx.ValueInfoProto(name=name) for name in outputs],
        [onnx.numpy_helper.from_array(np.asarray(a), n) for n, a in constants.items()],
    )
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 20)])


def places_of(*nodes: onnx.NodeProto, outputs: Sequence[str] = ("y",), **constants: Any) -> Any:
    """The places of what is not zero in `x`, as `p`, and then `nodes`."""
    return model_of(
        [onnx.helper.make_node("NonZero", ["x"], ["p"]), *nodes], list(outputs), constants
    )


def check(model: onnx.ModelProto) -> None:
    executable = xyntra.compile(model, config=CONFIG)
    for x in (X, np.zeros_like(X), np.ones_like(X), -X):
        wanted = ReferenceEvaluator(model).run(None, {"x": x})
        found = executable(x)
        results = found if isinstance(found, tuple) else (found,)
        for mine, theirs in zip(results, wanted, strict=True):
            assert mine.dtype == theirs.dtype
            np.testing.assert_array_equal(mine, theirs)
            assert mine.flags.c_contiguous


def node(op_type: str, inputs: str, output: str = "y", **attributes: Any) -> onnx.NodeProto:
    return onnx.helper.make_node(op_type, inputs.split(), [output], **attributes)


CASES = {
    "cast": [node("Cast", "p", to=TensorProto.FLOAT)],
    "elementwise": [node("Mul", "p two", "q"), node("Add", "q p", "r"), node("Add", "r column")],
    "transpose": [node("Transpose", "p", perm=[1, 0])],
    "gather elements": [node("Transpose", "p", "t", perm=[1, 0]), node("GatherND", "x t")],
    "gather rows": [node("Gather", "p zero", "q", axis=0), node("Gather", "x q", axis=0)],
    "slice": [node("Slice", "p one two_ zero_", "q"), node("Squeeze", "q zero_")],
    "unsqueeze": [node("Unsqueeze", "p zero_", "q"), node("Transpose", "q", perm=[2, 0, 1])],
    "concat": [node("Concat", "p p", axis=0)],
    "shape": [node("Shape", "p")],
    "shape behind others": [node("Transpose", "p", "t", perm=[1, 0]), node("Shape", "t", end=1)],
    "compare and select": [node("Less", "p two", "q"), node("Where", "q p two")],
}
CONSTANTS = {
    "two": np.array(2), "column": np.array([[1], [5]]), "zero": np.array(0),
    "zero_": np.array([0]), "one": np.array([1]), "two_": np.array([2]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_follows_runs_on_the_real_size(name: str) -> None:
    read = {each for node in CASES[name] for each in node.input}
    used = {each: CONSTANTS[each] for each in CONSTANTS if each in read}
    check(places_of(*CASES[name], **used))


REFUSED = {
    "reductions": [node("ReduceSum", "p")],
    "products": [node("MatMul", "p q", "y")],
    "reshape": [node("Reshape", "p minus")],
    "along the size": [node("Gather", "p zero", axis=1)],
    "cut along the size": [node("Slice", "p one two_ one")],
    "removed": [node("Squeeze", "p one")],
    "sizes that may differ": [node("NonZero", "n", "q"), node("Add", "p q")],
    "a size that is known": [node("Add", "p wide")],
    "division": [node("Div", "two p")],
    "control flow": [node("Size", "p")],
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_is_refused(name: str) -> None:
    more = {"minus": np.array([-1]), "n": np.ones((2, 2), np.float32)}
    more |= {"wide": np.ones((1, 35), np.int64), "q": np.ones((35, 2), np.int64)}
    nodes = REFUSED[name]
    made = {each for node in nodes for each in node.output}
    read = {each for node in nodes for each in node.input} - made
    used = {n: a for n, a in {**CONSTANTS, **more}.items() if n in read}
    with pytest.raises(UnsupportedError) as caught:
        xyntra.compile(places_of(*nodes, **used), config=CONFIG)
    assert caught.value.code == "operator-unsupported"
    assert re.search("the data decide|sizes? that|may lie behind", caught.value.message)


def test_saved_explained_and_not_written_over(tmp_path: Path) -> None:
    model = places_of(outputs=["p"])
    executable = xyntra.compile(model, config=CONFIG)
    assert executable.outputs[0].shape == (2, 35)
    assert "output p, dimension 1: at most 35" in executable.explain()
    executable.save(tmp_path / "m.xyn")
    again = xyntra.load(tmp_path / "m.xyn")
    np.testing.assert_array_equal(again(X), np.array(np.nonzero(X)))
    with pytest.raises(InputError, match="output-size-unknown"):
        executable(X, out=[np.zeros((2, 35), np.int64)])
    with pytest.raises(UnsupportedError, match="addresses-unchecked"):
        executable.bare_call()
    np.testing.assert_array_equal(executable.submit(X).result(), np.array(np.nonzero(X)))
    assert len(executable.time_kernels({"x": X})) == len(executable.kernels)


def test_levels_keep_the_sizes() -> None:
    from xyntra.compiler.driver import emit_level
    from xyntra.compiler.inputs.sizes import Sizes
    from xyntra.compiler.inputs.source import open_source
    from xyntra.config import load_config

    config = load_config(CONFIG)
    source = open_source(places_of(outputs=["p"]))
    for level in ("linalg", "fused", "kernels"):
        text = emit_level(source, Sizes(), config, level).decode()
        assert "xyntra.size_of" in text
        found = xyntra.compile(text, config=CONFIG)(X)
        np.testing.assert_array_equal(found, np.array(np.nonzero(X)))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('i64, output = "p"', 'i64, output = "q"'),
        ("dimension = 1 : i64", "dimension = 2 : i64"),
        ("dimension = 1 : i64", 'dimension = "1"'),
    ],
)
def test_text_with_a_wrong_size_is_refused(old: str, new: str) -> None:
    from xyntra.compiler.driver import emit_level
    from xyntra.compiler.inputs.sizes import Sizes
    from xyntra.compiler.inputs.source import open_source
    from xyntra.config import load_config

    source = open_source(places_of(outputs=["p"]))
    text = emit_level(source, Sizes(), load_config(CONFIG), "linalg").decode()
    assert old in text
    with pytest.raises(ModelError, match=r"xyntra\.size_of"):
        xyntra.compile(text.replace(old, new), config=CONFIG)

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Ifs of which a branch cannot be compiled: nested, in functions and in loops."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper
from rate_models import audio, model, rate_branch

import xyntra
from xyntra.errors import InputError, ModelError, UnsupportedError, XyntraError
from xyntra.executable import Executable

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
X = np.arange(6, dtype=np.float32).reshape(2, 3)
value, node = helper.make_tensor_value_info, helper.make_node


def graph(
    nodes: Sequence[onnx.NodeProto], output: str, inputs: Sequence[onnx.ValueInfoProto] = ()
) -> onnx.GraphProto:
    return helper.make_graph(
        list(nodes), output, list(inputs), [onnx.ValueInfoProto(name=output)]
    )  # fmt: skip


def scaled(name: str, factor: float) -> list[onnx.NodeProto]:
    """`x` times a factor."""
    return [
        node("Constant", [], [f"{name}_k"], value_float=float(factor)),
        node("Mul", ["x", f"{name}_k"], [name]),
    ]


def broken(name: str) -> list[onnx.NodeProto]:
    """A product of matrices that do not fit, behind operators that do."""
    return [node("Exp", ["x"], [f"{name}_e"]), node("MatMul", [f"{name}_e", "x"], [name])]


def choice(
    name: str, condition: str, if_true: Sequence[onnx.NodeProto], if_false: Sequence[onnx.NodeProto]
) -> list[onnx.NodeProto]:
    """An If whose branches end with nodes that compute `name` and "_t" or "_f"."""
    branches = {
        "then_branch": graph(if_true, f"{name}_t"),
        "else_branch": graph(if_false, f"{name}_f"),
    }
    return [node("If", [condition], [name], name=name, **branches)]


def flags(count: int) -> list[onnx.ValueInfoProto]:
    return [value("x", FLOAT, [2, 3]), *(value(f"c{n}", BOOL, []) for n in range(count))]


def raised(exe: Executable, *arrays: Any) -> InputError:
    with pytest.raises(InputError) as caught:
        exe(*arrays)
    assert caught.value.code == "branch-not-compiled"
    return caught.value


class Tree:
    """A random tree of Ifs, whose leaves are factors or None for what cannot be compiled."""

    def __init__(self, rng: np.random.Generator, conditions: int, depth: int, name: str) -> None:
        self.name = name
        self.condition = int(rng.integers(conditions))
        self.factor = None if rng.random() < 0.4 else float(rng.integers(2, 100))
        self.sides: list[Tree] = []
        if depth and rng.random() < 0.85:
            self.sides = [Tree(rng, conditions, depth - 1, name + side) for side in ("_t", "_f")]

    def nodes(self) -> list[onnx.NodeProto]:
        if self.sides:
            return choice(self.name, f"c{self.condition}", *(each.nodes() for each in self.sides))
        return broken(self.name) if self.factor is None else scaled(self.name, self.factor)

    def compiles(self) -> bool:
        return any(each.compiles() for each in self.sides) or (
            not self.sides and self.factor is not None
        )

    def evaluate(self, conditions: Sequence[bool]) -> float | str:
        """The factor, or the name of the If that leads to a branch that is not there."""
        if not self.sides:
            assert self.factor is not None
            return self.factor
        taken = self.sides[not conditions[self.condition]]
        return taken.evaluate(conditions) if taken.compiles() else self.name


@pytest.mark.parametrize("seed", range(12))
def test_random_trees(settings: dict[str, object], seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree = Tree(rng, 3, 4, "y")
    while not (tree.sides and tree.compiles()):
        tree = Tree(rng, 3, 4, "y")
    exe = xyntra.compile(model(tree.nodes(), flags(3), ["y"]), config=settings)
    for conditions in itertools.product([False, True], repeat=3):
        expected = tree.evaluate(conditions)
        given = {f"c{n}": holds for n, holds in enumerate(conditions)}
        if isinstance(expected, str):
            place = raised(exe, {"x": X, **given}).place
            assert place == f"node '{expected}'"
        else:
            np.testing.assert_array_equal(exe({"x": X, **given}), X * np.float32(expected))


def test_several_ifs_are_one_requirement_each(settings: dict[str, object]) -> None:
    nodes = [
        *choice("a", "c0", scaled("a_t", 2), broken("a_f")),
        *choice("b", "c1", broken("b_t"), scaled("b_f", 3)),
        *choice("c", "c2", scaled("c_t", 5), scaled("c_f", 7)),
        node("Sum", ["a", "b", "c"], ["y"]),
    ]
    exe = xyntra.compile(model(nodes, flags(3), ["y"]), config=settings)
    assert len(exe.plan.requirements) == 2
    np.testing.assert_array_equal(exe(X, True, False, True), X * 10)
    np.testing.assert_array_equal(exe(X, True, False, False), X * 12)
    assert "as c0 is false" in raised(exe, X, False, False, True).message
    assert "as c1 is true" in raised(exe, X, True, True, True).message
    assert raised(exe, X, True, True, True).place == "node 'b'"


def test_a_condition_of_one_element_with_dimensions(settings: dict[str, object]) -> None:
    nodes = choice("y", "c", scaled("y_t", 2), broken("y_f"))
    inputs = [value("x", FLOAT, [2, 3]), value("c", BOOL, [1, 1])]
    exe = xyntra.compile(model(nodes, inputs, ["y"]), config=settings)
    np.testing.assert_array_equal(exe(X, [[True]]), X * 2)
    assert "as c is false" in raised(exe, X, [[False]]).message


def test_a_known_condition_takes_requirements_over(settings: dict[str, object]) -> None:
    """The outer If is decided by a constant, as if its branch stood there itself."""
    inner = choice("y_t", "c0", scaled("y_t_t", 2), broken("y_t_f"))
    nodes = choice("y", "always", inner, broken("y_f"))
    constants = {"always": np.array(True)}
    exe = xyntra.compile(model(nodes, flags(1), ["y"], constants), config=settings)
    np.testing.assert_array_equal(exe(X, True), X * 2)
    assert raised(exe, X, False).place == "node 'y_t'"


def test_an_outer_condition_that_is_bound(settings: dict[str, object]) -> None:
    """Where a bound input leads past the inner If, nothing is required."""
    inner = choice("y_t", "c1", scaled("y_t_t", 2), broken("y_t_f"))
    given = model(choice("y", "c0", inner, scaled("y_f", 3)), flags(2), ["y"])
    exe = xyntra.compile(given, constants={"c0": False}, config=settings)
    assert not exe.plan.requirements
    np.testing.assert_array_equal(exe(X, False), X * 3)
    exe = xyntra.compile(given, constants={"c1": False}, config=settings)
    assert raised(exe, X, True).place == "node 'y'"
    exe = xyntra.compile(given, constants={"c1": True}, config=settings)
    assert not exe.plan.requirements
    with pytest.raises(XyntraError, match="MatMul"):
        xyntra.compile(given, constants={"c0": True, "c1": False}, config=settings)


def test_in_a_function(settings: dict[str, object]) -> None:
    """Called twice: what is required is that of both calls."""
    equal = node("Equal", ["rate", "fast"], ["is_fast"])
    branches = {"then_branch": rate_branch(16000), "else_branch": rate_branch(8000)}
    body = [
        node("Constant", [], ["fast"], value_int=16000),
        equal,
        node("If", ["is_fast"], ["p"], name="choose", **branches),
    ]
    opsets = [helper.make_opsetid("", 20)]
    function = helper.make_function("own", "Detect", ["x", "rate"], ["p"], body, opsets)
    nodes = [
        node("Detect", ["x", "first"], ["a"], domain="own"),
        node("Detect", ["x", "second"], ["b"], domain="own"),
        node("Add", ["a", "b"], ["y"]),
    ]
    inputs = [value("x", FLOAT, ["n", "s"]), value("first", INT64, []), value("second", INT64, [])]
    whole = model(nodes, inputs, ["y"], functions=[function])
    exe = xyntra.compile(whole, dims={"n": 2, "s": 512}, config=settings)
    x = audio(16000)
    session = onnxruntime.InferenceSession(whole.SerializeToString())
    feeds = {"x": x, "first": np.array(16000), "second": np.array(16000)}
    np.testing.assert_allclose(exe(feeds), session.run(None, feeds)[0], rtol=1e-5, atol=1e-6)
    assert "as first does not equal 16000" in raised(exe, x, 8000, 16000).message
    assert "as second does not equal 16000" in raised(exe, x, 16000, 8000).message


def test_a_function_that_fails_in_a_branch_leaves_nothing_behind(
    settings: dict[str, object],
) -> None:
    """The same function is called again; it has operator sets of its own."""
    body = [node("MatMul", ["a", "b"], ["c"])]
    function = helper.make_function("own", "Times", ["a", "b"], ["c"], body, [
        helper.make_opsetid("", 13)
    ])  # fmt: skip
    failing = [node("Times", ["x", "x"], ["z_f"], domain="own")]
    nodes = [
        *choice("z", "c0", scaled("z_t", 2), failing),
        node("Gelu", ["z"], ["g"]),  # not in operator set 13
        node("Transpose", ["x"], ["t"]),
        node("Times", ["g", "t"], ["y"], domain="own"),
    ]
    whole = model(nodes, flags(1), ["y"], functions=[function])
    exe = xyntra.compile(whole, config=settings)
    gelu = np.array([v / 2 * (1 + math.erf(v / math.sqrt(2))) for v in 2.0 * X.ravel()])
    np.testing.assert_allclose(exe(X, True), gelu.reshape(X.shape) @ X.T, rtol=1e-5)
    raised(exe, X, False)


def test_in_a_loop(settings: dict[str, object]) -> None:
    """Each step looks at an element of its own; what is required is one result."""
    body = [
        node("Gather", ["flags", "i"], ["flag"]),
        node("Greater", ["flag", "zero"], ["positive"]),
        *choice("z", "positive", [node("Add", ["state", "flag"], ["z_t"])], broken("z_f")),
        node("Identity", ["go"], ["keep"]),
    ]
    inputs = [value("i", INT64, []), value("go", BOOL, []), value("state", FLOAT, None)]
    outputs = [onnx.ValueInfoProto(name=name) for name in ("keep", "z")]
    inner = helper.make_graph(body, "body", inputs, outputs)
    nodes = [node("Loop", ["n", "c", "x"], ["y"], body=inner)]
    constants = {"n": np.array(4), "c": np.array(True), "zero": np.array(0, np.float32)}
    inputs = [value("x", FLOAT, [2, 3]), value("flags", FLOAT, [4])]
    exe = xyntra.compile(model(nodes, inputs, ["y"], constants), config=settings)
    assert len(exe.plan.requirements) == 1
    steps = np.array([1, 2, 3, 4], np.float32)
    np.testing.assert_allclose(exe(X, steps), X + 10)
    for position, wrong in itertools.product(range(4), (-1.0, 0.0, np.nan)):
        given = steps.copy()
        given[position] = wrong
        raised(exe, X, given)


def test_in_a_scan_inside_a_branch(settings: dict[str, object]) -> None:
    body = [
        node("Greater", ["flag", "zero"], ["positive"]),
        *choice("z", "positive", [node("Add", ["state", "flag"], ["z_t"])], broken("z_f")),
    ]
    inputs = [value("state", FLOAT, None), value("flag", FLOAT, None)]
    inner = graph(body, "z", inputs)
    scan = [node("Scan", ["x", "flags"], ["y_t"], body=inner, num_scan_inputs=1)]
    constants = {"zero": np.array(0, np.float32)}
    inputs = [*flags(1), value("flags", FLOAT, [3])]
    nodes = choice("y", "c0", scan, scaled("y_f", 3))
    exe = xyntra.compile(model(nodes, inputs, ["y"], constants), config=settings)
    np.testing.assert_allclose(exe(X, True, [1, 2, 3]), X + 6)
    raised(exe, X, True, [1, 0, 3])
    np.testing.assert_array_equal(exe(X, False, [1, 0, 3]), X * 3)  # the Scan is not taken


def test_two_branches_that_cannot_be_compiled(settings: dict[str, object]) -> None:
    nodes = choice(
        "y", "c0", broken("y_t"), [node("NonZero", ["x"], ["n"]), node("ReduceSum", ["n"], ["y_f"])]
    )
    with pytest.raises(UnsupportedError) as caught:
        xyntra.compile(model(nodes, flags(1), ["y"]), config=settings)
    assert caught.value.code == "if-branch"
    assert "then_branch: " in (caught.value.cause or "")
    assert "else_branch: " in (caught.value.cause or "")


def test_branches_of_different_shapes_stay_an_error(settings: dict[str, object]) -> None:
    nodes = choice("y", "c0", scaled("y_t", 2), [node("Transpose", ["x"], ["y_f"])])
    with pytest.raises(UnsupportedError, match="different shapes") as caught:
        xyntra.compile(model(nodes, flags(1), ["y"]), config=settings)
    assert "--constant c0=VALUE" in (caught.value.hint or "")


@pytest.mark.parametrize(
    "wrong",
    [
        [node("Neg", ["nobody"], ["y_f"])],
        [node("Neg", ["x"], ["y_f"]), node("Exp", ["x"], ["y_f"])],
        [node("Neg", ["x"], ["y_f"], domain="elsewhere")],
    ],
)
def test_a_branch_that_no_shapes_would_mend_is_an_error(
    settings: dict[str, object], wrong: Sequence[onnx.NodeProto]
) -> None:
    nodes = choice("y", "c0", scaled("y_t", 2), wrong)
    with pytest.raises(ModelError):
        xyntra.compile(model(nodes, flags(1), ["y"]), config=settings)


CONDITIONS: dict[str, tuple[list[onnx.NodeProto], int, int, str]] = {
    # nodes that compute "c" from k, values of k that take both branches, the text
    "equal": ([node("Equal", ["k", "four"], ["c"])], 4, 5, "k does not equal 4"),
    "swapped": ([node("Equal", ["four", "k"], ["c"])], 4, 5, "k does not equal 4"),
    "not": (
        [node("Equal", ["k", "four"], ["e"]), node("Not", ["e"], ["c"])], 5, 4, "k equals 4",
    ),
    "less": ([node("Less", ["four", "k"], ["c"])], 5, 4, "k is not greater than 4"),
    "at most": ([node("LessOrEqual", ["k", "four"], ["c"])], 4, 5, "k is not at most 4"),
    "greater": ([node("Greater", ["four", "k"], ["c"])], 3, 4, "k is not less than 4"),
    "at least": ([node("GreaterOrEqual", ["k", "four"], ["c"])], 4, 3, "k is not at least 4"),
    "cast": (
        [
            node("Cast", ["k"], ["w"], to=INT64),
            node("Unsqueeze", ["w", "axis"], ["u"]),
            node("Identity", ["u"], ["i"]),
            node("Equal", ["i", "four"], ["e"]),
            node("Squeeze", ["e"], ["c"]),
        ],
        4, 5, "k does not equal 4",
    ),
    "a flag": ([node("Cast", ["k"], ["c"], to=BOOL)], 7, 0, "k equals 0"),
    "arithmetic": (
        [node("Add", ["k", "four"], ["s"]), node("Equal", ["s", "four"], ["c"])], 0, 1, "",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CONDITIONS)
def test_conditions_in_terms_of_the_input(settings: dict[str, object], name: str) -> None:
    nodes, taken, other, text = CONDITIONS[name]
    nodes = [*nodes, *choice("y", "c", scaled("y_t", 2), broken("y_f"))]
    inputs = [value("x", FLOAT, [2, 3]), value("k", INT64, [])]
    constants = {"four": np.array(4), "axis": np.array([0])}
    exe = xyntra.compile(model(nodes, inputs, ["y"], constants), config=settings)
    np.testing.assert_array_equal(exe(X, taken), X * 2)
    message = raised(exe, X, other).message
    assert f"else_branch, as {text};" in message if text else "else_branch;" in message


def test_a_float_that_is_rounded_is_not_what_is_compared(settings: dict[str, object]) -> None:
    nodes = [
        node("Cast", ["k"], ["w"], to=INT64),
        node("Equal", ["w", "four"], ["c"]),
        *choice("y", "c", scaled("y_t", 2), broken("y_f")),
    ]
    inputs = [value("x", FLOAT, [2, 3]), value("k", FLOAT, [])]
    exe = xyntra.compile(model(nodes, inputs, ["y"], {"four": np.array(4)}), config=settings)
    np.testing.assert_array_equal(exe(X, 4.5), X * 2)
    assert "equal" not in raised(exe, X, 5.0).message

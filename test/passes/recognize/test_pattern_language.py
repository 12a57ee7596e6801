# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tests patterns: order, constants, variables, guards, builders; and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx_models import Node, make_model
from pattern_models import recognised

import xyntra
from xyntra.dialects import make_context
from xyntra.dialects.mlir import ir
from xyntra.errors import ConfigError
from xyntra.frontends.onnx.importer import import_model
from xyntra.passes.diagnostics import PassFailure
from xyntra.passes.manager import run_pipeline
from xyntra.passes.recognize.matching.pattern import (
    Axis,
    Match,
    Number,
    Pattern,
    Term,
    collected_patterns,
    exp,
    isnan,
    layer_norm,
    matmul,
    maximum,
    pattern,
    reduce_sum,
    transpose,
    where,
)
from xyntra.passes.recognize.matching.search import Index, Search

Seen = dict[str, object]


def declared(function: Callable[..., Term], **options: object) -> Pattern:
    """A pattern that is registered nowhere."""
    with collected_patterns():
        return pattern(**options)(function)  # type: ignore[call-overload,no-any-return]


def model_of(
    nodes: list[Node], constants: dict[str, float] | None = None, **inputs: list[int]
) -> onnx.ModelProto:
    """A model on f32 that returns `y`; `x` is 4x8 unless given."""
    weights = {name: np.array(value, np.float32) for name, value in (constants or {}).items()}
    return make_model(nodes, {"x": [4, 8], **inputs}, ["y"], weights)


def matches(wanted: Pattern, model: onnx.ModelProto) -> list[Seen]:
    """What the parameters stand for in each match: shapes, numbers, dimensions."""
    with make_context() as context, ir.Location.unknown():
        data = model.SerializeToString()
        module = import_model(data, {}, context=context, max_tensor_bytes=1 << 30)
        run_pipeline(module, ("cse", "canonicalize"))
        block = module.body.operations[0].regions[0].blocks[0]
        search = Search(Index([wanted]))
        return [_seen(found.match) for found in search.run(block.operations)]


def _seen(match: Match) -> Seen:
    bindings = match.state.bindings
    return {
        name: value.read.source.shape if hasattr(value, "read") else value
        for name, value in bindings.items()
    }


@pytest.mark.parametrize("order", ["".join(each) for each in permutations("abch")])
@pytest.mark.parametrize("shape", ["left", "pairs", "right"])
def test_products_match_in_any_order(order: str, shape: str) -> None:
    wanted = declared(lambda a, b, c: exp(a * b * c * 0.5))
    p, q, r, s = order
    nodes: dict[str, list[Node]] = {
        "left": [("Mul", [p, q], ["i"]), ("Mul", ["i", r], ["j"]), ("Mul", ["j", s], ["k"])],
        "pairs": [("Mul", [p, q], ["i"]), ("Mul", [r, s], ["j"]), ("Mul", ["i", "j"], ["k"])],
        "right": [("Mul", [r, s], ["i"]), ("Mul", [q, "i"], ["j"]), ("Mul", [p, "j"], ["k"])],
    }
    inputs = {name: [4, 8] for name in "abc"}
    model = model_of([*nodes[shape], ("Exp", ["k"], ["y"])], {"h": 0.5}, **inputs)
    assert len(matches(wanted, model)) == 1
    wrong = model_of([*nodes[shape], ("Exp", ["k"], ["y"])], {"h": 0.25}, **inputs)
    assert not matches(wanted, wrong)


def test_sums_keep_their_signs() -> None:
    wanted = declared(lambda a, b: exp(a - b + 1.0))
    inputs = {"a": [4, 8], "b": [4, 8]}
    end = ("Exp", ["j"], ["y"])
    moved = [("Add", ["a", "one"], ["i"]), ("Sub", ["i", "b"], ["j"]), end]
    assert len(matches(wanted, model_of(moved, {"one": 1.0}, **inputs))) == 1
    turned = [("Sub", ["b", "a"], ["i"]), ("Sub", ["one", "i"], ["j"]), end]
    assert len(matches(wanted, model_of(turned, {"one": 1.0}, **inputs))) == 1
    added = [("Add", ["a", "one"], ["i"]), ("Add", ["i", "b"], ["j"]), end]
    assert not matches(wanted, model_of(added, {"one": 1.0}, **inputs))


def test_a_variable_stands_for_one_tensor() -> None:
    wanted = declared(lambda a: exp(a) * a)
    nodes = [("Exp", ["x"], ["e"]), ("Mul", ["e", "x"], ["y"])]
    assert matches(wanted, model_of(nodes)) == [{"a": (4, 8)}]
    other = [("Exp", ["x"], ["e"]), ("Mul", ["e", "z"], ["y"])]
    assert not matches(wanted, model_of(other, z=[4, 8]))
    turned = onnx.helper.make_node("Transpose", ["x"], ["t"], perm=[1, 0])
    nodes = [turned, ("Exp", ["x"], ["e"]), ("Mul", ["e", "t"], ["y"])]
    assert not matches(wanted, model_of(nodes, x=[8, 8]))


@pytest.mark.parametrize(
    ("factor", "tolerance", "matched"),
    [(1 + 3e-7, None, True), (1 + 1e-6, None, False), (1 + 1e-6, 1e-5, True), (1.1, 1e-5, False)],
)
def test_constants_may_be_slightly_off(
    factor: float, tolerance: float | None, matched: bool
) -> None:
    wanted = declared(lambda a: exp(a * 0.3), tolerance=tolerance)
    model = model_of([("Mul", ["x", "c"], ["p"]), ("Exp", ["p"], ["y"])], {"c": 0.3 * factor})
    assert bool(matches(wanted, model)) is matched


def test_numbers_are_bound() -> None:
    def scaled(a: Term, scale: Number, shift: Number) -> Term:
        return exp(a * scale + shift)

    nodes = [("Div", ["x", "c"], ["p"]), ("Sub", ["p", "d"], ["q"]), ("Exp", ["q"], ["y"])]
    (found,) = matches(declared(scaled), model_of(nodes, {"c": 4.0, "d": 3.0}))
    assert found == {"a": (4, 8), "scale": 0.25, "shift": -3.0}


def test_numbers_that_divide_and_are_subtracted() -> None:
    def scaled(a: Term, scale: Number, shift: Number) -> Term:
        return exp(a / scale - shift)

    nodes = [("Mul", ["x", "c"], ["p"]), ("Add", ["p", "d"], ["q"]), ("Exp", ["q"], ["y"])]
    (found,) = matches(declared(scaled), model_of(nodes, {"c": 0.25, "d": 3.0}))
    assert found == {"a": (4, 8), "scale": 4.0, "shift": -3.0}


def test_values_used_outside() -> None:
    nodes = [("Exp", ["x"], ["e"]), ("Add", ["e", "one"], ["s"]), ("Mul", ["s", "e"], ["y"])]
    model = model_of(nodes, {"one": 1.0})

    def shifted(a: Term) -> Term:
        return exp(a) + 1.0

    assert not matches(declared(shifted), model)
    assert len(matches(declared(shifted, shared=True), model)) == 1


def test_guards_and_element_types() -> None:
    nodes = [("Exp", ["x"], ["e"]), ("Add", ["e", "one"], ["y"])]
    model = model_of(nodes, {"one": 1.0})

    def shifted(a: Term) -> Term:
        return exp(a) + 1.0

    assert matches(declared(shifted, where=lambda m: m.shape == (4, 8)), model)
    assert not matches(declared(shifted, where=lambda m: m.shape == (4, 9)), model)
    assert not matches(declared(shifted, dtypes=("f64",)), model)


def test_comparisons_are_mirrored() -> None:
    wanted = declared(lambda a, b: where(a > b, exp(a), b))
    greater = [("Greater", ["x", "z"], ["c"])]
    less = [("Less", ["z", "x"], ["c"])]
    rest = [("Exp", ["x"], ["e"]), ("Where", ["c", "e", "z"], ["y"])]
    assert matches(wanted, model_of([*greater, *rest], z=[4, 8]))
    assert matches(wanted, model_of([*less, *rest], z=[4, 8]))
    wrong = [("Less", ["x", "z"], ["c"])]
    assert not matches(wanted, model_of([*wrong, *rest], z=[4, 8]))


def test_commutative_functions() -> None:
    wanted = declared(lambda a, b: maximum(exp(a), b))
    nodes = [("Exp", ["x"], ["e"]), ("Max", ["z", "e"], ["y"])]
    assert matches(wanted, model_of(nodes, z=[4, 8]))


def test_axes_are_bound() -> None:
    def total(a: Term, axis: Axis) -> Term:
        return exp(a) / reduce_sum(exp(a), axis)

    axes = onnx.helper.make_node("Constant", [], ["axes"], value_ints=[0, 2])
    nodes = [("Exp", ["x"], ["e"]), axes, ("ReduceSum", ["e", "axes"], ["s"])]
    model = model_of([*nodes, ("Div", ["e", "s"], ["y"])], x=[3, 4, 8])
    assert matches(declared(total), model) == [{"a": (3, 4, 8), "axis": (0, 2)}]


def test_named_ops_have_attributes() -> None:
    def normal(x: Term, axis: Axis, epsilon: Number, scale: Term) -> Term:
        return exp(layer_norm(x, axis, epsilon, scale))

    norm = onnx.helper.make_node("LayerNormalization", ["x", "w"], ["n"], epsilon=0.5, axis=-2)
    model = model_of([norm, ("Exp", ["n"], ["y"])], x=[3, 4, 8], w=[4, 8])
    (found,) = matches(declared(normal), model)
    assert found == {"x": (3, 4, 8), "axis": (1, 2), "epsilon": 0.5, "scale": (4, 8)}


TURN = onnx.helper.make_node("Transpose", ["w"], ["t"], perm=[1, 0])


@pytest.mark.parametrize("turned", [False, True])
def test_matrix_products_see_their_operands_as_written(
    turned: bool, tmp_path: Path, settings: dict[str, object]
) -> None:
    """The builder is given `w` in the order of the pattern, whatever order it is stored in."""
    path = tmp_path / "product.py"
    path.write_text(
        "from xyntra.passes.recognize.matching.pattern import exp, matmul, pattern\n"
        "@pattern\n"
        "def product(x, w):\n"
        "    return exp(matmul(x, w))\n"
        "@product.build\n"
        "def build(b, x, w):\n"
        "    product = b.einsum('mk,kn->mn', x, w)\n"
        "    return b.map(lambda v: v.math('exp'), product, dtype=x.dtype)\n"
    )
    nodes = [*([TURN] if turned else []), ("MatMul", ["x", "t" if turned else "w"], ["p"])]
    w_shape = [6, 8] if turned else [8, 6]
    model = model_of([*nodes, ("Exp", ["p"], ["y"])], w=w_shape)
    text = recognised(model, f"{{files={path}}}")
    assert '"product"' in text
    generator = np.random.default_rng()
    x = generator.standard_normal((4, 8), np.float32)
    w = generator.standard_normal(w_shape, np.float32)
    found = xyntra.compile(text, config=settings).run({"x": x, "w": w})["y"]
    wanted = np.exp(x.astype(float) @ (w.T if turned else w).astype(float))
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_transposes_in_a_pattern() -> None:
    def product(x: Term, w: Term) -> Term:
        return exp(matmul(x, transpose(w)))

    nodes = [TURN, ("MatMul", ["x", "t"], ["p"]), ("Exp", ["p"], ["y"])]
    assert matches(declared(product), model_of(nodes, w=[6, 8])) == [{"x": (4, 8), "w": (6, 8)}]


def test_sums_and_products_alone_cost_nothing_where_nothing_rare_occurs() -> None:
    model = model_of([("Mul", ["x", "x"], ["p"]), ("Add", ["p", "x"], ["y"])])
    with make_context() as context, ir.Location.unknown():
        data = model.SerializeToString()
        module = import_model(data, {}, context=context, max_tensor_bytes=1 << 30)
        search = Search(Index([declared(lambda a: exp(a) * a)]))
        assert not search.run(module.body.operations[0].regions[0].blocks[0].operations)
        assert not search.graph._expressions


def test_what_is_no_pattern() -> None:
    with pytest.raises(TypeError, match="which is no term"):
        declared(lambda a: 1.0)
    with pytest.raises(ValueError, match="at least one operation"):
        declared(lambda a: a)
    made = declared(lambda a: exp(a))
    with pytest.raises(TypeError, match="adds parameters: b"):
        made.spelling(lambda a, b: exp(a + b))
    with pytest.raises(ValueError, match="a Number cannot be raised to a power"):
        declared(_squared_number)


def _squared_number(a: Term, scale: Number) -> Term:
    return exp(a * scale**2)


def test_files_that_cannot_be_loaded(tmp_path: Path) -> None:
    model = model_of([("Exp", ["x"], ["y"])])
    with pytest.raises(ConfigError, match="cannot be loaded") as raised:
        recognised(model, f"{{files={tmp_path / 'missing.py'}}}")
    assert raised.value.code == "bad-pattern-file"
    broken = tmp_path / "broken.py"
    broken.write_text("1 / 0")
    with pytest.raises(ConfigError, match="cannot be loaded") as raised:
        recognised(model, f"{{files={broken}}}")
    assert "ZeroDivisionError" in str(raised.value)


def test_names_of_patterns_that_do_not_exist() -> None:
    with pytest.raises(ConfigError, match="there is no pattern 'gellu'") as raised:
        recognised(model_of([("Exp", ["x"], ["y"])]), "{only=gellu}")
    assert "gelu" in str(raised.value.hint)


def test_a_builder_has_to_keep_the_type(tmp_path: Path) -> None:
    path = tmp_path / "wrong.py"
    path.write_text(
        "from xyntra.passes.recognize.matching.pattern import exp, pattern\n"
        "@pattern\n"
        "def wrong(x):\n"
        "    return exp(x) * 2.0\n"
        "@wrong.build\n"
        "def build(b, x):\n"
        "    return b.reshape(x, (32,))\n"
    )
    nodes = [("Exp", ["x"], ["e"]), ("Mul", ["e", "two"], ["y"])]
    with pytest.raises(PassFailure, match="pattern 'wrong' replaces") as raised:
        recognised(model_of(nodes, {"two": 2.0}), f"{{files={path}}}")
    assert raised.value.code == "bad-pattern"


def test_a_match_is_not_matched_again(tmp_path: Path) -> None:
    """What a pattern builds may be of its own form."""
    path = tmp_path / "same.py"
    path.write_text(
        "from xyntra.passes.recognize.matching.pattern import exp, pattern\n"
        "@pattern\n"
        "def same(x):\n"
        "    return exp(x) * 2.0\n"
        "@same.build\n"
        "def build(b, x):\n"
        "    return b.map(lambda v: v.math('exp') * 2.0, x, dtype=x.dtype)\n"
    )
    nodes = [("Exp", ["x"], ["e"]), ("Mul", ["e", "two"], ["y"])]
    text = recognised(model_of(nodes, {"two": 2.0}), f"{{files={path}}}")
    assert text.count("linalg.generic") == 1
    assert text.count('loc("same")') == 1


def test_patterns_of_a_file_are_forgotten() -> None:
    with collected_patterns() as found:
        pattern(name="kept")(lambda a: isnan(a))
    assert list(found) == ["kept"]
    with pytest.raises(ConfigError):
        recognised(model_of([("Exp", ["x"], ["y"])]), "{only=kept}")

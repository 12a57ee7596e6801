# SPDX-License-Identifier: MIT OR Apache-2.0
"""The pass as a whole: what it leaves alone, what it repeats, and how its work grows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scalar_interpreter import run
from torch_mlir import ir

from xyntra.dialects import make_context
from xyntra.errors import UnsupportedError
from xyntra.passes.recognize.egraph import library, rewriting
from xyntra.passes.recognize.egraph.rules.triggers import Triggers
from xyntra.passes.recognize.egraph.saturation import Saturation
from xyntra.passes.recognize.egraph.simplify_expressions import SimplifyExpressions
from xyntra.passes.recognize.egraph.terms import Terms

pytest.importorskip("egglog")

_LOOP = """%{name} = linalg.generic {{indexing_maps = [{maps}], iterator_types = ["parallel"]}}
  ins({ins} : {types}) outs(%e : tensor<8xf32>) {{
  ^bb0({arguments}, %o: f32):
  %r = {body} : f32
  linalg.yield %r : f32
}} -> tensor<8xf32>"""


def loop(name: str, body: str, *inputs: str) -> str:
    """A loop named `name`; `body` reads %a0, %a1 … and constants %one, %two, %three."""
    return _LOOP.format(
        name=name,
        body=body,
        maps=", ".join(["#id"] * (len(inputs) + 1)),
        ins=", ".join(inputs),
        types=", ".join(["tensor<8xf32>"] * len(inputs)),
        arguments=", ".join(f"%a{i}: f32" for i in range(len(inputs))),
    )


def function(loops: list[str], *results: str) -> str:
    """A module with one function of two tensors."""
    types = ", ".join(["tensor<8xf32>"] * len(results))
    return "\n".join(
        [
            "#id = affine_map<(d0) -> (d0)>",
            f"func.func @main(%x: tensor<8xf32>, %y: tensor<8xf32>) -> ({types}) {{",
            "%one = arith.constant 1.0 : f32",
            "%two = arith.constant 2.0 : f32",
            "%three = arith.constant 3.0 : f32",
            "%e = tensor.empty() : tensor<8xf32>",
            *loops,
            f"return {', '.join(results)} : {types}",
            "}",
        ]
    )


def simplified(text: str, **options: object) -> str:
    """The module's text after the pass."""
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        SimplifyExpressions(**options).run(module.operation)  # type: ignore[arg-type]
        assert module.operation.verify()
        return str(module)


def printed(text: str) -> str:
    """The module's text as MLIR prints it."""
    with make_context(), ir.Location.unknown():
        return str(ir.Module.parse(text))


_SLICE = "tensor.extract_slice %n{}[0] [8] [1] : tensor<8xf32> to tensor<8xf32>"


def _layers(count: int) -> str:
    """Equal layers, with a slice between them."""
    loops = []
    value = "%x"
    for i in range(count):
        loops.append(loop(f"m{i}", "arith.mulf %a0, %one", value))
        loops.append(loop(f"n{i}", "arith.addf %a0, %a1", f"%m{i}", "%y"))
        loops.append(f"%s{i} = {_SLICE.format(i)}")
        value = f"%s{i}"
    return function(loops, value)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """How many windows were saturated, and how many expressions the filter looked at."""
    counts = {"saturated": 0, "filtered": 0}
    classes, fires = Saturation.classes, Triggers.fires

    def counting_classes(self: Saturation, terms: Terms) -> object:
        counts["saturated"] += 1
        return classes(self, terms)

    def counting_fires(self: Triggers, terms: Terms, number: int) -> bool:
        counts["filtered"] += 1
        return fires(self, terms, number)

    monkeypatch.setattr(Saturation, "classes", counting_classes)
    monkeypatch.setattr(Triggers, "fires", counting_fires)
    return counts


def test_equal_windows_are_solved_once(counted: dict[str, int]) -> None:
    text = simplified(_layers(12))
    assert counted["saturated"] == 1
    assert text.count("linalg.generic") == 12


def test_work_grows_with_the_number_of_operations(counted: dict[str, int]) -> None:
    looked_at = []
    for count in (10, 100, 1000):
        counted["filtered"] = 0
        simplified(_layers(count))
        looked_at.append(counted["filtered"])
    # One more layer, one more look at each of its expressions.
    assert looked_at[1] <= 11 * looked_at[0]
    assert looked_at[2] <= 11 * looked_at[1]
    assert counted["saturated"] == 3


def test_a_long_chain_is_cut_into_windows(counted: dict[str, int]) -> None:
    loops = [loop("t0", "arith.addf %a0, %a1", "%x", "%y")]
    for i in range(1, 500):
        body = "arith.mulf %a0, %one" if i % 2 else "math.exp %a0"
        loops.append(loop(f"t{i}", body, f"%t{i - 1}"))
    text = simplified(function(loops, "%t499"), max_ops=50)
    assert text.count("linalg.generic") == 250
    assert 1 <= counted["saturated"] <= 11


def test_without_an_applicable_rule_nothing_is_saturated(counted: dict[str, int]) -> None:
    text = function([loop("t", "arith.addf %a0, %a1", "%x", "%y")], "%t")
    assert simplified(text) == printed(text)
    assert counted["saturated"] == 0


def test_what_is_shared_is_not_computed_twice() -> None:
    # exp(x) exp(y) is cheaper as exp(x + y), unless both factors are needed anyway.
    loops = [
        loop("p", "math.exp %a0", "%x"),
        loop("q", "math.exp %a0", "%y"),
        loop("r", "arith.mulf %a0, %a1", "%p", "%q"),
    ]
    text = function(loops, "%p", "%q", "%r")
    assert simplified(text, math="fast") == printed(text)
    assert simplified(function(loops, "%r"), math="fast").count("math.exp") == 1


def test_one_shared_value_does_not_keep_the_rest_as_it_is() -> None:
    loops = [
        loop("p", "math.exp %a0", "%x"),
        loop("q", "math.exp %a0", "%y"),
        loop("m", "arith.mulf %a0, %a1", "%p", "%q"),
        loop("s", "arith.mulf %a0, %one", "%m"),
    ]
    text = simplified(function(loops, "%p", "%q", "%s"), math="fast")
    assert text.count("linalg.generic") == 3
    assert text.count("math.exp") == 2


def test_costs_of_shared_operands_do_not_wrap_around() -> None:
    # As a tree the last value has 2^100 operations.
    loops = [loop("t0", "arith.mulf %a0, %one", "%x")]
    loops += [loop(f"t{i}", "arith.addf %a0, %a0", f"%t{i - 1}") for i in range(1, 100)]
    text = simplified(function(loops, "%t99"))
    assert text.count("linalg.generic") == 99
    assert "arith.mulf" not in text


def test_equal_values_are_computed_once_where_the_first_is_needed() -> None:
    loops = [
        loop("n", "arith.negf %a0", "%x"),
        loop("l", "math.absf %a0", "%n"),
        loop("m", "math.absf %a0", "%x"),
        loop("sum", "arith.addf %a0, %a1", "%l", "%m"),
    ]
    text = simplified(function(loops, "%sum", "%n"))
    assert text.count("math.absf") == 1
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        x = np.array([1, -2, 3, -4, 5, -6, 7, -8], np.float32)
        total, negated = run(module.body.operations[0].operation, [x, x])
    assert (total == 2 * abs(x)).all()
    assert (negated == -x).all()


def test_where_fast_math_contradicts_itself_the_rest_is_done() -> None:
    # (x / 0) * 0 is x and 0; and x * 1 is x.
    loops = [
        loop("n", "arith.mulf %a0, %one", "%x"),
        loop("p", "arith.divf %a0, %zero", "%n"),
        loop("q", "arith.mulf %a0, %zero", "%p"),
    ]
    text = simplified(function(["%zero = arith.constant 0.0 : f32", *loops], "%q"), math="fast")
    assert text.count("linalg.generic") == 2
    assert "arith.divf %in, %cst" in text
    assert "xyntra.remarks" not in text


def test_refusals_are_remarks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rewriting, "is_placeable", lambda *_: False)
    text = function([loop("t", "arith.mulf %a0, %one", "%x")], "%t")
    refused = simplified(text)
    assert "xyntra.remarks" in refused
    assert "defined later" in refused
    assert "arith.mulf" in refused


def test_without_egglog(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "_extension", lambda: None)
    monkeypatch.delitem(sys.modules, "egglog.bindings", raising=False)
    library.engine.cache_clear()
    text = function([loop("t", "arith.mulf %a0, %one", "%x")], "%t")
    with pytest.raises(UnsupportedError, match="egglog"):
        simplified(text)
    assert simplified(text, optional=True) == printed(text)
    nothing = function([loop("t", "arith.addf %a0, %a1", "%x", "%y")], "%t")
    assert simplified(nothing) == printed(nothing)


_SCRIPT = """
import sys
from xyntra.dialects import make_context
from torch_mlir import ir
from xyntra.passes.recognize.egraph.simplify_expressions import SimplifyExpressions
with make_context(), ir.Location.unknown():
    module = ir.Module.parse(sys.stdin.read())
    SimplifyExpressions(math="fast").run(module.operation)
    sys.stdout.write(str(module))
"""


def test_hashing_does_not_change_the_result() -> None:
    lit = Path(__file__).parents[4] / "lit-tests/passes/recognize/egraph/simplify-expressions.mlir"
    text = lit.read_text(encoding="utf-8")
    outputs = {
        subprocess.run(
            [sys.executable, "-c", _SCRIPT],
            input=text,
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | {"PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("0", "1", "12345")
    }
    assert len(outputs) == 1
    assert "xyntra.gelu" in outputs.pop()


_CONSTANTS = """#id = affine_map<(d0) -> (d0)>
func.func @main(%x: tensor<8x{type}>) -> tensor<8x{type}> {{
  %c = arith.constant {c} : {type}
  %d = arith.constant {d} : {type}
  %e = tensor.empty() : tensor<8x{type}>
  %0 = linalg.generic {{indexing_maps = [#id, #id], iterator_types = ["parallel"]}}
    ins(%x : tensor<8x{type}>) outs(%e : tensor<8x{type}>) {{
  ^bb0(%a: {type}, %o: {type}):
    %p = {op} %a, %c : {type}
    %q = {op} %p, %d : {type}
    linalg.yield %q : {type}
  }} -> tensor<8x{type}>
  return %0 : tensor<8x{type}>
}}"""


@pytest.mark.parametrize(
    ("type_", "op", "c", "d", "folded"),
    [
        ("f16", "arith.mulf", "1.5", "-2.25", "-3.375000e+00 : f16"),
        ("bf16", "arith.mulf", "1.5", "-2.25", "-3.375000e+00 : bf16"),
        ("f64", "arith.mulf", "0.1", "0.3", "3.000000e-02 : f64"),
        ("f32", "arith.maximumf", "0x7F800000", "1.0", "0x7F800000 : f32"),
        ("i8", "arith.addi", "127", "2", "-127 : i8"),
        ("i16", "arith.muli", "-300", "200", "5536 : i16"),
        ("i64", "arith.addi", "9223372036854775807", "2", "-9223372036854775807 : i64"),
        ("i64", "arith.minsi", "-9223372036854775808", "2", "-9223372036854775808 : i64"),
    ],
)
def test_constants_are_folded_and_written_in_every_type(
    type_: str, op: str, c: str, d: str, folded: str
) -> None:
    text = simplified(_CONSTANTS.format(type=type_, op=op, c=c, d=d))
    assert f"arith.constant {folded}" in text
    assert text.count(op) == 1

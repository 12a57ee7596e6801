# SPDX-License-Identifier: MIT OR Apache-2.0
"""Functions of MLIR text: which one is compiled, calls, numbers, and destinations."""

from __future__ import annotations

import numpy as np
import pytest
from mlir_programs import DTYPES, check, run

import xyntra
from xyntra.errors import UnsupportedError

Settings = dict[str, object]
X = np.arange(6, dtype=np.float32) - 2
Y = np.linspace(-1, 1, 6, dtype=np.float32)
T = "tensor<6xf32>"

CALLS = f"""
func.func private @square(%x: {T}, %s: f32, %i: index) -> ({T}, f32, index) {{
  %c = arith.constant 1 : index
  %v = tensor.extract %x[%i] : {T}
  %t = tensor.splat %s : {T}
  %0 = arith.mulf %x, %x : {T}
  %1 = arith.addf %0, %t : {T}
  %j = arith.addi %i, %c : index
  return %1, %v, %j : {T}, f32, index
}}
func.func @helper(%x: {T}) -> {T} {{
  return %x : {T}
}}
func.func @main(%x: {T}, %s: f32) -> ({T}, f32) {{
  %c = arith.constant 1 : index
  %0, %v, %j = call @square(%x, %s, %c) : ({T}, f32, index) -> ({T}, f32, index)
  %1, %w, %k = call @square(%0, %v, %j) : ({T}, f32, index) -> ({T}, f32, index)
  %2 = call @helper(%1) : ({T}) -> {T}
  return %2, %w : {T}, f32
}}
"""


def test_calls_are_inlined(settings: Settings) -> None:
    s = np.array(0.5, np.float32)
    first = X * X + s
    second = first * first + X[1]
    check(CALLS, [X, s], [second, np.asarray(first[2])], settings)


def test_the_only_public_function_is_compiled(settings: Settings) -> None:
    text = (
        CALLS.replace("@main", "@forward")
        .replace("@helper", "@square2")
        .replace("func.func @square2", "func.func private @square2")
    )
    s = np.array(0.5, np.float32)
    first = X * X + s
    check(text, [X, s], [first * first + X[1], np.asarray(first[2])], settings)


@pytest.mark.parametrize("element", ["f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8"])
def test_numbers_are_taken_and_returned(element: str, settings: Settings) -> None:
    add = "arith.addf" if "f" in element else "arith.addi"
    text = f"""func.func @main(%a: {element}, %b: {element}) -> ({element}, {element}) {{
      %0 = {add} %a, %b : {element}
      return %0, %a : {element}, {element}
    }}"""
    a, b = (np.array(n, DTYPES[element]) for n in (3, 4))
    check(text, [a, b], [a + b, a], settings)


def test_python_numbers_are_taken(settings: Settings) -> None:
    text = "func.func @main(%a: f32) -> f32 {\n %0 = math.exp %a : f32\n return %0 : f32\n}"
    executable = xyntra.compile(text, target="cpu", config=settings)
    np.testing.assert_allclose(executable(np.float32(1.5)), np.exp(np.float32(1.5)), 1e-6)


DESTINATIONS = {
    "an argument that another reads": (
        f"""  %0 = linalg.exp ins(%x : {T}) outs(%y : {T}) -> {T}
  %1 = linalg.add ins(%0, %y : {T}, {T}) outs(%x : {T}) -> {T}""",
        lambda x, y: np.exp(x) + y,
    ),
    "an argument that is added to": (
        f"""  %0 = linalg.generic {{indexing_maps = [#id, #id], iterator_types = ["parallel"]}}
      ins(%x : {T}) outs(%y : {T}) {{
  ^bb0(%a: f32, %o: f32):
    %m = arith.mulf %a, %o : f32
    linalg.yield %m : f32
  }} -> {T}
  %1 = arith.addf %0, %y : {T}""",
        lambda x, y: x * y + y,
    ),
    "a constant": (
        f"""  %c = arith.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]> : {T}
  %0 = linalg.generic {{indexing_maps = [#id, #id], iterator_types = ["parallel"]}}
      ins(%x : {T}) outs(%c : {T}) {{
  ^bb0(%a: f32, %o: f32):
    %m = arith.mulf %a, %o : f32
    linalg.yield %m : f32
  }} -> {T}
  %1 = arith.addf %0, %c : {T}""",
        lambda x, y: x * np.arange(1, 7) + np.arange(1, 7),
    ),
    "another result": (
        f"""  %0 = math.exp %x : {T}
  %2 = linalg.generic {{indexing_maps = [#id, #id], iterator_types = ["parallel"]}}
      ins(%y : {T}) outs(%0 : {T}) {{
  ^bb0(%a: f32, %o: f32):
    %m = arith.addf %a, %o : f32
    linalg.yield %m : f32
  }} -> {T}
  %1 = arith.mulf %2, %0 : {T}""",
        lambda x, y: (np.exp(x) + y) * np.exp(x),
    ),
}


@pytest.mark.parametrize("fuse", [True, False], ids=["fused", "apart"])
@pytest.mark.parametrize("name", DESTINATIONS)
def test_destinations(name: str, fuse: bool, settings: Settings) -> None:
    body, reference = DESTINATIONS[name]
    text = f"#id = affine_map<(d0) -> (d0)>\nfunc.func @main(%x: {T}, %y: {T}) -> {T} {{\n{body}\n"
    expected = np.asarray(reference(X, Y), np.float32)
    config = {**settings, "fuse": fuse}
    check(text + f"  return %1 : {T}\n}}\n", [X, Y], [expected], config, 2)


@pytest.mark.parametrize("fuse", [True, False], ids=["fused", "apart"])
def test_accumulators_that_others_read(fuse: bool, settings: Settings) -> None:
    m, a, b = "tensor<33x29xf32>", "tensor<33x17xf32>", "tensor<17x29xf32>"
    product = f"linalg.matmul ins(%a, %b : {a}, {b})"
    text = f"""func.func @main(%a: {a}, %b: {b}, %c: {m}) -> ({m}, {m}, {m}, {m}) {{
      %0 = {product} outs(%c : {m}) -> {m}
      %1 = arith.addf %0, %c : {m}
      %2 = {product} outs(%1 : {m}) -> {m}
      %3 = {product} outs(%0 : {m}) -> {m}
      %4 = arith.mulf %3, %0 : {m}
      return %1, %2, %4, %0 : {m}, {m}, {m}, {m}
    }}"""
    generator = np.random.default_rng()
    shapes = [(33, 17), (17, 29), (33, 29)]
    x, y, z = (generator.standard_normal(shape).astype(np.float32) for shape in shapes)
    p, c = x.astype(float) @ y.astype(float), z.astype(float)
    expected = [p + 2 * c, 2 * p + 2 * c, (2 * p + c) * (p + c), p + c]
    config = {**settings, "fuse": fuse}
    check(text, [x, y, z], [each.astype(np.float32) for each in expected], config, 30)


def test_a_reduction_of_several_results(settings: Settings) -> None:
    text = """#id = affine_map<(d0, d1) -> (d0, d1)>
    #r = affine_map<(d0, d1) -> (d0)>
    func.func @main(%x: tensor<5x70xf32>, %y: tensor<5xf32>)
        -> (tensor<5xf32>, tensor<5xf32>, tensor<5xf32>) {
      %0, %1 = linalg.generic {
          indexing_maps = [#id, #r, #r], iterator_types = ["parallel", "reduction"]}
          ins(%x : tensor<5x70xf32>) outs(%y, %y : tensor<5xf32>, tensor<5xf32>) {
      ^bb0(%a: f32, %s: f32, %m: f32):
        %p = arith.addf %a, %s : f32
        %q = arith.maximumf %a, %m : f32
        linalg.yield %p, %q : f32, f32
      } -> (tensor<5xf32>, tensor<5xf32>)
      %2 = arith.subf %1, %y : tensor<5xf32>
      return %0, %1, %2 : tensor<5xf32>, tensor<5xf32>, tensor<5xf32>
    }"""
    x = np.random.default_rng().standard_normal((5, 70)).astype(np.float32)
    y = x[:, 3].copy()
    largest = np.maximum(x.max(1), y)
    check(text, [x, y], [x.sum(1) + y, largest, largest - y], settings, 10)


def test_functions_without_arithmetic(settings: Settings) -> None:
    text = f"""func.func @main(%x: {T}, %s: f32) -> ({T}, {T}, f32) {{
      return %x, %x, %s : {T}, {T}, f32
    }}"""
    found = run(text, [X, np.array(3, np.float32)], settings)
    assert not any(np.shares_memory(each, X) for each in found)
    np.testing.assert_array_equal(found[1], X)


def test_refusals_name_the_operation_and_its_line(settings: Settings) -> None:
    text = f"""func.func @main(%x: {T}, %n: i32) -> {T} {{
  %m = arith.index_cast %n : i32 to index
  %c = arith.constant 0 : index
  %d = arith.constant 1 : index
  %0 = scf.for %i = %c to %m step %d iter_args(%t = %x) -> {T} {{
    %1 = arith.addf %t, %x : {T}
    scf.yield %1 : {T}
  }}
  return %0 : {T}
}}"""
    with pytest.raises(UnsupportedError) as caught:
        xyntra.compile(text, target="cpu", config=settings)
    assert "'scf.for'" in caught.value.message
    assert "line 5" in str(caught.value.place)
    assert "constants" in str(caught.value.hint)

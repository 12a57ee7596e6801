# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tests which operations and types the pass rewrites, and what it leaves alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from math_kernels import DTYPES, UNARY, Compiled, Kernel, compile_kernels

from xyntra.dialects.mlir import ir
from xyntra.errors import ConfigError
from xyntra.passes.math.expand_math import ExpandMath
from xyntra.passes.math.table import EXPANSIONS, MAX_ULP
from xyntra.passes.registry import find_pass

PRIMITIVES = {"math.absf", "math.copysign", "math.fma", "math.roundeven", "math.sqrt"}
LANES = 8
NARROW = ("f16", "bf16")
# One function of each kind: all go through the same conversions.
SAMPLE = ("cbrt", "cos", "erf", "exp", "log", "tanh")


@dataclass(frozen=True)
class Emitted:
    """What a test asks of an operation, which dies with its module."""

    name: str
    flags: str
    location: str
    text: str


def function_of(name: str, type_: str) -> str:
    body = f"%y = {name} %x : {type_}\nreturn %y : {type_}"
    return f"func.func @f(%x: {type_}) -> {type_} {{\n{body}\n}}"


def expanded(text: str, keep: tuple[str, ...] = ()) -> list[Emitted]:
    """Return the operations of the function in `text` after the pass."""
    with ir.Context() as context:
        context.enable_multithreading(False)
        module = ir.Module.parse(text)
        ExpandMath(keep).run(module.operation)
        module.operation.verify()
        block = module.body.operations[0].regions[0].blocks[0]
        return [_emitted(op.operation) for op in block.operations]


def _emitted(op: ir.Operation) -> Emitted:
    flags = str(op.attributes.get("fastmath", "none"))
    return Emitted(op.name, flags, str(op.location), str(op))


def test_the_pass_is_registered() -> None:
    assert find_pass("expand-math") is ExpandMath


@pytest.mark.parametrize("name", UNARY)
def test_only_primitives_without_flags_remain(name: str) -> None:
    for op in expanded(function_of(f"math.{name}", "f32")):
        assert not op.name.startswith("math.") or op.name in PRIMITIVES
        assert "none" in op.flags, op.text


@pytest.mark.parametrize("type_", ["f64", "vector<4xf64>", "tensor<4xf32>"])
def test_other_types_are_left_alone(type_: str) -> None:
    assert [op.name for op in expanded(function_of("math.exp", type_))] == [
        "math.exp",
        "func.return",
    ]


def test_kept_operations_are_left_alone() -> None:
    names = [op.name for op in expanded(function_of("math.tanh", "f32"), keep=("math.tanh",))]
    assert names == ["math.tanh", "func.return"]


def test_keeping_an_unknown_operation_is_an_error() -> None:
    with pytest.raises(ConfigError, match=r"no expansion of 'math\.sqrt' to keep") as caught:
        expanded(function_of("math.exp", "f32"), keep=("math.sqrt",))
    assert caught.value.code == "unknown-math-op"


def test_locations_survive() -> None:
    text = 'func.func @f(%x: f32) -> f32 {\n%y = math.exp %x : f32 loc("node")\nreturn %y : f32\n}'
    assert {op.location for op in expanded(text)[:-1]} == {'loc("node")'}


def test_regions_are_searched() -> None:
    text = """func.func @f(%x: memref<4xf32>) {
      linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
          outs(%x : memref<4xf32>) {
      ^bb0(%a: f32):
        %y = math.log %a : f32
        linalg.yield %y : f32
      }
      return
    }"""
    generic = expanded(text)[0]
    assert "math.log" not in generic.text


@pytest.fixture(scope="module")
def vectors() -> Compiled:
    kernels = {}
    for name in SAMPLE:
        body = f"%y = math.{name} %x0 : vector<{LANES}xf32>"
        kernels[name] = Kernel(body, ("f32",), "f32", LANES)
    return compile_kernels(kernels)


@pytest.mark.parametrize("name", SAMPLE)
def test_vectors_are_scalars_side_by_side(
    functions: Compiled, vectors: Compiled, name: str
) -> None:
    x = np.random.default_rng(0).standard_normal(400 * LANES).astype(np.float32)
    np.testing.assert_array_equal(vectors(name, x), functions(name, x))


@pytest.fixture(scope="module")
def narrow() -> Compiled:
    kernels = {}
    for name in SAMPLE:
        for type_ in NARROW:
            body = f"%y = math.{name} %x0 : {type_}"
            kernels[f"{name}_{type_}"] = Kernel(body, (type_,), type_)
    return compile_kernels(kernels)


@pytest.mark.parametrize("type_", NARROW)
@pytest.mark.parametrize("name", SAMPLE)
def test_narrow_types_round_the_f32_result(
    functions: Compiled, narrow: Compiled, name: str, type_: str
) -> None:
    dtype = DTYPES[type_]
    x = np.arange(2**16, dtype=np.uint16).view(dtype)
    with np.errstate(all="ignore"):
        expected = functions(name, x.astype(np.float32)).astype(dtype)
    result = narrow(f"{name}_{type_}", x)
    np.testing.assert_array_equal(result.astype(np.float32), expected.astype(np.float32))


def test_powers_of_f16_know_their_constant() -> None:
    text = """func.func @f(%x: f16) -> f16 {
      %two = arith.constant 2.0 : f16
      %y = math.powf %x, %two : f16
      return %y : f16
    }"""
    assert [op.name for op in expanded(text)].count("arith.mulf") == 1


def test_f64_falls_to_libm() -> None:
    names = [name for name in UNARY if hasattr(np, name)]
    # Named apart from libm's functions, which are declared in the same module.
    kernels = {
        f"{name}_f64": Kernel(f"%y = math.{name} %x0 : f64", ("f64",), "f64") for name in names
    }
    compiled = compile_kernels(kernels)
    x = np.linspace(0.1, 0.9, 50)
    for name in names:
        with np.errstate(invalid="ignore"):
            expected = getattr(np, name)(x)
        np.testing.assert_allclose(compiled(f"{name}_f64", x), expected, rtol=1e-14)


def test_every_expansion_states_its_error() -> None:
    assert MAX_ULP.keys() == EXPANSIONS.keys()
    assert all(0.5 <= bound <= 4.0 for bound in MAX_ULP.values())

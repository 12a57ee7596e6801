# SPDX-License-Identifier: MIT OR Apache-2.0
"""Products of few rows with a matrix of 4-bit integers, over tiles and vectors."""

from __future__ import annotations

import numpy as np
import pytest
from torch_mlir import ir

from xyntra.dialects.attributes.schedule import Schedule
from xyntra.errors import CompileError
from xyntra.passes.analysis.kernel_function import operations_named
from xyntra.passes.lower.cpu import LoweredKernel, LoweringOptions, from_nests, to_nests

RNG = np.random.default_rng(5)
WIDE = LoweringOptions(vector_bits=512, vector_registers=32)
OPTIONS = {"narrow": LoweringOptions(), "wide": WIDE}


def product(m: int, n: int, blocks: int, size: int, *, turned: bool = False) -> str:
    """[m, steps] by [n, blocks, bytes] with scales and zero points [n, blocks]."""
    a, w, p = f"{m}x{blocks}x{size}x2xf32", f"{n}x{blocks}x{size}xi8", f"{n}x{blocks}x"
    out = f"tensor<{n}x{m}xf32>" if turned else f"tensor<{m}x{n}xf32>"
    types = f"tensor<{a}>, tensor<{a}>, tensor<{w}>, tensor<{p}f32>, tensor<{p}i8>"
    reads = ["(m, b, s, 0)", "(m, b, s, 1)", "(n, b, s)", "(n, b)", "(n, b)"]
    reads += ["(n, m)" if turned else "(m, n)"]
    maps = ", ".join(f"affine_map<(m, n, b, s) -> {each}>" for each in reads)
    return f"""
    func.func @k(%a: tensor<{a}>, %w: tensor<{w}>, %t: tensor<{p}f32>,
                 %z: tensor<{p}i8>) -> {out} {{
      %zero = arith.constant 0.0 : f32
      %low = arith.constant 15 : i8
      %four = arith.constant 4 : i8
      %e = tensor.empty() : {out}
      %f = linalg.fill ins(%zero: f32) outs(%e: {out}) -> {out}
      %r = linalg.generic {{indexing_maps = [{maps}],
        iterator_types = ["parallel", "parallel", "reduction", "reduction"]}}
        ins(%a, %a, %w, %t, %z: {types}) outs(%f: {out}) {{
      ^bb0(%x: f32, %y: f32, %byte: i8, %scale: f32, %point: i8, %o: f32):
        %p = arith.extui %point : i8 to i32
        %l = arith.andi %byte, %low : i8
        %l1 = arith.extui %l : i8 to i32
        %l2 = arith.subi %l1, %p : i32
        %l3 = arith.sitofp %l2 : i32 to f32
        %l4 = arith.mulf %l3, %scale : f32
        %h = arith.shrui %byte, %four : i8
        %h1 = arith.extui %h : i8 to i32
        %h2 = arith.subi %h1, %p : i32
        %h3 = arith.sitofp %h2 : i32 to f32
        %h4 = arith.mulf %h3, %scale : f32
        %first = arith.mulf %x, %l4 : f32
        %second = arith.mulf %y, %h4 : f32
        %both = arith.addf %first, %second : f32
        %s = arith.addf %o, %both : f32
        linalg.yield %s : f32
      }} -> {out}
      return %r : {out}
    }}"""


def check(kernel, m: int, n: int, blocks: int, size: int, *, turned: bool = False) -> None:
    assert any(each.startswith("packed-products") for each in kernel.lowered.schedules)
    a = RNG.standard_normal((m, blocks, size, 2)).astype(np.float32)
    w = RNG.integers(-128, 128, (n, blocks, size)).astype(np.int8)
    scales = RNG.uniform(0.1, 1, (n, blocks)).astype(np.float32)
    zeros = RNG.integers(0, 16, (n, blocks)).astype(np.int8)
    found = kernel(a, w, scales, zeros)[0]
    unsigned = w.view(np.uint8)
    halves = np.stack([unsigned & 15, unsigned >> 4], axis=-1).astype(np.float64)
    weight = (halves - zeros[:, :, None, None]) * scales[:, :, None, None].astype(np.float64)
    flat, weight = a.reshape(m, -1).astype(np.float64), weight.reshape(n, -1)
    wanted, size_of = flat @ weight.T, np.abs(flat) @ np.abs(weight).T
    assert (np.abs((found.T if turned else found) - wanted) <= 2e-6 * size_of).all()


@pytest.mark.parametrize("machine", OPTIONS)
@pytest.mark.parametrize(
    "sizes", [(1, 37, 30, 16), (6, 130, 9, 64), (3, 66, 33, 8), (35, 131, 5, 32)], ids=str
)
def test_ragged_sizes(compiled, sizes, machine):
    check(compiled(product(*sizes), options=OPTIONS[machine]), *sizes)


def test_columns_that_lie_apart(compiled):
    sizes = (3, 70, 5, 64)
    check(compiled(product(*sizes, turned=True), options=WIDE), *sizes, turned=True)


def test_small_matrices_are_left_to_other_emitters(compiled):
    kernel = compiled(product(2, 8, 3, 16), options=WIDE)
    assert not any(each.startswith("packed-products") for each in kernel.lowered.schedules)


def edited(choices: dict[str, object]):
    def lower(module: ir.Module, options: LoweringOptions) -> LoweredKernel:
        nests = ir.Module.parse(str(to_nests(module, options)))
        with nests.context:
            for op in operations_named(nests.operation, "linalg.generic"):
                if "xyntra.schedule" in op.attributes:
                    Schedule("packed-products", choices).attach(op)
        return from_nests(nests, options)

    return lower


@pytest.mark.parametrize(
    "told", [(4, (1, 1), 0), (8, (5, 4), 0), (16, (2, 2), 6), (8, (3, 4), 68)], ids=str
)
def test_edited_schedules(lowered_by, told):
    sizes = (5, 70, 9, 32)
    choices = {"vector": told[0], "tile": told[1], "block": told[2]}
    check(lowered_by(product(*sizes), edited(choices), WIDE), *sizes)


REFUSED = [
    ({"vector": 12, "tile": (1, 1)}, "vector = 12: allowed are powers of two from 4"),
    ({"vector": 64, "tile": (1, 1)}, "vector = 64: allowed are powers of two from 4"),
    ({"vector": 8, "tile": (6, 4)}, "tile = [6, 4]: allowed are up to 5 rows"),
    ({"vector": 8, "tile": (2, 3)}, "tile = [2, 3]: allowed are up to 5 rows"),
    ({"vector": 8, "tile": (2, 8)}, "tile = [2, 8]: allowed are up to 5 rows"),
    ({"vector": 8, "tile": (2, 4), "block": 6}, "block = 6: allowed are 0 and multiples of 4"),
    ({"vector": 8, "tile": (2, 4), "block": 72}, "block = 72: allowed are 0 and multiples of 4"),
]


@pytest.mark.parametrize(("choices", "message"), REFUSED, ids=str)
def test_refused_schedules(lowered_by, choices, message):
    with pytest.raises(CompileError) as caught:
        lowered_by(product(5, 70, 9, 32), edited(choices), WIDE)
    assert caught.value.code == "bad-schedule"
    assert message in caught.value.message

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Products of few rows of 8 bits with a matrix of 4 bits, whose integers are multiplied."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from edited_schedules import edited

from xyntra.errors import CompileError
from xyntra.passes.lower.cpu import LoweringOptions
from xyntra.targets.cpu.device import host_device

RNG = np.random.default_rng(6)
WIDE = LoweringOptions(vector_bits=512, vector_registers=32, dot_products="pmaddwd")
HOST = host_device()
MACHINES = {
    "any": LoweringOptions(),
    "AVX2": LoweringOptions(dot_products="pmaddwd"),
    "of this machine": LoweringOptions(
        HOST.vector_bits, HOST.vector_registers, HOST.dot_products
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Rounded:
    """[m, steps] by [n, blocks, bytes], with scales of both, and zero points [n, blocks].

    Attributes:
        turned: the result is [n, m].
        zero: the zero point of all blocks; each has one of its own without it.
    """

    m: int
    n: int
    blocks: int
    size: int = 16
    turned: bool = False
    zero: int | None = None

    @property
    def text(self) -> str:
        """The kernel."""
        a = f"tensor<{self.m}x{self.blocks}x{self.size}x2xi8>"
        w, p = f"tensor<{self.n}x{self.blocks}x{self.size}xi8>", f"tensor<{self.n}x{self.blocks}x"
        r = f"tensor<{self.m}x{self.blocks}xf32>"
        out = f"tensor<{self.n}x{self.m}xf32>" if self.turned else f"tensor<{self.m}x{self.n}xf32>"
        reads = ["(m, b, s, 0)", "(m, b, s, 1)", "(m, b)", "(n, b, s)", "(n, b)", "(n, b)"]
        reads.append("(n, m)" if self.turned else "(m, n)")
        maps = ", ".join(f"affine_map<(m, n, b, s) -> {each}>" for each in reads)
        point = "%q" if self.zero is None else "%middle"
        return f"""
    func.func @k(%a: {a}, %r: {r}, %w: {w}, %t: {p}f16>, %z: {p}i8>) -> {out} {{
      %zero = arith.constant 0.0 : f32
      %low = arith.constant 15 : i8
      %four = arith.constant 4 : i8
      %middle = arith.constant {self.zero or 0} : i32
      %e = tensor.empty() : {out}
      %f = linalg.fill ins(%zero: f32) outs(%e: {out}) -> {out}
      %s = linalg.generic {{indexing_maps = [{maps}],
        iterator_types = ["parallel", "parallel", "reduction", "reduction"]}}
        ins(%a, %a, %r, %w, %t, %z: {a}, {a}, {r}, {w}, {p}f16>, {p}i8>) outs(%f: {out}) {{
      ^bb0(%x: i8, %y: i8, %row: f32, %byte: i8, %narrow: f16, %point: i8, %o: f32):
        %q = arith.extui %point : i8 to i32
        %l = arith.andi %byte, %low : i8
        %h = arith.shrui %byte, %four : i8
        %l1 = arith.extui %l : i8 to i32
        %h1 = arith.extui %h : i8 to i32
        %l2 = arith.subi %l1, {point} : i32
        %h2 = arith.subi %h1, {point} : i32
        %x1 = arith.extsi %x : i8 to i32
        %y1 = arith.extsi %y : i8 to i32
        %l3 = arith.muli %x1, %l2 : i32
        %h3 = arith.muli %y1, %h2 : i32
        %both = arith.addi %l3, %h3 : i32
        %value = arith.sitofp %both : i32 to f32
        %scale = arith.extf %narrow : f16 to f32
        %factor = arith.mulf %scale, %row : f32
        %term = arith.mulf %value, %factor : f32
        %sum = arith.addf %o, %term : f32
        linalg.yield %sum : f32
      }} -> {out}
      return %s : {out}
    }}"""

    def arrays(self) -> list[np.ndarray]:
        """Return random arguments, with the largest integers among them."""
        a = RNG.integers(-127, 128, (self.m, self.blocks, self.size, 2)).astype(np.int8)
        a[0, 0], a[-1, -1] = 127, -127
        w = RNG.integers(-128, 128, (self.n, self.blocks, self.size)).astype(np.int8)
        w[-1] = -1  # two integers of 15
        rows = RNG.uniform(0.1, 1, (self.m, self.blocks)).astype(np.float32)
        scales = RNG.uniform(0.1, 1, (self.n, self.blocks)).astype(np.float16)
        zeros = RNG.integers(0, 256, (self.n, self.blocks)).astype(np.uint8).view(np.int8)
        return [a, rows, w, scales, zeros]

    def check(self, kernel) -> None:
        """Compare what a kernel computes with f64."""
        assert any(each.startswith("packed-dots") for each in kernel.lowered.schedules)
        arrays = self.arrays()
        a, rows, w, scales, zeros = arrays
        bytes_ = w.view(np.uint8)
        point = zeros.view(np.uint8)[..., None, None] if self.zero is None else self.zero
        weight = np.stack([bytes_ & 15, bytes_ >> 4], -1).astype(np.float64) - point
        weight = (weight * scales[..., None, None].astype(np.float64)).reshape(self.n, -1)
        flat = (a * rows[..., None, None].astype(np.float64)).reshape(self.m, -1)
        found = kernel(*arrays)[0]
        wanted, size_of = flat @ weight.T, np.abs(flat) @ np.abs(weight).T
        assert (np.abs((found.T if self.turned else found) - wanted) <= 1e-6 * size_of).all()


CASES = {
    "blocks of 32": Rounded(1, 137, 30),
    "around 8, and a rest": Rounded(1, 270, 31, zero=8),
    "two rows, blocks of 128": Rounded(2, 131, 9, 64),
    "blocks of 16": Rounded(3, 266, 33, 8),
    "one block": Rounded(5, 300, 1, 64, zero=8),
    "columns that lie apart": Rounded(8, 271, 5, 32, turned=True),
}


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", CASES)
def test_results(compiled, name, machine):
    case = CASES[name]
    case.check(compiled(case.text, options=MACHINES[machine]))


@pytest.mark.parametrize(("vector", "tile"), [(4, (1, 1)), (8, (5, 4)), (16, (2, 2))], ids=str)
def test_edited_schedules(lowered_by, vector, tile):
    case = Rounded(5, 270, 9)
    choices = {"vector": vector, "tile": tile, "ahead": 0, "dot": HOST.dot_products}
    case.check(lowered_by(case.text, edited("packed-dots", choices), WIDE))


REFUSED = [
    ({"vector": 12, "tile": (1, 1)}, "vector = 12: allowed are words that divide blocks of 16"),
    ({"vector": 8, "tile": (6, 4)}, "tile = [6, 4]: allowed are up to 5 rows"),
    ({"vector": 8, "tile": (2, 2), "dot": "octets"}, "allowed are none, pairs, quads, pmaddwd"),
]


@pytest.mark.parametrize(("choices", "message"), REFUSED, ids=str)
def test_refused_schedules(lowered_by, choices, message):
    with pytest.raises(CompileError) as caught:
        lowered_by(Rounded(5, 270, 9).text, edited("packed-dots", choices), WIDE)
    assert caught.value.code == "bad-schedule"
    assert message in caught.value.message

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Kernels that multiply rows with matrices of 4 or 8 bits, as text, and their results in f64."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

RNG = np.random.default_rng(5)


@dataclass(frozen=True)
class Packed:
    """[m, steps] by [n, blocks, bytes], with scales and zero points [n, blocks].

    Attributes:
        turned: the result is [n, m].
        bits: of an integer.
        zero: the zero point of all blocks; each has one of its own without it.
        rows: element type of the rows.
    """

    m: int
    n: int
    blocks: int
    size: int
    turned: bool = False
    bits: int = 4
    zero: int | None = None
    rows: str = "f32"

    @property
    def text(self) -> str:
        """The kernel."""
        pair = "x2" if self.bits == 4 else ""
        a = f"tensor<{self.m}x{self.blocks}x{self.size}{pair}x{self.rows}>"
        w, p = f"tensor<{self.n}x{self.blocks}x{self.size}xi8>", f"{self.n}x{self.blocks}x"
        out = f"tensor<{self.n}x{self.m}xf32>" if self.turned else f"tensor<{self.m}x{self.n}xf32>"
        factors = ["(m, b, s, 0)", "(m, b, s, 1)"] if self.bits == 4 else ["(m, b, s)"]
        reads = [*factors, "(n, b, s)", "(n, b)", "(n, b)", "(n, m)" if self.turned else "(m, n)"]
        maps = ", ".join(f"affine_map<(m, n, b, s) -> {each}>" for each in reads)
        types = ", ".join([a] * len(factors) + [w, f"tensor<{p}f32>, tensor<{p}i8>"])
        arguments = ", ".join(f"%x{i}: {self.rows}" for i in range(len(factors)))
        return f"""
    func.func @k(%a: {a}, %w: {w}, %t: tensor<{p}f32>, %z: tensor<{p}i8>) -> {out} {{
      %zero = arith.constant 0.0 : f32
      %low = arith.constant 15 : i8
      %four = arith.constant 4 : i8
      %middle = arith.constant {self.zero or 0} : i32
      %e = tensor.empty() : {out}
      %f = linalg.fill ins(%zero: f32) outs(%e: {out}) -> {out}
      %r = linalg.generic {{indexing_maps = [{maps}],
        iterator_types = ["parallel", "parallel", "reduction", "reduction"]}}
        ins({"%a, " * len(factors)}%w, %t, %z: {types}) outs(%f: {out}) {{
      ^bb0({arguments}, %byte: i8, %scale: f32, %point: i8, %o: f32):
        {self._body}
        linalg.yield %s : f32
      }} -> {out}
      return %r : {out}
    }}"""

    @property
    def _body(self) -> str:
        lines = ["%q = arith.extui %point : i8 to i32"]
        point = "%q" if self.zero is None else "%middle"
        fields = {"%byte": ""}
        if self.bits == 4:
            fields = {
                "%l": "%l = arith.andi %byte, %low : i8",
                "%h": "%h = arith.shrui %byte, %four : i8",
            }
        for i, (field, code) in enumerate(fields.items()):
            lines += [
                code,
                f"%a{i} = arith.extui {field} : i8 to i32",
                f"%b{i} = arith.subi %a{i}, {point} : i32",
                f"%c{i} = arith.sitofp %b{i} : i32 to f32",
                f"%d{i} = arith.mulf %c{i}, %scale : f32",
                f"%y{i} = arith.extf %x{i} : {self.rows} to f32" if self.rows != "f32" else "",
                f"%e{i} = arith.mulf {'%x' if self.rows == 'f32' else '%y'}{i}, %d{i} : f32",
            ]
        if self.bits == 4:
            lines.append("%both = arith.addf %e0, %e1 : f32")
        lines.append(f"%s = arith.addf %o, {'%both' if self.bits == 4 else '%e0'} : f32")
        return "\n        ".join(lines)

    def arrays(self) -> list[np.ndarray]:
        """Return random arguments."""
        shape = (self.m, self.blocks, self.size, *([2] if self.bits == 4 else []))
        a = RNG.standard_normal(shape).astype({"f32": np.float32, "f16": np.float16}[self.rows])
        w = RNG.integers(-128, 128, (self.n, self.blocks, self.size)).astype(np.int8)
        scales = RNG.uniform(0.1, 1, (self.n, self.blocks)).astype(np.float32)
        return [a, w, scales, RNG.integers(0, 16, (self.n, self.blocks)).astype(np.int8)]

    def weight(self, arrays: list[np.ndarray]) -> np.ndarray:
        """Return the matrix [n, steps] that the bytes stand for, in f64."""
        _, w, scales, zeros = arrays
        unsigned = w.view(np.uint8)
        halves = [unsigned & 15, unsigned >> 4] if self.bits == 4 else [unsigned]
        integers = np.stack(halves, axis=-1).astype(np.float64)
        point = zeros[:, :, None, None] if self.zero is None else self.zero
        return ((integers - point) * scales[:, :, None, None].astype(np.float64)).reshape(
            self.n, -1
        )

    def check(self, kernel, emitter: str) -> None:
        """Compare what a kernel computes with f64."""
        assert any(each.startswith(emitter) for each in kernel.lowered.schedules)
        arrays = self.arrays()
        found, weight = kernel(*arrays)[0], self.weight(arrays)
        flat = arrays[0].reshape(self.m, -1).astype(np.float64)
        wanted, size_of = flat @ weight.T, np.abs(flat) @ np.abs(weight).T
        assert (np.abs((found.T if self.turned else found) - wanted) <= 2e-6 * size_of).all()

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Models with a MatMulNBits, and what they compute, in float64."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import onnx
from harness import Arrays, node_model

DOMAIN = "com.microsoft"


@dataclass(frozen=True)
class FewBits:
    """A product [rows, steps] by [steps, columns].

    Attributes:
        rows, steps, columns: sizes.
        bits, block: of the weight.
        zeros: "none", "packed" or "floats".
        scale, activation: dtypes.
        bias: whether there is one.
        level: the accuracy level, of which 4 allows rows to be rounded.
    """

    rows: int
    steps: int
    columns: int
    bits: int = 4
    block: int = 32
    zeros: str = "none"
    scale: str = "float32"
    activation: str = "float32"
    bias: bool = False
    level: int = 0

    @property
    def blocks(self) -> int:
        """Return how many blocks a column has."""
        return -(-self.steps // self.block)

    def arrays(self, seed: int = 0) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """Return inputs and constants."""
        rng = np.random.default_rng(seed)
        kind = np.dtype(self.scale)
        size = self.block * self.bits // 8
        packed = rng.integers(0, 256, (self.columns, self.blocks, size), np.uint8)
        scales = rng.uniform(0.5, 1.5, self.columns * self.blocks) / 2 ** (self.bits - 1)
        constants = {"b": packed, "scales": scales.astype(kind)}
        if self.zeros == "packed":
            zero_bytes = self.columns * -(-self.blocks * self.bits // 8)
            constants["zeros"] = rng.integers(0, 256, zero_bytes, np.uint8)
        elif self.zeros == "floats":
            points = rng.uniform(0, 2**self.bits, (self.columns, self.blocks))
            constants["zeros"] = points.astype(kind)
        if self.bias:
            constants["bias"] = rng.standard_normal(self.columns).astype(kind)
        a = rng.standard_normal((self.rows, self.steps)).astype(self.activation)
        return {"a": a}, constants

    def model(self, inputs: Arrays, constants: Arrays) -> onnx.ModelProto:
        """Return the model of one node."""
        names = ["a", "b", "scales"]
        if "zeros" in constants or self.bias:
            names.append("zeros" if "zeros" in constants else "")
        names += ["", "bias"] if self.bias else []
        sizes = {"K": self.steps, "N": self.columns, "bits": self.bits, "block_size": self.block}
        if self.level:
            sizes["accuracy_level"] = self.level
        return node_model(
            "MatMulNBits", inputs, constants=constants, names=names, domain=DOMAIN, **sizes
        )

    def weight(self, constants: Arrays) -> np.ndarray:
        """Return the weight [columns, steps] that the constants stand for, in float64."""
        integers = self._unpacked(constants["b"], self.blocks * self.block)
        integers = integers.reshape(self.columns, self.blocks, self.block)
        zeros = np.full((self.columns, self.blocks), 2.0 ** (self.bits - 1))
        if self.zeros == "packed":
            zeros = self._unpacked(constants["zeros"], self.blocks)
        elif self.zeros == "floats":
            zeros = constants["zeros"].astype(np.float64)
        scales = constants["scales"].astype(np.float64).reshape(self.columns, self.blocks, 1)
        weight = (integers - zeros[:, :, None]) * scales
        return weight.reshape(self.columns, -1)[:, : self.steps]

    def _unpacked(self, packed: np.ndarray, count: int) -> np.ndarray:
        rows = packed.reshape(self.columns, -1)
        if self.bits == 4:
            rows = np.stack([rows & 15, rows >> 4], axis=-1).reshape(self.columns, -1)
        return rows[:, :count].astype(np.float64)

    def result(self, inputs: Arrays, constants: Arrays) -> np.ndarray:
        """Return the product, in float64."""
        product = inputs["a"].astype(np.float64) @ self.weight(constants).T
        return product + (constants["bias"].astype(np.float64) if self.bias else 0)

    def rounded(self, inputs: Arrays) -> Arrays:
        """Return the inputs with rows rounded to 8 bits in blocks of the weight, in float64."""
        rows = np.zeros((self.rows, self.blocks * self.block))
        rows[:, : self.steps] = inputs["a"]
        blocks = rows.reshape(self.rows, self.blocks, self.block)
        scale = np.abs(blocks).max(-1, keepdims=True) / 127
        scale[scale == 0] = 1
        found = np.rint(blocks / scale) * scale
        return {"a": found.reshape(self.rows, -1)[:, : self.steps]}

    def size(self, inputs: Arrays, constants: Arrays) -> np.ndarray:
        """Return the sum of magnitudes, which errors of rounding are in proportion to."""
        return np.abs(inputs["a"].astype(np.float64)) @ np.abs(self.weight(constants)).T + 1

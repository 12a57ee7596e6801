# SPDX-License-Identifier: MIT OR Apache-2.0
"""Matrix products of many shapes, which `bench.cuda` compares with cuBLAS."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Product", "products"]


@dataclass(frozen=True)
class Product:
    """A batch of products of matrices.

    Attributes:
        batch: how many; 0 for a single one without a dimension for it.
        rows: of the left factor and the result.
        columns: of the right factor and the result.
        depth: steps of the reduction.
        dtype: f16 or bf16.
        layout: "n" where a factor lies as rows of the product have it, "t" where it is transposed,
            for the left and the right one.
    """

    batch: int
    rows: int
    columns: int
    depth: int
    dtype: str
    layout: str = "nn"

    @property
    def name(self) -> str:
        """Of the row of the table."""
        sizes = [self.batch] * bool(self.batch) + [self.rows, self.columns, self.depth]
        return f"product {'x'.join(map(str, sizes))} {self.dtype} {self.layout}"

    @property
    def shapes(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Of the two factors as they lie in memory."""
        left, right = (self.rows, self.depth), (self.depth, self.columns)
        both = (
            left if self.layout[0] == "n" else left[::-1],
            right if self.layout[1] == "n" else right[::-1],
        )
        return (self._batched(both[0]), self._batched(both[1]))

    @property
    def result(self) -> tuple[int, ...]:
        """Shape of the result."""
        return self._batched((self.rows, self.columns))

    @property
    def flops(self) -> int:
        """Multiplications and additions."""
        return 2 * max(self.batch, 1) * self.rows * self.columns * self.depth

    def _batched(self, shape: tuple[int, int]) -> tuple[int, ...]:
        return (self.batch, *shape) if self.batch else shape


def products() -> tuple[Product, ...]:
    """Return thirty: of few rows, ragged, batched, tall, of a long reduction, and transposed."""
    return (
        Product(0, 1, 3072, 768, "f16"),
        Product(0, 2, 4096, 1024, "bf16"),
        Product(0, 4, 4096, 4096, "f16"),
        Product(0, 8, 11008, 4096, "bf16"),
        Product(0, 16, 1024, 4096, "f16"),
        Product(0, 32, 3072, 768, "bf16"),
        Product(0, 64, 4096, 4096, "f16"),
        Product(0, 96, 2304, 768, "f16"),
        Product(0, 128, 768, 768, "f16"),
        Product(0, 128, 2304, 768, "f16"),
        Product(0, 128, 768, 3072, "f16"),
        Product(0, 128, 3072, 3072, "bf16"),
        Product(0, 777, 1001, 513, "f16"),
        Product(0, 1000, 3, 768, "bf16"),
        Product(0, 333, 555, 777, "bf16"),
        Product(0, 100, 1000, 2048, "bf16"),
        Product(0, 197, 576, 192, "f16"),
        Product(12, 128, 128, 64, "f16", "nt"),
        Product(64, 256, 256, 256, "bf16"),
        Product(8, 1024, 1024, 512, "f16"),
        Product(96, 197, 64, 197, "bf16"),
        Product(0, 65536, 64, 64, "bf16"),
        Product(0, 32768, 128, 256, "f16"),
        Product(0, 16384, 256, 1024, "bf16"),
        Product(0, 64, 64, 65536, "f16"),
        Product(0, 2048, 2048, 2048, "bf16", "nt"),
        Product(0, 2048, 2048, 2048, "f16", "tn"),
        Product(0, 1024, 1024, 8192, "bf16", "tt"),
        Product(0, 512, 768, 3072, "f16"),
        Product(0, 1024, 768, 3072, "f16", "nt"),
    )

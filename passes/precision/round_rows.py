# SPDX-License-Identifier: MIT OR Apache-2.0
"""`round-rows`: rows that meet weights of 4 bits are rounded to 8 bits, block by block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.dtypes import is_float
from xyntra.dialects.mlir import ir
from xyntra.dialects.tensors.packed_product import ROUNDS_ROWS
from xyntra.dialects.tensors.rounded_product import rounded_contraction
from xyntra.passes.analysis.functions import function_blocks
from xyntra.passes.analysis.locations import source_nodes
from xyntra.passes.precision.quantization import rounded_rows
from xyntra.passes.precision.report import NodePrecision, precisions_of, record_precisions
from xyntra.passes.recognize.dead_operations import erase_unused
from xyntra.passes.recognize.packed_weights import PackedMatmul, packed_product_of
from xyntra.passes.registry import register_pass

__all__ = ["RoundRows"]

_BITS = 4
_MOST_ROWS = 8
"""More rows meet weights that are dequantized once for all of them."""
_NAMED_NODES = 3


@register_pass
@dataclass(frozen=True)
class RoundRows:
    """Round the rows of products with weights of 4 bits to 8 bits, with a scale for each block.

    The largest magnitude of a block of a row becomes 127. Integers are multiplied and summed
    exactly within a block; sums of blocks are of f32. Products of few rows alone are rewritten, and
    of these the ones that the model says may be (`xyntra.rounds_rows`, which stands on products of
    MatMulNBits with accuracy level 4). The module says which were.
    """

    name: ClassVar[str] = "round-rows"

    all: bool = False
    """Whether all such products are rewritten, and not those alone that the model names."""

    def run(self, module: ir.Operation) -> None:
        """Rewrite every function of `module`."""
        found: list[NodePrecision] = []
        for block in function_blocks(module):
            found += _Rewriter().rewrite(block, everything=self.all)
        if found:
            nodes = {each.nodes for each in found}
            before = [each for each in precisions_of(module) if each.nodes not in nodes]
            record_precisions(module, [*before, *found])


class _Rewriter:
    """Rewrites the products of one function; those of the same rows share what is rounded."""

    def __init__(self) -> None:
        self._known: dict[ir.Value, tuple[Tensor, Tensor]] = {}

    def rewrite(self, block: ir.Block, *, everything: bool) -> list[NodePrecision]:
        """Rewrite what can be; returns what was decided."""
        found, replaced = [], []
        for op in [view.operation for view in block.operations]:
            if op.name != "linalg.generic" or not (everything or ROUNDS_ROWS in op.attributes):
                continue
            product = packed_product_of(op)
            if product is None or not _is_wanted(product):
                continue
            with op.context, op.location:
                b = TensorBuilder(ir.InsertionPoint(op), op.location)
                result = rounded_contraction(b, *self._rows(b, product), product.weight)
                op.results[0].replace_all_uses_with(result.value)
            nodes = ", ".join(source_nodes(op.location)[:_NAMED_NODES])
            found.append(NodePrecision(nodes, "w4a8", ""))
            replaced.append(op)
        erase_unused(replaced)
        return found

    def _rows(self, b: TensorBuilder, product: PackedMatmul) -> tuple[Tensor, Tensor]:
        rows = product.rows
        if rows.value not in self._known:
            count, blocks = rows.shape[:2]
            wide = b.map(lambda x: x.cast("float32"), rows, dtype="float32")
            integers, scales = rounded_rows(b, wide if rows.dtype != "float32" else rows, [2, 3])
            self._known[rows.value] = integers, b.reshape(scales, [count, blocks])
        return self._known[rows.value]


def _is_wanted(product: PackedMatmul) -> bool:
    """Tell whether few rows meet a weight of 4 bits, whose zero points are integers."""
    weight = product.weight
    zeros = weight.zeros
    if weight.bits != _BITS or (isinstance(zeros, Tensor) and is_float(zeros.dtype)):
        return False
    return product.dtype == "float32" and 0 < product.rows.shape[0] <= _MOST_ROWS

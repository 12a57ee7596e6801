# SPDX-License-Identifier: MIT OR Apache-2.0
"""`unpack-products`: products of many rows with packed weights get weights that are dequantized."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.mlir import ir
from xyntra.dialects.tensors.packed_product import unpacked_weight
from xyntra.passes.analysis.functions import function_blocks
from xyntra.passes.analysis.reductions import Reductions
from xyntra.passes.recognize.dead_operations import erase_unused
from xyntra.passes.recognize.packed_weights import PackedMatmul, packed_product_of
from xyntra.passes.registry import register_pass

__all__ = ["UnpackProducts"]


@register_pass
@dataclass(frozen=True)
class UnpackProducts:
    """Take the dequantization of weights out of products of many rows, which tensor cores compute.

    The weight takes the type of what it is multiplied with, once, when the model is loaded.
    Products of at most `rows` rows stay as they are: their speed is that of reading the weight.
    """

    name: ClassVar[str] = "unpack-products"

    rows: int = 16

    def run(self, module: ir.Operation) -> None:
        """Rewrite every function of `module`."""
        replaced = []
        reductions = Reductions()
        for block in function_blocks(module):
            known: dict[tuple[ir.Value, ir.Value, str], Tensor] = {}
            generics = [view for view in block.operations if view.name == "linalg.generic"]
            for op in [view.operation for view in generics if reductions.has(view.operation)]:
                found = packed_product_of(op)
                if found is None or found.rows.shape[0] <= self.rows:
                    continue
                with op.context, op.location:
                    result = _unpacked(op, found, known)
                op.results[0].replace_all_uses_with(result.value)
                replaced.append(op)
        erase_unused(replaced)


def _unpacked(
    op: ir.Operation, found: PackedMatmul, known: dict[tuple[ir.Value, ir.Value, str], Tensor]
) -> Tensor:
    b = TensorBuilder(ir.InsertionPoint(op), op.location)
    key = found.weight.integers.value, found.weight.scales.value, found.rows.dtype
    if key not in known:
        known[key] = unpacked_weight(b, found.weight, found.rows.dtype)
    rows = b.reshape(found.rows, [found.rows.shape[0], found.weight.steps])
    return b.einsum("mk,nk->mn", rows, known[key], found.dtype)

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Stores scales of weights that are packed in the model in f16, as those of other weights are."""

from __future__ import annotations

from dataclasses import dataclass

from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.mlir import ir
from xyntra.dialects.tensors.packed_product import ROUNDS_ROWS, PackedWeight, packed_contraction
from xyntra.passes.analysis.functions import weight_positions
from xyntra.passes.precision.magnitudes import Magnitudes
from xyntra.passes.recognize.dead_operations import erase_unused
from xyntra.passes.recognize.packed_weights import PackedMatmul, packed_product_of

__all__ = ["narrow_scales"]

_RESHAPES = ("tensor.expand_shape", "tensor.collapse_shape")


@dataclass(frozen=True)
class _Scales:
    """Scales of f32 that a packed product alone reads.

    Attributes:
        op: the product.
        found: the same.
        argument: of the function, which has them in some shape.
    """

    op: ir.Operation
    found: PackedMatmul
    argument: ir.Value

    @classmethod
    def of(cls, op: ir.Operation, parameters: set[ir.Value]) -> _Scales | None:
        """Return the scales of `op`; None where it is no such product."""
        found = packed_product_of(op) if op.name == "linalg.generic" else None
        if found is None or found.weight.scales.dtype != "float32":
            return None
        value = found.weight.scales.value
        while len(list(value.uses)) == 1:
            if value in parameters:
                return cls(op, found, value)
            if isinstance(value.owner, ir.Block) or value.owner.operation.name not in _RESHAPES:
                return None
            value = value.owner.operation.operands[0]
        return None

    def narrow(self) -> None:
        """Let the argument have f16, and the product read it so."""
        found, shape = self.found, ir.RankedTensorType(self.argument.type).shape
        with self.op.context, self.op.location:
            b = TensorBuilder(ir.InsertionPoint(self.op), self.op.location)
            self.argument.set_type(ir.RankedTensorType.get(shape, ir.F16Type.get()))
            scales = b.reshape(Tensor(self.argument, "float16"), found.weight.scales.shape)
            old = found.weight
            weight = PackedWeight(old.integers, scales, old.zeros, old.bits, old.steps)
            result = packed_contraction(b, found.rows, weight, found.dtype)
            if ROUNDS_ROWS in self.op.attributes:
                unit = self.op.attributes[ROUNDS_ROWS]
                result.value.owner.operation.attributes[ROUNDS_ROWS] = unit
            self.op.results[0].replace_all_uses_with(result.value)


def narrow_scales(block: ir.Block) -> list[int]:
    """Give f16 to scales of f32 that fit; returns the numbers of the arguments that have them.

    Scales beyond the range of f16, or that are all tiny, stay as they are.
    """
    magnitudes = Magnitudes(block, [])
    places = {
        block.arguments[place]: place
        for place in weight_positions(block)
        if not magnitudes.of(block.arguments[place])
    }
    found = [_Scales.of(view.operation, set(places)) for view in block.operations]
    narrowed = [each for each in found if each is not None]
    for each in narrowed:
        each.narrow()
    erase_unused([each.op for each in narrowed])
    return [places[each.argument] for each in narrowed]

# SPDX-License-Identifier: MIT OR Apache-2.0
"""`narrow-contractions`: products of widened 16-bit floats read these themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.builder import Iterator, Tensor, TensorBuilder
from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.conversions import converts
from xyntra.passes.analysis.functions import function_blocks
from xyntra.passes.analysis.multiply_add import is_multiply_add
from xyntra.passes.analysis.owners import constant_number, owner_of
from xyntra.passes.analysis.reductions import Reductions
from xyntra.passes.analysis.views import RESHAPES
from xyntra.passes.fusion.weights.weights import starts_from_zero
from xyntra.passes.precision.roles import element_of, is_copy
from xyntra.passes.recognize.dead_operations import erase_unused
from xyntra.passes.registry import register_pass

__all__ = ["NarrowContractions"]

_NARROW = ("f16", "bf16")
_MOST_STEPS = 8
_FACTORS = (2.0**-20, 2.0**20)
"""A factor within these moves behind a sum: it takes no product of 16 bits out of f32's range."""


@register_pass
@dataclass(frozen=True)
class NarrowContractions:
    """Let f32 contractions of widened 16-bit floats widen every product's factors themselves.

    That is how matrix units compute: products of 16-bit floats are exact in f32, so results are the
    same, and half the bytes are read. Conversions are found through reshapes, transposes and
    multiplications by a constant, which multiplies the sums instead. Left alone where one factor is
    no widened one, or of another type than the other.
    """

    name: ClassVar[str] = "narrow-contractions"

    def run(self, module: ir.Operation) -> None:
        """Rewrite every function of `module`."""
        replaced = []
        reductions = Reductions()
        for block in function_blocks(module):
            known: dict[ir.Value, _Narrowed | None] = {}
            generics = [view for view in block.operations if view.name == "linalg.generic"]
            for op in [view.operation for view in generics if reductions.has(view.operation)]:
                with op.context:
                    if _rewritten(op, known):
                        replaced.append(op)
        erase_unused(replaced)


@dataclass(frozen=True)
class _Narrowed:
    """What a tensor of f32 is: elements of 16 bits, widened and multiplied by a factor."""

    tensor: Tensor
    factor: float


def _rewritten(op: ir.Operation, known: dict[ir.Value, _Narrowed | None]) -> bool:
    if list(op.attributes["operandSegmentSizes"]) != [2, 1]:
        return False
    if element_of(op.results[0]) != "f32" or not is_multiply_add(op.regions[0].blocks[0]):
        return False
    if not all(_is_widened(operand) for operand in list(op.operands)[:2]):
        return False
    factors = [_narrowed(operand, known) for operand in list(op.operands)[:2]]
    left, right = factors
    if left is None or right is None or left.tensor.dtype != right.tensor.dtype:
        return False
    factor = left.factor * right.factor
    if factor != 1.0 and not starts_from_zero(op):
        return False
    op.results[0].replace_all_uses_with(_contraction(op, left.tensor, right.tensor, factor))
    return True


def _contraction(op: ir.Operation, left: Tensor, right: Tensor, factor: float) -> ir.Value:
    b = TensorBuilder(ir.InsertionPoint(op), op.location)
    maps = [ir.AffineMapAttr(each).value for each in op.attributes["indexing_maps"]]
    kinds: list[Iterator] = [
        "reduction" if "reduction" in str(kind) else "parallel"
        for kind in op.attributes["iterator_types"]
    ]
    (total,) = b.generic(
        [(left, maps[0]), (right, maps[1])],
        [(op.operands[2], "float32", maps[2])],
        kinds,
        lambda x, y, running: running + x.cast("float32") * y.cast("float32"),
    )
    if factor != 1.0:
        total = b.map(lambda x: x * factor, total, dtype="float32")
    return total.value


def _is_widened(value: ir.Value) -> bool:
    """Tell whether steps lead from a conversion of 16 bits to `value`; nothing is changed."""
    for _ in range(_MOST_STEPS):
        op = owner_of(value)
        if op is None:
            return False
        if converts(op, "arith.extf"):
            return element_of(value) == "f32" and element_of(op.operands[0]) in _NARROW
        if op.name not in RESHAPES and not is_copy(op) and _factor(op) is None:
            return False
        value = op.operands[0]
    return False


def _narrowed(value: ir.Value, known: dict[ir.Value, _Narrowed | None]) -> _Narrowed | None:
    """Return what `value` is the widening of, with its reshapes and transposes made anew."""
    if value not in known:
        known[value] = _found(value, known)
    return known[value]


def _found(value: ir.Value, known: dict[ir.Value, _Narrowed | None]) -> _Narrowed | None:
    op = owner_of(value)
    if op is None:
        return None
    if converts(op, "arith.extf"):
        return _Narrowed(Tensor.of(op.operands[0]), 1.0)
    source = _narrowed(op.operands[0], known)
    if source is None:
        return None
    factor = _factor(op)
    if factor is not None:
        total = source.factor * factor
        return _Narrowed(source.tensor, total) if _is_usual(total) else None
    return _Narrowed(_moved(op, source.tensor), source.factor)


def _moved(op: ir.Operation, source: Tensor) -> Tensor:
    """Return a reshape or a copy of `source` that is like `op`."""
    b = TensorBuilder(ir.InsertionPoint(op), op.location)
    shape = ir.RankedTensorType(op.results[0].type).shape
    if op.name in RESHAPES:
        kind = ir.RankedTensorType(source.value.type).element_type
        attributes = {name: op.attributes[name] for name in op.attributes}
        operands = [source.value, *list(op.operands)[1:]]
        result = ir.RankedTensorType.get(shape, kind, loc=op.location)
        return Tensor(b.emit(op.name, operands, [result], attributes).results[0], source.dtype)
    maps = [ir.AffineMapAttr(each).value for each in op.attributes["indexing_maps"]]
    output = (b.empty(shape, source.dtype), source.dtype, maps[1])
    return b.generic([(source, maps[0])], [output], ["parallel"] * len(shape), lambda x, _: x)[0]


def _factor(op: ir.Operation) -> float | None:
    """Return what each element is multiplied by, where it is, if `op` does nothing else."""
    if op.name != "linalg.generic" or list(op.attributes["operandSegmentSizes"]) != [1, 1]:
        return None
    read, written = (ir.AffineMapAttr(each).value for each in op.attributes["indexing_maps"])
    body = op.regions[0].blocks[0]
    operations = [view.operation for view in body.operations]
    if read != written or len(operations) != 2 or operations[0].name != "arith.mulf":
        return None
    left, right = operations[0].operands
    other = right if left == body.arguments[0] else left if right == body.arguments[0] else None
    number = None if other is None else constant_number(other)
    return float(number) if number is not None and _is_usual(float(number)) else None


def _is_usual(factor: float) -> bool:
    return _FACTORS[0] <= abs(factor) <= _FACTORS[1]

# SPDX-License-Identifier: MIT OR Apache-2.0
"""`widen-contractions`: factors of 16-bit floats are widened once, before they are multiplied."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.builder import Iterator, Tensor, TensorBuilder
from xyntra.dialects.dtypes import default_dtype
from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.functions import function_blocks
from xyntra.passes.analysis.reductions import Reductions
from xyntra.passes.recognize.dead_operations import erase_unused
from xyntra.passes.registry import register_pass

__all__ = ["WidenContractions"]

_NARROW = ("f16", "bf16")


@register_pass
@dataclass(frozen=True)
class WidenContractions:
    """Give contractions that widen every product's factors to f32 factors that are f32 already.

    A contraction reads each element many times, and would widen it as often. Weights are widened
    when the model is loaded, and take twice the memory; what is computed is widened where it is
    made or packed. Widening is exact, so that results do not change.
    """

    name: ClassVar[str] = "widen-contractions"

    def run(self, module: ir.Operation) -> None:
        """Rewrite every function of `module`."""
        replaced = []
        reductions = Reductions()
        for block in function_blocks(module):
            known: dict[ir.Value, Tensor] = {}
            generics = [view for view in block.operations if view.name == "linalg.generic"]
            for op in [view.operation for view in generics if reductions.has(view.operation)]:
                if _is_narrow_contraction(op):
                    with op.context, op.location:
                        result = _widened(op, known)
                    op.results[0].replace_all_uses_with(result.value)
                    replaced.append(op)
        erase_unused(replaced)


def _is_narrow_contraction(op: ir.Operation) -> bool:
    if list(op.attributes["operandSegmentSizes"]) != [2, 1]:
        return False
    block = op.regions[0].blocks[0]
    first, second, running = block.arguments
    operations = [view.operation for view in block.operations]
    if len(operations) < 4:  # nothing is widened
        return False
    *widened, product, total, end = operations
    sources = {each.result: each.operands[0] for each in widened if each.name == "arith.extf"}
    if len(sources) != len(widened) or str(running.type) != "f32":
        return False
    if (product.name, total.name, end.name) != ("arith.mulf", "arith.addf", "linalg.yield"):
        return False
    factors = [sources.get(value, value) for value in product.operands]
    return (
        set(factors) == {first, second}
        and all(str(value.type) in (*_NARROW, "f32") for value in (first, second))
        and set(total.operands) == {running, product.result}
        and end.operands[0] == total.result
    )


def _widened(op: ir.Operation, known: dict[ir.Value, Tensor]) -> Tensor:
    b = TensorBuilder(ir.InsertionPoint(op), op.location)
    maps = [ir.AffineMapAttr(each).value for each in op.attributes["indexing_maps"]]
    kinds: list[Iterator] = [
        "reduction" if "reduction" in str(kind) else "parallel"
        for kind in op.attributes["iterator_types"]
    ]
    factors = []
    for operand in list(op.operands)[:2]:
        if operand not in known:
            dtype = default_dtype(ir.RankedTensorType(operand.type).element_type)
            tensor = Tensor(operand, dtype)
            if dtype != "float32":
                tensor = b.map(lambda x: x.cast("float32"), tensor, dtype="float32")
            known[operand] = tensor
        factors.append(known[operand])
    return b.generic(
        list(zip(factors, maps, strict=False)),
        [(op.operands[2], "float32", maps[2])],
        kinds,
        lambda x, y, running: running + x * y,
    )[0]

# SPDX-License-Identifier: MIT OR Apache-2.0
"""`inline-fills`: tensors of one constant become a constant in the loops that read them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects import KernelFacts
from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.owners import constant_attribute
from xyntra.passes.fusion.weights.weights import constant_of_fill
from xyntra.passes.registry import register_pass

__all__ = ["InlineFills"]

_SEGMENTS = "operandSegmentSizes"


@register_pass
@dataclass(frozen=True)
class InlineFills:
    """Let operations of a kernel that read a filled tensor have the number itself.

    Otherwise a GPU spends a launch on filling it. So it is with constants that hold one number,
    such as the scale and the bias of a norm that nobody has trained. What is filled to be added to,
    or is a result, stays.
    """

    name: ClassVar[str] = "inline-fills"

    def run(self, module: ir.Operation) -> None:
        """Rewrite every kernel function of `module`."""
        for view in module.regions[0].blocks[0].operations:
            op = view.operation
            if op.name == "func.func" and KernelFacts.of(op) is not None:
                _inline(op.regions[0].blocks[0])


def _inline(block: ir.Block) -> None:
    replaced: list[ir.Operation] = []
    for view in list(block.operations):
        op = view.operation
        if op.name != "linalg.generic":
            continue
        filled = _filled_inputs(op)
        if filled:
            new = _without(op, filled)
            for old, result in zip(op.results, new.results, strict=True):
                old.replace_all_uses_with(result)
            replaced.append(op)
    fills: list[ir.Operation] = []
    for op in replaced:
        found = [value.owner.operation for value in _inputs(op) if _constant(value)]
        fills += [fill for fill in found if fill not in fills]
    for op in reversed(replaced):
        op.erase()
    for fill in fills:
        if not any(len(list(result.uses)) for result in fill.results):
            fill.erase()


def _inputs(op: ir.Operation) -> list[ir.Value]:
    return list(op.operands)[: ir.DenseI32ArrayAttr(op.attributes[_SEGMENTS])[0]]


def _constant(value: ir.Value) -> ir.Attribute | None:
    """The one number that a filled tensor, or a constant, holds everywhere."""
    if isinstance(value.type, ir.RankedTensorType):
        attribute = constant_attribute(value)
        if isinstance(attribute, ir.DenseElementsAttr):
            has_one = attribute.is_splat and len(attribute) > 0
            return attribute.get_splat_value() if has_one else None
    return constant_of_fill(value)


def _filled_inputs(op: ir.Operation) -> dict[int, ir.Attribute]:
    """The inputs of `op` that are filled with a constant, if its loops are known without them."""
    constants = [_constant(value) for value in _inputs(op)]
    found = {number: each for number, each in enumerate(constants) if each is not None}
    maps = [attribute.value for attribute in op.attributes["indexing_maps"]]
    kept = [map_ for number, map_ in enumerate(maps) if number not in found]
    bounded = {e.position for m in kept for e in m.results if isinstance(e, ir.AffineDimExpr)}
    return found if len(bounded) == maps[0].n_dims else {}


def _without(op: ir.Operation, filled: dict[int, ir.Attribute]) -> ir.Operation:
    """`op` with constants for its inputs `filled`."""
    kept = [number for number in range(len(op.operands)) if number not in filled]
    sizes = [len(_inputs(op)) - len(filled), len(op.results)]
    maps = list(op.attributes["indexing_maps"])
    attributes = {name: op.attributes[name] for name in op.attributes}
    attributes["indexing_maps"] = ir.ArrayAttr.get([maps[number] for number in kept], op.context)
    attributes[_SEGMENTS] = ir.DenseI32ArrayAttr.get(sizes, op.context)
    new = ir.Operation.create(
        "linalg.generic",
        results=[result.type for result in op.results],
        operands=[op.operands[number] for number in kept],
        attributes=attributes,
        regions=1,
        loc=op.location,
        ip=ir.InsertionPoint(op),
    )
    op.regions[0].blocks[0].append_to(new.regions[0])
    body = new.regions[0].blocks[0]
    for number, value in filled.items():
        argument = body.arguments[number]
        with ir.InsertionPoint.at_block_begin(body):
            scalar = ir.Operation.create(
                "arith.constant",
                results=[argument.type],
                attributes={"value": value},
                loc=op.location,
            )
        argument.replace_all_uses_with(scalar.results[0])
    for number in sorted(filled, reverse=True):
        body.erase_argument(number)
    return new

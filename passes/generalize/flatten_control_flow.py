# SPDX-License-Identifier: MIT OR Apache-2.0
"""`flatten-control-flow`: straight-line code for loops and branches on tensors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import ClassVar

from xyntra.dialects.mlir import ir
from xyntra.dialects.purity import impurity
from xyntra.passes.analysis.functions import function_blocks
from xyntra.passes.analysis.owners import constant_number
from xyntra.passes.analysis.walking import nested_operations
from xyntra.passes.diagnostics import remark_at
from xyntra.passes.generalize.cloning import Cloner
from xyntra.passes.generalize.positions import static_and_dynamic
from xyntra.passes.lower.upstream import run_upstream
from xyntra.passes.registry import register_pass

__all__ = ["FlattenControlFlow"]


@register_pass
@dataclass(frozen=True)
class FlattenControlFlow:
    """Unroll scf.for and scf.forall of constant bounds, and compute both sides of an scf.if.

    Nothing that is computed on tensors has side effects, and all arithmetic is defined, so that the
    side that is not taken does no harm. Loops and branches inside of loops are flattened with them.
    What stays, such as scf.while, is remarked.
    """

    name: ClassVar[str] = "flatten-control-flow"

    def run(self, module: ir.Operation) -> None:
        """Rewrite every function of `module`.

        Raises:
            UnsupportedError: unrolled loops are too many operations.
        """
        cloner = Cloner()
        while _flatten_outermost(module, cloner):
            # Bounds of inner loops depend on the positions of outer ones, which are known now.
            run_upstream(module, "canonicalize,cse")
        for block in function_blocks(module):
            for view in block.operations:
                if view.operation.name in _RULES:
                    remark_at(
                        view.operation, f"'{view.operation.name}' {_WHY[view.operation.name]}"
                    )


def _flatten_outermost(module: ir.Operation, cloner: Cloner) -> bool:
    """Flatten what is in no other loop or branch; tells whether there was any."""
    dead: list[ir.Operation] = []
    for block in function_blocks(module):
        for op in [view.operation for view in block.operations if view.operation.name in _RULES]:
            results = _RULES[op.name](op, cloner)
            if results is None:
                continue
            for old, new in zip(op.results, results, strict=True):
                old.replace_all_uses_with(new)
            dead.append(op)
    flattened = bool(dead)
    while dead:
        dead.pop().erase()
    return flattened


def _for(op: ir.Operation, cloner: Cloner) -> list[ir.Value] | None:
    bounds = [constant_number(value) for value in list(op.operands)[:3]]
    if not all(isinstance(each, int) for each in bounds):
        return None
    lower, upper, step = (int(each or 0) for each in bounds)
    block, ip = op.regions[0].blocks[0], ir.InsertionPoint(op)
    carried = list(op.operands)[3:]
    for position in range(lower, upper, step):
        carried = cloner.inline(block, [_number(op, position), *carried], ip)
    return carried


def _number(op: ir.Operation, value: int) -> ir.Value:
    """The position `value` of the loop `op`, of the type of its bounds."""
    with op.location, ir.InsertionPoint(op):
        type_ = op.operands[0].type if op.name == "scf.for" else ir.IndexType.get()
        attribute = ir.IntegerAttr.get(type_, value)
        return ir.Operation.create(
            "arith.constant", results=[attribute.type], attributes={"value": attribute}
        ).results[0]


def _forall(op: ir.Operation, cloner: Cloner) -> list[ir.Value] | None:
    """Every iteration reads the outputs as they were, and writes a part of its own."""
    names = ("LowerBound", "UpperBound", "Step")
    ranges = []
    for segment, name in enumerate(names):
        given = static_and_dynamic(op, name, segment, prefix="static")
        numbers = [each if isinstance(each, int) else constant_number(each) for each in given]
        if not all(isinstance(each, int) for each in numbers):
            return None
        ranges.append([int(each or 0) for each in numbers])
    block, ip = op.regions[0].blocks[0], ir.InsertionPoint(op)
    outputs = list(op.operands)[len(op.operands) - len(op.results) :]
    arguments = list(block.arguments)
    written = dict(zip(arguments[len(ranges[0]) :], outputs, strict=True))
    *inside, last = [view.operation for view in block.operations]
    for positions in product(*(range(*bounds) for bounds in zip(*ranges, strict=True))):
        given_values = [*(_number(op, each) for each in positions), *outputs]
        values = dict(zip(arguments, given_values, strict=True))
        cloner.clone(inside, values, ip)
        for view in last.regions[0].blocks[0].operations:
            _insert(view.operation, values, written, ip)
    return list(written.values())


def _insert(
    op: ir.Operation,
    values: dict[ir.Value, ir.Value],
    written: dict[ir.Value, ir.Value],
    ip: ir.InsertionPoint,
) -> None:
    """Write what a tensor.parallel_insert_slice writes over what was `written` before."""
    source, target, *others = op.operands
    new = ir.Operation.create(
        "tensor.insert_slice",
        results=[target.type],
        operands=[values.get(source, source), written[target]]
        + [values.get(each, each) for each in others],
        attributes=dict(op.attributes.items()),
        loc=op.location,
        ip=ip,
    )
    written[target] = new.results[0]


def _if(op: ir.Operation, cloner: Cloner) -> list[ir.Value] | None:
    if any(impurity(inner) is not None for inner in nested_operations(op)):
        return None
    ip, condition = ir.InsertionPoint(op), op.operands[0]
    sides = [
        cloner.inline(region.blocks[0], [], ip) if len(region.blocks) else []
        for region in op.regions
    ]
    return [
        ir.Operation.create(
            "arith.select",
            results=[taken.type],
            operands=[condition, taken, other],
            loc=op.location,
            ip=ip,
        ).results[0]
        for taken, other in zip(*sides, strict=True)
    ]


def _execute_region(op: ir.Operation, cloner: Cloner) -> list[ir.Value] | None:
    blocks = list(op.regions[0].blocks)
    return cloner.inline(blocks[0], [], ir.InsertionPoint(op)) if len(blocks) == 1 else None


def _stays(op: ir.Operation, cloner: Cloner) -> list[ir.Value] | None:
    return None


_RULES: dict[str, Callable[[ir.Operation, Cloner], list[ir.Value] | None]] = {
    "scf.for": _for,
    "scf.forall": _forall,
    "scf.if": _if,
    "scf.execute_region": _execute_region,
    "scf.while": _stays,
    "scf.index_switch": _stays,
    "scf.parallel": _stays,
}
_WHY = {
    "scf.for": "has bounds that are no constants; it is left as it is",
    "scf.forall": "has bounds that are no constants; it is left as it is",
    "scf.if": "has side effects; it is left as it is",
    "scf.execute_region": "has several blocks; it is left as it is",
    "scf.while": "runs as often as data tells; it is left as it is",
    "scf.index_switch": "has a case that only data tells; it is left as it is",
    "scf.parallel": "is left as it is: its iterations write to memory",
}

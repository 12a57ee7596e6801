# SPDX-License-Identifier: MIT OR Apache-2.0
"""Copies functions with several values in the place of one, such as scalars for a vector."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xyntra.dialects.mlir import ir
from xyntra.errors import CompileError
from xyntra.passes.analysis.kernel_function import function_name, operations_named

__all__ = ["FUNCTIONS", "ExpandedFunction", "Values", "expand_functions", "values_of"]

FUNCTIONS = ("func.func", "gpu.func")
_REGIONS = ("scf.for", "scf.if", "scf.while", "scf.yield", "scf.condition")
Values = list[list[ir.Value]]
"""For every result of an operation, what stands for it."""


def values_of(function: ir.Operation) -> list[ir.Value]:
    """Return the results of all operations in a function."""
    found: list[ir.Value] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        found.extend(op.results)
        return ir.WalkResult.ADVANCE

    function.walk(visit)
    return found


def expand_functions(
    module: ir.Operation,
    kind: type[ExpandedFunction],
    *,
    is_expanded: Callable[[ir.Value], bool],
    names: Sequence[str] = FUNCTIONS,
) -> None:
    """Put a function without values that are expanded in the place of each that has some.

    Args:
        module: holds the functions.
        kind: makes the copy of one.
        is_expanded: tells such values.
        names: of the operations that are functions.

    Raises:
        CompileError: `kind` does not know what to do with an operation.
    """
    for function in operations_named(module, *names):
        arguments = [each for block in function.regions[0].blocks for each in block.arguments]
        if any(is_expanded(value) for value in [*arguments, *values_of(function)]):
            _replace(function, kind(function_name(function)))


def _replace(function: ir.Operation, copies: ExpandedFunction) -> None:
    attributes = {name: function.attributes[name] for name in function.attributes}
    with function.location, ir.InsertionPoint(function):
        new = ir.Operation.create(function.name, attributes=attributes, regions=1)
        for block in function.regions[0].blocks:
            copies.copy_block(block, new.regions[0])
        copies.finish(new)
    function.erase()


class ExpandedFunction:
    """What stands for the values of a function, one after the other as they are copied.

    Args:
        name: of the function, for errors.
    """

    def __init__(self, name: str) -> None:
        self._place = f"function '{name}'"
        self._known: dict[ir.Value, list[ir.Value]] = {}

    def kinds(self, value: ir.Value) -> list[ir.Type]:
        """Return the types of what stands for a value."""
        raise NotImplementedError

    def is_expanded(self, value: ir.Value) -> bool:
        """Tell whether something else stands for a value."""
        raise NotImplementedError

    def expand(self, op: ir.Operation) -> Values:
        """Emit what stands for an operation that takes or gives values that are expanded."""
        raise NotImplementedError

    def finish(self, function: ir.Operation) -> None:
        """Adapt the attributes of the new function."""

    def copy_block(self, block: ir.Block, region: ir.Region) -> None:
        """Append a copy of `block` to `region`."""
        kinds = [kind for each in block.arguments for kind in self.kinds(each)]
        copy = region.blocks.append(*kinds)
        arguments = iter(copy.arguments)
        for each in block.arguments:
            self._known[each] = [next(arguments) for _ in self.kinds(each)]
        with ir.InsertionPoint(copy):
            for view in block.operations:
                with view.operation.location:
                    self._copy(view.operation)

    def parts(self, value: ir.Value) -> list[ir.Value]:
        """Return what stands for a value."""
        return self._known[value]

    def one(self, value: ir.Value) -> ir.Value:
        """Return what stands for a value that is not expanded."""
        (found,) = self._known[value]
        return found

    def refusal(self, code: str, message: str) -> CompileError:
        """Return the error for something that cannot be expanded."""
        return CompileError(code, message, place=self._place)

    def _copy(self, op: ir.Operation) -> None:
        touched = any(map(self.is_expanded, [*op.operands, *op.results]))
        results = self.expand(op) if touched and op.name not in _REGIONS else self.whole(op)
        for result, values in zip(op.results, results, strict=True):
            self._known[result] = values

    def whole(self, op: ir.Operation) -> Values:
        """Copy an operation that takes and gives any number of values, and what is inside."""
        if not op.regions and not any(map(self.is_expanded, op.operands)):
            known = {each: self.one(each) for each in op.operands}
            copy = op.clone().operation
            for number, operand in enumerate(op.operands):
                copy.operands[number] = known[operand]
            return [[each] for each in copy.results]
        counts = [self.kinds(each) for each in op.results]
        copy = ir.Operation.create(
            op.name,
            results=[kind for kinds in counts for kind in kinds],
            operands=[value for each in op.operands for value in self._known[each]],
            attributes={name: op.attributes[name] for name in op.attributes},
            regions=len(op.regions),
        )
        for region, inside in zip(op.regions, copy.regions, strict=True):
            for block in region.blocks:
                self.copy_block(block, inside)
        results = iter(copy.results)
        return [[next(results) for _ in kinds] for kinds in counts]

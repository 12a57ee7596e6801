# SPDX-License-Identifier: MIT OR Apache-2.0
"""`scalarize-vectors`: a scalar for each element of every vector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from torch_mlir.dialects import arith

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.errors import CompileError
from xyntra.passes.analysis.kernel_function import function_name, operations_named
from xyntra.passes.registry import register_pass

_ELEMENTWISE = ("arith.", "math.")
_FUNCTIONS = ("func.func", "gpu.func")
_REGIONS = ("scf.for", "scf.if", "scf.while", "scf.yield", "scf.condition")


@register_pass
@dataclass(frozen=True)
class ScalarizeVectors:
    """Replace vectors of one dimension by scalars, and their loads and stores by as many.

    SPIR-V for Vulkan and WGSL have vectors of two to four elements, and no access to neighbouring
    elements of an array as one vector. Compilers behind them join neighbouring accesses again.
    """

    name: ClassVar[str] = "scalarize-vectors"

    def run(self, module: ir.Operation) -> None:
        """Rewrite the functions of `module` that have vectors.

        Raises:
            CompileError: an operation on vectors is not known, or they have several dimensions.
        """
        for function in operations_named(module, *_FUNCTIONS):
            if any(_is_vector(value) for value in _values(function)):
                _rewrite(function)


def _values(function: ir.Operation) -> list[ir.Value]:
    found: list[ir.Value] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        found.extend(op.results)
        return ir.WalkResult.ADVANCE

    function.walk(visit)
    return found


def _is_vector(value: ir.Value) -> bool:
    return isinstance(value.type, ir.VectorType)


def _rewrite(function: ir.Operation) -> None:
    """Put a function with scalars in the place of `function`."""
    attributes = {name: function.attributes[name] for name in function.attributes}
    with function.location, ir.InsertionPoint(function):
        new = ir.Operation.create(function.name, attributes=attributes, regions=1)
        scalars = _Scalars(function_name(function))
        for block in function.regions[0].blocks:
            scalars.copy_block(block, new.regions[0])
    function.erase()


class _Scalars:
    """What stands for the values of a function, one after the other as they are copied."""

    def __init__(self, name: str) -> None:
        self._place = f"function '{name}'"
        self._known: dict[ir.Value, list[ir.Value]] = {}

    def copy_block(self, block: ir.Block, region: ir.Region) -> None:
        """Append a copy of `block` to `region`."""
        kinds = [kind for each in block.arguments for kind in self._kinds(each)]
        copy = region.blocks.append(*kinds)
        arguments = iter(copy.arguments)
        for each in block.arguments:
            self._known[each] = [next(arguments) for _ in self._kinds(each)]
        with ir.InsertionPoint(copy):
            for view in block.operations:
                with view.operation.location:
                    self._copy(view.operation)

    def _kinds(self, value: ir.Value) -> list[ir.Type]:
        """Return the types of what stands for a value."""
        if not _is_vector(value):
            return [value.type]
        kind = ir.VectorType(value.type)
        if kind.rank != 1 or kind.scalable:
            raise self._refusal(f"{kind} has not one dimension")
        return [kind.element_type] * kind.shape[0]

    def _refusal(self, message: str) -> CompileError:
        return CompileError("gpu-vectors", f"{message}, and it has no scalars", place=self._place)

    def _copy(self, op: ir.Operation) -> None:
        special = _SPECIAL.get(op.name)
        is_vector = any(map(_is_vector, [*op.operands, *op.results]))
        if is_vector and special is not None:
            results = special(self, op)
        elif is_vector and op.name.startswith(_ELEMENTWISE):
            results = [self._elements(op)]
        elif is_vector and op.name not in _REGIONS:
            raise self._refusal(f"{op.name} is not known to work on single elements")
        else:
            results = self._whole(op)
        for result, scalars in zip(op.results, results, strict=True):
            self._known[result] = scalars

    def _whole(self, op: ir.Operation) -> list[list[ir.Value]]:
        """Copy an operation that takes and gives any number of values, and what is inside."""
        if not op.regions and not any(map(_is_vector, op.operands)):
            known = {each: self.one(each) for each in op.operands}
            copy = op.clone().operation
            for number, operand in enumerate(op.operands):
                copy.operands[number] = known[operand]
            return [[each] for each in copy.results]
        counts = [self._kinds(each) for each in op.results]
        copy = ir.Operation.create(
            op.name,
            results=[kind for kinds in counts for kind in kinds],
            operands=[scalar for each in op.operands for scalar in self._known[each]],
            attributes={name: op.attributes[name] for name in op.attributes},
            regions=len(op.regions),
        )
        for region, inside in zip(op.regions, copy.regions, strict=True):
            for block in region.blocks:
                self.copy_block(block, inside)
        results = iter(copy.results)
        return [[next(results) for _ in kinds] for kinds in counts]

    def _elements(self, op: ir.Operation) -> list[ir.Value]:
        """Copy an operation on the elements of vectors for each of these."""
        kinds = self._kinds(op.result)
        operands = [self._known[each] for each in op.operands]
        given = {name: op.attributes[name] for name in op.attributes}
        if op.name == "arith.constant":
            return [emit(op.name, [], kinds[0], value=each) for each in _numbers(given["value"])]
        found = []
        for number, kind in enumerate(kinds):
            # A condition may be one for all elements.
            of_one = [each[number] if len(each) > 1 else each[0] for each in operands]
            found.append(emit(op.name, of_one, kind, **given))
        return found

    def one(self, value: ir.Value) -> ir.Value:
        """Return what stands for a scalar."""
        (found,) = self._known[value]
        return found

    def broadcast(self, op: ir.Operation) -> list[list[ir.Value]]:
        """Take a scalar, or a vector of one element, for every element."""
        given = self._known[op.operands[0]]
        if len(given) != 1 and _is_vector(op.operands[0]):
            return [given]
        return [given * len(self._kinds(op.result))]

    def extract(self, op: ir.Operation) -> list[list[ir.Value]]:
        """Take an element whose number is known."""
        return [[self._known[op.operands[0]][self._number(op)]]]

    def insert(self, op: ir.Operation) -> list[list[ir.Value]]:
        """Take another element at a number that is known."""
        value, vector = op.operands[0], op.operands[1]
        scalars = list(self._known[vector])
        scalars[self._number(op)] = self.one(value)
        return [scalars]

    def _number(self, op: ir.Operation) -> int:
        place = list(ir.DenseI64ArrayAttr(op.attributes["static_position"]))
        if len(place) != 1 or place[0] < 0:
            raise self._refusal(f"the place of {op.name} is not known")
        return int(place[0])

    def from_elements(self, op: ir.Operation) -> list[list[ir.Value]]:
        """Take the elements."""
        return [[self.one(each) for each in op.operands]]

    def to_elements(self, op: ir.Operation) -> list[list[ir.Value]]:
        """Take the elements."""
        return [[each] for each in self._known[op.operands[0]]]

    def load(self, op: ir.Operation) -> list[list[ir.Value]]:
        """Load neighbours along the last dimension of memory."""
        memory, *place = [self.one(each) for each in op.operands]
        kinds = self._kinds(op.result)
        return [
            [
                emit("memref.load", [memory, *_moved(place, number)], kind)
                for number, kind in enumerate(kinds)
            ]
        ]

    def store(self, op: ir.Operation) -> list[list[ir.Value]]:
        """Store neighbours along the last dimension of memory."""
        vector, *rest = op.operands
        memory, *place = [self.one(each) for each in rest]
        for number, scalar in enumerate(self._known[vector]):
            operands = [scalar, memory, *_moved(place, number)]
            ir.Operation.create("memref.store", operands=operands)
        return []


_SPECIAL = {
    "vector.broadcast": _Scalars.broadcast,
    "vector.extract": _Scalars.extract,
    "vector.insert": _Scalars.insert,
    "vector.from_elements": _Scalars.from_elements,
    "vector.to_elements": _Scalars.to_elements,
    "vector.load": _Scalars.load,
    "vector.store": _Scalars.store,
}


def _moved(place: Sequence[ir.Value], step: int) -> list[ir.Value]:
    """Return the indices of the element `step` behind a place."""
    if not step:
        return list(place)
    kind = ir.IndexType.get()
    ahead = emit("arith.constant", [], kind, value=ir.IntegerAttr.get(kind, step))
    return [*place[:-1], arith.addi(place[-1], ahead)]


def _numbers(value: ir.Attribute) -> list[ir.Attribute]:
    """Return the elements of the constant of a vector."""
    dense = ir.DenseElementsAttr(value)
    kind = ir.VectorType(dense.type)
    if dense.is_splat:
        return [dense.get_splat_value()] * kind.shape[0]
    element = kind.element_type
    if isinstance(element, (ir.IntegerType, ir.IndexType)):
        return [ir.IntegerAttr.get(element, each) for each in ir.DenseIntElementsAttr(dense)]
    return [ir.FloatAttr.get(element, each) for each in ir.DenseFPElementsAttr(dense)]

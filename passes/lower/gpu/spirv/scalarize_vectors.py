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
from xyntra.passes.lower.gpu.spirv.expanded_function import (
    ExpandedFunction,
    Values,
    expand_functions,
)
from xyntra.passes.registry import register_pass

_ELEMENTWISE = ("arith.", "math.")
_OF_MEMORY = ("memref.load", "spirv.CompositeConstruct")


@register_pass
@dataclass(frozen=True)
class ScalarizeVectors:
    """Replace vectors of one dimension by scalars, and their loads and stores by as many.

    SPIR-V for Vulkan and WGSL have vectors of two to four elements, and no access to neighbouring
    elements of an array as one vector. Vectors stay where memory consists of them, and they are
    taken apart behind a load, and put together ahead of a store.
    """

    name: ClassVar[str] = "scalarize-vectors"

    def run(self, module: ir.Operation) -> None:
        """Rewrite the functions of `module` that have vectors.

        Raises:
            CompileError: an operation on vectors is not known, or they have several dimensions.
        """
        module.context.get_dialect_descriptor("spirv")  # loads it
        expand_functions(module, _Scalars, is_expanded=_is_vector)


def _is_vector(value: ir.Value) -> bool:
    """Tell vectors from those that memory consists of."""
    if not isinstance(value.type, ir.VectorType):
        return False
    return isinstance(value.owner, ir.Block) or value.owner.name not in _OF_MEMORY


class _Scalars(ExpandedFunction):
    """A function with scalars in the place of vectors."""

    def is_expanded(self, value: ir.Value) -> bool:
        """Tell whether a value is a vector."""
        return _is_vector(value)

    def kinds(self, value: ir.Value) -> list[ir.Type]:
        """Return the types of what stands for a value."""
        if not _is_vector(value):
            return [value.type]
        kind = ir.VectorType(value.type)
        if kind.rank != 1 or kind.scalable:
            raise self._refusal(f"{kind} has not one dimension")
        return [kind.element_type] * kind.shape[0]

    def _refusal(self, message: str) -> CompileError:
        return self.refusal("gpu-vectors", f"{message}, and it has no scalars")

    def expand(self, op: ir.Operation) -> Values:
        """Emit scalars for an operation on vectors."""
        special = _SPECIAL.get(op.name)
        if special is not None:
            return special(self, op)
        if op.name.startswith(_ELEMENTWISE):
            return [self._elements(op)]
        raise self._refusal(f"{op.name} is not known to work on single elements")

    def _elements(self, op: ir.Operation) -> list[ir.Value]:
        """Copy an operation on the elements of vectors for each of these."""
        kinds = self.kinds(op.result)
        operands = [self.parts(each) for each in op.operands]
        given = {name: op.attributes[name] for name in op.attributes}
        if op.name == "arith.constant":
            return [emit(op.name, [], kinds[0], value=each) for each in _numbers(given["value"])]
        found = []
        for number, kind in enumerate(kinds):
            # A condition may be one for all elements.
            of_one = [each[number] if len(each) > 1 else each[0] for each in operands]
            found.append(emit(op.name, of_one, kind, **given))
        return found

    def broadcast(self, op: ir.Operation) -> Values:
        """Take a scalar, or a vector of one element, for every element."""
        given = self.parts(op.operands[0])
        if len(given) != 1 and _is_vector(op.operands[0]):
            return [given]
        return [given * len(self.kinds(op.result))]

    def extract(self, op: ir.Operation) -> Values:
        """Take an element whose number is known."""
        return [[self.parts(op.operands[0])[self._number(op)]]]

    def insert(self, op: ir.Operation) -> Values:
        """Take another element at a number that is known."""
        value, vector = op.operands[0], op.operands[1]
        scalars = list(self.parts(vector))
        scalars[self._number(op)] = self.one(value)
        return [scalars]

    def _number(self, op: ir.Operation) -> int:
        place = list(ir.DenseI64ArrayAttr(op.attributes["static_position"]))
        if len(place) != 1 or place[0] < 0:
            raise self._refusal(f"the place of {op.name} is not known")
        return int(place[0])

    def from_elements(self, op: ir.Operation) -> Values:
        """Take the elements."""
        return [[self.one(each) for each in op.operands]]

    def to_elements(self, op: ir.Operation) -> Values:
        """Take the elements."""
        return [[each] for each in self.parts(op.operands[0])]

    def load(self, op: ir.Operation) -> Values:
        """Load contiguous elements along the last dimension of memory."""
        memory, *place = [self.one(each) for each in op.operands]
        kinds = self.kinds(op.result)
        if _holds_vectors(memory):
            whole = emit("memref.load", [memory, *place], op.result.type)
            return [[_part(whole, number, kind) for number, kind in enumerate(kinds)]]
        return [
            [
                emit("memref.load", [memory, *_moved(place, number)], kind)
                for number, kind in enumerate(kinds)
            ]
        ]

    def store(self, op: ir.Operation) -> Values:
        """Store contiguous elements along the last dimension of memory."""
        vector, *rest = op.operands
        memory, *place = [self.one(each) for each in rest]
        if _holds_vectors(memory):
            whole = emit("spirv.CompositeConstruct", self.parts(vector), vector.type)
            ir.Operation.create("memref.store", operands=[whole, memory, *place])
            return []
        for number, scalar in enumerate(self.parts(vector)):
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


def _holds_vectors(memory: ir.Value) -> bool:
    return isinstance(ir.MemRefType(memory.type).element_type, ir.VectorType)


def _part(vector: ir.Value, number: int, kind: ir.Type) -> ir.Value:
    i32 = ir.IntegerType.get_signless(32)
    indices = ir.ArrayAttr.get([ir.IntegerAttr.get(i32, number)])
    return emit("spirv.CompositeExtract", [vector], kind, indices=indices)


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

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Changes the types of tensors, as decided: bodies still compute in f32."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.dtypes import default_dtype, mlir_type
from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import constant
from xyntra.passes.analysis.owners import constant_number
from xyntra.passes.analysis.walking import nested_operations
from xyntra.passes.fusion.weights.weights import constant_of_fill
from xyntra.passes.precision.decisions import Decisions
from xyntra.passes.precision.roles import PrecisionRole, element_of, has_windows

__all__ = ["PrecisionRewriter"]


class PrecisionRewriter:
    """Rewrites one function."""

    def __init__(
        self, block: ir.Block, decisions: Decisions, dtype: str, *, interface: bool = False
    ) -> None:
        """Prepare to store what `decisions` say in `dtype`, "float16" or "bfloat16".

        With `interface`, results of the function have that type, too.
        """
        self.block, self.decisions, self.dtype = block, decisions, dtype
        self.returned = dtype if interface else "float32"
        self.element = mlir_type(dtype, block.owner.context)
        self.wide = mlir_type("float32", block.owner.context)
        self._array_type = np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
        self._converted: dict[tuple[ir.Value, str], ir.Value] = {}
        self._ours = set(decisions.narrow)
        """Values of 16 bits that were f32: others of that type are the model's own."""

    def rewrite(self) -> None:
        """Change types from the arguments down to the results."""
        for argument in self.block.arguments:
            if argument in self.decisions.narrow:
                argument.set_type(self._retyped(argument.type, self.dtype))
        for number, (op, role) in enumerate(self.decisions.roles):
            with op.context, op.location:
                if role is PrecisionRole.MOVE:
                    self._move(op)
                elif role in (PrecisionRole.ATTENTION, PrecisionRole.NAMED):
                    self._named(op, number, role)
                elif op.name == "linalg.generic":
                    self._generic(op, number, role)
                elif role is PrecisionRole.OTHER:
                    dtype = self.returned if op.name == "func.return" else "float32"
                    self._operands(op, range(len(op.operands)), dtype)

    def _retyped(self, type_: ir.Type, dtype: str) -> ir.RankedTensorType:
        element = self.wide if dtype == "float32" else self.element
        return ir.RankedTensorType.get(ir.RankedTensorType(type_).shape, element)

    def _operands(self, op: ir.Operation, places: range, dtype: str) -> None:
        """Give operands of either type the type `dtype`."""
        for place in places:
            value = op.operands[place]
            if element_of(value) == "f32" or value in self._ours:
                op.operands[place] = self._as(value, dtype, op)

    def _as(self, value: ir.Value, dtype: str, reader: ir.Operation) -> ir.Value:
        """Return `value` in `dtype`; what is built for it stands before `reader`."""
        if value.type == self._retyped(value.type, dtype):
            return value
        key = (value, dtype)
        if key not in self._converted:
            self._converted[key] = self._convert(value, dtype, reader)
            self._ours.add(self._converted[key])
        return self._converted[key]

    def _convert(self, value: ir.Value, dtype: str, reader: ir.Operation) -> ir.Value:
        is_argument = isinstance(value.owner, ir.Block)
        op = None if is_argument else value.owner.operation
        place = ir.InsertionPoint(reader) if op is None else ir.InsertionPoint.after(op)
        b = TensorBuilder(place, reader.location if op is None else op.location)
        shape = tuple(ir.RankedTensorType(value.type).shape)
        if op is not None and op.name == "tensor.empty":
            return b.empty(shape, dtype)
        if op is not None and op.name == "arith.constant" and dtype != "float32":
            array = np.array(op.attributes["value"])
            return b.constant(array.astype(self._array_type)).value
        filler = None if op is None else constant_of_fill(value)
        if isinstance(filler, ir.FloatAttr):
            return b.fill(shape, dtype, filler.value)
        return b.map(lambda x: x.cast(dtype), Tensor.of(value), dtype=dtype).value

    def _move(self, op: ir.Operation) -> None:
        result = op.results[0]
        if element_of(result) != "f32":
            return
        dtype = self.dtype if result in self.decisions.narrow else "float32"
        self._operands(op, range(len(op.operands)), dtype)
        result.set_type(self._retyped(result.type, dtype))
        if op.name == "tensor.pad":
            self._refill(op)

    def _refill(self, op: ir.Operation) -> None:
        """Give the yield of a padding the type of its result."""
        end = list(op.regions[0].blocks[0].operations)[-1].operation
        wanted = ir.RankedTensorType(op.results[0].type).element_type
        if end.operands[0].type != wanted:
            with ir.InsertionPoint(end):
                end.operands[0] = _cast(end.operands[0], wanted)

    def _named(self, op: ir.Operation, number: int, role: PrecisionRole) -> None:
        result = op.results[0]
        if element_of(result) != "f32":
            return
        is_narrow = number in self.decisions.lowered
        if role is PrecisionRole.NAMED:
            is_narrow = result in self.decisions.narrow
            is_narrow = is_narrow and element_of(op.operands[0]) == str(self.element)
        dtype = self.dtype if is_narrow else "float32"
        count = 3 if role is PrecisionRole.ATTENTION else len(op.operands)
        self._operands(op, range(count), dtype)
        self._operands(op, range(count, len(op.operands)), "float32")
        result.set_type(self._retyped(result.type, dtype))
        wanted = self.dtype if result in self.decisions.narrow else "float32"
        self._result_as(op, wanted)

    def _result_as(self, op: ir.Operation, dtype: str) -> None:
        """Convert the result of `op` for all that reads it."""
        result = op.results[0]
        if result.type == self._retyped(result.type, dtype):
            return
        uses = [(use.owner.operation, use.operand_number) for use in result.uses]
        b = TensorBuilder(ir.InsertionPoint.after(op), op.location)
        new = b.map(lambda x: x.cast(dtype), Tensor.of(result), dtype=dtype).value
        self._ours.add(new)
        _replace(uses, new)

    def _generic(self, op: ir.Operation, number: int, role: PrecisionRole) -> None:
        inputs = range(len(op.operands) - len(op.results))
        outputs = range(len(inputs), len(op.operands))
        if role is PrecisionRole.CONTRACTION and element_of(op.results[0]) == "f32":
            if number in self.decisions.lowered:
                self._operands(op, inputs, self.dtype)
            elif has_windows(op):
                self._operands(op, inputs, "float32")
        is_narrow = len(op.results) == 1 and op.results[0] in self.decisions.narrow
        in_place = is_narrow and role is PrecisionRole.ELEMENTWISE
        self._operands(op, outputs, self.dtype if in_place else "float32")
        self._widen_reads(op)
        if in_place:
            self._narrow_yield(op)
        elif is_narrow:
            self._result_as(op, self.dtype)

    def _widen_reads(self, op: ir.Operation) -> None:
        """Convert in the body what is read in 16 bits and was f32."""
        body = op.regions[0].blocks[0]
        first = body.operations[0].operation
        for value, argument in zip(op.operands, body.arguments, strict=True):
            element = ir.RankedTensorType(value.type).element_type
            if str(argument.type) == "f32" and element == self.element:
                uses = [(use.owner.operation, use.operand_number) for use in argument.uses]
                argument.set_type(element)
                if uses:
                    with ir.InsertionPoint(first):
                        _replace(uses, _cast(argument, self.wide))
        for inner in list(nested_operations(op)):
            if inner.name != "tensor.extract":
                continue
            element = ir.RankedTensorType(inner.operands[0].type).element_type
            result = inner.results[0]
            if str(result.type) == "f32" and element == self.element:
                uses = [(use.owner.operation, use.operand_number) for use in result.uses]
                result.set_type(element)
                with ir.InsertionPoint.after(inner):
                    _replace(uses, _cast(result, self.wide))

    def _narrow_yield(self, op: ir.Operation) -> None:
        body = op.regions[0].blocks[0]
        argument = body.arguments[len(body.arguments) - 1]
        argument.set_type(self.element)
        end = list(body.operations)[-1].operation
        with ir.InsertionPoint(end):
            wide = end.operands[0]
            end.operands[0] = _cast(wide, self.element)
        if not isinstance(wide.owner, ir.Block) and not any(True for _ in wide.uses):
            wide.owner.operation.erase()  # a conversion: `op` moves elements, and does nothing else
        op.results[0].set_type(self._retyped(op.results[0].type, self.dtype))


def _cast(value: ir.Value, wanted: ir.Type) -> ir.Value:
    """Convert a scalar between f32 and 16 bits, at the insertion point."""
    source = value.owner if isinstance(value.owner, ir.Block) else value.owner.operation
    is_widened = not isinstance(source, ir.Block) and source.name == "arith.extf"
    if is_widened and source.operands[0].type == wanted:
        return source.operands[0]
    number = constant_number(value)
    if number is not None:
        return constant(number, default_dtype(wanted)).value
    name = "arith.truncf" if str(value.type) == "f32" else "arith.extf"
    return ir.Operation.create(name, results=[wanted], operands=[value]).results[0]


def _replace(uses: list[tuple[ir.Operation, int]], value: ir.Value) -> None:
    for reader, place in uses:
        reader.operands[place] = value

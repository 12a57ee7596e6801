# SPDX-License-Identifier: MIT OR Apache-2.0
"""Builds linalg.generic from operations on tensors and scalars, and holds scalars in tensors.

Kernels read and write tensors. A scalar that a function computes is held in a tensor of rank 0,
and an index, which has no size of its own in memory, in one of i64.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from xyntra.dialects.builder import TensorBuilder
from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.owners import constant_attribute
from xyntra.passes.analysis.walking import nested_operations

__all__ = [
    "Body",
    "GenericOutput",
    "Rewriter",
    "captured_scalars",
    "element_of",
    "is_inlined",
    "is_scalar",
    "is_static",
    "move_body",
    "stored_type",
]

Iterator = Literal["parallel", "reduction"]
Body = Callable[[list[ir.Value]], Sequence[ir.Value]]
"""Emits a body at the current insertion point; takes its arguments and returns its results."""


def is_static(type_: ir.Type) -> bool:
    """Tell whether `type_` is a ranked tensor of static shape."""
    return isinstance(type_, ir.RankedTensorType) and bool(type_.has_static_shape)


def is_scalar(type_: ir.Type) -> bool:
    """Tell whether `type_` is a number: a float, an integer or an index."""
    return isinstance(type_, ir.IntegerType | ir.FloatType | ir.IndexType)


@dataclass(frozen=True)
class GenericOutput:
    """A result of a generic.

    Attributes:
        shape: its sizes.
        element: its element type; results of type index are stored as i64.
        map: where each iteration writes.
        initial: what the body reads as the running value; None where it reads nothing.
    """

    shape: Sequence[int]
    element: ir.Type
    map: ir.AffineMap
    initial: ir.Value | None = None


@dataclass
class Rewriter:
    """Rewrites one block.

    Attributes:
        stored: the tensor that holds a scalar, or the elements of a tensor of indices.
        dead: operations to erase once the whole block is rewritten: wrappers of erased operations
            must not live while others are created.
    """

    stored: dict[ir.Value, ir.Value] = field(default_factory=dict)
    dead: list[ir.Operation] = field(default_factory=list)

    def builder(self, op: ir.Operation) -> TensorBuilder:
        """Emits before `op`, with its location."""
        return TensorBuilder(ir.InsertionPoint(op), op.location)

    def holder(self, value: ir.Value) -> ir.Value:
        """The tensor from which kernels read `value`, a tensor or a scalar that is computed."""
        return self.stored.get(value, value)

    def replace(self, op: ir.Operation, results: Sequence[ir.Value]) -> None:
        """Let `results` take the place of those of `op`, which is erased in the end.

        A result that is a scalar, or a tensor of indices, is stored in the one given for it.
        """
        for old, new in zip(op.results, results, strict=True):
            if old.type == new.type:
                old.replace_all_uses_with(new)
            else:
                self.stored[old] = new
        self.dead.append(op)

    def held(self, op: ir.Operation, scalar: ir.Value) -> ir.Value:
        """The tensor of rank 0 that holds `scalar`; made before `op` for one that is known."""
        if scalar in self.stored:
            return self.stored[scalar]
        identity = ir.AffineMap.get_identity(0, op.context)
        outputs = [GenericOutput([], scalar.type, identity)]
        return self.generic(op, [(scalar, identity)], outputs, [], lambda found: found[:1])[0]

    def finish(self) -> None:
        """Erase what was replaced, but let operations that stay read what they read before."""
        dead = set(self.dead)
        for op in self.dead:
            for result in op.results:
                if any(use.owner.operation not in dead for use in result.uses):
                    self._restore(op, result)
        dead.clear()
        while self.dead:
            self.dead.pop().erase()

    def _restore(self, op: ir.Operation, result: ir.Value) -> None:
        """Give those who still read `result` the value that is stored for it."""
        with ir.InsertionPoint(op), op.location:
            if is_scalar(result.type):
                stored = self.stored[result]
                type_ = ir.RankedTensorType(stored.type).element_type
                value = ir.Operation.create("tensor.extract", results=[type_], operands=[stored])
                value = _converted(value.results[0], result.type)
            else:
                cast = ir.Operation.create(
                    "arith.index_cast", results=[result.type], operands=[self.stored[result]]
                )
                value = cast.results[0]
        result.replace_all_uses_with(value)

    def generic(
        self,
        op: ir.Operation,
        inputs: Sequence[tuple[ir.Value, ir.AffineMap]],
        outputs: Sequence[GenericOutput],
        iterators: Sequence[Iterator],
        body: Body,
    ) -> list[ir.Value]:
        """A linalg.generic before `op`.

        Args:
            op: what it stands for.
            inputs: tensors or scalars with the maps that read them (that of a scalar is not used).
                `body` is given an element of each, of the type that the program gives it.
            outputs: its results, of which `body` is given the running values after the inputs.
            iterators: the kind of every loop.
            body: emits the computation of one iteration.
        """
        builder, context = self.builder(op), op.context
        scalar_map = ir.AffineMap.get(len(iterators), 0, [], context)
        read: list[tuple[ir.Value, ir.AffineMap]] = []
        for value, map_ in inputs:
            if not is_inlined(value, iterators):
                scalar = is_scalar(value.type)
                read.append((self.holder(value), scalar_map if scalar else map_))
        initial = [self._initial(builder, output) for output in outputs]
        maps = [map_ for _, map_ in read] + [output.map for output in outputs]
        kinds = ", ".join(f"#linalg.iterator_type<{kind}>" for kind in iterators)
        attributes: dict[str, ir.Attribute] = {
            "indexing_maps": ir.ArrayAttr.get([ir.AffineMapAttr.get(m) for m in maps], context),
            "iterator_types": ir.Attribute.parse(f"[{kinds}]", context),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(read), len(initial)], context),
        }
        operands = [value for value, _ in read] + initial
        generic = builder.emit(
            "linalg.generic", operands, [v.type for v in initial], attributes, regions=1
        )
        types = [element_of(value.type) for value in operands]
        block = generic.regions[0].blocks.append(*types, arg_locs=[op.location] * len(types))
        with ir.InsertionPoint(block), op.location:
            values = [value for value, _ in inputs]
            elements = _elements(block, values, outputs, iterators)
            results = [_converted(value, stored_type(value.type)) for value in body(elements)]
            ir.Operation.create("linalg.yield", operands=results)
        return list(generic.results)

    def _initial(self, builder: TensorBuilder, output: GenericOutput) -> ir.Value:
        if output.initial is not None:
            return self.holder(output.initial)
        element = stored_type(output.element)
        type_ = ir.RankedTensorType.get(list(output.shape), element, loc=builder.location)
        return builder.emit("tensor.empty", [], [type_]).results[0]


def element_of(type_: ir.Type) -> ir.Type:
    """The type of the elements of a tensor, or of a scalar."""
    return type_ if is_scalar(type_) else ir.RankedTensorType(type_).element_type


def stored_type(element: ir.Type) -> ir.Type:
    """The type in which a number of type `element` is stored."""
    if isinstance(element, ir.IndexType):
        return ir.IntegerType.get_signless(64, element.context)
    return element


def is_inlined(value: ir.Value, iterators: Sequence[Iterator] = ()) -> bool:
    """Tell whether bodies use `value` as it is, or compute it anew: a number known when compiling.

    Where loops reduce, tensors of equal elements stay: their shapes tell how long the loops are.
    """
    attribute = constant_attribute(value)
    if is_scalar(value.type):
        return attribute is not None
    splat = isinstance(attribute, ir.DenseElementsAttr) and bool(attribute.is_splat)
    return splat and "reduction" not in iterators


def _elements(
    block: ir.Block,
    inputs: Sequence[ir.Value],
    outputs: Sequence[GenericOutput],
    iterators: Sequence[Iterator],
) -> list[ir.Value]:
    """What a body is given for each input and output, emitted at the current insertion point."""
    arguments = iter(block.arguments)
    found: list[ir.Value] = []
    for value in inputs:
        scalar = is_scalar(value.type)
        if not is_inlined(value, iterators):
            found.append(_converted(next(arguments), element_of(value.type)))
        else:
            found.append(value if scalar else _number(value))
    return found + [_converted(next(arguments), output.element) for output in outputs]


def _number(splat: ir.Value) -> ir.Value:
    """The element of a constant of equal elements."""
    element = ir.DenseElementsAttr(constant_attribute(splat)).get_splat_value()
    result = ir.RankedTensorType(splat.type).element_type
    return ir.Operation.create(
        "arith.constant", results=[result], attributes={"value": element}
    ).results[0]


def _converted(value: ir.Value, type_: ir.Type) -> ir.Value:
    """`value`, an index as i64 or the other way round."""
    if value.type == type_:
        return value
    return ir.Operation.create("arith.index_cast", results=[type_], operands=[value]).results[0]


def move_body(
    source: ir.Block, elements: Sequence[ir.Value], captured: Mapping[ir.Value, ir.Value]
) -> list[ir.Value]:
    """Move the operations of `source`, a body, to the current insertion point; returns its results.

    Args:
        source: its terminator alone stays.
        elements: what takes the place of its arguments.
        captured: what takes the place of values from outside.
    """
    target = ir.InsertionPoint.current.block
    for argument, element in zip(source.arguments, elements, strict=True):
        argument.replace_all_uses_with(element)
    inside = [view.operation for view in source.operations]
    for op in inside:
        for holder in (op, *nested_operations(op)):
            for position, operand in enumerate(holder.operands):
                if operand in captured:
                    holder.operands[position] = captured[operand]
    for op in inside[:-1]:
        target.append(op)
    return list(inside[-1].operands)


def captured_scalars(block: ir.Block) -> list[ir.Value]:
    """Computed scalars from outside that operations in `block`, a body, read."""
    inside = set(block.arguments)
    read: dict[ir.Value, None] = {}
    for view in block.operations:
        for op in (view.operation, *nested_operations(view.operation)):
            read.update(dict.fromkeys(op.operands))
            inside.update(op.results)
            for region in op.regions:
                for inner in region.blocks:
                    inside.update(inner.arguments)
    return [
        value
        for value in read
        if value not in inside and is_scalar(value.type) and not is_inlined(value)
    ]

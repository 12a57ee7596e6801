# SPDX-License-Identifier: MIT OR Apache-2.0
"""Rewrites operations of the tensor dialect as generics, slices, paddings and reshapes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.owners import constant_attribute, constant_number
from xyntra.passes.generalize.positions import (
    Index,
    constant_index,
    element_at,
    emit,
    inside,
    loop_index,
    static_and_dynamic,
)
from xyntra.passes.generalize.rewriter import (
    GenericOutput,
    Rewriter,
    captured_scalars,
    move_body,
)

__all__ = ["TENSOR_RULES"]

Rule = Callable[[Rewriter, ir.Operation], None]
_MOST_ELEMENTS = 4096
"""Elements of a `tensor.from_elements` that are computed: each is placed by an operation."""


def _shape(value: ir.Value) -> list[int]:
    return list(ir.RankedTensorType(value.type).shape)


def _element(value: ir.Value) -> ir.Type:
    return ir.RankedTensorType(value.type).element_type


def _everywhere(
    rewriter: Rewriter,
    op: ir.Operation,
    inputs: Sequence[ir.Value],
    body: Callable[[list[ir.Value]], Sequence[ir.Value]],
    result: ir.Value | None = None,
) -> ir.Value:
    """A generic with one iteration for each element of `result`, by default that of `op`.

    Tensors among `inputs` have its shape.
    """
    result = op.results[0] if result is None else result
    shape = _shape(result)
    identity = ir.AffineMap.get_identity(len(shape), op.context)
    return rewriter.generic(
        op,
        [(value, identity) for value in inputs],
        [GenericOutput(shape, _element(result), identity)],
        ["parallel"] * len(shape),
        body,
    )[0]


def _splat(rewriter: Rewriter, op: ir.Operation) -> None:
    result = _everywhere(rewriter, op, [op.operands[0]], lambda elements: elements[:1])
    rewriter.replace(op, [result])


def _generate(rewriter: Rewriter, op: ir.Operation) -> None:
    rewriter.replace(op, [_generated(rewriter, op, op.regions[0].blocks[0])])


def _generated(rewriter: Rewriter, op: ir.Operation, source: ir.Block) -> ir.Value:
    """The tensor whose elements `source` computes of their positions."""
    captured = captured_scalars(source)

    def body(elements: list[ir.Value]) -> Sequence[ir.Value]:
        loops = [loop_index(each) for each in range(len(source.arguments))]
        return move_body(source, loops, dict(zip(captured, elements, strict=False)))

    return _everywhere(rewriter, op, captured, body)


def _from_elements(rewriter: Rewriter, op: ir.Operation) -> None:
    builder, result = rewriter.builder(op), op.results[0]
    elements = list(op.operands)
    scalars = [rewriter.held(op, value) for value in elements]
    shape = _shape(result)
    if len(scalars) == 1:
        rewriter.replace(op, [builder.reshape(Tensor.of(scalars[0]), shape).value])
        return
    whole = builder.emit(
        "tensor.empty", [], [_like(scalars[0] if scalars else result, [len(scalars)])]
    ).results[0]
    for position, scalar in enumerate(scalars):
        one = builder.reshape(Tensor.of(scalar), [1])
        whole = _inserted(builder, one.value, whole, [position], [1])
    rewriter.replace(op, [builder.reshape(Tensor.of(whole), shape).value])


def _like(value: ir.Value, shape: Sequence[int]) -> ir.RankedTensorType:
    return ir.RankedTensorType.get(
        list(shape), _element(value), loc=ir.Location.unknown(value.context)
    )


def _inserted(
    builder: TensorBuilder,
    source: ir.Value,
    target: ir.Value,
    offsets: Sequence[int],
    sizes: Sequence[int],
) -> ir.Value:
    """`target` with `source` in place of what is there at `offsets`."""
    fields = {"offsets": offsets, "sizes": sizes, "strides": [1] * len(sizes)}
    attributes: dict[str, ir.Attribute] = {
        f"static_{name}": ir.DenseI64ArrayAttr.get(list(values), builder.context)
        for name, values in fields.items()
    }
    attributes["operandSegmentSizes"] = ir.DenseI32ArrayAttr.get([1, 1, 0, 0, 0], builder.context)
    return builder.emit("tensor.insert_slice", [source, target], [target.type], attributes).results[
        0
    ]


def _extract(rewriter: Rewriter, op: ir.Operation) -> None:
    """One element of a tensor: a scalar, held in a tensor of rank 0."""
    source, *indices = op.operands
    shape = _shape(source)
    known = [constant_number(index) for index in indices]
    places = [each for each in known if isinstance(each, int)]
    if len(places) == len(shape) and all(0 <= i < n for i, n in zip(places, shape, strict=True)):
        ones = [1] * len(shape)
        builder = rewriter.builder(op)
        one = builder.slice(Tensor.of(rewriter.holder(source)), places, ones, ones)
        rewriter.replace(op, [builder.reshape(one, []).value])
        return
    identity = ir.AffineMap.get_identity(0, op.context)

    def body(elements: list[ir.Value]) -> Sequence[ir.Value]:
        return [element_at(rewriter, source, elements[: len(indices)])]

    outputs = [GenericOutput([], op.results[0].type, identity)]
    inputs = [(index, identity) for index in indices]
    rewriter.replace(op, rewriter.generic(op, inputs, outputs, [], body))


def _insert(rewriter: Rewriter, op: ir.Operation) -> None:
    """A tensor of which one element is another."""
    scalar, target, *indices = op.operands

    def body(elements: list[ir.Value]) -> Sequence[ir.Value]:
        new, old, *positions = elements[: 2 + len(indices)]
        if not positions:
            return [new]
        here = [
            emit("arith.cmpi", [loop_index(d), p], predicate=0) for d, p in enumerate(positions)
        ]
        return [_select(here, new, old)]

    rewriter.replace(op, [_everywhere(rewriter, op, [scalar, target, *indices], body)])


def _select(conditions: Sequence[ir.Value], new: ir.Value, old: ir.Value) -> ir.Value:
    all_ = conditions[0]
    for each in conditions[1:]:
        all_ = emit("arith.andi", [all_, each])
    return emit("arith.select", [all_, new, old])


def _size(rewriter: Rewriter, op: ir.Operation) -> None:
    """The rank, or a size, of a tensor of static shape."""
    shape = _shape(op.operands[0])
    value = len(shape)
    if op.name == "tensor.dim":
        position = constant_attribute(op.operands[1])
        if position is None or not 0 <= ir.IntegerAttr(position).value < len(shape):
            return
        value = shape[ir.IntegerAttr(position).value]
    with ir.InsertionPoint(op), op.location:
        rewriter.replace(op, [constant_index(value)])


def _cast(rewriter: Rewriter, op: ir.Operation) -> None:
    """A cast between two static shapes, which are equal."""
    rewriter.replace(op, [rewriter.holder(op.operands[0])])


def _reshape(rewriter: Rewriter, op: ir.Operation) -> None:
    source = rewriter.holder(op.operands[0])
    if op.name != "tensor.reshape" and source == op.operands[0]:
        return
    result = rewriter.builder(op).reshape(Tensor.of(source), _shape(op.results[0]))
    rewriter.replace(op, [result.value])


def _pad(rewriter: Rewriter, op: ir.Operation) -> None:
    """A padding: stays where it is a number known when compiling, in a tensor that is stored so."""
    low = static_and_dynamic(op, "low", 1)
    source = rewriter.holder(op.operands[0])
    block = op.regions[0].blocks[0]
    filler = list(block.operations)[-1].operands[0]
    is_number = constant_attribute(filler) is not None
    if is_number and len(op.operands) == 1 and source == op.operands[0]:
        return
    around = _generated(rewriter, op, block)
    if all(isinstance(each, int) for each in low):
        numbers = [int(each) for each in low if isinstance(each, int)]
        result = _inserted(rewriter.builder(op), source, around, numbers, _shape(source))
        rewriter.replace(op, [result])
        return
    rank = len(low)
    result = _placed(rewriter, op, op.operands[0], around, low, [1] * rank, list(range(rank)))
    rewriter.replace(op, [result])


def _extract_slice(rewriter: Rewriter, op: ir.Operation) -> None:
    """A part that begins at computed positions, or of a tensor of indices."""
    source, stored = op.operands[0], rewriter.holder(op.operands[0])
    if len(op.operands) == 1:
        if stored != source:
            attributes = dict(op.attributes.items())
            type_ = _like(stored, _shape(op.results[0]))
            part = rewriter.builder(op).emit(op.name, [stored], [type_], attributes)
            rewriter.replace(op, list(part.results))
        return
    offsets = static_and_dynamic(op, "offsets", 1)
    steps = static_and_dynamic(op, "strides", 3)
    kept = _kept(op, _shape(op.results[0]))
    dynamic = [each for each in (*offsets, *steps) if not isinstance(each, int)]

    def body(elements: list[ir.Value]) -> Sequence[ir.Value]:
        known = dict(zip(dynamic, elements, strict=False))
        places = []
        for dimension, (offset, step) in enumerate(zip(offsets, steps, strict=True)):
            place = known.get(offset) if not isinstance(offset, int) else constant_index(offset)
            if dimension in kept:
                by = known.get(step) if not isinstance(step, int) else constant_index(step)
                moved = emit("arith.muli", [loop_index(kept.index(dimension)), by])
                place = emit("arith.addi", [place, moved])
            places.append(place)
        return [element_at(rewriter, source, places)]

    rewriter.replace(op, [_everywhere(rewriter, op, dynamic, body)])


def _kept(op: ir.Operation, shape: Sequence[int]) -> list[int]:
    """The dimensions of a slice that the tensor of `shape`, which may lack unit ones, has."""
    sizes = list(ir.DenseI64ArrayAttr(op.attributes["static_sizes"]))
    kept, wanted = [], list(shape)
    for dimension, size in enumerate(sizes):
        if wanted and size == wanted[0]:
            kept.append(dimension)
            wanted.pop(0)
    return kept


def _insert_slice(rewriter: Rewriter, op: ir.Operation) -> None:
    """A tensor of which a part that begins at computed positions is another tensor."""
    source, target = op.operands[0], op.operands[1]
    if 0 in _shape(source):
        rewriter.replace(op, [rewriter.holder(target)])
        return
    stored = [rewriter.holder(source), rewriter.holder(target)]
    if len(op.operands) == 2:
        if stored != [source, target]:
            attributes = dict(op.attributes.items())
            new = rewriter.builder(op).emit(op.name, stored, [stored[1].type], attributes)
            rewriter.replace(op, list(new.results))
        return
    offsets = static_and_dynamic(op, "offsets", 2)
    steps = static_and_dynamic(op, "strides", 4)
    kept = _kept(op, _shape(source))
    rewriter.replace(op, [_placed(rewriter, op, source, target, offsets, steps, kept)])


def _placed(
    rewriter: Rewriter,
    op: ir.Operation,
    source: ir.Value,
    target: ir.Value,
    offsets: Sequence[Index],
    steps: Sequence[Index],
    kept: Sequence[int],
) -> ir.Value:
    """`target` with `source` at computed `offsets`; `kept` are the dimensions that it has."""
    dynamic = [each for each in (*offsets, *steps) if not isinstance(each, int)]

    def body(elements: list[ir.Value]) -> Sequence[ir.Value]:
        old, *values = elements
        known = dict(zip(dynamic, values, strict=False))
        places, hits = [], []
        sizes = _shape(source)
        for dimension, (offset, step) in enumerate(zip(offsets, steps, strict=True)):
            start = constant_index(offset) if isinstance(offset, int) else known[offset]
            by = constant_index(step) if isinstance(step, int) else known[step]
            size = sizes[kept.index(dimension)] if dimension in kept else 1
            place, found = inside(loop_index(dimension), start, by, size)
            hits += found
            places += [place] if dimension in kept else []
        return [_select(hits, element_at(rewriter, source, places), old)] if hits else [old]

    return _everywhere(rewriter, op, [target, *dynamic], body)


def _gather(rewriter: Rewriter, op: ir.Operation) -> None:
    """Slices of one element along `gather_dims`, whole along the others."""
    source, indices = op.operands
    dims = list(ir.DenseI64ArrayAttr(op.attributes["gather_dims"]))
    batch = len(_shape(indices)) - 1
    whole = len(_shape(source))
    reduced = len(_shape(op.results[0])) == batch + whole - len(dims)

    def body(elements: list[ir.Value]) -> Sequence[ir.Value]:
        del elements
        loops = [loop_index(each) for each in range(batch)]
        places, following = [], batch
        for dimension in range(whole):
            if dimension in dims:
                which = constant_index(dims.index(dimension))
                found = element_at(rewriter, indices, [*loops, which])
                places.append(_as_index(found))
                following += not reduced
            else:
                places.append(loop_index(following))
                following += 1
        return [element_at(rewriter, source, places)]

    rewriter.replace(op, [_everywhere(rewriter, op, [], body)])


def _as_index(value: ir.Value) -> ir.Value:
    if isinstance(value.type, ir.IndexType):
        return value
    index = ir.IndexType.get(value.context)
    return ir.Operation.create("arith.index_cast", results=[index], operands=[value]).results[0]


def _constant(rewriter: Rewriter, op: ir.Operation) -> None:
    """A tensor of indices that are known when compiling."""
    value = op.attributes["value"]
    if not isinstance(value, ir.DenseElementsAttr) or not isinstance(
        _element(op.results[0]), ir.IndexType
    ):
        return
    type_ = _like_i64(op.results[0])
    text = str(value).rpartition(" : ")[0]
    builder = rewriter.builder(op)
    attribute = ir.Attribute.parse(f"{text} : {type_}", op.context)
    rewriter.replace(
        op, list(builder.emit("arith.constant", [], [type_], {"value": attribute}).results)
    )


def _like_i64(value: ir.Value) -> ir.RankedTensorType:
    i64 = ir.IntegerType.get_signless(64, value.context)
    return ir.RankedTensorType.get(_shape(value), i64, loc=ir.Location.unknown(value.context))


TENSOR_RULES: dict[str, Rule] = {
    "arith.constant": _constant,
    "tensor.splat": _splat,
    "tensor.generate": _generate,
    "tensor.from_elements": _from_elements,
    "tensor.extract": _extract,
    "tensor.insert": _insert,
    "tensor.dim": _size,
    "tensor.rank": _size,
    "tensor.cast": _cast,
    "tensor.reshape": _reshape,
    "tensor.expand_shape": _reshape,
    "tensor.collapse_shape": _reshape,
    "tensor.pad": _pad,
    "tensor.extract_slice": _extract_slice,
    "tensor.insert_slice": _insert_slice,
    "tensor.gather": _gather,
}

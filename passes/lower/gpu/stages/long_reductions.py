# SPDX-License-Identifier: MIT OR Apache-2.0
"""Rewrites a reduction as one of its parts, side by side, and one of what they give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.analysis.kernel_function import entry_block
from xyntra.passes.lower.gpu.emit.combiner import Combiner
from xyntra.passes.lower.loops.access_strides import loop_extents
from xyntra.passes.lower.loops.memrefs import allocate, identity_map, root, touched_by

SPLIT = "xyntra.split"
"""Attribute of an operation behind which a launch ends, and of the first one of that launch."""


def reduces(generic: ir.Operation) -> bool:
    """Tell whether a linalg.generic has a loop that reduces."""
    return "reduction" in str(generic.attributes["iterator_types"])


@dataclass(frozen=True)
class ReductionSplit:
    """A split of a reduction into parts.

    Attributes:
        loop: which one.
        parts: how many.
        last: whether the number of the part is the last dimension of what parts give.
        combiner: how results of parts are combined.
        rest: elements behind the parts, which come last.
    """

    loop: int
    parts: int
    last: bool
    combiner: Combiner
    rest: int = 0


def split(generic: ir.Operation, cut: ReductionSplit) -> None:
    """Put a launch that reduces parts, and one that combines them, in the place of `generic`."""
    output = list(generic.operands)[-1]
    kind = ir.MemRefType(output.type)
    shape = [*kind.shape, cut.parts] if cut.last else [cut.parts, *kind.shape]
    first = _fill_before(generic, output)
    with generic.location, ir.InsertionPoint(generic):
        memory = allocate(shape, kind.element_type)
        start = _fill(memory, cut.combiner)
        start.attributes[SPLIT] = ir.UnitAttr.get()
        several = _partial(generic, memory, cut)
        several.attributes[SPLIT] = ir.UnitAttr.get()
        _combine(memory, output, cut)
        _add_rest(generic, cut)
    if first is not None:
        first.move_after(several)
    generic.erase()


def _fill_before(generic: ir.Operation, output: ir.Value) -> ir.Operation | None:
    """Return what fills the output of `generic`, where nothing in between has to do with it."""
    whole = root(output)
    found = None
    for view in entry_block(generic.parent).operations:
        op = view.operation
        if op == generic:
            return found
        touched = touched_by(op)
        if op.regions and any(root(value) == whole for value in touched):
            is_fill = op.name == "linalg.generic" and len(touched) == 1
            found = op if is_fill else None
    return None


def _fill(memory: ir.Value, combiner: Combiner) -> ir.Operation:
    kind = ir.MemRefType(memory.type)
    value = combiner.start()
    maps = [identity_map(kind.rank)]
    generic = _generic([], memory, maps, ["parallel"] * kind.rank)
    with ir.InsertionPoint(generic.regions[0].blocks[0]):
        ir.Operation.create("linalg.yield", operands=[value])
    return generic


def _partial(generic: ir.Operation, memory: ir.Value, cut: ReductionSplit) -> ir.Operation:
    """Return `generic` with results for every part, the number of which is a new loop."""
    kinds = list(generic.attributes["iterator_types"])
    count = len(kinds)
    parallel = [number for number in range(count) if "parallel" in str(kinds[number])]
    order = [*parallel, count] if cut.last else [count, *parallel]
    order += [number for number in range(count) if number not in parallel]
    maps = [ir.AffineMapAttr(each).value for each in generic.attributes["indexing_maps"]]
    results = [_positions(each, cut.loop, count) for each in maps]
    results[-1] = [*results[-1], count] if cut.last else [count, *results[-1]]
    inner = (loop_extents(generic)[cut.loop] - cut.rest) // cut.parts
    inputs = list(generic.operands)[:-1]
    views = [_cut_view(v, one, cut, inner) for v, one in zip(inputs, maps, strict=False)]
    copy = generic.clone().operation
    for number, value in enumerate([*views, memory]):
        copy.operands[number] = value
    found = [[_index_of(order, loop) for loop in each] for each in results]
    maps = [ir.AffineMap.get(count + 1, 0, each) for each in found]
    copy.attributes["indexing_maps"] = ir.ArrayAttr.get([ir.AffineMapAttr.get(m) for m in maps])
    kinds = [*kinds, _iterator("parallel")]
    copy.attributes["iterator_types"] = ir.ArrayAttr.get([kinds[number] for number in order])
    for index in _indices(copy):
        loop = ir.IntegerAttr(index.attributes["dim"]).value
        index.attributes["dim"] = ir.IntegerAttr.get(
            index.attributes["dim"].type, order.index(loop)
        )
        if loop == cut.loop:
            _move(index, order.index(count), inner)
    return copy


def _indices(generic: ir.Operation) -> list[ir.Operation]:
    operations = [view.operation for view in generic.regions[0].blocks[0].operations]
    return [op for op in operations if op.name == "linalg.index"]


def _move(index: ir.Operation, loop: int | None, step: int) -> None:
    """Add `step` to a linalg.index, or so much for each iteration of a loop."""
    users = list(index.result.uses)
    kind = ir.IndexType.get()
    with index.location, ir.InsertionPoint.after(index):
        distance = emit("arith.constant", [], kind, value=ir.IntegerAttr.get(kind, step))
        if loop is not None:
            number = ir.IntegerAttr.get(index.attributes["dim"].type, loop)
            part = emit("linalg.index", [], kind, dim=number)
            distance = emit("arith.muli", [part, distance], kind)
        moved = emit("arith.addi", [index.result, distance], kind)
    for use in users:
        use.owner.operands[use.operand_number] = moved


def _positions(indexing: ir.AffineMap, cut: int, part: int) -> list[int | None]:
    """Return the loop of every dimension, where loop `cut` is now `part` and the rest of it."""
    loops = [loop_of(each) for each in indexing.results]
    return [each for loop in loops for each in ((part, loop) if loop == cut else (loop,))]


def _cut_view(value: ir.Value, indexing: ir.AffineMap, cut: ReductionSplit, inner: int) -> ir.Value:
    """Return a view with the dimension of a loop as two, the second of `inner` elements."""
    if not isinstance(value.type, ir.MemRefType):
        return value
    kind = ir.MemRefType(value.type)
    steps, offset = kind.get_strides_and_offset()
    sizes, strides = [], []
    for size, step, each in zip(kind.shape, steps, indexing.results, strict=True):
        is_cut = loop_of(each) == cut.loop
        sizes += [cut.parts, inner] if is_cut else [size]
        strides += [step * inner, step] if is_cut else [step]
    return view_of(value, offset, sizes, strides)


def _add_rest(generic: ir.Operation, cut: ReductionSplit) -> None:
    """Reduce what is behind the parts as well."""
    if not cut.rest:
        return
    maps = [ir.AffineMapAttr(each).value for each in generic.attributes["indexing_maps"]]
    inputs = list(generic.operands)[:-1]
    views = [_rest_view(value, one, cut) for value, one in zip(inputs, maps, strict=False)]
    copy = generic.clone().operation
    for number, value in enumerate(views):
        copy.operands[number] = value
    for index in _indices(copy):
        if ir.IntegerAttr(index.attributes["dim"]).value == cut.loop:
            _move(index, None, loop_extents(generic)[cut.loop] - cut.rest)


def _rest_view(value: ir.Value, indexing: ir.AffineMap, cut: ReductionSplit) -> ir.Value:
    if not isinstance(value.type, ir.MemRefType):
        return value
    kind = ir.MemRefType(value.type)
    strides, offset = kind.get_strides_and_offset()
    sizes = list(kind.shape)
    for number, each in enumerate(indexing.results):
        if loop_of(each) == cut.loop:
            offset += strides[number] * (sizes[number] - cut.rest)
            sizes[number] = cut.rest
    return view_of(value, offset, sizes, strides)


def view_of(value: ir.Value, offset: int, sizes: list[int], strides: list[int]) -> ir.Value:
    """Return a view of a buffer from element `offset` on, counted in elements."""
    layout = ir.StridedLayoutAttr.get(offset, strides)
    return ir.Operation.create(
        "memref.reinterpret_cast",
        results=[ir.MemRefType.get(sizes, ir.MemRefType(value.type).element_type, layout)],
        operands=[value],
        attributes={
            "static_offsets": ir.DenseI64ArrayAttr.get([offset]),
            "static_sizes": ir.DenseI64ArrayAttr.get(sizes),
            "static_strides": ir.DenseI64ArrayAttr.get(strides),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 0, 0, 0]),
        },
    ).result


def has_plain_maps(generic: ir.Operation) -> bool:
    """Tell whether every dimension of every operand is a loop, or the first of a dimension."""
    maps = [ir.AffineMapAttr(each).value for each in generic.attributes["indexing_maps"]]
    return all(
        isinstance(each, ir.AffineDimExpr) or _is_first(each)
        for one in maps
        for each in one.results
    )


def _is_first(expression: ir.AffineExpr) -> bool:
    return isinstance(expression, ir.AffineConstantExpr) and expression.value == 0


def loop_of(expression: ir.AffineExpr) -> int | None:
    """Return the loop that indexes a dimension; None for a dimension of which one is read."""
    is_loop = isinstance(expression, ir.AffineDimExpr)
    return int(ir.AffineDimExpr(expression).position) if is_loop else None


def _index_of(order: list[int], loop: int | None) -> ir.AffineExpr:
    if loop is None:
        return ir.AffineConstantExpr.get(0)
    return ir.AffineDimExpr.get(order.index(loop))


def _combine(memory: ir.Value, output: ir.Value, cut: ReductionSplit) -> None:
    rank = ir.MemRefType(memory.type).rank
    outputs = range(rank - 1) if cut.last else range(1, rank)
    kept = [ir.AffineDimExpr.get(number) for number in outputs]
    maps = [identity_map(rank), ir.AffineMapAttr.get(ir.AffineMap.get(rank, 0, kept))]
    kinds = ["parallel" if number in outputs else "reduction" for number in range(rank)]
    built = _generic([memory], output, maps, kinds)
    block = built.regions[0].blocks[0]
    with ir.InsertionPoint(block):
        after = cut.combiner.combine(block.arguments[1], block.arguments[0])
        ir.Operation.create("linalg.yield", operands=[after])


def _generic(
    inputs: Sequence[ir.Value],
    output: ir.Value,
    maps: Sequence[ir.Attribute],
    iterators: Sequence[str],
) -> ir.Operation:
    operands = [*inputs, output]
    built = ir.Operation.create(
        "linalg.generic",
        operands=operands,
        attributes={
            "indexing_maps": ir.ArrayAttr.get(list(maps)),
            "iterator_types": ir.ArrayAttr.get([_iterator(kind) for kind in iterators]),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(inputs), 1]),
        },
        regions=1,
    )
    elements = [ir.MemRefType(value.type).element_type for value in operands]
    built.regions[0].blocks.append(*elements)
    return built


def _iterator(kind: str) -> ir.Attribute:
    return ir.Attribute.parse(f"#linalg.iterator_type<{kind}>")

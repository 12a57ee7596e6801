# SPDX-License-Identifier: MIT OR Apache-2.0
"""Small builders and questions about memrefs that several steps share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.sizes.session import session, size_of, size_value, sized
from xyntra.passes.analysis.sizes.size import most_of
from xyntra.passes.analysis.views import MEMREF_VIEWS
from xyntra.passes.analysis.walking import nested_operations, outside_bodies

RESHAPES = frozenset({"memref.collapse_shape", "memref.expand_shape"})
"""Views of the same elements in the same order."""


def view_of_bytes(buffer: ir.Value, kind: ir.MemRefType, start: int = 0) -> ir.Value:
    """Return a contiguous memref of the shape and element of `kind` at byte `start` of `buffer`."""
    index = ir.IndexType.get()
    first = ir.Operation.create(
        "arith.constant", results=[index], attributes={"value": ir.IntegerAttr.get(index, start)}
    )
    view = ir.Operation.create(
        "memref.view",
        results=[ir.MemRefType.get(kind.shape, kind.element_type)],
        operands=[buffer, first.result],
    )
    return view.result


def view_of_elements(buffer: ir.Value, kind: ir.MemRefType) -> ir.Value:
    """Return a contiguous memref of the shape of `kind` at the start of a flat `buffer`."""
    shape = list(kind.shape)
    steps = [prod(shape[number + 1 :]) for number in range(len(shape))]
    return ir.Operation.create(
        "memref.reinterpret_cast",
        results=[ir.MemRefType.get(shape, kind.element_type)],
        operands=[buffer],
        attributes={
            "static_offsets": ir.DenseI64ArrayAttr.get([0]),
            "static_sizes": ir.DenseI64ArrayAttr.get(shape),
            "static_strides": ir.DenseI64ArrayAttr.get(steps),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 0, 0, 0]),
        },
    ).result


def identity_map(rank: int) -> ir.AffineMapAttr:
    """Return the identity map of `rank` dimensions, which is also the contiguous layout."""
    return ir.AffineMapAttr.get(ir.AffineMap.get_identity(rank))


def is_contiguous(value: ir.Value) -> bool:
    """Tell whether a memref has the row-major contiguous layout and starts at its pointer."""
    kind = ir.MemRefType(value.type)
    return bool(kind.layout == identity_map(kind.rank))


def has_static_layout(value: ir.Value) -> bool:
    """Tell whether a memref's shape, strides and offset are known; a scalar counts as well."""
    if not isinstance(value.type, ir.MemRefType):
        return not isinstance(value.type, ir.ShapedType)
    if not value.type.has_static_shape:
        return False
    strides, offset = value.type.get_strides_and_offset()
    return bool(min([offset, *strides]) >= 0)


def flattened(value: ir.Value) -> ir.Value:
    """Return a one-dimensional memref over the elements that the static memref `value` spans."""
    kind = ir.MemRefType(value.type)
    _, offset = kind.get_strides_and_offset()
    size = span(value)
    if session.get() is not None:
        value = _reshaped(value)
    told = size_value(sized(offset))
    if told is not None:
        return _flat_from(value, told, size)
    layout = ir.StridedLayoutAttr.get(offset, [1]) if offset else None
    flat = ir.Operation.create(
        "memref.reinterpret_cast",
        results=[ir.MemRefType.get([size], kind.element_type, layout)],
        operands=[value],
        attributes={
            "static_offsets": ir.DenseI64ArrayAttr.get([offset]),
            "static_sizes": ir.DenseI64ArrayAttr.get([size]),
            "static_strides": ir.DenseI64ArrayAttr.get([1]),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 0, 0, 0]),
        },
    )
    return flat.result


def _reshaped(value: ir.Value) -> ir.Value:
    """Return the contiguous memory that `value` is another shape of.

    Accesses are moved past reshapes, and their indices divided by what may be told sizes.
    """
    while not isinstance(owner := value.owner, ir.Block) and owner.name in RESHAPES:
        if not is_contiguous(owner.operands[0]):
            break
        value = owner.operands[0]
    return value


def _flat_from(value: ir.Value, start: ir.Value, size: int) -> ir.Value:
    """Return a one-dimensional memref from a place on that the kernel is told."""
    dynamic = ir.ShapedType.get_dynamic_stride_or_offset()
    layout = ir.StridedLayoutAttr.get(dynamic, [1])
    kind = ir.MemRefType.get([size], ir.MemRefType(value.type).element_type, layout)
    return ir.Operation.create(
        "memref.reinterpret_cast",
        results=[kind],
        operands=[value, start],
        attributes={
            "static_offsets": ir.DenseI64ArrayAttr.get([dynamic]),
            "static_sizes": ir.DenseI64ArrayAttr.get([size]),
            "static_strides": ir.DenseI64ArrayAttr.get([1]),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 1, 0, 0]),
        },
    ).result


def span(value: ir.Value) -> int:
    """Return how many elements lie from the first to the last one of a static memref."""
    kind = ir.MemRefType(value.type)
    strides, _ = kind.get_strides_and_offset()
    steps = zip(kind.shape, strides, strict=True)
    return 1 + sum(int((size - 1) * step) for size, step in steps)


def allocate(size: int | Sequence[int], element: ir.Type) -> ir.Value:
    """Return new memory for `size` elements, or of a shape: as much as it may ever be."""
    shape = [most_of(each) for each in ([size] if isinstance(size, int) else size)]
    return ir.Operation.create(
        "memref.alloc",
        results=[ir.MemRefType.get(shape, element)],
        attributes={"operandSegmentSizes": ir.DenseI32ArrayAttr.get([0, 0])},
    ).result


def root(value: ir.Value) -> ir.Value:
    """Return the memory that a memref is a view of: an argument, an allocation or a global."""
    while not isinstance(owner := value.owner, ir.Block) and owner.name in MEMREF_VIEWS:
        value = owner.operands[0]
    return value


def view_offset(value: ir.Value) -> int:
    """Return the element of its memory at which a memref starts, of static layout or flat."""
    _, offset = ir.MemRefType(value.type).get_strides_and_offset()
    if offset == ir.ShapedType.get_dynamic_stride_or_offset():
        told = size_of(value.owner.operands[1])
        if told is None:
            raise ValueError("the start of a view is not told")
        return told
    return sized(int(offset))


def written_by(op: ir.Operation) -> list[ir.Value]:
    """Return the memrefs that `op`, or what is in it, may write.

    Of a linalg operation that are its outputs, of loads and views none, of others all operands.
    """
    if op.name.startswith("linalg."):
        return _written(op)
    inner = (value for each in outside_bodies(op) for value in _written(each))
    return [*_written(op), *inner]


def _written(op: ir.Operation) -> list[ir.Value]:
    if op.name.startswith("linalg."):
        return _memory(list(op.operands)[op.attributes["operandSegmentSizes"][0] :])
    only_reads = op.name in MEMREF_VIEWS or op.name == "memref.load"
    return [] if only_reads else _memory(op.operands)


def touched_by(op: ir.Operation) -> list[ir.Value]:
    """Return the memrefs that are operands of `op`, or of anything in it."""
    inner = (value for each in nested_operations(op) for value in each.operands)
    return _memory([*op.operands, *inner])


def _memory(values: Iterable[ir.Value]) -> list[ir.Value]:
    return [value for value in values if isinstance(value.type, ir.MemRefType)]


def is_private(whole: ir.Value, users: Sequence[ir.Operation]) -> bool:
    """Tell whether `whole` is allocated by the kernel and touched by `users` only."""
    if isinstance(whole.owner, ir.Block) or whole.owner.name != "memref.alloc":
        return False
    return is_touched_by(whole, users)


def is_touched_by(whole: ir.Value, users: Sequence[ir.Operation]) -> bool:
    """Tell whether no operation but `users` has `whole`, or a view of it, as operand."""
    waiting = [whole]
    while waiting:
        for use in waiting.pop().uses:
            user = use.owner.operation
            if user in users:
                continue
            if user.name not in MEMREF_VIEWS:
                return False
            waiting.extend(user.results)
    return True

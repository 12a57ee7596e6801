# SPDX-License-Identifier: MIT OR Apache-2.0
"""Makes the free and the data-moving operations that rewriting views needs, each once."""

from __future__ import annotations

from collections.abc import Sequence

from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.dtypes import default_dtype
from xyntra.dialects.mlir import ir
from xyntra.passes.fusion.graph.block_graph import reads_no_tensor
from xyntra.passes.views.layout import Layout, reading_of_strides
from xyntra.passes.views.slicing import Spans
from xyntra.passes.views.structured import affine_map, body_uses, identity, reads_output

__all__ = ["MadeOperations", "retyped"]


def retyped(type_: ir.RankedTensorType, shape: Sequence[int]) -> ir.RankedTensorType:
    """`type_` with another shape; needs a current location."""
    return ir.RankedTensorType.get(shape, type_.element_type, type_.encoding)


class MadeOperations:
    """Operations made so far; later requests are answered with them.

    Requests must come in the order of the block, each for a place where its operands are defined.
    """

    def __init__(self) -> None:
        self._reshaped: dict[tuple[ir.Value, tuple[int, ...]], ir.Value] = {}
        self._moved: dict[tuple[ir.Value, Layout], ir.Value] = {}
        self._destinations: dict[tuple[ir.Value, tuple[int, ...]], ir.Value] = {}
        self.replaced: dict[ir.Operation, None] = {}
        """Destinations that may have lost their last use."""

    def note_reshape(self, source: ir.Value, result: ir.Value, shape: Sequence[int]) -> None:
        """Remember that `result` is `source` in `shape`."""
        self._reshaped.setdefault((source, tuple(shape)), result)

    def reshape(self, source: ir.Value, shape: Sequence[int], before: ir.Operation) -> ir.Value:
        """`source` in row-major order under another shape; free."""
        key = (source, tuple(shape))
        if key not in self._reshaped:
            tensor = Tensor.of(source)
            builder = TensorBuilder(ir.InsertionPoint(before), before.location)
            self._reshaped[key] = builder.reshape(tensor, key[1]).value
        return self._reshaped[key]

    def slice(self, source: ir.Value, spans: Spans, before: ir.Operation) -> ir.Value:
        """A part of `source`; free."""
        tensor = Tensor.of(source)
        builder = TensorBuilder(ir.InsertionPoint(before), before.location)
        return builder.slice(tensor, spans.starts, spans.sizes, spans.steps).value

    def move(self, source: ir.Value, layout: Layout, before: ir.Operation) -> ir.Value:
        """The elements of a view of `source` in a tensor of their own."""
        key = (source, layout)
        if key not in self._moved:
            self._moved[key] = self._move(source, layout, before)
        return self._moved[key]

    def _move(self, source: ir.Value, layout: Layout, before: ir.Operation) -> ir.Value:
        if layout.is_row_major:
            return self.reshape(source, layout.shape, before)
        layout = layout.merged()
        split = layout
        if any(len(dimension) > 1 for dimension in layout.dimensions):
            # One dimension for each factor, so that every stride has an index of its own.
            split = Layout(tuple((f,) for dimension in layout.dimensions for f in dimension))
        read = reading_of_strides(split, tuple(source.type.shape))
        base = self.reshape(source, read.shape, before)
        result = _copy(base, read.sources, split.shape, before)
        return self.reshape(result, layout.shape, before)

    def destination(
        self, old: ir.Value, shape: Sequence[int], before: ir.Operation
    ) -> ir.Value | None:
        """`old`, a tensor.empty or a fill, in another shape; None for any other tensor."""
        if isinstance(old.owner, ir.Block):
            return None
        key = (old, tuple(shape))
        if key not in self._destinations:
            made = self._destination(old, key[1], before)
            if made is None:
                return None
            self._destinations[key] = made
            self.replaced[old.owner.operation] = None
        return self._destinations[key]

    def _destination(
        self, old: ir.Value, shape: tuple[int, ...], before: ir.Operation
    ) -> ir.Value | None:
        op = old.owner.operation
        with before.location, ir.InsertionPoint(before):
            type_ = retyped(old.type, shape)
            if op.name == "tensor.empty":
                return ir.Operation.create("tensor.empty", results=[type_]).results[0]
            if not reads_no_tensor(op) or len(op.results) != 1:
                return None
            if op.name == "linalg.generic" and not _is_uniform(op):
                return None
            empty = self.destination(op.operands[len(op.operands) - 1], shape, before)
            return None if empty is None else _filled(op, type_, empty)


def _is_uniform(op: ir.Operation) -> bool:
    """Tell whether a fill that is a linalg.generic writes one value everywhere."""
    return not reads_output(op) and not body_uses(op, "linalg.index")


def _filled(fill: ir.Operation, type_: ir.RankedTensorType, empty: ir.Value) -> ir.Value:
    clone = fill.clone(ip=ir.InsertionPoint.current)
    clone.operands[len(clone.operands) - 1] = empty
    clone.results[0].set_type(type_)
    if fill.name == "linalg.generic":
        rank = len(type_.shape)
        map_ = ir.AffineMapAttr.get(affine_map(rank, identity(rank)))
        kind = ir.Attribute.parse("#linalg.iterator_type<parallel>")
        clone.attributes["indexing_maps"] = ir.ArrayAttr.get([map_])
        clone.attributes["iterator_types"] = ir.ArrayAttr.get([kind] * rank)
    return clone.results[0]


def _copy(
    source: ir.Value, sources: Sequence[int | None], shape: Sequence[int], before: ir.Operation
) -> ir.Value:
    """Element `i` of the result is the element of `source` at `i[sources[0]], i[sources[1]], …`."""
    dtype = default_dtype(source.type.element_type)
    builder = TensorBuilder(ir.InsertionPoint(before), before.location)
    rank = len(shape)
    with before.location:
        read = affine_map(rank, sources)
    return builder.generic(
        [(Tensor(source, dtype), read)],
        [(builder.empty(shape, dtype), dtype, builder.identity(rank))],
        ["parallel"] * rank,
        lambda x, _: x,
    )[0].value

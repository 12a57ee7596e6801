# SPDX-License-Identifier: MIT OR Apache-2.0
"""`fold-norms`: a contraction reads its operand unnormalised and normalises in its epilogue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cmp_to_key
from typing import ClassVar

from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.mlir import ir
from xyntra.dialects.segments import SEGMENTS
from xyntra.passes.analysis.functions import function_blocks
from xyntra.passes.fusion.norms.narrow_products import NarrowProduct, slices_of_columns
from xyntra.passes.fusion.norms.norm_statistics import (
    RowStatistics,
    merge_parts,
    normalize,
    normalize_product,
    write_parts,
)
from xyntra.passes.fusion.norms.normed_readers import (
    Known,
    Norm,
    NormReader,
    norm_behind_product,
    readers_of,
)
from xyntra.passes.fusion.norms.normed_weights import norm_weights
from xyntra.passes.fusion.partition.boundaries import node_name
from xyntra.passes.fusion.regions.rebuilt_region import rebuilt
from xyntra.passes.fusion.weights.weights import tensor_bytes
from xyntra.passes.registry import register_pass

__all__ = ["FoldNorms"]

_BOUNDARIES = "xyntra.boundaries"


@register_pass
@dataclass(frozen=True)
class FoldNorms:
    """Fold the norm between two products of 16-bit floats into both.

    With few rows, a norm of its own takes a launch, nearly all of whose time is waiting. The
    product in front of the norm gives its result as it is, and sums and squared deviations of every
    32 columns of it beside it. Each product that reads the norm multiplies that result by weights
    times the norm's scale, which are computed when the model is loaded, and normalises what it
    gives: (x - mean) * factor * scale + bias, times W, is
    (x (scale W) - mean * column sums of (scale W)) * factor + bias W.
    An elementwise operation behind a product, such as the addition of a residual, normalises the
    elements that it reads. The first region that does either merges the statistics of each row, and
    gives mean and factor to the others.

    A norm stays as it is where an operation of another sort reads it, or the function returns it.
    Mean and deviation are those of the rounded result, in f32, as in the norm. Weights are rounded
    once more and the normalised factor once less, so that errors are about as large. Where a row's
    mean is far above its deviation, their ratio magnifies the roundings of f32 sums: below a ratio
    of 1000 they stay below those of 16-bit factors. NaN and infinities of the factor make the rows
    NaN that the norm makes NaN.
    """

    name: ClassVar[str] = "fold-norms"

    max_rows: int = 512
    """More rows keep a norm busy for longer than a launch takes."""
    max_product_bytes: int = 1 << 27
    """Beside reading more weights, a launch is nothing."""
    max_weight_bytes: int = 1 << 31
    """Most bytes of scaled weights in one module; they are kept beside the original ones."""

    def run(self, module: ir.Operation) -> None:
        """Rewrite every function of `module`."""
        folding = _Folding(self)
        for block in function_blocks(module):
            known = Known(block)
            for view in list(block.operations):
                op = folding.now(view.operation)
                norm = None
                if op.name == "xyntra.fused":
                    norm = norm_behind_product(op, known, self.max_rows)
                readers = readers_of(norm, known) if norm else None
                if norm and readers:
                    folding.fold(norm, readers)
        # Not earlier: the bindings may give an operation that is created where an erased one was
        # the wrapper of the erased one.
        for op, _ in folding.replaced:
            op.erase()


class _Folding:
    def __init__(self, options: FoldNorms) -> None:
        self.options = options
        self.free_bytes = options.max_weight_bytes
        self.replaced: list[tuple[ir.Operation, ir.Operation]] = []

    def now(self, op: ir.Operation) -> ir.Operation:
        """Return what `op` has been replaced by, or `op`."""
        # Not by hash: that of an operation changes with its attributes and operands.
        for old, new in self.replaced:
            op = new if old == op else op
        return op

    def fold(self, norm: Norm, readers: Sequence[NormReader]) -> None:
        """Let `readers` normalise by themselves, unless that takes too many bytes."""
        nbytes = [
            tensor_bytes(each.op.operands[each.product.columns]) for each in readers if each.product
        ]
        if max(nbytes, default=0) > self.options.max_product_bytes or sum(nbytes) > self.free_bytes:
            return
        if not all(map(_has_room, [norm.fused, *(each.fused for each in readers)])):
            return
        self.free_bytes -= sum(nbytes)
        vectors = [_outside(vector, norm) for vector in (norm.scale, norm.bias)]
        x, parts, new = _give_parts(norm)
        self.replaced.append((norm.fused, new))
        first, *others = _by_region(readers)
        rows = _merge(norm, parts, first[0])
        _normalize(first, _Folded(norm, x, rows, *vectors))
        if not others:
            return
        rows = self._give_rows(first[0].fused, rows)
        for each in others:
            _normalize(each, _Folded(norm, x, rows, *vectors))

    def _give_rows(self, fused: ir.Operation, rows: RowStatistics) -> RowStatistics:
        """Build a region anew that gives the values of rows which it merges, too."""
        values = [each for each in (rows.mean, rows.factor) if each is not None]
        *_, end = [view.operation for view in fused.regions[0].blocks[0].operations]
        inside = [*end.operands, *(each.value for each in values)]
        new = rebuilt(fused, inside, (end,))
        count = len(fused.results)
        for old, result in zip(fused.results, new[:count], strict=True):
            old.replace_all_uses_with(result)
        self.replaced.append((fused, new[0].owner.operation))
        *mean, factor = map(Tensor.of, new[count:])
        return RowStatistics(mean[0] if mean else None, factor)


def _has_room(fused: ir.Operation) -> bool:
    """Tell whether the region can give statistics as well, which are of one more type."""
    return len({result.type for result in fused.results}) < SEGMENTS


def _by_region(readers: Sequence[NormReader]) -> list[list[NormReader]]:
    """The readers in each region, in the order in which regions run."""
    groups: list[list[NormReader]] = []
    for reader in readers:
        group = next((each for each in groups if each[0].fused == reader.fused), None)
        if group is None:
            groups.append([reader])
        else:
            group.append(reader)
    return sorted(groups, key=cmp_to_key(_runs_before))


def _runs_before(one: Sequence[NormReader], other: Sequence[NormReader]) -> int:
    return -1 if one[0].fused.is_before_in_block(other[0].fused) else 1


def _merge(norm: Norm, parts: Sequence[Tensor], reader: NormReader) -> RowStatistics:
    start = ir.InsertionPoint.at_block_begin(reader.op.block)
    builder = TensorBuilder(start, norm.op.location)
    return merge_parts(builder, parts, norm.epsilon)


def _normalize(readers: Sequence[NormReader], folded: _Folded) -> None:
    for reader in readers:
        if reader.product is None:
            folded.normalize_operand(reader)
        else:
            folded.normalize_product(reader, reader.product)
    _record(readers[0].fused, folded.norm.op)


@dataclass(frozen=True)
class _Folded:
    """The input of a reader of `norm` once that is folded, with the values of its rows."""

    norm: Norm
    x: Tensor
    rows: RowStatistics
    scale: Tensor | None
    bias: Tensor | None

    def normalize_operand(self, reader: NormReader) -> None:
        """Let an elementwise operation normalise what it reads."""
        builder = TensorBuilder(ir.InsertionPoint(reader.op), self.norm.op.location)
        found = normalize(builder, self.x, self.rows, self.scale, self.bias)
        reader.op.operands[reader.position] = found.value

    def normalize_product(self, reader: NormReader, product: NarrowProduct) -> None:
        """Let a product take what is not normalised, and normalise what it gives."""
        op, location = reader.op, self.norm.op.location
        outer = TensorBuilder(ir.InsertionPoint(reader.fused), op.location)
        matrix = Tensor.of(op.operands[product.columns])
        results = slices_of_columns(op.results[0])
        weights, columns = norm_weights(
            outer,
            matrix,
            product.axis,
            [part for _, part in results],
            (self.scale, self.bias),
            centred=self.norm.centred,
        )
        op.operands[product.rows] = self.x.value
        op.operands[product.columns] = weights.value
        for (sums, _), vectors in zip(results, columns, strict=True):
            builder = TensorBuilder(ir.InsertionPoint.after(sums.owner), location)
            found = normalize_product(builder, Tensor.of(sums), self.rows, vectors).value
            sums.replace_all_uses_except(found, [found.owner.operation])


def _outside(vector: ir.Value | None, norm: Norm) -> Tensor | None:
    """A vector as what other regions can read, too."""
    if vector is None:
        return None
    owner = vector.owner
    if not isinstance(owner, ir.Block) and owner.operation.parent == norm.fused:
        owner.operation.move_before(norm.fused)
    return Tensor.of(vector)


def _give_parts(norm: Norm) -> tuple[Tensor, list[Tensor], ir.Operation]:
    """Build the region of `norm` anew: it gives what is normalised, and statistics of its parts."""
    old = norm.fused
    block = old.regions[0].blocks[0]
    end = block.operations[len(block.operations) - 1].operation
    builder = TensorBuilder(ir.InsertionPoint(end), norm.op.location)
    parts = write_parts(builder, Tensor.of(norm.x), centred=norm.centred)
    values = {number: value for number, value in enumerate(end.operands) if number != norm.result}
    place = next((number for number, value in values.items() if value == norm.x), norm.result)
    values[place] = norm.x
    new = rebuilt(old, [*values.values(), *(part.value for part in parts)], (norm.op, end))
    given = dict(zip(values, new, strict=False))
    for number, result in given.items():
        if number != norm.result:
            old.results[number].replace_all_uses_with(result)
    statistics = [Tensor.of(result) for result in new[len(values) :]]
    return Tensor.of(given[place]), statistics, new[0].owner.operation


def _record(fused: ir.Operation, norm: ir.Operation) -> None:
    """Note at the region `fused` why it reads what `norm` does not give any more."""
    if _BOUNDARIES not in fused.attributes:
        return
    name = node_name(norm, norm.context)
    reason = ir.StringAttr.get("norm-shared", norm.context)
    entries = [ir.DictAttr(entry) for entry in ir.ArrayAttr(fused.attributes[_BOUNDARIES])]
    changed = [
        ir.DictAttr.get({**{each.name: each.attr for each in entry}, "reason": reason})
        if entry["source"] == name
        else entry
        for entry in entries
    ]
    fused.attributes[_BOUNDARIES] = ir.ArrayAttr.get(changed, norm.context)

# SPDX-License-Identifier: MIT OR Apache-2.0
"""`merge-contractions`: one contraction in place of several that share an operand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects import FusedOp
from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.dtypes import default_dtype
from xyntra.dialects.mlir import ir
from xyntra.dialects.tensors.slices import concatenate
from xyntra.passes.analysis.functions import function_blocks
from xyntra.passes.fusion.contractions.gates import find_gates
from xyntra.passes.fusion.contractions.parallel_contractions import Bias, Sibling, find_siblings
from xyntra.passes.fusion.regions.inlined_views import inline_views
from xyntra.passes.fusion.weights.weights import StaticValues, erase_with_unused, tensor_bytes
from xyntra.passes.registry import register_pass

__all__ = ["MergeContractions"]


@register_pass
@dataclass(frozen=True)
class MergeContractions:
    """Merge contractions of one tensor with several weights, such as query, key and value.

    The weights are concatenated along their columns, and so are the biases where all siblings add
    one; both happen in one region for each merged contraction, once, when the model is loaded. The
    readers get slices along the last dimension.

    A contraction is worth merging where its result is too small to keep a processor busy, or where
    reading the shared tensor once saves more than the weights take. With `gates`, so are two whose
    results meet element by element, as in SwiGLU, and these are merged with no others: one launch
    can then compute pairs of columns and what becomes of them. Every sum keeps its terms and their
    order.
    """

    name: ClassVar[str] = "merge-contractions"

    max_elements: int = 1 << 20
    """Results of at most that many elements are worth merging."""
    gates: bool = False
    """Whether a gate and what it multiplies are worth merging."""
    max_weight_bytes: int = 1 << 29
    """Most bytes of concatenated weights in one module; they are kept beside the original ones."""

    def run(self, module: ir.Operation) -> None:
        """Rewrite every function of `module`."""
        merger = _Merger(self)
        for block in function_blocks(module):
            static = StaticValues(block)
            for siblings in find_siblings(block, static):
                gates = find_gates(siblings) if self.gates else []
                rest = [each for each in siblings if each not in gates]
                merger.merge(gates, static, always=True)
                merger.merge(rest, static)
        erase_with_unused(merger.replaced)


class _Merger:
    def __init__(self, options: MergeContractions) -> None:
        self.options = options
        self.free_bytes = options.max_weight_bytes
        self.replaced: list[ir.Operation] = []

    def merge(
        self, siblings: Sequence[Sibling], static: StaticValues, *, always: bool = False
    ) -> None:
        chosen = list(siblings) if always or not siblings else self._worthwhile(siblings)
        nbytes = sum(sibling.weight_bytes for sibling in chosen)
        if len(chosen) < 2 or nbytes > self.free_bytes:
            return
        self.free_bytes -= nbytes
        first = chosen[0]
        biases = [sibling.bias for sibling in chosen if sibling.bias]
        with_bias = len(biases) == len(chosen) and len(set(map(_form, biases))) == 1
        weights = [sibling.weight for sibling in chosen]
        vectors = [bias.vector for bias in biases] if with_bias else []
        static.hoist([*weights, *vectors], first.index, first.op)
        operands = _concatenated(chosen, weights, vectors)
        result = self._contract(chosen, operands[0])
        if with_bias:
            result = self._add(chosen, biases, result, operands[1])
        _give_slices(chosen, result, with_bias)
        self.replaced += [bias.op for bias in biases] if with_bias else []
        self.replaced += [sibling.op for sibling in chosen]

    def _worthwhile(self, siblings: Sequence[Sibling]) -> list[Sibling]:
        weights = sum(sibling.weight_bytes for sibling in siblings)
        if tensor_bytes(siblings[0].op.operands[0]) > weights:
            return list(siblings)
        return [each for each in siblings if each.elements <= self.options.max_elements]

    def _contract(self, siblings: Sequence[Sibling], weight: ir.Value) -> ir.Value:
        first = siblings[0].op
        location = _joined([sibling.op.location for sibling in siblings])
        builder = TensorBuilder(ir.InsertionPoint(first), location)
        empty = builder.empty(*_widened(siblings, first.results[0]))
        fill = first.operands[2].owner.operation
        initial = _widened_clone(fill, {len(fill.operands) - 1: empty}, fill.location, first)
        return _widened_clone(first, {1: weight, 2: initial}, location, first)

    def _add(
        self,
        siblings: Sequence[Sibling],
        biases: Sequence[Bias],
        result: ir.Value,
        vector: ir.Value,
    ) -> ir.Value:
        first = siblings[0].op
        location = _joined([bias.op.location for bias in biases])
        builder = TensorBuilder(ir.InsertionPoint(first), location)
        output = builder.empty(*_widened(siblings, biases[0].op.results[0]))
        position = biases[0].position
        operands = {position: vector, 1 - position: result, 2: output}
        return _widened_clone(biases[0].op, operands, location, first)


def _form(bias: Bias) -> tuple[object, ...]:
    """Return what additions have in common that can be one."""
    vector = ir.RankedTensorType(bias.vector.type)
    names = tuple(view.operation.name for view in bias.op.regions[0].blocks[0].operations)
    maps = bias.op.attributes["indexing_maps"]
    return bias.position, maps, names, tuple(vector.shape)[:-1], vector.element_type


def _concatenated(
    siblings: Sequence[Sibling], weights: Sequence[ir.Value], vectors: Sequence[ir.Value]
) -> list[ir.Value]:
    """The weights behind one another, and the biases, computed in one region."""
    first = siblings[0]
    location = _joined([sibling.op.location for sibling in siblings])
    parts = [(weights, first.axis)]
    if vectors:
        parts.append((vectors, ir.RankedTensorType(vectors[0].type).rank - 1))
    with location:
        types = [_concatenated_type(values, axis) for values, axis in parts]
        fused = FusedOp.build(types, "data", ip=ir.InsertionPoint(first.op))
        builder = TensorBuilder(ir.InsertionPoint(fused.block), location)
        results = [
            concatenate(builder, [Tensor.of(value) for value in values], axis).value
            for values, axis in parts
        ]
        fused.finish(results)
    # Weights may be slices of one tensor, as those of the directions of a recurrent network are.
    inline_views(fused.operation)
    return list(fused.results)


def _concatenated_type(values: Sequence[ir.Value], axis: int) -> ir.Type:
    types = [ir.RankedTensorType(value.type) for value in values]
    shape = list(types[0].shape)
    shape[axis] = sum(kind.shape[axis] for kind in types)
    return ir.RankedTensorType.get(shape, types[0].element_type)


def _widened(siblings: Sequence[Sibling], result: ir.Value) -> tuple[list[int], str]:
    kind = ir.RankedTensorType(result.type)
    columns = sum(sibling.columns for sibling in siblings)
    return [*list(kind.shape)[:-1], columns], default_dtype(kind.element_type)


def _widened_clone(
    op: ir.Operation, operands: dict[int, ir.Value], location: ir.Location, place: ir.Operation
) -> ir.Value:
    """`op` with other operands, of which the last is what it writes to, and so has its type."""
    clone = op.clone(ip=ir.InsertionPoint(place))
    for position, value in operands.items():
        clone.operands[position] = value
    clone.results[0].set_type(clone.operands[len(clone.operands) - 1].type)
    clone.location = location
    return clone.results[0]


def _give_slices(siblings: Sequence[Sibling], result: ir.Value, with_bias: bool) -> None:
    offset = 0
    for sibling in siblings:
        old = sibling.bias.op if with_bias and sibling.bias else sibling.op
        builder = TensorBuilder(ir.InsertionPoint(siblings[0].op), old.location)
        shape = list(ir.RankedTensorType(old.results[0].type).shape)
        starts = [0] * (len(shape) - 1) + [offset]
        part = builder.slice(Tensor.of(result), starts, shape, [1] * len(shape))
        old.results[0].replace_all_uses_with(part.value)
        offset += sibling.columns


def _joined(locations: Sequence[ir.Location]) -> ir.Location:
    distinct = list(dict.fromkeys(locations))
    return distinct[0] if len(distinct) == 1 else ir.Location.fused(distinct)

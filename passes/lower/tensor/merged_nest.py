# SPDX-License-Identifier: MIT OR Apache-2.0
"""Builds one elementwise linalg.generic from several."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.views import RESHAPES
from xyntra.passes.lower.tensor.pointwise_groups import origin
from xyntra.passes.lower.tensor.row_major import Shape, refine_loops

Input = tuple[ir.Value, ir.AffineMap]


class MergedNest:
    """The merged operation, at the current insertion point; bodies move into it in order."""

    def __init__(self, members: Sequence[ir.Operation], domain: Shape) -> None:
        """Build the operation.

        Args:
            members: elementwise operations in order, which read each other element by element.
            domain: the new iteration space; each member's can be cut into its dimensions.
        """
        self.members = list(members)
        self.domain = domain
        self.location = members[-1].location
        self.produced = {result for op in members for result in op.results}
        self.results = self._results()
        self.inputs = self._inputs()
        self.op = self._create()
        self.body = self.op.regions[0].blocks[0]
        self.scalars: dict[ir.Value, ir.Value] = {}
        for op in members:
            self._move_body(op)
        with self.location:
            ir.Operation.create(
                "linalg.yield",
                operands=[self.scalars[value] for value in self.results],
                ip=ir.InsertionPoint(self.body),
            )

    def replacements(self) -> list[tuple[ir.Value, ir.Value]]:
        """The members' results that are read elsewhere, each with what stands for it now."""
        builder = TensorBuilder(ir.InsertionPoint.current, self.location)
        pairs = []
        for old, new in zip(self.results, self.op.results, strict=True):
            kind = ir.RankedTensorType(old.type)
            tensor = Tensor.of(new)
            pairs.append((old, builder.reshape(tensor, list(kind.shape)).value))
        return pairs

    def _results(self) -> list[ir.Value]:
        """Return what is read by others than the members, reshapes looked through."""
        return [
            result
            for op in self.members
            for result in op.results
            if any(user not in self.members for user in _readers(result))
        ]

    def _inputs(self) -> dict[Input, int]:
        inputs: dict[Input, int] = {}
        for op in self.members:
            for value, map_ in self._reads(op):
                if origin(value) not in self.produced:
                    inputs.setdefault((value, map_), len(inputs))
        return inputs

    def _reads(self, op: ir.Operation) -> list[Input]:
        """The inputs of a member, with their maps from the merged iteration space."""
        count = len(op.operands) - len(op.results)
        maps = [attribute.value for attribute in op.attributes["indexing_maps"]][:count]
        shape = tuple(ir.RankedTensorType(op.results[0].type).shape)
        if shape != self.domain:
            loops = refine_loops(shape, self.domain)
            maps = [
                ir.AffineMap.get(len(self.domain), 0, [e.compose(loops) for e in map_.results])
                for map_ in maps
            ]
        return list(zip(list(op.operands)[:count], maps, strict=True))

    def _create(self) -> ir.Operation:
        rank = len(self.domain)
        with self.location:
            inits = [
                ir.Operation.create(
                    "tensor.empty",
                    results=[ir.RankedTensorType.get(self.domain, _element(value))],
                ).results[0]
                for value in self.results
            ]
            identity = ir.AffineMap.get_identity(rank)
            maps = [map_ for _, map_ in self.inputs] + [identity] * len(inits)
            operands = [value for value, _ in self.inputs] + inits
            parallel = ir.Attribute.parse("#linalg.iterator_type<parallel>")
            op = ir.Operation.create(
                "linalg.generic",
                results=[value.type for value in inits],
                operands=operands,
                attributes={
                    "indexing_maps": ir.ArrayAttr.get([ir.AffineMapAttr.get(m) for m in maps]),
                    "iterator_types": ir.ArrayAttr.get([parallel] * rank),
                    "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(self.inputs), len(inits)]),
                },
                regions=1,
            )
            types = [_element(value) for value in operands]
            op.regions[0].blocks.append(*types, arg_locs=[self.location] * len(types))
        return op

    def _move_body(self, op: ir.Operation) -> None:
        block = op.regions[0].blocks[0]
        for argument, (value, map_) in zip(block.arguments, self._reads(op), strict=False):
            scalar = self.scalars.get(origin(value))
            if scalar is None:
                scalar = self.body.arguments[self.inputs[value, map_]]
            argument.replace_all_uses_with(scalar)
        operations = [view.operation for view in block.operations]
        for nested in operations[:-1]:
            self.body.append(nested)
        self.scalars.update(zip(op.results, operations[-1].operands, strict=True))


def _element(value: ir.Value) -> ir.Type:
    kind = value.type
    return kind.element_type if isinstance(kind, ir.RankedTensorType) else kind


def _readers(value: ir.Value) -> Iterator[ir.Operation]:
    """Yield who reads `value`, also through reshapes."""
    for use in value.uses:
        user = use.owner.operation
        if user.name in RESHAPES:
            yield from _readers(user.results[0])
        else:
            yield user

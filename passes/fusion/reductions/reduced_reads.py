# SPDX-License-Identifier: MIT OR Apache-2.0
"""Decides which elementwise operations are better computed inside a reduction or scan.

A kernel that works row by row holds a reduction along rows with everything before it. A reduction
over leading dimensions, over everything or over very long rows shares no rows with what it reads:
without this, its operands would be stored by a kernel of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from xyntra.dialects.dtypes import ITEM_BYTES
from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.functions import weight_positions
from xyntra.passes.analysis.owners import constant_number, member_of, owner_of
from xyntra.passes.analysis.views import TENSOR_VIEWS
from xyntra.passes.analysis.walking import nested_operations
from xyntra.passes.cost.work import scalar_cost
from xyntra.passes.fusion.graph.access import LoopCache, loops_of
from xyntra.passes.fusion.graph.factors import (
    Inputs,
    composed_map,
    inputs_of,
    map_of,
    multiplies_factors,
    reads_of,
)

__all__ = ["ReducedReads"]

_MOST_INPUTS = 8  # of a reduction: more streams are not better than a stored tensor
_MOST_COST = 32  # instructions for an element that is computed several times
_SMALL_BYTES = 1 << 16  # one block reduces such tensors to a number, with all that reads them
_SIDE_INPUTS = 1.125  # of the bytes not stored: a mean of each row is read beside the elements
_LONG_ROW = 1 << 18  # elements: neither registers nor shared memory of a cluster hold more
_SCALAR = ("arith.", "math.", "linalg.yield")


class ReducedReads:
    """The reads of reductions and scans in one block.

    Attributes:
        replaced: operations that others stand for now, which count as erased.
    """

    def __init__(self, block: ir.Block) -> None:
        self.replaced: set[ir.Operation] = set()
        self._block = block
        self._loops: LoopCache = {}
        self._static: set[ir.Value] | None = None

    def retire(self, producer: ir.Operation) -> None:
        """Count an operation as replaced if nothing reads it any more."""
        if not self._readers(producer):
            self.replaced.add(producer)

    def position(self, op: ir.Operation) -> int | None:
        """Return the operand of a reduction that it should compute itself; None for none."""
        if op.name != "linalg.generic" or len(op.results) != 1:
            return None
        loops = loops_of(op, self._loops)
        if loops.is_parallel or not loops.is_plain:
            return None
        for position in range(loops.inputs):
            producer = self.elementwise(op.operands[position])
            if producer is None or not self._shares_no_rows(op, position, producer):
                continue
            inputs = len(inputs_of(op)) - 1 + len(inputs_of(producer))
            if not map_of(op, position).is_permutation or inputs > _MOST_INPUTS:
                continue
            if not self._pays(op, producer):
                continue
            if not self._becomes_product(op, position, producer) or _weighs(op, producer):
                return position
        return None

    def extracts(self, op: ir.Operation) -> list[ir.Operation]:
        """Return the reads of a loop's body that can compute what they read, each element once."""
        if op.name != "scf.for" or op.block != self._block:
            return []
        found = []
        for inner in nested_operations(op):
            if inner in self.replaced:
                continue
            producer = None
            if inner.name == "tensor.extract":
                producer = self.elementwise(inner.operands[0])
            if producer is None or not self.reads_plainly(producer):
                continue
            often = _executions(inner, op)
            once = often is not None and often <= _elements(producer.results[0])
            if once and self._readers(producer) == {op} and self._pays(op, producer):
                found.append(inner)
        return found

    def reads_plainly(self, producer: ir.Operation) -> bool:
        """Tell whether all places that an operation reads are dimensions of it, or numbers."""
        return all(map(_is_plain, _maps(producer)))

    def elementwise(self, value: ir.Value) -> ir.Operation | None:
        """Return the operation that computes every element of `value` by itself, if one does."""
        op = owner_of(value, "linalg.generic")
        if op is None or len(op.results) != 1 or op.block != self._block:
            return None
        loops = loops_of(op, self._loops)
        if not loops.is_parallel or not loops.writes_in_order or not loops.inputs:
            return None
        body = op.regions[0].blocks[0]
        if any(not view.name.startswith(_SCALAR) for view in body.operations):
            return None
        if any(not isinstance(each.type, ir.RankedTensorType) for each in op.operands):
            return None
        return None if list(body.arguments[loops.inputs].uses) else op

    def _shares_no_rows(self, op: ir.Operation, position: int, producer: ir.Operation) -> bool:
        """Tell whether a kernel by rows could not hold both."""
        loops, result = loops_of(op, self._loops), producer.results[0]
        shape, read = _shape(op.results[0]), _shape(result)
        rows = max(loops.access(position, shape, read).rows)
        if _nbytes(result) <= _SMALL_BYTES:
            return rows <= 1 < _elements(op.results[0])
        if _only_widens(producer) and not _reduces_neighbours(op, position):
            return True  # whoever holds columns may as well widen them
        return rows <= 1 or prod(read) > rows * _LONG_ROW

    def _pays(self, op: ir.Operation, producer: ir.Operation) -> bool:
        """Tell whether less goes through memory if `op` computes what `producer` does."""
        result = producer.results[0]
        if self._is_static(result) or not self._is_free(producer):
            return False
        readers = self._readers(producer)
        if readers == {op}:
            return True
        if _cost(producer) > _MOST_COST:
            return False
        read = sum({value: _nbytes(value) for value in inputs_of(producer)}.values())
        if all(each.name == "linalg.generic" for each in readers):
            return read <= _nbytes(result) * _SIDE_INPUTS
        return read < _nbytes(result)

    def _is_free(self, producer: ir.Operation) -> bool:
        """Tell whether no kernel but that of a reader could compute `producer` on the way."""
        elements = _elements(producer.results[0])
        for value in inputs_of(producer):
            if _elements(value) < elements:
                continue
            source = _origin(value)
            owner = owner_of(source)
            if owner is None or owner.name in ("arith.constant", "scf.for"):
                continue
            before = self.elementwise(source)
            if before is None:
                return False
            if len(self._readers(before)) == 1 and not self._is_free(before):
                return False
        return True

    def _becomes_product(self, op: ir.Operation, position: int, producer: ir.Operation) -> bool:
        """Tell whether `op` would multiply what lies in different places, as contractions do."""
        reads = [(value, map_of(op, each)) for each, value in enumerate(inputs_of(op))]
        own: list[Inputs] = [frozenset([each]) for each in reads]
        inner = [(value, map_of(producer, each)) for each, value in enumerate(inputs_of(producer))]
        along = map_of(op, position)
        composed = [frozenset([(value, composed_map(map_, along))]) for value, map_ in inner]
        own[position], multiplies = reads_of(producer, composed)
        return multiplies or reads_of(op, own)[1]

    def _readers(self, producer: ir.Operation) -> set[ir.Operation]:
        """Return the operations of the block that read what `producer` computes."""
        users = [use.owner.operation for use in producer.results[0].uses]
        found = {member_of(self._block, user) for user in users if user not in self.replaced}
        return found - self.replaced

    def _is_static(self, value: ir.Value) -> bool:
        """Tell whether `value` is computed when the model is loaded."""
        if self._static is None:
            positions = weight_positions(self._block)
            self._static = {self._block.arguments[position] for position in positions}
            for view in self._block.operations:
                if all(each in self._static for each in view.operation.operands):
                    self._static.update(view.operation.results)
        return value in self._static


def _weighs(op: ir.Operation, producer: ir.Operation) -> bool:
    """Tell whether a reduction of what `producer` gives reads a single tensor, weighted by others.

    Each element of it is used once, as in the product of a matrix and a vector: there is nothing
    that the tiles of a contraction could share.
    """
    elements = _elements(producer.results[0])
    sizes = [_elements(value) for value in inputs_of(producer)]
    is_sum = not multiplies_factors(op) and len(inputs_of(op)) == 1
    return is_sum and sizes.count(elements) == 1 and max(sizes) == elements


def _only_widens(producer: ir.Operation) -> bool:
    """Tell whether an operation gives the numbers that it reads in a wider type."""
    inputs = inputs_of(producer)
    is_narrow = len(inputs) == 1 and _nbytes(inputs[0]) < _nbytes(producer.results[0])
    operations = [view.operation.name for view in producer.regions[0].blocks[0].operations]
    return is_narrow and operations == ["arith.extf", "linalg.yield"]


def _reduces_neighbours(op: ir.Operation, position: int) -> bool:
    """Tell whether a reduction goes through what lies side by side in an operand."""
    last = list(map_of(op, position).results)[-1:]
    kinds = [str(kind) for kind in op.attributes["iterator_types"]]
    return (
        not last
        or not isinstance(last[0], ir.AffineDimExpr)
        or ("reduction" in kinds[last[0].position])
    )


def _executions(op: ir.Operation, whole: ir.Operation) -> int | None:
    """Return how often `op` runs in the loops up to `whole`; None where that is not known."""
    count, around = 1, op
    while around != whole:
        around = around.parent.operation
        if around.name != "scf.for":
            return None
        first, end, step = (constant_number(value) for value in list(around.operands)[:3])
        if not isinstance(first, int) or not isinstance(end, int) or not isinstance(step, int):
            return None
        count *= len(range(first, end, step))
    return count


def _origin(value: ir.Value) -> ir.Value:
    owner = owner_of(value)
    while owner is not None and owner.name in TENSOR_VIEWS:
        value = owner.operands[0]
        owner = owner_of(value)
    return value


def _maps(op: ir.Operation) -> list[ir.AffineMap]:
    return [each.value for each in op.attributes["indexing_maps"]]


def _is_plain(map_: ir.AffineMap) -> bool:
    kinds = (ir.AffineDimExpr, ir.AffineConstantExpr)
    return all(isinstance(each, kinds) for each in map_.results)


def _cost(op: ir.Operation) -> int:
    return sum(scalar_cost(view.name) for view in op.regions[0].blocks[0].operations)


def _shape(value: ir.Value) -> tuple[int, ...]:
    return tuple(ir.RankedTensorType(value.type).shape)


def _elements(value: ir.Value) -> int:
    return prod(_shape(value))


def _nbytes(value: ir.Value) -> int:
    item: Mapping[str, int] = ITEM_BYTES
    return _elements(value) * item.get(str(ir.RankedTensorType(value.type).element_type), 1)

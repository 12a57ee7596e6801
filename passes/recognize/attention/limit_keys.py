# SPDX-License-Identifier: MIT OR Apache-2.0
"""`limit-keys`: tells attention how many keys its masks leave, where that is known at run time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

from xyntra.dialects.aliases import filled_by
from xyntra.dialects.attention import OP, Access, Attention
from xyntra.dialects.attention_layout import KEY, KEY_SIZE, QUERY, VALUE_SIZE
from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.dtypes import default_dtype
from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import Scalar, constant
from xyntra.dialects.tensors.positions import Position
from xyntra.passes.analysis.owners import constant_attribute
from xyntra.passes.analysis.states import updated_by_loops
from xyntra.passes.analysis.views import RESHAPES, origin_of
from xyntra.passes.analysis.walking import outside_bodies
from xyntra.passes.recognize.attention.places import linear, unflatten
from xyntra.passes.registry import register_pass

_LESS, _LESS_EQUAL, _GREATER, _GREATER_EQUAL = 2, 3, 4, 5  # signed predicates of arith.cmpi
_CASTS = ("arith.index_cast", "arith.index_castui", "arith.extsi", "arith.extui", "arith.trunci")
_FEWEST_KEYS = 64
"""Fewer are read in less time than it takes to look how many there are."""


@register_pass
@dataclass(frozen=True)
class LimitKeys:
    """Give xyntra.attention a `limit` where a mask keeps key t only if t < n, or t <= s + n.

    n is an integer that a call is given or computes, such as the length of what a cache holds. Keys
    from there on have no weight by the mask, which stays; with the limit they are not read, either.
    A cache that is appended to and has `xyntra.filled` limits them, too.
    """

    name: ClassVar[str] = "limit-keys"

    def run(self, module: ir.Operation) -> None:
        """Rewrite every attention of `module`."""
        with module.context:
            for op in [op for op in outside_bodies(module) if op.name == OP]:
                _limit(op)


def _limit(op: ir.Operation) -> None:
    attention = Attention.of(op)
    if attention.limit is not None or attention.sizes[KEY] < _FEWEST_KEYS:
        return
    masks = [attention.keep] if attention.fill == float("-inf") else []
    for mask in (*masks, attention.bias):
        bound = None if mask is None else _bound_of(mask, attention.sizes)
        if bound is not None:
            _replace(op, replace(attention, limit=bound.build(op, attention.sizes)))
            return
    limit = _limit_of_cache(op, attention)
    if limit is not None:
        _replace(op, replace(attention, limit=limit))


def _replace(op: ir.Operation, attention: Attention) -> None:
    shape = ir.RankedTensorType(op.results[0].type).shape
    new = attention.create(shape, op.location, ir.InsertionPoint(op))
    op.results[0].replace_all_uses_with(new.results[0])
    op.erase()


def _limit_of_cache(op: ir.Operation, attention: Attention) -> Access | None:
    """Return how many keys a cache holds whose length is an input, with the one appended."""
    value, positions = attention.key.value, attention.key.positions
    state = updated_by_loops(value)
    if state is None or origin_of(value) != value or len(positions) != len(state.type.shape):
        return None
    function = state.owner.owner.operation
    number = filled_by(function, state.arg_number)
    keys = Position.of_loop(KEY, attention.sizes[KEY])
    is_outer = not positions[0].loops & {QUERY, KEY, KEY_SIZE, VALUE_SIZE}
    if number is None or keys not in positions[1:] or not is_outer:
        return None
    length = Tensor(state.owner.arguments[number], "int64")
    b = TensorBuilder(ir.InsertionPoint(op), op.location)
    most = attention.sizes[KEY]
    limit = b.map(lambda n: (n + 1).maximum(0).minimum(most), length, dtype="int64")
    return Access(limit.value, positions[:1])


@dataclass(frozen=True)
class _Bound:
    """Keys below `input` + `constant`, plus the number of the query where `rises`, are kept.

    Attributes:
        maker: computes the mask.
        positions: of the elements of the mask, over the loops of the attention.
        input: the number of the operand of `maker`.
        constant: what is added to its element.
        rises: whether the bound is one more for each following query.
    """

    maker: ir.Operation
    positions: tuple[Position, ...]
    input: int
    constant: int
    rises: bool

    def build(self, op: ir.Operation, sizes: tuple[int, ...]) -> Access | None:
        """Compute the limit ahead of `op`: the largest bound of its queries."""
        shape = list(ir.RankedTensorType(self.maker.results[0].type).shape)
        loops = [d for d, each in enumerate(self.positions) if not each.loops & {QUERY, KEY}]
        kept = [d for d in loops if shape[d] > 1]
        value = self.maker.operands[self.input]
        dtype = default_dtype(ir.RankedTensorType(value.type).element_type)
        b = TensorBuilder(ir.InsertionPoint(op), op.location)
        map_ = ir.AffineMapAttr(list(self.maker.attributes["indexing_maps"])[self.input]).value
        with op.location:
            zero = ir.AffineConstantExpr.get(0)
            places = [
                ir.AffineDimExpr.get(kept.index(each.position))
                if isinstance(each, ir.AffineDimExpr) and each.position in kept
                else zero
                for each in map_.results
            ]
            read = ir.AffineMap.get(len(kept), 0, places)
        extents = [shape[d] for d in kept]
        more = self.constant + (sizes[QUERY] - 1 if self.rises else 0)

        def body(element: Scalar, _: Scalar) -> Scalar:
            bound = element.cast("int64") + more
            return bound.maximum(0).minimum(constant(sizes[KEY], "int64"))

        output = (b.empty(extents, "int64"), "int64", b.identity(len(extents)))
        found = b.generic(
            [(Tensor(value, dtype), read)], [output], ["parallel"] * len(extents), body
        )[0]
        return Access(found.value, tuple(self.positions[d] for d in kept))


def _bound_of(mask: Access, sizes: tuple[int, ...]) -> _Bound | None:
    """Return what a mask says of the number of keys; None where it says nothing."""
    value, positions = mask.value, mask.positions
    while not isinstance(value.owner, ir.Block) and value.owner.name in RESHAPES:
        shape = list(ir.RankedTensorType(value.type).shape)
        value = value.owner.operands[0]
        before = list(ir.RankedTensorType(value.type).shape)
        unflattened = unflatten(linear(positions, shape), before)
        if unflattened is None:
            return None
        positions = unflattened
    if isinstance(value.owner, ir.Block) or value.owner.name != "linalg.generic":
        return None
    maker = value.owner.operation
    if len(maker.results) != 1 or "reduction" in str(maker.attributes["iterator_types"]):
        return None
    maps = [ir.AffineMapAttr(each).value for each in maker.attributes["indexing_maps"]]
    if maps[-1] != ir.AffineMap.get_identity(len(positions), maker.context):
        return None
    key, query = (Position.of_loop(loop, sizes[loop]) for loop in (KEY, QUERY))
    body = _Body(maker, positions, key, query)
    for condition in body.conditions():
        found = body.bound(condition)
        if found is not None and _is_outer(maps[found.input], positions, maker):
            return found
    return None


def _is_outer(map_: ir.AffineMap, positions: tuple[Position, ...], maker: ir.Operation) -> bool:
    """Tell whether an operand is the same for all queries and keys of a head."""
    shape = list(ir.RankedTensorType(maker.results[0].type).shape)
    for each in map_.results:
        if isinstance(each, ir.AffineConstantExpr) and each.value == 0:
            continue
        if not isinstance(each, ir.AffineDimExpr):
            return False
        if shape[each.position] > 1 and positions[each.position].loops & {QUERY, KEY}:
            return False
    return True


@dataclass(frozen=True)
class _Body:
    """The scalar code of a mask."""

    maker: ir.Operation
    positions: tuple[Position, ...]
    key: Position
    query: Position

    def conditions(self) -> Iterator[ir.Operation]:
        """Yield comparisons without which a key is not kept, or gets -inf added."""
        *_, ending = self.maker.regions[0].blocks[0].operations
        waiting = [ending.operation.operands[0]]
        while waiting:
            value = waiting.pop()
            if isinstance(value.owner, ir.Block):
                continue
            op = value.owner.operation
            if op.name == "arith.cmpi":
                yield op
            elif op.name == "arith.andi":
                waiting += op.operands
            elif op.name == "arith.select" and _is_excluding(op):
                waiting += op.operands[:2]

    def bound(self, condition: ir.Operation) -> _Bound | None:
        """What a comparison says of the number of keys."""
        left, right = condition.operands
        predicate = condition.attributes["predicate"].value
        if predicate in (_GREATER, _GREATER_EQUAL):
            left, right, predicate = right, left, predicate - 2
        if predicate not in (_LESS, _LESS_EQUAL):
            return None
        key, other = _Sum.of(left), _Sum.of(right)
        if key is None or other is None or key.inputs or key.dims != (self._dim(self.key),):
            return None
        if len(other.inputs) != 1 or other.dims not in ((), (self._dim(self.query),)):
            return None
        more = other.constant - key.constant + (predicate == _LESS_EQUAL)
        return _Bound(self.maker, self.positions, other.inputs[0], more, bool(other.dims))

    def _dim(self, loop: Position) -> int | None:
        """The dimension that moves with a loop of the attention alone."""
        return next((d for d, each in enumerate(self.positions) if each == loop), None)


def _is_excluding(select: ir.Operation) -> bool:
    attribute = constant_attribute(select.operands[2])
    if isinstance(attribute, ir.BoolAttr):
        return not attribute.value
    return isinstance(attribute, ir.FloatAttr) and attribute.value == float("-inf")


@dataclass(frozen=True)
class _Sum:
    """A sum of loop indices, by dimension, of elements, by operand, and of a constant."""

    dims: tuple[int, ...] = ()
    inputs: tuple[int, ...] = ()
    constant: int = 0

    @staticmethod
    def of(value: ir.Value) -> _Sum | None:
        """Read scalar code; None where it is more than such a sum."""
        if isinstance(value.owner, ir.Block):
            return _Sum(inputs=(value.arg_number,))
        op = value.owner.operation
        number = constant_attribute(value)
        if isinstance(number, ir.IntegerAttr):
            return _Sum(constant=int(number.value))
        if op.name == "linalg.index":
            return _Sum(dims=(int(op.attributes["dim"].value),))
        if op.name in _CASTS:
            return _Sum.of(op.operands[0])
        if op.name not in ("arith.addi", "arith.subi"):
            return None
        left, right = (_Sum.of(each) for each in op.operands)
        if left is None or right is None:
            return None
        if op.name == "arith.subi":
            if right.dims or right.inputs:
                return None
            right = _Sum(constant=-right.constant)
        return _Sum(
            left.dims + right.dims, left.inputs + right.inputs, left.constant + right.constant
        )

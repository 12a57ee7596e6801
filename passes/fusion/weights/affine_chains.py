# SPDX-License-Identifier: MIT OR Apache-2.0
"""Follows a tensor through elementwise operations that scale and shift it, channel by channel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import Scalar, constant
from xyntra.passes.analysis.owners import constant_attribute
from xyntra.passes.fusion.weights.weights import StaticValues, shape_of

__all__ = [
    "Applied",
    "Chain",
    "Expression",
    "FiniteConstant",
    "Vector",
    "emit",
    "expression_of",
    "follow",
    "has_vector",
]

_INFINITY = float("inf")
_LONGEST = 16
"""Operations in a chain, and in a body: real ones are far shorter."""


@dataclass(frozen=True)
class FiniteConstant:
    """A finite constant."""

    value: float


@dataclass(frozen=True)
class Vector:
    """Vector `number` of a chain: a static tensor, one element for each channel or for all."""

    number: int


@dataclass(frozen=True)
class Applied:
    """A scalar operation on operands."""

    name: str
    operands: tuple[Expression, ...]


Expression = FiniteConstant | Vector | Applied

ONE = FiniteConstant(1.0)
_STATIC = frozenset(
    {
        "arith.addf",
        "arith.subf",
        "arith.mulf",
        "arith.divf",
        "arith.negf",
        "math.sqrt",
        "math.rsqrt",
    }
)


@dataclass(frozen=True)
class Affine:
    """scale * x + shift; None stands for zero."""

    scale: Expression | None
    shift: Expression | None


@dataclass(frozen=True)
class Chain:
    """Operations that turn x into scale * x + shift.

    Attributes:
        ops: the operations, of which each one reads the one before and nothing else does.
        scale: of x; never None.
        shift: None where nothing is added.
        vectors: static tensors that both refer to by number.
        axes: the dimension of each vector that runs along the channels; None for one element.
        channel: the dimension of x that the vectors run along; None where all have one element.
    """

    ops: tuple[ir.Operation, ...] = ()
    scale: Expression = ONE
    shift: Expression | None = None
    vectors: tuple[ir.Value, ...] = ()
    axes: tuple[int | None, ...] = ()
    channel: int | None = None


def follow(value: ir.Value, static: StaticValues) -> Chain:
    """The longest chain that starts at `value`; it has no operations where there is none."""
    chain = Chain()
    while len(chain.ops) < _LONGEST:
        uses = list(value.uses)
        if len(uses) != 1:
            break
        longer = _extended(chain, uses[0].owner.operation, uses[0].operand_number, static)
        if longer is None:
            break
        chain, value = longer, longer.ops[-1].results[0]
    return chain


def _extended(chain: Chain, op: ir.Operation, position: int, static: StaticValues) -> Chain | None:
    """The chain with `op`, which reads its last result as operand `position`, behind it."""
    if op.name != "linalg.generic" or len(op.results) != 1 or not _may_be_affine(op):
        return None
    operands, maps = list(op.operands), static.maps_of(op)
    inputs = len(operands) - 1
    if position >= inputs or not (maps.are_identity[-1] and maps.are_identity[position]):
        return None
    others = [other for other in range(inputs) if other != position]
    if any(operands[other] not in static for other in others):
        return None
    if operands[position].type != op.results[0].type:
        return None
    numbers: dict[int, Expression] = {}
    channel, axes = chain.channel, list(chain.axes)
    shape = shape_of(op.results[0]) if others else None
    for other in others:
        value = operands[other]
        place = _channel_of(maps.maps[other], shape_of(value), shape)
        if place is None or _holds_non_finite(value):
            return None
        if place[0] is not None and channel not in (None, place[0]):
            return None
        channel = channel if place[0] is None else place[0]
        numbers[other] = Vector(len(axes))
        axes.append(place[1])
    result = _evaluate(op, numbers, {position: Affine(chain.scale, chain.shift)})
    if result is None or result.scale is None:
        return None
    vectors = (*chain.vectors, *[operands[other] for other in others])
    ops = (*chain.ops, op)
    return Chain(ops, result.scale, result.shift, vectors, tuple(axes), channel)


def _may_be_affine(op: ir.Operation) -> bool:
    """Tell whether the body of a `linalg.generic` begins like one that scales and shifts."""
    first = next(iter(op.regions[0].blocks[0].operations)).name
    return first in _STATIC or first in ("arith.constant", "linalg.yield")


def expression_of(op: ir.Operation) -> Expression | None:
    """Return what an elementwise `linalg.generic` computes of its inputs; None for all else.

    Vector i stands for input i. Only the operations that normalisation is made of are known.
    """
    if op.name != "linalg.generic" or len(op.results) != 1:
        return None
    last = op.attributes["indexing_maps"][len(op.operands) - 1].value
    if last != ir.AffineMap.get_identity(last.n_dims, op.context):
        return None
    if str(ir.RankedTensorType(op.results[0].type).element_type) not in ("f32", "f64"):
        return None
    numbers: dict[int, Expression] = {k: Vector(k) for k in range(len(op.operands) - 1)}
    if not numbers or len({op.operands[k].type.element_type for k in numbers}) > 1:
        return None
    found = _evaluate(op, numbers)
    return None if found is None else found.shift


def _channel_of(
    map_: ir.AffineMap, operand: tuple[int, ...] | None, shape: tuple[int, ...] | None
) -> tuple[int | None, int | None] | None:
    """The result's and the operand's dimension along which the operand varies, if it is one."""
    if operand is None or shape is None:
        return None
    found: tuple[int | None, int | None] = (None, None)
    for axis, (expression, extent) in enumerate(zip(map_.results, operand, strict=True)):
        if extent == 1:
            continue
        if not isinstance(expression, ir.AffineDimExpr) or found != (None, None):
            return None
        if shape[expression.position] != extent:
            return None
        found = (int(expression.position), axis)
    return found


def _holds_non_finite(value: ir.Value) -> bool:
    attribute = constant_attribute(value)
    if attribute is None:
        return False
    if not isinstance(attribute, ir.DenseFPElementsAttr):
        return True
    return not all(-_INFINITY < number < _INFINITY for number in attribute)


def _evaluate(
    op: ir.Operation, numbers: dict[int, Expression], given: dict[int, Affine] | None = None
) -> Affine | None:
    """Return what the body of `op` makes of operands; None where that is no scale and shift."""
    block = op.regions[0].blocks[0]
    if len(block.operations) > _LONGEST:
        return None
    known: dict[ir.Value, Affine] = {block.arguments[k]: x for k, x in (given or {}).items()}
    known |= {block.arguments[k]: Affine(None, number) for k, number in numbers.items()}
    for view in block.operations:
        inner = view.operation
        name = inner.name
        if name == "arith.constant":
            continue
        if name != "linalg.yield" and name not in _STATIC:
            return None
        operands = [_operand(value, known) for value in inner.operands]
        if name == "linalg.yield":
            return operands[0]
        affine = [each for each in operands if each is not None]
        result = _apply(name, affine) if len(affine) == len(operands) else None
        if result is None:
            return None
        known[inner.results[0]] = result
    return None


def _operand(value: ir.Value, known: dict[ir.Value, Affine]) -> Affine | None:
    if value in known or isinstance(value.owner, ir.Block):
        return known.get(value)
    op = value.owner.operation
    number = op.attributes["value"] if op.name == "arith.constant" else None
    if not isinstance(number, ir.FloatAttr) or not -_INFINITY < number.value < _INFINITY:
        return None
    return Affine(None, FiniteConstant(number.value))


def _apply(name: str, operands: Sequence[Affine]) -> Affine | None:
    if all(each.scale is None for each in operands):
        return Affine(None, Applied(name, tuple(map(_shift, operands))))
    if name == "arith.negf":
        return Affine(*(_negated(part) for part in (operands[0].scale, operands[0].shift)))
    if name in ("arith.addf", "arith.subf"):
        parts = [(each.scale, each.shift) for each in operands]
        scale, shift = (_sum(name, left, right) for left, right in zip(*parts, strict=True))
        return Affine(scale, shift)
    if name == "arith.mulf" and operands[0].scale is None:
        operands = operands[::-1]
    if name not in ("arith.mulf", "arith.divf") or operands[1].scale is not None:
        return None
    factor = _shift(operands[1])
    return Affine(*(_scaled(name, part, factor) for part in (operands[0].scale, operands[0].shift)))


def _shift(part: Affine) -> Expression:
    return FiniteConstant(0.0) if part.shift is None else part.shift


def _negated(part: Expression | None) -> Expression | None:
    return None if part is None else Applied("arith.negf", (part,))


def _sum(name: str, left: Expression | None, right: Expression | None) -> Expression | None:
    if right is None:
        return left
    if left is None:
        return right if name == "arith.addf" else Applied("arith.negf", (right,))
    return Applied(name, (left, right))


def _scaled(name: str, part: Expression | None, factor: Expression) -> Expression | None:
    if part is None:
        return None
    return factor if part == ONE and name == "arith.mulf" else Applied(name, (part, factor))


def has_vector(expression: Expression | None) -> bool:
    """Tell whether an expression differs from channel to channel."""
    if isinstance(expression, Applied):
        return any(map(has_vector, expression.operands))
    return isinstance(expression, Vector)


def emit(expression: Expression, vectors: Sequence[Scalar], dtype: str) -> Scalar:
    """Create the scalar operations of an expression in the body that is being filled."""
    if isinstance(expression, Vector):
        return vectors[expression.number]
    if isinstance(expression, FiniteConstant):
        return constant(expression.value, dtype)
    operands = [emit(part, vectors, dtype).value for part in expression.operands]
    op = ir.Operation.create(expression.name, results=[operands[0].type], operands=operands)
    return Scalar(op.results[0], dtype)

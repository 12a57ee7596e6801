# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds where an extreme is by one minimum of keys, which threads may take in any order.

A reduction that carries an extreme and its position, and takes both where an element is better,
waits for itself element by element. A key of 64 bits has the rank of a value above its position:
the smallest key is that of the first of the best elements, and minima are associative.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from xyntra.dialects.builder import Iterator as Kind
from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.dtypes import bit_width, default_dtype, is_float
from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import Scalar
from xyntra.dialects.tensors.sorting import rank_of
from xyntra.passes.analysis.cloning import repeat
from xyntra.passes.analysis.kernel_function import operations_named, terminator
from xyntra.passes.analysis.owners import constant_number, owner_of, sources_of

_LOW = (1 << 32) - 1
_NAN = math.nan
_FLOATS = ((1.0, 2.0), (1.0, 1.0), (2.0, 1.0), (_NAN, 1.0), (1.0, _NAN), (_NAN, _NAN))
_INTEGERS = ((1.0, 2.0), (1.0, 1.0), (2.0, 1.0))
_LARGEST = (False, False, True, True, False, False)
_SMALLEST = (True, False, False, True, False, False)
_ORDERED, _UNORDERED, _ALWAYS = 7, 14, 15  # numbers of cmpf's predicates
_UNSIGNED = 6  # the first of cmpi's predicates that are
_RELATIONS = {0: 1, 1: 6, 2: 4, 3: 5, 4: 2, 5: 3, 6: 4, 7: 5, 8: 2, 9: 3}  # of cmpi as of cmpf


@dataclass(frozen=True)
class _Extreme:
    """A reduction to the position of an extreme (arg-max, arg-min).

    Attributes:
        op: the linalg.generic.
        loop: the one that reduces.
        value: what is compared, inside of the body.
        dtype: of that.
        largest: whether the largest is looked for, else the smallest.
    """

    op: ir.Operation
    loop: int
    value: ir.Value
    dtype: str
    largest: bool


def find_extremes_by_keys(module: ir.Operation) -> None:
    """Rewrite every reduction of `module` that finds the first position of an extreme."""
    for op in operations_named(module, "linalg.generic"):
        found = _extreme(op)
        if found is not None:
            with op.context, op.location:
                position = _by_keys(found)
            op.results[1].replace_all_uses_with(position)
            op.erase()


def _extreme(op: ir.Operation) -> _Extreme | None:
    """Return what is known of `op`; None where it is something else, or keys would not do."""
    kinds = [str(kind) for kind in op.attributes["iterator_types"]]
    reductions = [number for number, kind in enumerate(kinds) if "reduction" in kind]
    if len(op.results) != 2 or len(reductions) != 1 or list(op.results[0].uses):
        return None
    body, length = op.regions[0].blocks[0], _extent(op, reductions[0])
    best, where = list(body.arguments)[-2:]
    choices = [owner_of(value) for value in terminator(body).operands]
    if not 0 < length < _LOW or any(not each or each.name != "arith.select" for each in choices):
        return None
    (condition, value, kept), (same, place, stays) = (
        list(each.operands) for each in choices if each
    )
    if condition != same or kept != best or stays != where or not _is_index(place, reductions[0]):
        return None
    if any(found in (best, where) for found in sources_of(value, body)):
        return None
    samples = _FLOATS if isinstance(value.type, ir.FloatType) else _INTEGERS
    truth = tuple(_holds(condition, {value: v, best: b}) for v, b in samples)
    dtype = _dtype(value, condition)
    largest = truth == _LARGEST[: len(truth)]
    if dtype is None or not (largest or truth == _SMALLEST[: len(truth)]):
        return None
    starts = [_start(result) for result in list(op.operands)[-2:]]
    if not _is_worst(starts[0], dtype, largest) or starts[1] != 0:
        return None
    return _Extreme(op, reductions[0], value, dtype, largest)


def _extent(op: ir.Operation, loop: int) -> int:
    """Return how many iterations a loop has; 0 where no input says so."""
    for value, each in zip(op.operands, op.attributes["indexing_maps"], strict=True):
        for dimension, expression in enumerate(ir.AffineMapAttr(each).value.results):
            if isinstance(expression, ir.AffineDimExpr) and expression.position == loop:
                return int(ir.RankedTensorType(value.type).shape[dimension])
    return 0


def _is_index(value: ir.Value, loop: int) -> bool:
    """Tell whether a value is the number of a loop, as an integer."""
    cast = owner_of(value, "arith.index_cast")
    if cast is None:
        return False
    op = owner_of(cast.operands[0])
    is_index = op is not None and op.name == "linalg.index"
    return op is not None and is_index and ir.IntegerAttr(op.attributes["dim"]).value == loop


def _holds(condition: ir.Value, known: dict[ir.Value, float]) -> bool | None:
    """Return whether a condition holds for values; None where it depends on something else."""
    op = owner_of(condition)
    if op is None:
        return None
    if op.name == "arith.constant":
        return bool(ir.IntegerAttr(op.attributes["value"]).value)
    if op.name in ("arith.cmpf", "arith.cmpi"):
        pair = [known.get(operand) for operand in op.operands]
        predicate = ir.IntegerAttr(op.attributes["predicate"]).value
        return None if None in pair else _compare(op.name, predicate, *pair)  # type: ignore[arg-type]
    parts = [_holds(operand, known) for operand in op.operands if op.name.startswith("arith.")]
    if len(parts) != 2 or None in parts:
        return None
    first, second = map(bool, parts)
    meaning = {"arith.andi": first and second, "arith.ori": first or second}
    return meaning.get(op.name, first != second if op.name == "arith.xori" else None)


def _compare(name: str, predicate: int, first: float, second: float) -> bool:
    relation = (first == second) + 2 * (first > second) + 4 * (first < second)
    if name == "arith.cmpi":
        return bool(relation & _RELATIONS[predicate])
    if predicate in (_UNORDERED, _ALWAYS):
        return predicate == _ALWAYS or not relation
    if predicate > _ORDERED:
        return not relation or bool(relation & (predicate - _ORDERED))
    return bool(relation & predicate)


def _dtype(value: ir.Value, condition: ir.Value) -> str | None:
    """Return the dtype of a value as a condition compares it; None where keys do not hold it."""
    kind = default_dtype(value.type)
    if is_float(kind):
        return kind if bit_width(kind) <= 32 else None
    op = owner_of(condition)
    if op is None or op.name != "arith.cmpi" or kind not in ("int8", "int16", "int32"):
        return None
    is_unsigned = ir.IntegerAttr(op.attributes["predicate"]).value >= _UNSIGNED
    return f"u{kind}" if is_unsigned else kind


def _start(value: ir.Value) -> float | None:
    """Return the constant that a tensor is filled with; None where it is something else."""
    fill = owner_of(value, "linalg.generic")
    if fill is None or len(fill.operands) != 1:
        return None
    return constant_number(terminator(fill.regions[0].blocks[0]).operands[0])


def _is_worst(start: float | None, dtype: str, largest: bool) -> bool:
    """Tell whether no element is worse than `start`."""
    if start is None or is_float(dtype):
        return start == (-math.inf if largest else math.inf)
    bits = bit_width(dtype)
    low, high = (0, (1 << bits) - 1) if dtype[0] == "u" else (-(1 << bits - 1), (1 << bits - 1) - 1)
    return (int(start) - (low if largest else high)) % (1 << bits) == 0


def _by_keys(found: _Extreme) -> ir.Value:
    """Emit, before the reduction, one over keys; returns the positions."""
    op, position = found.op, found.op.results[1]
    b = TensorBuilder(ir.InsertionPoint(op), op.location)
    dtype = default_dtype(ir.RankedTensorType(position.type).element_type)
    maps = [ir.AffineMapAttr(each).value for each in op.attributes["indexing_maps"]]
    values = list(op.operands)[:-2]
    tensors = [Tensor.of(each) for each in values]
    kinds: list[Kind] = [
        "reduction" if "reduction" in str(kind) else "parallel"
        for kind in op.attributes["iterator_types"]
    ]
    start = b.fill(ir.RankedTensorType(position.type).shape, "uint64", (1 << 64) - 1)

    def body(*scalars: Scalar) -> Scalar:
        value = Scalar(_again(found, [each.value for each in scalars[:-1]]), found.dtype)
        rank = rank_of(value, found.largest, nan_is_best=True).cast("uint64")
        place = b.index(found.loop).cast("int64").cast("uint64")
        return scalars[-1].minimum((rank << 32) | place)

    pairs = list(zip(tensors, maps, strict=False))
    (keys,) = b.generic(pairs, [(start, "uint64", maps[-1])], kinds, body)
    return b.map(lambda key: (key & _LOW).cast(dtype), keys, dtype=dtype).value


def _element(value: ir.Value) -> ir.Type:
    return ir.RankedTensorType(value.type).element_type


def _again(found: _Extreme, arguments: list[ir.Value]) -> ir.Value:
    """Repeat what the compared value comes from, at the insertion point."""
    body = found.op.regions[0].blocks[0]
    known = dict(zip(body.arguments, arguments, strict=False))
    needed = sources_of(found.value, body)
    for view in body.operations:
        op = view.operation
        if len(op.results) == 1 and op.results[0] in needed:
            repeat(op, known)
    return known[found.value]

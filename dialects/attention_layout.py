# SPDX-License-Identifier: MIT OR Apache-2.0
"""Checks the layouts in which `xyntra.attention` reads its operands and writes its result."""

from __future__ import annotations

from collections.abc import Sequence

from xyntra.dialects.base import ir
from xyntra.dialects.tensors.positions import Digit, Position, parse_map
from xyntra.dialects.verify import Rejected

__all__ = ["BATCH", "HEAD", "KEY", "KEY_SIZE", "LOOPS", "QUERY", "VALUE_SIZE", "check_layout"]

LOOPS = "bhstde"
BATCH, HEAD, QUERY, KEY, KEY_SIZE, VALUE_SIZE = range(6)
_USED = {
    "the query": {BATCH, HEAD, QUERY, KEY_SIZE},
    "the key": {BATCH, HEAD, KEY, KEY_SIZE},
    "the value": {BATCH, HEAD, KEY, VALUE_SIZE},
    "the mask": {BATCH, HEAD, QUERY, KEY},
    "the bias": {BATCH, HEAD, QUERY, KEY},
    "the limit": {BATCH, HEAD},
    "the result": {BATCH, HEAD, QUERY, VALUE_SIZE},
}
_MOST_KNOWN = 1000
_valid: set[tuple[str, ...]] = set()


def check_layout(op: ir.Operation, roles: Sequence[str]) -> None:
    """Check `sizes`, and `indexing_maps` against the operands and results of `op`, in order.

    Raises:
        Rejected: saying which operand is read how, and what was expected.
    """
    # Every pass manager verifies, and layers of a model are alike: what was valid once stays so.
    values = [*op.operands, *op.results]
    attributes = (str(op.attributes.get(name)) for name in ("sizes", "indexing_maps"))
    key = (*attributes, *(str(value.type) for value in values), *roles)
    if key in _valid:
        return
    _check(op, roles, values)
    if len(_valid) == _MOST_KNOWN:
        _valid.clear()
    _valid.add(key)


def _check(op: ir.Operation, roles: Sequence[str], values: Sequence[ir.Value]) -> None:
    sizes = _sizes(op)
    maps = list(op.attributes["indexing_maps"])
    if len(maps) != len(roles):
        raise Rejected(f"expects {len(roles)} 'indexing_maps', got {len(maps)}")
    for attribute, value, role in zip(maps, values, roles, strict=True):
        positions = _check_map(attribute, value.type, role, sizes)
        if role == "the result":
            _check_written_once(positions, value.type.shape, sizes)


def _sizes(op: ir.Operation) -> list[int]:
    attribute = op.attributes.get("sizes")
    sizes = list(attribute) if isinstance(attribute, ir.DenseI64ArrayAttr) else []
    if len(sizes) != len(LOOPS) or min(sizes) < 1:
        raise Rejected(f"expects 'sizes' to be six positive i64, got {attribute}")
    return sizes


def _check_map(
    attribute: ir.Attribute, kind: ir.RankedTensorType, role: str, sizes: Sequence[int]
) -> tuple[Position, ...]:
    if not isinstance(attribute, ir.AffineMapAttr):
        raise Rejected(f"expects 'indexing_maps' to be affine maps, got {attribute}")
    if not kind.has_static_shape:
        raise Rejected(f"expects {role} to have a static shape, got {kind}")
    map_ = attribute.value
    if map_.n_dims != len(LOOPS) or map_.n_symbols or len(map_.results) != kind.rank:
        raise Rejected(f"expects the map of {role} to go from 6 loops to {kind}, got {map_}")
    positions = parse_map(map_, sizes)
    if positions is None:
        raise Rejected(f"cannot follow the map of {role}: {map_}")
    for position, size in zip(positions, kind.shape, strict=True):
        if position.first < 0 or position.last >= size:
            raise Rejected(f"reads outside of {role}, {kind}, by {map_}")
        _check_loops(position, role, sizes)
    return positions


def _check_loops(position: Position, role: str, sizes: Sequence[int]) -> None:
    extra = position.loops - _USED[role]
    if extra:
        raise Rejected(f"expects {role} not to depend on loop {LOOPS[min(extra)]}")
    for digit, _ in position.terms:
        if digit.loop >= QUERY and digit != Digit(digit.loop, 1, sizes[digit.loop]):
            raise Rejected(f"expects loop {LOOPS[digit.loop]} not to be divided in {role}")


def _check_written_once(
    positions: Sequence[Position], shape: Sequence[int], sizes: Sequence[int]
) -> None:
    """Check that the loops count through the elements like a number in a mixed radix."""
    linear, covered = Position(), 1
    for position, size in zip(positions, shape, strict=True):
        linear, covered = linear * size + position, covered * size
    elements, count = 1, 1
    for digit, factor in sorted(linear.terms, key=lambda term: term[1]):
        if factor != elements:
            break
        elements *= digit.extent
    for loop in sorted(_USED["the result"]):
        count *= sizes[loop]
    if linear.constant or elements != covered or count != covered:
        raise Rejected("expects every element of the result to be written once")

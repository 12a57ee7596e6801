# SPDX-License-Identifier: MIT OR Apache-2.0
"""Rewrites attention of one query: heads that share keys and values become its queries."""

from __future__ import annotations

from dataclasses import replace
from math import gcd

from xyntra.dialects.attention import Access, Attention
from xyntra.dialects.attention_layout import HEAD, KEY, QUERY
from xyntra.dialects.tensors.positions import Position, compose

__all__ = ["heads_as_queries"]


def heads_as_queries(op: Attention) -> Attention:
    """Return an equal attention of more queries and fewer heads, where `op` has one query.

    Tiles of several queries read keys and values once for all of them. A causal mask that hides no
    key is left out, which it is where one token follows a cache.
    """
    if op.causal_offset is not None and int(op.causal_offset) >= int(op.sizes[KEY]) - 1:
        op = replace(op, causal_offset=None)
    shared = _shared(op)
    if op.sizes[QUERY] != 1 or shared == 1 or op.causal_offset is not None:
        return op
    sizes = list(op.sizes)
    sizes[HEAD], sizes[QUERY] = sizes[HEAD] // shared, shared
    loops = {number: Position.of_loop(number, size) for number, size in enumerate(sizes)}
    loops[HEAD] = loops[HEAD] * shared + loops[QUERY]
    loops[QUERY] = Position()
    found = [compose(each.positions, loops) for each in op.operands]
    written = compose(op.written, loops)
    known = [each for each in found if each is not None]
    if written is None or len(known) < len(found):
        return op
    rest = [Access(each.value, at) for each, at in zip(op.operands, known, strict=True)]
    query, key, value, *masks = rest
    keep = masks.pop(0) if op.keep is not None else None
    bias = masks.pop(0) if op.bias is not None else None
    limit = masks.pop(0) if op.limit is not None else None
    return replace(
        op, query=query, key=key, value=value, keep=keep, bias=bias, limit=limit, written=written,
        sizes=tuple(sizes),
    )  # fmt: skip


def _shared(op: Attention) -> int:
    """Return how many neighbouring heads have the same keys and values."""
    digits = [
        digit
        for operand in (op.key, op.value, *([op.limit] if op.limit else []))
        for position in operand.positions
        for digit, _ in position.terms
        if digit.loop == HEAD
    ]
    return gcd(*(digit.divisor for digit in digits)) or op.sizes[HEAD]

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Heads of queries that share their keys and values become rows of one head."""

from __future__ import annotations

from dataclasses import replace

from xyntra.dialects.attention_layout import BATCH, HEAD, QUERY
from xyntra.dialects.mlir import ir
from xyntra.dialects.tensors.positions import Digit, Position
from xyntra.passes.lower.gpu.attention.problem import Located, MaskTerm, Problem

_MEMBER = 6  # the loop over the heads of a group, beside the six of an attention


def with_folded_heads(problem: Problem) -> Problem:
    """Fold heads into rows: one for every query of every head that reads the same keys.

    Row `m * s + i` is query i, of s, of the group's head m. Left alone where one stride does not
    lead from row to row of every operand. Keys that no query sees are left out.
    """
    problem = _without_unseen(problem)
    b, h, s, t, d, e = problem.sizes
    group = _group(problem)
    if group == 1:
        return problem
    fold = _Fold(b, h, s, group)
    query, result = fold.located(problem.query), fold.located(problem.result)
    keep, bias = fold.term(problem.keep), fold.term(problem.bias)
    is_lost = (keep is None) != (problem.keep is None) or (bias is None) != (problem.bias is None)
    if query is None or result is None or is_lost:
        return problem
    key, value = (fold.shared(each) for each in (problem.key, problem.value))
    op = replace(problem.op, sizes=(b, h // group, group * s, t, d, e))
    return Problem(op, query, key, value, result, keep, bias, s, problem.limit)


def _without_unseen(problem: Problem) -> Problem:
    """The attention without keys behind the last one that its last query sees."""
    op = problem.op
    b, h, s, t, d, e = op.sizes
    seen = s + (op.causal_offset or 0)
    if not problem.skips_keys or seen < 1:
        return problem
    offset = op.causal_offset if s > 1 else None
    return replace(
        problem, op=replace(op, sizes=(b, h, s, min(t, seen), d, e), causal_offset=offset)
    )


def _group(problem: Problem) -> int:
    """Return how many neighbouring heads read the same keys and values."""
    heads = problem.sizes[1]
    group = heads
    for each in (problem.key, problem.value):
        period = each.matrix.period(HEAD)
        if period:
            group = period if group % period == 0 else 1
    return group


class _Fold:
    """Rewrites where operands lie.

    Args:
        batches: their number.
        heads: of queries.
        queries: of a head.
        group: heads that read the same keys.
    """

    def __init__(self, batches: int, heads: int, queries: int, group: int) -> None:
        self._queries, self._group = queries, group
        member = Position.of_loop(_MEMBER, group)
        self._places = {
            BATCH: Position.of_loop(BATCH, batches),
            HEAD: Position.of_loop(HEAD, heads // group) * group + member,
        }

    def shared(self, each: Located) -> Located:
        """An operand that all heads of a group share."""
        found = Position(each.matrix.outer).substitute(self._places)
        terms = () if found is None else found.terms
        outer = tuple(term for term in terms if term[0].loop != _MEMBER)
        return replace(each, matrix=replace(each.matrix, outer=outer))

    def located(self, each: Located) -> Located | None:
        """An operand with rows for queries; None where they are not evenly apart."""
        found = Position(each.matrix.outer).substitute(self._places)
        if found is None:
            return None
        member = [term for term in found.terms if term[0].loop == _MEMBER]
        outer = tuple(term for term in found.terms if term[0].loop != _MEMBER)
        if any(digit != Digit(_MEMBER, 1, self._group) for digit, _ in member):
            return None
        step = sum(factor for _, factor in member)
        down = each.matrix.stride(QUERY)
        if self._queries > 1 and step != self._queries * down:
            return None
        strides = {**each.matrix.strides, QUERY: step if self._queries == 1 else down}
        return replace(each, matrix=replace(each.matrix, outer=outer, strides=strides))

    def term(self, term: MaskTerm | None) -> MaskTerm | None:
        """A mask or bias; None where there is none, or one of its inputs is not evenly apart."""
        if term is None:
            return None
        inputs: list[Located | ir.Value] = []
        for each in term.inputs:
            found = self.located(each) if isinstance(each, Located) else each
            if found is None:
                return None
            inputs.append(found)
        indices = [self.located(each) for each in term.indices]
        known = tuple(each for each in indices if each is not None)
        if len(known) < len(indices):
            return None
        return MaskTerm(tuple(inputs), term.body, known)

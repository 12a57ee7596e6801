# SPDX-License-Identifier: MIT OR Apache-2.0
"""The family of attention on GPUs of which nothing more is known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xyntra.dialects.attributes.schedule import Schedule
from xyntra.dialects.mlir import ir
from xyntra.passes.lower.gpu.attention.problem import Problem, problem_of
from xyntra.passes.lower.gpu.attention.rows import PLACES, emit_rows
from xyntra.passes.lower.gpu.attention.rows_plan import RowsPlan, row_plans
from xyntra.passes.lower.gpu.device import GpuDevice
from xyntra.passes.lower.gpu.emitters.emitter import Code, Family, Impossible, StageEmitter
from xyntra.passes.lower.gpu.stages.stage import Stage


@dataclass(frozen=True)
class RowsChoices:
    """The choices of threads that hold a query each.

    Attributes:
        rows: queries of a block.
        shares: threads that share the keys of a query.
        own: keys that a thread looks at in one step.
    """

    rows: int = 32
    shares: int = 8
    own: int = 2


def _read(stage: Stage) -> Problem | None:
    group = stage.attention
    if group is None:
        return None
    last = stage.operations[-1]
    with last.location, ir.InsertionPoint(last):
        return problem_of(group, PLACES)


def _choose(problem: Problem, device: GpuDevice) -> Schedule:
    return Schedule.told("attention-rows", _of(row_plans(problem, device)[0]))


def _of(plan: RowsPlan) -> RowsChoices:
    return RowsChoices(plan.rows, plan.shares, plan.own)


def _plan(problem: Problem, choices: RowsChoices, device: GpuDevice) -> Code:
    plan = {_of(each): each for each in row_plans(problem, device)}.get(choices)
    if plan is None:
        raise Impossible("has no such division of queries and keys for this attention")
    return lambda shared: emit_rows(problem, plan, shared)


def _candidates(problem: Problem, device: GpuDevice) -> Iterator[RowsChoices]:
    yield from map(_of, row_plans(problem, device))


ATTENTIONS = Family(
    _read, _choose, (StageEmitter("attention-rows", RowsChoices, _plan, _candidates),)
)

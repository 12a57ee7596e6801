# SPDX-License-Identifier: MIT OR Apache-2.0
"""The family of attention: FlashAttention on warps and on warpgroups, and for few queries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xyntra.dialects.attributes.schedule import Schedule
from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.sizes.size import Size
from xyntra.passes.lower.cuda.attention.decode.decode import emit_decode
from xyntra.passes.lower.cuda.attention.decode.plan import DecodePlan, decode_plans, plan_decode
from xyntra.passes.lower.cuda.attention.flash.flash import emit_flash
from xyntra.passes.lower.cuda.attention.hopper.hopper import emit_hopper
from xyntra.passes.lower.cuda.attention.hopper.plan import HopperPlan, hopper_plans, plan_hopper
from xyntra.passes.lower.cuda.attention.plan import FlashPlan, flash_plans, plan_flash, sized
from xyntra.passes.lower.gpu.attention.problem import Problem, problem_of
from xyntra.passes.lower.gpu.device import GpuDevice
from xyntra.passes.lower.gpu.emitters.emitter import Code, Family, Impossible, StageEmitter, pair
from xyntra.passes.lower.gpu.stages.stage import Stage


@dataclass(frozen=True)
class FlashChoices:
    """The choices of warps that share queries and keys.

    Attributes:
        warps: along the queries, 16 each, and along the keys.
        keys: that a warp looks at in one step.
        stages: tiles of keys, and of values, in shared memory at once.
    """

    warps: tuple[int, ...] = ()
    keys: int = 16
    stages: int = 1


@dataclass(frozen=True)
class WarpgroupChoices:
    """The choices of warpgroups that share queries.

    Attributes:
        warpgroups: that compute, 64 queries each.
        keys: of one step.
    """

    warpgroups: int = 2
    keys: int = 128


@dataclass(frozen=True)
class DecodeChoices:
    """The choices of warps that share the keys of up to sixteen rows.

    Attributes:
        warps: of a block.
        cluster: blocks that share the keys of the same rows.
    """

    warps: int = 4
    cluster: int = 1


def _read(stage: Stage) -> Problem | None:
    group = stage.attention
    if group is None:
        return None
    last = stage.operations[-1]
    with last.location, ir.InsertionPoint(last):
        return problem_of(group)


def _choose(problem: Problem, device: GpuDevice) -> Schedule:
    groups = plan_hopper(problem, device)
    if groups is not None:
        return Schedule.told("flash-warpgroups", _of_hopper(groups))
    few = plan_decode(problem, device)
    if few is not None:
        return Schedule.told("flash-decode", _of_decode(few))
    return Schedule.told("flash", _of_flash(plan_flash(problem, device)))


def _of_flash(plan: FlashPlan) -> FlashChoices:
    return FlashChoices((plan.row_warps, plan.key_warps), plan.warp_keys, plan.stages)


def _of_hopper(plan: HopperPlan) -> WarpgroupChoices:
    return WarpgroupChoices(plan.groups, plan.keys)


def _of_decode(plan: DecodePlan) -> DecodeChoices:
    return DecodeChoices(plan.tiles.key_warps, plan.cluster)


def _plan_flash(problem: Problem, choices: FlashChoices, device: GpuDevice) -> Code:
    if any(isinstance(size, Size) for size in problem.sizes):
        # What is worth it depends on sizes, but every plan that fits is right for all.
        warps = pair(choices.warps, "warps")
        told = sized(problem, *warps, choices.keys, choices.stages)
        plan = told if told.shared <= device.block_shared_bytes else None
    else:
        plan = {_of_flash(each): each for each in flash_plans(problem, device)}.get(choices)
    if plan is None:
        raise Impossible("has no such division of warps, keys and stages")
    return lambda shared: emit_flash(problem, plan, shared)


def _plan_hopper(problem: Problem, choices: WarpgroupChoices, device: GpuDevice) -> Code:
    allowed = {_of_hopper(each): each for each in hopper_plans(problem, device)}
    if not allowed:
        raise Impossible("cannot compute this attention on this device")
    plan = allowed.get(choices)
    if plan is None:
        known = ", ".join(f"{each.warpgroups} of {each.keys} keys" for each in allowed)
        raise Impossible(f"has other warpgroups: {known}")
    return lambda shared: emit_hopper(problem, plan, shared, device)


def _plan_decode(problem: Problem, choices: DecodeChoices, device: GpuDevice) -> Code:
    plan = {_of_decode(each): each for each in decode_plans(problem, device)}.get(choices)
    if plan is None:
        raise Impossible("has no such warps and clusters for this attention")
    return lambda shared: emit_decode(plan, shared)


def _flash_candidates(problem: Problem, device: GpuDevice) -> Iterator[FlashChoices]:
    yield from dict.fromkeys(map(_of_flash, flash_plans(problem, device)))


def _hopper_candidates(problem: Problem, device: GpuDevice) -> Iterator[WarpgroupChoices]:
    yield from map(_of_hopper, hopper_plans(problem, device))


def _decode_candidates(problem: Problem, device: GpuDevice) -> Iterator[DecodeChoices]:
    yield from map(_of_decode, decode_plans(problem, device))


ATTENTIONS = Family(
    _read,
    _choose,
    (
        StageEmitter("flash-warpgroups", WarpgroupChoices, _plan_hopper, _hopper_candidates),
        StageEmitter("flash-decode", DecodeChoices, _plan_decode, _decode_candidates),
        StageEmitter("flash", FlashChoices, _plan_flash, _flash_candidates),
    ),
)

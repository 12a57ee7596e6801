# SPDX-License-Identifier: MIT OR Apache-2.0
"""The family of everything else: loops with branches and data-dependent places, one a stage."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from xyntra.dialects.attributes.schedule import Schedule
from xyntra.dialects.mlir import ir
from xyntra.passes.lower.gpu.device import GpuDevice
from xyntra.passes.lower.gpu.elementwise.general import contiguous_outputs, emit_general, is_general
from xyntra.passes.lower.gpu.emit.thread_grid import LaunchShape
from xyntra.passes.lower.gpu.emitters.emitter import (
    Code,
    Family,
    Impossible,
    NoChoices,
    StageEmitter,
    block_sizes,
    check_threads,
    no_choices,
)
from xyntra.passes.lower.gpu.loops.loop_threads import emit_loops, plan_loops
from xyntra.passes.lower.gpu.scan_sort.scans import emit_scan, plan_scan
from xyntra.passes.lower.gpu.stages.stage import Stage
from xyntra.passes.lower.loops.access_strides import loop_extents


@dataclass(frozen=True)
class BlockChoices:
    """The number of threads of a block."""

    threads: int = 256


@dataclass(frozen=True)
class OutputChoices:
    """The number of contiguous outputs of a thread, which it stores at once."""

    own: int = 1


def _read(stage: Stage) -> ir.Operation | None:
    return stage.operations[-1] if len(stage.operations) == 1 else None


def _choose(op: ir.Operation, device: GpuDevice) -> Schedule:
    if _is_empty(op):
        return Schedule("nothing")
    if is_general(op):
        return Schedule.told("outputs", OutputChoices(contiguous_outputs(op)))
    if op.name == "scf.for":
        scan = plan_scan(op, device)
        if scan is not None:
            return Schedule.told("scan", BlockChoices(scan.threads))
        loops = plan_loops(op, device)
        if loops is not None:
            return Schedule.told("loops", BlockChoices(loops.threads))
    return Schedule("single-thread")


def _is_empty(op: ir.Operation) -> bool:
    return op.name == "linalg.generic" and 0 in loop_extents(op)


def _plan_nothing(op: ir.Operation, _: NoChoices, device: GpuDevice) -> Code:
    if not _is_empty(op):
        raise Impossible("is for loops without iterations")
    return lambda _: None


def _plan_outputs(op: ir.Operation, choices: OutputChoices, device: GpuDevice) -> Code:
    if not is_general(op) or _is_empty(op):
        raise Impossible("computes loops around scalar code")
    most = contiguous_outputs(op)
    if choices.own < 1 or most % choices.own:
        raise Impossible(f"computes {most} contiguous elements in a thread, or a divisor of that")
    return lambda _: emit_general(op, choices.own)


def _output_candidates(op: ir.Operation, device: GpuDevice) -> Iterable[OutputChoices]:
    most = contiguous_outputs(op) if is_general(op) and not _is_empty(op) else 1
    return [OutputChoices(own) for own in (1, 2, 4, 8, 16) if most % own == 0]


def _plan_scan(op: ir.Operation, choices: BlockChoices, device: GpuDevice) -> Code:
    found = plan_scan(op, device) if op.name == "scf.for" else None
    if found is None:
        raise Impossible("computes running values along rows that are long enough")
    check_threads(choices.threads, device)
    sized = replace(found, threads=choices.threads)
    return lambda shared: emit_scan(sized, shared)


def _plan_loops(op: ir.Operation, choices: BlockChoices, device: GpuDevice) -> Code:
    found = plan_loops(op, device) if op.name == "scf.for" else None
    if found is None:
        raise Impossible("needs a loop whose iterations may run at once")
    if found.by_blocks and choices.threads != found.threads:
        raise Impossible(f"needs the {found.threads} threads a block that the loop is written for")
    check_threads(choices.threads, device)
    sized = replace(found, threads=choices.threads)
    return lambda _: emit_loops(sized)


def _block_candidates(_op: ir.Operation, device: GpuDevice) -> Iterable[BlockChoices]:
    return map(BlockChoices, block_sizes(device))


def _plan_single(op: ir.Operation, _: NoChoices, device: GpuDevice) -> Code:
    if op.name == "linalg.generic":
        raise Impossible("leaves loops as they are, and these must be written first")
    return lambda _: LaunchShape(1, 1)


LOOPS = Family(
    _read,
    _choose,
    (
        StageEmitter("nothing", NoChoices, _plan_nothing, no_choices),
        StageEmitter("outputs", OutputChoices, _plan_outputs, _output_candidates),
        StageEmitter("scan", BlockChoices, _plan_scan, _block_candidates),
        StageEmitter("loops", BlockChoices, _plan_loops, _block_candidates),
        StageEmitter("single-thread", NoChoices, _plan_single, no_choices),
    ),
)

# SPDX-License-Identifier: MIT OR Apache-2.0
"""The family of nests: elementwise loops, reductions, and several of them that share rows."""

from __future__ import annotations

from dataclasses import dataclass

from xyntra.dialects.attributes.schedule import Schedule
from xyntra.dialects.mlir import ir
from xyntra.passes.lower.gpu.device import Device
from xyntra.passes.lower.gpu.elementwise.pointwise import emit_pointwise
from xyntra.passes.lower.gpu.elementwise.transposed_tiles import emit_transposed, transposed_of
from xyntra.passes.lower.gpu.emitters.emitter import (
    Code,
    Emitter,
    Family,
    Impossible,
    NoChoices,
    no_choices,
)
from xyntra.passes.lower.gpu.reductions.column_group import column_group
from xyntra.passes.lower.gpu.reductions.columns import emit_columns
from xyntra.passes.lower.gpu.reductions.reductions import emit_reduction
from xyntra.passes.lower.gpu.rows.register_rows import emit_register_rows, plan_register_rows
from xyntra.passes.lower.gpu.rows.row_extras import RowExtras
from xyntra.passes.lower.gpu.rows.rows import emit_rows
from xyntra.passes.lower.gpu.stages.stage import Stage
from xyntra.passes.lower.nests.linear_nest import LinearNest, linear_nest


@dataclass(frozen=True)
class Nests:
    """Loops that one launch computes, and the operations that they come from."""

    nests: tuple[LinearNest, ...]
    generics: tuple[ir.Operation, ...]

    @property
    def only(self) -> LinearNest | None:
        """The nest, where there is one alone."""
        return self.nests[0] if len(self.nests) == 1 else None


def _read(stage: Stage) -> Nests | None:
    if not stage.is_loops:
        return None
    return Nests(tuple(map(linear_nest, stage.operations)), stage.operations)


def _choose(subject: Nests, device: Device) -> Schedule:
    if column_group(subject.nests) is not None:
        return Schedule("columns")
    if subject.only is None:
        found = plan_register_rows(subject.nests, subject.generics, device)
        return Schedule("rows" if found is None else "register-rows")
    if subject.only.reductions:
        return Schedule("reduction")
    return Schedule("pointwise" if transposed_of(subject.only, device) is None else "transposed")


def _plan_columns(subject: Nests, _: NoChoices, device: Device) -> Code:
    group = column_group(subject.nests)
    if group is None:
        raise Impossible("cannot compute what does not reduce along columns")
    return lambda shared: emit_columns(group, subject.generics, shared, device)


def _register_rows(extras: RowExtras | None) -> Emitter[Nests]:
    """Return the emitter of rows in registers, with what a target has for long ones."""

    def plan(subject: Nests, _: NoChoices, device: Device) -> Code:
        found = plan_register_rows(subject.nests, subject.generics, device)
        if found is None:
            raise Impossible("cannot hold these rows in registers")
        return lambda shared: emit_register_rows(found, subject.generics, shared, extras)

    return Emitter("register-rows", NoChoices, plan, no_choices)


def _plan_rows(subject: Nests, _: NoChoices, device: Device) -> Code:
    if subject.only is not None:
        raise Impossible("computes several nests that share rows, and this is one")
    return lambda shared: emit_rows(subject.nests, subject.generics, shared)


def _plan_reduction(subject: Nests, _: NoChoices, device: Device) -> Code:
    nest = subject.only
    if nest is None or not nest.reductions:
        raise Impossible("computes one nest that reduces")
    return lambda shared: emit_reduction(nest, shared)


def _plan_transposed(subject: Nests, _: NoChoices, device: Device) -> Code:
    nest = subject.only
    found = None if nest is None or nest.reductions else transposed_of(nest, device)
    if found is None:
        raise Impossible("computes one nest, with a single input that lies across")
    return lambda shared: emit_transposed(found, shared)


def _plan_pointwise(subject: Nests, _: NoChoices, device: Device) -> Code:
    nest = subject.only
    if nest is None or nest.reductions:
        raise Impossible("computes one nest that does not reduce")
    return lambda _: emit_pointwise(nest)


def nests_family(extras: RowExtras | None = None) -> Family[Nests]:
    """Return the family, with what a target has for long rows."""
    return Family(
        _read,
        _choose,
        (
            Emitter("columns", NoChoices, _plan_columns, no_choices),
            _register_rows(extras),
            Emitter("rows", NoChoices, _plan_rows, no_choices),
            Emitter("reduction", NoChoices, _plan_reduction, no_choices),
            Emitter("transposed", NoChoices, _plan_transposed, no_choices),
            Emitter("pointwise", NoChoices, _plan_pointwise, no_choices),
        ),
    )

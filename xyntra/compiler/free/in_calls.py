# SPDX-License-Identifier: MIT OR Apache-2.0
"""Moves to calls what a plan computes when it is loaded, where that depends on sizes of calls."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from torch_mlir import ir

from xyntra.compiler.free.agreed import NOT_FREE, Agreed
from xyntra.errors import CompileError
from xyntra.passes.analysis.kernel_function import CONSTANT
from xyntra.plan.free.expressions import FreeSizes
from xyntra.plan.plan import Plan

__all__ = ["forget_constants", "in_calls"]

_ARGUMENTS = "arg_attrs"


def forget_constants(found: Agreed, free: Collection[str]) -> bool:
    """Let no kernel take for known at load what depends on sizes; tells whether one did.

    Args:
        found: the model at its samples, whose kernels are changed.
        free: names of the kernels at the first sample that are told their sizes.
    """
    moved = _moved(found.plan, free)
    known: dict[str, set[int]] = {}
    for step in found.plan.steps:
        read = {number for number, each in enumerate(step.inputs) if each in moved}
        if read := read & set(found.plan.kernels[step.kernel].constants):
            known.setdefault(step.kernel, set()).update(read)
    for model, names in zip(found.models, found.names, strict=True):
        own = {names[name]: numbers for name, numbers in known.items()}
        for view in model.module.regions[0].blocks[0].operations:
            op = view.operation
            if op.name == "func.func" and (name := op.attributes["sym_name"].value) in own:
                _forget(op, own[name])
    for name, numbers in known.items():
        kernel = found.plan.kernels[name]
        left = tuple(each for each in kernel.constants if each not in numbers)
        found.plan.kernels[name] = replace(kernel, constants=left)
    return bool(known)


def _forget(function: ir.Operation, numbers: Collection[int]) -> None:
    """Take it from arguments of a kernel that they are known when the model is loaded."""
    given = [ir.DictAttr(each) for each in ir.ArrayAttr(function.attributes[_ARGUMENTS])]
    for number in numbers:
        left = {each.name: each.attr for each in given[number] if each.name != CONSTANT}
        given[number] = ir.DictAttr.get(left, function.context)
    function.attributes[_ARGUMENTS] = ir.ArrayAttr.get(given, function.context)


def in_calls(plan: Plan, sizes: FreeSizes) -> Plan:
    """Return a plan that computes in calls what depends on weights and sizes.

    Raises:
        CompileError: `kernel-not-free`, a kernel prepares such a value when it is loaded.
    """
    variants = {name: kernel.variants for kernel in sizes.kernels for name in kernel.variants[:1]}
    moved = _moved(plan, variants)
    for step in plan.steps:
        read = {step.inputs[each] for each in plan.kernels[step.kernel].constants}
        names = variants.get(step.kernel, (step.kernel,))
        if moved & read and any(plan.kernels[name].prepared for name in names):
            raise CompileError(
                NOT_FREE,
                "it prepares when the model is loaded what depends on sizes",
                place=", ".join(step.nodes),
            )
    steps = [
        replace(step, once=step.once and moved.isdisjoint(step.outputs)) for step in plan.steps
    ]
    buffers = tuple(
        replace(buffer, kind="temporary") if number in moved else buffer
        for number, buffer in enumerate(plan.buffers)
    )
    return replace(plan, steps=tuple(steps), buffers=buffers)


def _moved(plan: Plan, free: Collection[str]) -> set[int]:
    """Return the buffers of what is computed at load, of weights, by kernels told their sizes."""
    moved: set[int] = set()
    for step in plan.steps:
        if step.once and (step.kernel in free or not moved.isdisjoint(step.inputs)):
            moved.update(step.outputs)
    return moved

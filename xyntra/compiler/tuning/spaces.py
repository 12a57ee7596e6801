# SPDX-License-Identifier: MIT OR Apache-2.0
"""Lists the legal schedules of every kernel of a model, inside a worker process."""

from __future__ import annotations

from collections.abc import Iterator

from torch_mlir import ir

from xyntra.compiler.kernels.kernel import parse_kernel
from xyntra.compiler.kernels.module import sources_of
from xyntra.compiler.kernels.tuned import tuning_key
from xyntra.compiler.levels import lower_model
from xyntra.compiler.model_import import ModelImport
from xyntra.compiler.worker.request import Request
from xyntra.dialects import make_context
from xyntra.errors import CompileError
from xyntra.passes.lower.kernels.schedule_place import SchedulePlace
from xyntra.plan.plan import Plan, Step
from xyntra.targets.kernel import KernelSource
from xyntra.targets.table import backend_for
from xyntra.tune.space import KernelSpace, spaces_to_json

__all__ = ["list_spaces"]

_CLOSE = 0.1
"""Shares of a kernel's time that cost models are off by, and more."""


def list_spaces(request: Request) -> bytes:
    """Return the search spaces of a model's kernels, as `spaces_to_json` writes them.

    Raises:
        XyntraError: the model is wrong or cannot be compiled down to kernels.
    """
    with make_context(), ir.Location.unknown():
        model = lower_model(request, ModelImport(request))
        sources = sources_of(model.module, model.plan, request)
        return spaces_to_json([_space(each, model.plan) for each in sources])


def _space(source: KernelSource, plan: Plan) -> KernelSpace:
    steps = [step for step in plan.steps if step.kernel == source.name]
    costs = [step.cost.nanoseconds for step in steps if step.cost is not None]
    places: tuple[SchedulePlace, ...] = ()
    failure = ""
    try:
        module = parse_kernel(source)
        places = tuple(backend_for(source.architecture).schedule_places(module, source))
    except (CompileError, ir.MLIRError) as error:
        failure = str(error)
    return KernelSpace(
        name=source.name,
        key=tuning_key(source.mlir, source.architecture, source.opt_level),
        kind=plan.kernels[source.name].kind,
        text=source.mlir,
        nodes=source.nodes,
        calls=sum(not step.once for step in steps),
        nanoseconds=sum(costs) / len(costs) if costs else 0.0,
        places=places,
        failure=failure,
        close=tuple(dict.fromkeys(text for step in steps for text in _close(step))),
    )


def _close(step: Step) -> Iterator[str]:
    """Yield kernels that were not joined with a launch though that was predicted to cost little."""
    usual = step.cost.nanoseconds if step.cost is not None else 0.0
    for each in step.boundaries or ():
        if each.slower is not None and each.slower <= _CLOSE * usual:
            yield f"{each.source} with {each.target}: {each.slower / usual:.1%} slower as one"

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs pipelines that mix passes of ours with upstream ones.

Upstream's pass manager cannot name Python passes in a textual pipeline, so every step runs by
itself: ours as a call, an upstream one in a pass manager of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, Protocol

from xyntra.dialects.mlir import ir
from xyntra.errors import CompileError, ConfigError, XyntraError
from xyntra.passes.collector import collector_paused
from xyntra.passes.diagnostics import Diagnostic, PipelineError, reporting
from xyntra.passes.options import make_pass
from xyntra.passes.pipeline_text import ROOT, PassStep, parse_pipeline
from xyntra.passes.pipelines import PIPELINES, expand
from xyntra.passes.registry import Pass, anchors_of, find_pass, is_pass
from xyntra.passes.tracebacks import innermost
from xyntra.spans import span

from torch_mlir.passmanager import PassManager  # isort: skip  (after our way to import MLIR)

__all__ = ["Hook", "PipelineSpec", "Runnable", "resolve", "run_pipeline", "run_steps"]

PipelineSpec = str | Sequence["str | Pass"]
"""A pipeline's name, a textual pipeline, or a list of elements and ready-made passes."""


class Hook(Protocol):
    """Is told of every step; `name` is the pass as written in a pipeline."""

    def before(self, name: str, module: ir.Operation) -> None:
        """The step is about to run."""

    def after(self, name: str, module: ir.Operation) -> None:
        """The step has run, and the IR is valid."""

    def failed(self, name: str, module: ir.Operation) -> None:
        """The step has failed; the IR is what it left."""


@dataclass(frozen=True)
class Runnable:
    """A step ready to run: a pass of ours, or an upstream pass manager."""

    name: str
    nest: tuple[str, ...]
    ours: Pass | None = None
    upstream: Any = None


def run_pipeline(
    module: ir.Module | ir.Operation,
    pipeline: PipelineSpec,
    *,
    verify_each: bool = True,
    hooks: Sequence[Hook] = (),
    report: Callable[[Diagnostic], None] | None = None,
) -> None:
    """Run `pipeline` on `module`, a `builtin.module`, in place.

    `report` is given the warnings, remarks and notes of all passes; errors are raised instead.
    Without `verify_each` the IR is verified once, after the last pass.

    Raises:
        ConfigError: the pipeline names an unknown pass or option; nothing has run.
        PipelineError: a pass failed or left invalid IR.
        XyntraError: what a pass of ours raised.
    """
    with module.context:
        steps = resolve(pipeline)
    run_steps(module, steps, verify_each=verify_each, hooks=hooks, report=report)


def run_steps(
    module: ir.Module | ir.Operation,
    steps: Sequence[Runnable],
    *,
    verify_each: bool = True,
    hooks: Sequence[Hook] = (),
    report: Callable[[Diagnostic], None] | None = None,
) -> None:
    """As `run_pipeline`, with steps that `resolve` made ready in the same context."""
    operation = module.operation
    with operation.context, collector_paused():
        for number, step in enumerate(steps, start=1):
            verify = verify_each or number == len(steps)
            _run(step, operation, _Settings(verify, tuple(hooks), report))


def resolve(pipeline: PipelineSpec) -> list[Runnable]:
    """Return the steps of `pipeline`, made ready in the current context.

    Raises:
        ConfigError: the pipeline names an unknown pass or option.
    """
    if isinstance(pipeline, str):
        pipeline = expand(pipeline) if pipeline in PIPELINES else (pipeline,)
    steps: list[Runnable] = []
    for element in pipeline:
        if not isinstance(element, str):
            steps.append(Runnable(element.name, (ROOT,), ours=element))
        elif element in PIPELINES:
            steps += resolve(element)
        else:
            for step in parse_pipeline(element):
                steps += map(_resolve_step, _expanded(step))
    return steps


def _expanded(step: PassStep) -> Iterator[PassStep]:
    """Yield a step, or those of the pipeline that it names, nested as it is."""
    if step.name not in PIPELINES or step.options:
        yield step
        return
    for element in expand(step.name):
        for each in parse_pipeline(element):
            yield replace(each, nest=(*step.nest, *each.nest[1:]))


def _resolve_step(step: PassStep) -> Runnable:
    if not is_pass(step.name):
        return Runnable(str(step), step.nest, upstream=_upstream(step))
    cls = find_pass(step.name)
    anchor = step.nest[-1]
    if anchor not in ("any", *anchors_of(cls)):
        raise ConfigError(
            "wrong-anchor",
            f"pass '{step.name}' cannot be nested in '{anchor}'",
            hint=f"it runs on {' and '.join(anchors_of(cls))}",
        )
    return Runnable(str(step), step.nest, ours=make_pass(cls, step.options))


def _upstream(step: PassStep) -> PassManager:
    try:
        return PassManager.parse(step.pipeline)
    except ValueError as error:
        if "does not refer to a registered pass" in str(error):
            find_pass(step.name)
        raise ConfigError("bad-pipeline", f"'{step.pipeline}': {error}".strip()) from error


@dataclass(frozen=True)
class _Settings:
    verify: bool
    hooks: tuple[Hook, ...]
    report: Callable[[Diagnostic], None] | None


def _run(step: Runnable, module: ir.Operation, settings: _Settings) -> None:
    for hook in settings.hooks:
        hook.before(step.name, module)
    try:
        # Passes of ours are spans wherever they are called.
        with span(step.name, "pass") if step.ours is None else nullcontext():
            _run_checked(step, module, settings)
    except XyntraError as error:
        if isinstance(error, CompileError):
            error.during = error.during or step.name
        for hook in settings.hooks:
            hook.failed(step.name, module)
        raise
    for hook in settings.hooks:
        hook.after(step.name, module)


def _run_checked(step: Runnable, module: ir.Operation, settings: _Settings) -> None:
    with _collected(module.context, settings.report) as errors:
        try:
            if step.ours is not None:
                _run_ours(step.ours, step, module)
            else:
                step.upstream.enable_verifier(settings.verify)
                step.upstream.run(module)
        except ir.MLIRError as error:
            found = [*errors, *map(Diagnostic.from_mlir, error.error_diagnostics)]
            raise _failure(step, found) from error
        if errors:
            raise _failure(step, errors)
    if step.ours is not None and settings.verify:
        _verify(step, module)


def _run_ours(ours: Pass, step: Runnable, module: ir.Operation) -> None:
    try:
        for operation in _anchored(module, step.nest):
            # Attributes that an analysis makes belong to no operation, but need a location.
            with operation.location:
                ours.run(operation)
    except (XyntraError, ir.MLIRError):
        raise
    except Exception as error:
        raise CompileError(
            "pass-crashed",
            f"pass '{step.name}' met a case that it does not handle",
            cause=f"{type(error).__name__}: {error} ({innermost(error)})",
        ) from error


def _anchored(module: ir.Operation, nest: tuple[str, ...]) -> list[ir.Operation]:
    found = [module]
    for anchor in nest[1:]:
        found = [
            view.operation
            for parent in found
            for region in parent.regions
            for block in region.blocks
            for view in block.operations
            if view.operation.name == anchor
        ]
    return found


def _verify(step: Runnable, module: ir.Operation) -> None:
    try:
        module.verify()
    except ir.MLIRError as error:
        found = tuple(map(Diagnostic.from_mlir, error.error_diagnostics))
        message = f"pass '{step.name}' left invalid IR"
        raise PipelineError.of("invalid-ir", message, found) from error


def _failure(step: Runnable, found: Sequence[Diagnostic]) -> PipelineError:
    return PipelineError.of("pass-failed", f"pass '{step.name}' failed", tuple(found))


@contextmanager
def _collected(
    context: ir.Context, report: Callable[[Diagnostic], None] | None
) -> Iterator[list[Diagnostic]]:
    """Yield the list that errors are appended to; other diagnostics go to `report`."""
    errors: list[Diagnostic] = []

    def handle(info: ir.Diagnostic) -> bool:
        diagnostic = Diagnostic.from_mlir(info)
        if diagnostic.severity == "error":
            errors.append(diagnostic)
        elif report is not None:
            report(diagnostic)
        return True

    with context.attach_diagnostic_handler(handle), reporting(report):
        yield errors

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compiles the kernels of a module; one that fails becomes more general until it compiles.

A kernel for which the emitters of its target fail is lowered to plain loops. Where these fail, too,
its operations become kernels of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any

from torch_mlir import ir

from xyntra.cache import DiskCache
from xyntra.compiler.kernels.parallel import Outcome, compile_each
from xyntra.compiler.kernels.tuned import give_tuned
from xyntra.compiler.recovery import Lowered, defect, reason
from xyntra.compiler.worker.fork_server import ForkServer
from xyntra.compiler.worker.request import Request
from xyntra.errors import CompileError
from xyntra.passes.fallbacks import GENERIC_LOOPS, fallbacks_of, is_generic, note_fallback
from xyntra.passes.fusion.legality.facts import Facts
from xyntra.passes.fusion.legality.members import read_block
from xyntra.passes.fusion.regions.inline_kernels import InlineKernels
from xyntra.passes.manager import run_pipeline
from xyntra.passes.pipelines import expand
from xyntra.plan.build import nodes_of
from xyntra.plan.plan import Plan
from xyntra.targets.base import CALLS
from xyntra.targets.kernel import CompiledKernel, KernelSource
from xyntra.targets.table import backend_for
from xyntra.tune.tuned import Tuned

__all__ = ["compile_module", "compile_sources", "kernel_sources", "sources_of", "with_code"]

_OPTIONAL = frozenset({"inline-fills", "merge-elementwise", "merge-reductions"})
"""Passes without which kernels compute the same, in more loops."""

Code = dict[str, CompiledKernel]
_NOTHING: Mapping[str, Any] = MappingProxyType({})


def compile_module(
    lowered: Lowered[Plan],
    plan_of: Callable[[ir.Operation], Plan],
    request: Request,
    server: ForkServer | None,
    describe: Callable[[ir.Operation], None],
) -> tuple[Plan, Code]:
    """Compile the kernels that a plan uses, on GPUs with the code that starts calls.

    Args:
        lowered: the module at the level of kernels, and its plan.
        plan_of: makes the plan of a module in which kernels have changed.
        request: how to compile.
        server: forks the processes that compile.
        describe: called with the module while they do, and again where it has changed.

    Returns:
        The plan, with the memory that its kernels turned out to need, and machine code by name.

    Raises:
        CompileError: a kernel cannot be compiled, or one fails and the request is strict.
    """
    module, plan = lowered.module, lowered.result
    done: dict[str, CompiledKernel] = {}
    spared: dict[str, CompileError] = {}
    while True:
        sources = sources_of(module, plan, request, spared)
        named = compile_sources(
            sources,
            request,
            server,
            lambda current=module: describe(current),  # type: ignore[misc]
            done=done,
            stop=request.strict and not request.tuned,
        )
        code = {name: each for name, each in named.items() if isinstance(each, CompiledKernel)}
        failures = {name: each for name, each in named.items() if isinstance(each, CompileError)}
        if not failures:
            noted = replace(plan, fallbacks=fallbacks_of(module))
            return with_code(noted, code, sources), code
        stale = _tuned_among(sources, failures)
        if stale:
            spared.update(stale)
            _note_stale(module, stale)
            continue
        if request.strict:
            raise next(iter(failures.values()))
        _generalize(module, failures)
        plan = plan_of(module)


def compile_sources(
    sources: Sequence[KernelSource],
    request: Request,
    server: ForkServer | None,
    meanwhile: Callable[[], None],
    *,
    done: dict[str, CompiledKernel] | None = None,
    stop: bool = True,
) -> dict[str, Outcome]:
    """Compile kernels as a request has it, on GPUs with the code that starts calls, by name.

    Args:
        sources: the kernels.
        request: how to compile.
        server: forks the processes that compile.
        meanwhile: called while they do.
        done: kernels that are compiled already, as `compile_each` has it.
        stop: raise the first error.

    Raises:
        CompileError: a kernel cannot be compiled, and `stop` is set.
    """
    wanted = list(sources)
    code = backend_for(request.architecture).call_code() if wanted else ""
    if code:
        wanted.append(KernelSource(CALLS, code, architecture=request.architecture))
    outcomes = compile_each(
        wanted,
        jobs=request.jobs,
        timeout=request.timeout,
        cache=DiskCache(request.cache_dir, request.cache_size) if request.cache_dir else None,
        server=server,
        meanwhile=meanwhile,
        done=done,
        stop=stop,
    )
    return {source.name: each for source, each in zip(wanted, outcomes, strict=True)}


def _tuned_among(
    sources: Sequence[KernelSource], failures: Mapping[str, CompileError]
) -> dict[str, CompileError]:
    """Return those failures that are of kernels with schedules from a tuning database."""
    tuned = {each.name for each in sources if each.tuned is not None}
    return {name: failure for name, failure in failures.items() if name in tuned}


def _note_stale(module: ir.Operation, failures: Mapping[str, CompileError]) -> None:
    for name, failure in failures.items():
        sentence = f"the tuned schedules of kernel '{name}' were not used"
        note_fallback(module, f"{sentence}, {reason(failure)}")


def sources_of(
    module: ir.Operation,
    plan: Plan,
    request: Request,
    spared: Mapping[str, object] = _NOTHING,
) -> list[KernelSource]:
    """Return what `kernel_sources` does, as a request has it; tuned kernels with their schedules.

    Args:
        module: the module at the level of kernels.
        plan: its plan.
        request: how to compile.
        spared: names of kernels that get no schedules from a tuning database.
    """
    options = request.opt_level, request.architecture, request.precision
    tuned = partial(give_tuned, request=request, spared=spared) if request.tuned else None
    return kernel_sources(module, plan, *options, strict=request.strict, give=tuned)


def kernel_sources(
    module: ir.Operation,
    plan: Plan,
    opt_level: int,
    architecture: str = "",
    precision: str = "f32",
    *,
    strict: bool = True,
    give: Callable[[ir.Operation], Tuned | None] | None = None,
) -> list[KernelSource]:
    """Every kernel as a module of its own, with its operations made one loop nest where they can.

    Locations are left out: equal kernels of two models then are equal texts. `module` is not
    changed, but for what is noted in it where a pass had to be left out.

    Args:
        module: the module at the level of kernels.
        plan: its plan.
        opt_level: LLVM's optimisation level.
        architecture: of the GPU to generate code for; "" for this processor.
        precision: what contractions of f32 compute in.
        strict: whether a failure of a pass is an error.
        give: gives a kernel schedules that were found by measuring, and returns them, or None.

    Raises:
        CompileError: a pass failed, and `strict` is set or there is no way around it.
    """
    ready = _with_merged_loops(module, architecture, strict=strict)
    sources = []
    for view in ready.regions[0].blocks[0].operations:
        op = view.operation
        name = op.attributes["sym_name"].value
        if name in plan.kernels:
            if precision == "tf32":
                op.attributes["xyntra.precision"] = ir.StringAttr.get(precision, op.context)
            nodes = tuple(nodes_of(plan.steps, name))
            given = None if give is None else give(op)
            text = op.get_asm(use_local_scope=True)
            source = KernelSource(name, text, nodes, opt_level, architecture)
            if given is not None:
                source = replace(source, tuned=given.nanoseconds, packaged=given.packaged)
            sources.append(source)
    return sources


def _with_merged_loops(module: ir.Operation, architecture: str, *, strict: bool) -> ir.Operation:
    """Return a copy of `module` with kernels that are ready for the lowering of a target."""
    elements = list(expand(backend_for(architecture).target.kernel_loops))
    careful = False
    while True:
        copy = module.clone()
        try:
            run_pipeline(copy, elements, verify_each=careful)
            return copy
        except CompileError as error:
            if careful:
                if strict or error.during not in _OPTIONAL:
                    raise defect(error, error.during) from error
                elements.remove(error.during)
                note_fallback(module, f"pass '{error.during}' was left out, {reason(error)}")
            careful = True  # verified after each pass, which names the one at fault


def with_code(
    plan: Plan, compiled: Mapping[str, CompiledKernel], sources: Sequence[KernelSource] = ()
) -> Plan:
    """The plan with the memory that its kernels turned out to need; other kernels are left out.

    Args:
        plan: what runs.
        compiled: code by the name of the kernel.
        sources: what that was made of, and which schedules of it were found by measuring.
    """
    tuned = {each.name: each.tuned for each in sources}
    packaged = {each.name for each in sources if each.packaged}
    kernels = {
        name: replace(
            plan.kernels[name],
            scratch=code.scratch_bytes,
            private=code.private_bytes,
            prepared=code.prepared_bytes,
            schedules=code.schedules,
            tuned=tuned.get(name),
            packaged=name in packaged,
        )
        for name, code in compiled.items()
        if name != CALLS
    }
    return replace(plan, kernels=kernels)


def _generalize(module: ir.Operation, failures: Mapping[str, CompileError]) -> None:
    """Make the kernels that failed more general.

    Raises:
        CompileError: one of them is as general as can be.
    """
    functions = {
        ir.StringAttr(view.operation.attributes["sym_name"]).value: view.operation
        for view in module.regions[0].blocks[0].operations
    }
    apart = []
    for name, failure in failures.items():
        function = functions.get(name)
        if function is None:
            raise failure  # of the code that starts calls, which is no kernel
        if not is_generic(function):
            function.attributes[GENERIC_LOOPS] = ir.UnitAttr.get()
            note_fallback(module, f"kernel '{name}' is computed by plain loops, {reason(failure)}")
        elif len(read_block(function.regions[0].blocks[0], Facts()).members) > 1:
            apart.append(name)
            sentence = f"each operation of kernel '{name}' became a kernel of its own"
            note_fallback(module, f"{sentence}, {reason(failure)}")
        else:
            raise defect(failure, "")
    if apart:
        inline = InlineKernels(tuple(apart))
        run_pipeline(module, [inline, "form-kernels", "outline-kernels", "check-fusion"])

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compiles models from, and to, text below the level of kernel functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from torch_mlir import ir

from xyntra.compiler.code_text import Code, CodeText, declare_kernels, read_code, write_code
from xyntra.compiler.kernels.kernel import parse_kernel
from xyntra.compiler.kernels.module import compile_sources, with_code
from xyntra.compiler.worker.fork_server import ForkServer
from xyntra.compiler.worker.request import Request
from xyntra.dialects import KernelFacts
from xyntra.errors import CompileError, InputError, ModelError
from xyntra.frontends.mlir_text import check_entry
from xyntra.plan.build import build_plan, nodes_of
from xyntra.plan.check_plan import PlanError, check_plan
from xyntra.plan.plan import Plan
from xyntra.plan.storage.container import MALFORMED
from xyntra.targets.kernel import CompiledKernel, KernelSource
from xyntra.targets.table import backend_for, entry_for

__all__ = ["CodeModel", "code_target", "only_kernel", "read_model", "text_below", "texts_of"]


class CodeModel:
    """A model that came as text below the level of kernel functions.

    Attributes:
        text: what it was.
        plan: its plan, without the memory that its kernels need.
        sources: its kernels.
    """

    def __init__(self, text: CodeText, request: Request) -> None:
        """Build the plan.

        Raises:
            ModelError, UnsupportedError, InputError: `main` is not of the form that plans need.
        """
        self.text = text
        self.plan = _plan(text, request)
        self.sources = [
            _source(self.plan, name, code, text.level, request)
            for name, code in text.kernels.items()
            if name in self.plan.kernels
        ]

    def compiled(
        self, request: Request, server: ForkServer | None, meanwhile: Callable[[], None]
    ) -> tuple[Plan, dict[str, CompiledKernel]]:
        """Compile the kernels as they are; returns the plan with what they turned out to need.

        Raises:
            CompileError: one cannot be compiled.
        """
        outcomes = compile_sources(self.sources, request, server, meanwhile)
        code = {name: each for name, each in outcomes.items() if isinstance(each, CompiledKernel)}
        return with_code(self.plan, code), code

    def check_level(self, level: str, architecture: str) -> None:
        """Refuse a level that does not lie below that of the text.

        Raises:
            InputError: `level-above`.
        """
        entry = entry_for(architecture)
        below = [*entry.levels[entry.levels.index(self.text.level) :]]
        if entry.has_llvm and self.text.level != entry.assembly:
            below.append("llvm")
        if level not in below:
            raise InputError(
                "level-above",
                f"there is no way from the level '{self.text.level}' to '{level}'",
                hint=f"it can become {', '.join(below)}",
            )

    def text_at(self, request: Request) -> bytes:
        """Return the text of the model, or of one kernel, at a level below that of functions.

        Raises:
            CompileError: a kernel cannot be lowered that far.
        """
        codes = texts_of(self.sources, request)
        if request.kernel:
            return _alone(codes, request.kernel)
        target, operations = code_target(request), self.text.operations
        return write_code(self.text.module, request.level, target, operations, codes)


def read_model(request: Request) -> CodeModel | None:
    """Return the model of a request that is code, in the current context; None for others.

    Raises:
        ModelError: it is not trusted, does not parse, or is not of the form of such text.
    """
    if request.kind != "mlir":
        return None
    text = read_code(request.model, trusted=request.trusted, target=code_target(request))
    return None if text is None else CodeModel(text, request)


def code_target(request: Request) -> str:
    """Return the target of a request as texts have it."""
    return backend_for(request.architecture).text_name(request.architecture)


def text_below(
    module: ir.Operation, plan: Plan, sources: list[KernelSource], request: Request
) -> bytes:
    """Return the text of a model, or of one kernel, at a level below kernel functions.

    Args:
        module: the model at the level of kernels.
        plan: its plan.
        sources: its kernels, ready to be lowered.
        request: names the level.

    Raises:
        CompileError: a kernel cannot be lowered that far.
    """
    codes = texts_of(sources, request)
    if request.kernel:
        return _alone(codes, request.kernel)
    declared = declare_kernels(module, [each.name for each in sources])
    return write_code(declared, request.level, code_target(request), plan.operations, codes)


def texts_of(sources: list[KernelSource], request: Request) -> dict[str, Code]:
    """Return the code of kernels at the level of a request, in the current context."""
    codes = {}
    for source in only_kernel(sources, request.kernel):
        try:
            codes[source.name] = _code_at(source, request.level)
        except CompileError as error:
            error.place = error.place or source.place
            raise
    return codes


def _code_at(source: KernelSource, level: str) -> Code:
    backend = backend_for(source.architecture)
    return Code(*backend.text_at(parse_kernel(source), source, level))


def only_kernel(sources: Sequence[KernelSource], name: str) -> list[KernelSource]:
    """Return the kernel of a name, or all of them for none.

    Raises:
        InputError: `unknown-kernel`, there is none of that name.
    """
    found = [each for each in sources if name in ("", each.name)]
    if name and not found:
        known = ", ".join(each.name for each in sources)
        raise InputError(
            "unknown-kernel", f"the model has no kernel '{name}'", hint=f"there are {known}"
        )
    return found


def _alone(codes: Mapping[str, Code], kernel: str) -> bytes:
    code = codes[kernel]
    return (code.assembly or code.mlir.rstrip("\n") + "\n").encode()


def _plan(text: CodeText, request: Request) -> Plan:
    mains = [
        view.operation
        for view in text.module.regions[0].blocks[0].operations
        if view.operation.name == "func.func" and KernelFacts.of(view.operation) is None
    ]
    if len(mains) != 1 or not len(mains[0].regions[0].blocks):
        message = f"the text has {len(mains)} functions beside its kernels, not one"
        raise ModelError("code-invalid", message)
    check_entry(mains[0], request.shapes)
    try:
        plan = build_plan(text.module, text.operations)
        check_plan(plan)
    except (PlanError, *MALFORMED) as error:
        message = "the calls of the text do not fit"
        raise ModelError("code-invalid", message, cause=str(error)) from None
    return plan


def _source(plan: Plan, name: str, code: Code, level: str, request: Request) -> KernelSource:
    nodes = tuple(nodes_of(plan.steps, name))
    source = KernelSource(name, code.mlir, nodes, request.opt_level, request.architecture)
    return replace(source, level=level, assembly=code.assembly, lines=code.lines)

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Takes a model down the levels, inside a worker process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from torch_mlir import ir

from xyntra.cache import DiskCache
from xyntra.compiler.code_target import CodeTarget
from xyntra.compiler.fork_server import ForkServer
from xyntra.compiler.kernels.kernel import CompiledKernel, KernelSource
from xyntra.compiler.kernels.parallel import compile_kernels, compiler_server
from xyntra.compiler.model_import import ModelImport, import_module
from xyntra.compiler.request import Request
from xyntra.dialects import make_context
from xyntra.errors import ModelError, UnsupportedError
from xyntra.passes.lower.tensor_cores import MMA_ARCHITECTURES
from xyntra.passes.manager import resolve, run_pipeline, run_steps
from xyntra.passes.pipelines import fusion_pipeline
from xyntra.plan.artifact import Artifact
from xyntra.plan.build import PARAMETERS, build_plan, nodes_of
from xyntra.plan.build_source import build_source_graph
from xyntra.plan.plan import Plan
from xyntra.targets.cuda.native.call_code import CALL_CODE, CALLS

_COUNTED = ("linalg.", "xyntra.", "tensor.", "scf.")
_UNCOUNTED = frozenset(
    {
        "linalg.yield",
        "linalg.index",
        "xyntra.yield",
        "tensor.empty",
        "tensor.extract",
        "tensor.yield",
    }
)
_TEXT_LEVELS = {"linalg": 1, "fused": 2, "kernels": 3}
"""Levels at which the module itself is the result, with the number of pipelines to it."""


def make_artifact(request: Request, model: ModelImport) -> bytes:
    """Compile `model`, its kernels in child processes; returns the artifact's bytes.

    Raises:
        XyntraError: the model is wrong or cannot be compiled.
    """
    with compiler_server(request.architecture) as server, make_context(), ir.Location.unknown():
        steps = resolve(_pipelines(request))
        module = model.module()
        imported = module.operation.clone()
        run_steps(module, steps, verify_each=False)
        plan = _plan(module, count_operations(imported), request)
        fused = module.operation.clone()
        texts: list[bytes] = []

        def describe() -> None:
            graph = build_source_graph(imported, model.op_types())
            texts.extend([module_text(fused), graph.to_bytes()])

        code = _compile_kernels(request, _sources(module, plan, request), server, describe)
        return _artifact(request, plan, code, *texts).to_bytes()


def emit_text(request: Request) -> bytes:
    """Return the text of the model at the level at which the request stops.

    Raises:
        XyntraError: the model is wrong or cannot be compiled that far.
    """
    with make_context(), ir.Location.unknown():
        module = import_module(request)
        operations = count_operations(module.operation)
        if request.parameters:
            module.operation.attributes[PARAMETERS] = ir.StringAttr.get(request.parameters)
        run_pipeline(module, _pipelines(request), verify_each=False)
        if request.level in _TEXT_LEVELS:
            return module_text(module.operation)
        return _llvm_text(_sources(module, _plan(module, operations, request), request))


def _plan(module: ir.Module, operations: int, request: Request) -> Plan:
    plan = build_plan(module.operation, operations)
    _check_sizes(plan, request.max_tensor_bytes)
    return plan


def _sources(module: ir.Module, plan: Plan, request: Request) -> list[KernelSource]:
    return kernel_sources(module, plan, request.opt_level, request.architecture, request.precision)


def _pipelines(request: Request) -> list[str]:
    """What leads from a frontend's output to the level of `request`, or to kernel functions."""
    form = ("form",)
    fuse = fusion_pipeline(
        egraph=request.egraph,
        fast_math=request.fast_math,
        fold_norms=request.fold_norms and request.architecture in MMA_ARCHITECTURES,
        target="cuda" if request.architecture else "cpu",
        precision=request.precision,
    )
    stages = [("prepare",), fuse if request.fuse else form, ("kernels",)]
    wanted = stages[: _TEXT_LEVELS.get(request.level, len(stages))]
    return [element for stage in wanted for element in stage]


def _check_sizes(plan: Plan, limit: int) -> None:
    largest = max((buffer.nbytes for buffer in plan.buffers), default=0)
    if largest > limit:
        raise UnsupportedError(
            "tensor-too-large",
            f"the model has a tensor of {largest:,} bytes",
            cause=f"the limit is {limit:,} bytes",
            hint="raise max_tensor_bytes if the model really needs it",
        )


def module_text(module: ir.Operation) -> bytes:
    """The module's text with locations, so that it can be continued from."""
    return str(module.get_asm(enable_debug_info=True)).encode()


def count_operations(module: ir.Operation) -> int:
    """Compute operations of all functions, before any of them is fused."""
    count = 0

    def visit(op: ir.Operation) -> ir.WalkResult:
        nonlocal count
        if op.name.startswith(_COUNTED) and op.name not in _UNCOUNTED:
            count += 1
        return ir.WalkResult.ADVANCE

    module.walk(visit)
    return count


def kernel_sources(
    module: ir.Module,
    plan: Plan,
    opt_level: int,
    architecture: str = "",
    precision: str = "f32",
) -> list[KernelSource]:
    """Every kernel as a module of its own, with its operations made one loop nest where they can.

    Locations are left out: equal kernels of two models then are equal texts.
    """
    loops = "gpu-kernel-loops" if architecture else "kernel-loops"
    run_pipeline(module, loops, verify_each=False)
    sources = []
    for view in module.body.operations:
        name = view.operation.attributes["sym_name"].value
        if name in plan.kernels:
            if precision != "f32":
                view.operation.attributes["xyntra.precision"] = ir.StringAttr.get(precision)
            nodes = tuple(nodes_of(plan.steps, name))
            text = view.operation.get_asm(use_local_scope=True)
            sources.append(KernelSource(name, text, nodes, opt_level, architecture))
    return sources


def with_code(plan: Plan, compiled: Mapping[str, CompiledKernel]) -> Plan:
    """The plan with the memory that its kernels turned out to need; other kernels are left out."""
    kernels = {
        name: replace(
            plan.kernels[name],
            scratch=code.scratch_bytes,
            private=code.private_bytes,
            prepared=code.prepared_bytes,
        )
        for name, code in compiled.items()
    }
    return replace(plan, kernels=kernels)


def _compile_kernels(
    request: Request,
    sources: list[KernelSource],
    server: ForkServer | None,
    meanwhile: Callable[[], None],
) -> dict[str, CompiledKernel]:
    """Compile kernels, for GPUs with the code that starts calls; returns them by name."""
    if request.architecture and sources:
        sources = [*sources, KernelSource(CALLS, CALL_CODE, architecture=request.architecture)]
    cache = DiskCache(request.cache_dir, request.cache_size) if request.cache_dir else None
    compiled = compile_kernels(
        sources,
        jobs=request.jobs,
        timeout=request.timeout,
        cache=cache,
        server=server,
        meanwhile=meanwhile,
    )
    return {source.name: each for source, each in zip(sources, compiled, strict=True)}


def _artifact(
    request: Request, plan: Plan, code: dict[str, CompiledKernel], text: bytes, graph: bytes
) -> Artifact:
    calls = code.pop(CALLS).code if CALLS in code else b""
    objects = {name: each.code for name, each in code.items()}
    full = with_code(plan, code)
    machine = CodeTarget(request.architecture).machine_key
    return Artifact(full, objects, machine, text.decode(), graph, calls)


def _kernel_llvm(source: KernelSource) -> str:
    from xyntra.passes.lower import cpu, cuda

    module = ir.Module.parse(source.mlir)
    if source.architecture:
        return cuda.lower_kernel(module, source.architecture).llvm_ir
    return cpu.lower_kernel(module).llvm_ir


def _llvm_text(sources: list[KernelSource]) -> bytes:
    texts = [
        f"; kernel {source.name}: {', '.join(source.nodes)}\n{_kernel_llvm(source)}"
        for source in sources
    ]
    if not texts:
        raise ModelError("no-kernels", "the model computes nothing: it has no kernels")
    return "\n".join(texts).encode()

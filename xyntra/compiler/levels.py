# SPDX-License-Identifier: MIT OR Apache-2.0
"""Takes a model down the levels, inside a worker process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch_mlir import ir

from xyntra.compiler.code_model import CodeModel, only_kernel, read_model, text_below
from xyntra.compiler.code_target import CodeTarget
from xyntra.compiler.code_text import erase_code
from xyntra.compiler.kernels.module import compile_module, sources_of
from xyntra.compiler.model_import import ModelImport, import_module
from xyntra.compiler.recovery import Compilation, Lowered, compile_levels, without_passes
from xyntra.compiler.worker.fork_server import ForkServer
from xyntra.compiler.worker.request import Request
from xyntra.dialects import make_context
from xyntra.errors import ModelError, UnsupportedError
from xyntra.passes.generalize.elementwise import is_elementwise
from xyntra.passes.generalize.rewriter import is_static
from xyntra.passes.lower.gpu.device import Feature
from xyntra.passes.manager import resolve
from xyntra.passes.pipelines import (
    expand,
    fusion_pipeline,
    kernel_pipeline,
    lowering,
    observing_pipeline,
)
from xyntra.passes.precision.magnitudes import note_magnitudes, note_peaks
from xyntra.passes.precision.quantization import FactorRange, note_quantization
from xyntra.passes.targets.table import TargetName
from xyntra.plan.artifact import Artifact
from xyntra.plan.build import PARAMETERS, build_plan
from xyntra.plan.build_source import build_source_graph
from xyntra.plan.plan import Plan
from xyntra.spans import span
from xyntra.targets.base import CALLS
from xyntra.targets.kernel import CompiledKernel, KernelSource
from xyntra.targets.table import CODE_LEVELS, backend_for, backend_named

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


def make_artifact(
    request: Request,
    model: ModelImport,
    server: ForkServer | None,
    meanwhile: Callable[[], None] = lambda: None,
) -> bytes:
    """Compile `model`, its kernels in child processes; returns the artifact's bytes.

    Args:
        request: what to compile.
        model: its model.
        server: forks these children; None where this process cannot fork.
        meanwhile: called while they compile.

    Raises:
        XyntraError: the model is wrong or cannot be compiled.
    """
    with make_context(), ir.Location.unknown():
        code_model = read_model(request)
        if code_model is not None:
            return _code_artifact(code_model, request, server, meanwhile)
        with span("lower to kernels", "compile"):
            lowered = lower_model(request, model)
        texts: list[bytes] = []

        def describe(kernels: ir.Operation) -> None:
            graph = build_source_graph(lowered.imported, model.op_types())
            texts[:] = [module_text(kernels), graph.to_bytes()]
            meanwhile()

        kernels = Lowered(lowered.module, lowered.plan)
        with span("compile kernels", "compile"):
            full, code = compile_module(kernels, lowered.plan_of, request, server, describe)
        with span("pack the artifact", "compile"):
            return pack_artifact(request, full, code, *texts).to_bytes()


@dataclass(frozen=True)
class LoweredModel:
    """A model at the level of kernels.

    Attributes:
        imported: the module as it came from the frontend.
        module: the module at the level of kernels.
        plan: its plan.
        plan_of: makes the plan of a module in which kernels have changed.
    """

    imported: ir.Operation
    module: ir.Operation
    plan: Plan
    plan_of: Callable[[ir.Operation], Plan]

    @property
    def text(self) -> bytes:
        """The module's text, with locations."""
        return module_text(self.module)


def lower_model(request: Request, model: ModelImport) -> LoweredModel:
    """Take a model down to kernels, in the current context.

    Raises:
        XyntraError: the model is wrong or cannot be compiled that far.
    """
    steps = resolve(_pipelines(request))
    with span("import", "compile"):
        module = model.module()
    _note_samples(module.operation, request)
    imported = module.operation.clone()
    operations = count_operations(imported)

    def plan(kernels: ir.Operation) -> Plan:
        return _plan(kernels, operations, request)

    sentences = tuple(sentence for _, sentence in request.without)
    target = _target(request)
    compilation = Compilation(imported, _pipelines(request), plan, target, sentences)
    lowered = compile_levels(module.operation, compilation, steps, strict=request.strict)
    return LoweredModel(imported, lowered.module, lowered.result, plan)


def _note_samples(module: ir.Operation, request: Request) -> None:
    """Record in the module what weights and samples have shown."""
    note_magnitudes(module, request.magnitudes)
    note_peaks(module, request.peaks)
    note_quantization(module, [FactorRange(*each) for each in request.quantization])


def emit_text(request: Request) -> bytes:
    """Return the text of the model at the level at which the request stops.

    Raises:
        XyntraError: the model is wrong or cannot be compiled that far.
    """
    with make_context(), ir.Location.unknown():
        code_model = read_model(request)
        if code_model is not None:
            code_model.check_level(request.level, request.architecture)
            if request.level == "llvm":
                return _llvm_text(only_kernel(code_model.sources, request.kernel))
            return code_model.text_at(request)
        module = import_module(request).operation
        _note_samples(module, request)
        operations = count_operations(module)
        if request.parameters:
            module.attributes[PARAMETERS] = ir.StringAttr.get(request.parameters)
        elements = _pipelines(request)

        def finish(done: ir.Operation) -> bytes:
            if request.level in _TEXT_LEVELS and not request.kernel:
                return module_text(done)
            plan = _plan(done, operations, request)
            sources = sources_of(done, plan, request)
            if request.level in CODE_LEVELS:
                return text_below(done, plan, sources, request)
            sources = only_kernel(sources, request.kernel)
            if request.level == "kernels":
                return f"{sources[0].mlir}\n".encode()
            return _llvm_text(sources)

        compilation = Compilation(module.clone(), elements, finish, _target(request))
        steps = resolve(elements)
        return compile_levels(module, compilation, steps, strict=request.strict).result


def load_levels(kind: str, architecture: str) -> None:
    """Load the passes that models of a kind go through on their way to kernels for a target."""
    target = backend_for(architecture).name
    elements = [*expand("prepare"), *fusion_pipeline(egraph=True, fast_math=False, target=target)]
    if kind == "mlir":
        elements += [*expand("generalize"), *expand("safe-text")]
    with make_context():
        resolve((*elements, *kernel_pipeline(target)))


def _code_artifact(
    model: CodeModel, request: Request, server: ForkServer | None, meanwhile: Callable[[], None]
) -> bytes:
    """Compile the kernels of a model that came as code; returns the artifact's bytes."""
    _check_sizes(model.plan, request.max_tensor_bytes)
    plan, code = model.compiled(request, server, meanwhile)
    graph = build_source_graph(model.text.module, {}).to_bytes()
    erase_code(model.text.module)
    return pack_artifact(request, plan, code, module_text(model.text.module), graph).to_bytes()


def _plan(module: ir.Operation, operations: int, request: Request) -> Plan:
    plan = build_plan(module, operations)
    _check_sizes(plan, request.max_tensor_bytes)
    return plan


def _target(request: Request) -> TargetName:
    return backend_for(request.architecture).name


def _pipelines(request: Request) -> tuple[str, ...]:
    """What leads from a frontend's output to the level of `request`, or to kernel functions."""
    target = _target(request)
    form = (*lowering(request.precision, target, request.narrow_io), *expand("form"))
    features = backend_for(request.architecture).features(request.architecture)
    fuse = fusion_pipeline(
        egraph=request.egraph,
        fast_math=request.fast_math,
        fold_norms=request.fold_norms and Feature.MMA in features,
        folds_any=request.is_sample,
        target=target,
        precision=request.precision,
        narrow_io=request.narrow_io,
        merge_gates=Feature.WGMMA in features,
    )
    prepare = expand("prepare")
    if request.kind == "mlir":
        limit = f"check-operations{{max-tensor-bytes={request.max_tensor_bytes}}}"
        safe = (limit if name == "check-operations" else name for name in expand("safe-text"))
        prepare = (*expand("generalize"), *safe, *prepare)
    if request.observe:
        fuse = observing_pipeline(
            egraph=request.egraph,
            fast_math=request.fast_math,
            target=backend_named(request.observe).name,
            errors=request.observe_errors,
            quantized=bool(request.quantization),
        )
    kernels = kernel_pipeline(target, parts=not request.is_sample)
    stages = [prepare, fuse if request.fuse else form, kernels]
    wanted = stages[: _TEXT_LEVELS.get(request.level, len(stages))]
    elements = [element for stage in wanted for element in stage]
    left_out = {name for name, _ in request.without}
    if request.keeps_slices:
        left_out.add("fold-slices")
    return tuple(without_passes(elements, left_out))


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
        counted = op.name.startswith(_COUNTED) and op.name not in _UNCOUNTED
        # Of arith and math, bodies hold scalars; what works on tensors is an operation by itself.
        counted = counted or (is_elementwise(op) and is_static(op.results[0].type))
        count += counted
        return ir.WalkResult.ADVANCE

    module.walk(visit)
    return count


def pack_artifact(
    request: Request, plan: Plan, code: dict[str, CompiledKernel], text: bytes, graph: bytes
) -> Artifact:
    """Return what is kept of a compiled model."""
    calls = code.pop(CALLS).code if CALLS in code else b""
    objects = {name: each.code for name, each in code.items()}
    machine = CodeTarget(request.architecture).machine_key
    return Artifact(plan, objects, machine, text.decode(), graph, calls)


def _kernel_llvm(source: KernelSource) -> str:
    return backend_for(source.architecture).llvm_ir(ir.Module.parse(source.mlir), source)


def _llvm_text(sources: list[KernelSource]) -> bytes:
    texts = [
        f"; kernel {source.name}: {', '.join(source.nodes)}\n{_kernel_llvm(source)}"
        for source in sources
    ]
    if not texts:
        raise ModelError("no-kernels", "the model computes nothing: it has no kernels")
    return "\n".join(texts).encode()

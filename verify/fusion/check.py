# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compiles a graph fused and unfused in this process, runs both, and compares them.

For another target than the CPU it compiles the fused graph for both, and compares these.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from verify.fusion.graphs import Graph, build, evaluate
from verify.fusion.values import Known, mismatches, widened
from xyntra.compiler.kernels.kernel import compile_kernel
from xyntra.compiler.kernels.module import kernel_sources, with_code
from xyntra.dialects.mlir import ir
from xyntra.errors import UnsupportedError
from xyntra.executable import Executable
from xyntra.passes.fusion.legality.violation import IllegalFusion
from xyntra.passes.manager import run_pipeline
from xyntra.passes.pipelines import fusion_pipeline, kernel_pipeline
from xyntra.passes.registry import is_pass
from xyntra.passes.targets.table import DEFAULT, TargetName
from xyntra.plan.artifact import Artifact
from xyntra.plan.build import build_plan
from xyntra.targets.kernel import CompiledKernel, KernelSource
from xyntra.targets.table import backend_named

__all__ = ["Checker", "Finding", "Outcome", "check_order", "failure", "mismatches"]

Array = np.ndarray[Any, Any]
SAFETY = 4.0
"""How far beyond its bound a result may be: recognised operations round in other places."""
_KEPT = 20_000
"""Compiled kernels that are remembered."""


class Finding(Exception):
    """The compiler did something that it must not do.

    Attributes:
        kind: "illegal" region, "cycle", "mismatch", "error" (exception while compiling).
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True)
class Outcome:
    """What a graph without findings gave.

    Attributes:
        unfused: kernels with fusion off; for another target, those of the CPU.
        fused: kernels with fusion on.
        elements: elements compared with the reference.
        unknown: elements of which the reference knows nothing.
        identical: whether both results have the same bits.
    """

    unfused: int
    fused: int
    elements: int
    unknown: int
    identical: bool


def failure(checker: Checker, graph: Graph) -> tuple[tuple[str, str] | None, Outcome | None]:
    """What is wrong with a graph, as kind and message; or what it gave."""
    try:
        return None, checker.check(graph)
    except Finding as found:
        return (found.kind, str(found)), None
    except IllegalFusion as error:
        return ("illegal", str(error)), None
    except UnsupportedError as error:
        return ("refused", str(error)), None
    except Exception as error:
        return ("error", f"{type(error).__name__}: {error}"), None


class Checker:
    """Compiles with one context, and every kernel once.

    Attributes:
        context: the xyntra dialect is loaded in it.
        target: where graphs run, "cpu" or a GPU that makes code of one architecture.
        opt_level: LLVM's; at 0, where most of the time goes to MLIR, a graph is fastest.
    """

    def __init__(self, context: ir.Context, target: TargetName = DEFAULT) -> None:
        self.context = context
        self.target = target
        self.opt_level = 0
        self.kernels: dict[tuple[int, str, str], CompiledKernel] = {}

    def check(self, graph: Graph) -> Outcome:
        """Compile and compare.

        Raises:
            Finding: something is wrong.
        """
        known = evaluate(graph)
        expected = [known[index] for index in graph.outputs]
        if self.target == DEFAULT:
            first, second = self.compiled(graph, fuse=False), self.compiled(graph, fuse=True)
            names = ("unfused", "fused")
        else:
            first = self.compiled(graph, fuse=True)
            second = self.compiled(graph, fuse=True, target=self.target)
            names = (DEFAULT, self.target)
        results = dict(zip(names, (_run(first, graph), _run(second, graph)), strict=True))
        for name, arrays in results.items():
            for position, (array, reference) in enumerate(zip(arrays, expected, strict=True)):
                _compare(f"{name} output {position}", array, reference, SAFETY)
        pairs = list(zip(*results.values(), expected, strict=True))
        for position, (plain, array, reference) in enumerate(pairs):
            between = replace(reference, value=widened(plain))
            what = f"{names[1]} and {names[0]} output {position}"
            _compare(what, array, between, 2 * SAFETY)
        counts = len(first.plan.steps), len(second.plan.steps)
        if self.target == DEFAULT and counts[1] > counts[0]:
            raise Finding("illegal", "fusion makes more kernels than there were")
        return Outcome(
            *counts,
            sum(x.value.size for x in expected),
            sum(int((~x.certain).sum()) for x in expected),
            all(np.array_equal(_bits(a), _bits(b)) for a, b, _ in pairs),
        )

    def compiled(self, graph: Graph, *, fuse: bool, target: TargetName = DEFAULT) -> Executable:
        """The graph as an executable, with the passes that `fuse=` of the configuration selects."""
        backend = backend_named(target)
        architecture, ordinal = backend.locate(target)
        fusion = fusion_pipeline(egraph=True, fast_math=False, target=target) if fuse else ["form"]
        with self.context, ir.Location.unknown():
            module = build(graph, self.context)
            run_pipeline(module, "prepare")
            run_pipeline(module, fusion)
            check_regions(module)
            run_pipeline(module, kernel_pipeline(target))
            plan = build_plan(module.operation, len(graph.nodes))
            sources = kernel_sources(module.operation, plan, self.opt_level, architecture)
        code = {source.name: self._code(source) for source in sources}
        objects = {name: kernel.code for name, kernel in code.items()}
        key = backend.machine_key(architecture)
        artifact = Artifact(with_code(plan, code), objects, key, "", b"")
        weights = graph.leaves("parameter")
        return Executable(artifact, backend.program(artifact, weights, ordinal, None), weights)

    def _code(self, source: KernelSource) -> CompiledKernel:
        key = source.opt_level, source.architecture, source.mlir
        if key not in self.kernels:
            if len(self.kernels) > _KEPT:
                self.kernels.clear()
            self.kernels[key] = compile_kernel(source)
        return self.kernels[key]


def check_regions(module: ir.Module) -> None:
    """Check every region with the checker of the compiler, and their order with one of our own.

    Raises:
        Finding: a region is illegal, or regions depend on each other in a circle.
    """
    if is_pass("check-fusion"):
        try:
            run_pipeline(module, ["check-fusion"])
        except Exception as error:
            raise Finding("illegal", str(error)) from error
    for view in module.body.operations:
        if view.operation.name == "func.func":
            for block in view.operation.regions[0].blocks:
                check_order(block)


def check_order(block: ir.Block) -> None:
    """Check that a topological order of the block's operations exists, and that theirs is one.

    Raises:
        Finding: "cycle", or "illegal" where a value is used before it is computed.
    """
    operations = [view.operation for view in block.operations]
    owner = {result: i for i, op in enumerate(operations) for result in op.results}
    reads = [
        {owner[value] for value in _used(op) if value in owner} - {index}
        for index, op in enumerate(operations)
    ]
    waiting = [len(producers) for producers in reads]
    readers: list[list[int]] = [[] for _ in operations]
    for index, producers in enumerate(reads):
        for producer in producers:
            readers[producer].append(index)
    ready = [index for index, count in enumerate(waiting) if not count]
    done = 0
    while ready:
        done += 1
        for reader in readers[ready.pop()]:
            waiting[reader] -= 1
            if not waiting[reader]:
                ready.append(reader)
    if done != len(operations):
        raise Finding("cycle", f"{len(operations) - done} operations wait for each other")
    for index, producers in enumerate(reads):
        if any(producer > index for producer in producers):
            raise Finding("illegal", f"{operations[index].name} reads what is computed after it")


def _used(op: ir.Operation) -> list[ir.Value]:
    """What an operation and everything inside it uses."""
    found = list(op.operands)
    for region in op.regions:
        for block in region.blocks:
            for view in block.operations:
                found += _used(view.operation)
    return found


def _run(executable: Executable, graph: Graph) -> list[Array]:
    inputs = graph.leaves("input")
    arrays = executable(*(inputs[port.name] for port in executable.inputs))
    return list(arrays) if isinstance(arrays, tuple) else [arrays]


def _compare(what: str, array: Array, reference: Known, safety: float) -> None:
    if array.shape != reference.shape or array.dtype.name != reference.dtype:
        raise Finding(
            "mismatch",
            f"{what} is {array.dtype.name}{list(array.shape)}, "
            f"not {reference.dtype}{list(reference.shape)}",
        )
    wrong = mismatches(array, reference, safety)
    if wrong.any():
        at = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise Finding(
            "mismatch",
            f"{what} ({reference.dtype}): {int(wrong.sum())} of {wrong.size} elements; at {at} it "
            f"is {array[at]!r}, not {reference.value[at]!r} +- {safety * reference.error[at]:.3g}",
        )


def _bits(array: Array) -> Array:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)

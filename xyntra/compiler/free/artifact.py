# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compiles a model once for all sizes of its free dimensions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import islice

from torch_mlir import ir

from xyntra.compiler.free.agreed import NOT_FREE, Agreed, agreements, refused, request_at
from xyntra.compiler.free.conditions import check_conditions
from xyntra.compiler.free.ends import check_ends
from xyntra.compiler.free.folds import sized_folds
from xyntra.compiler.free.in_calls import forget_constants
from xyntra.compiler.free.kernels import FreeKernels, told_kernels
from xyntra.compiler.free.samples import sample_sets, symbols_of
from xyntra.compiler.kernels.module import sources_of
from xyntra.compiler.levels import pack_artifact
from xyntra.compiler.model_import import ModelImport, import_module
from xyntra.compiler.worker.fork_server import ForkServer
from xyntra.compiler.worker.request import Request
from xyntra.dialects import make_context
from xyntra.dialects.sizes import Expr, constant, parse
from xyntra.errors import CompileError, UnsupportedError, XyntraError
from xyntra.frontends.onnx.folding.record import FoldRecord, recording
from xyntra.passes.analysis.sizes.agreement import agree
from xyntra.passes.analysis.sizes.slices import are_settled
from xyntra.plan.build_source import build_source_graph
from xyntra.plan.free.expressions import FreeSymbol, with_defined
from xyntra.targets.kernel import KernelSource

__all__ = ["make_free_artifact"]

_MOST_SETS = 3
"""Sets of samples that are tried, where a kernel of the model at one of them cannot be free."""


def make_free_artifact(
    request: Request,
    server: ForkServer | None,
    meanwhile: Callable[[], None] = lambda: None,
) -> bytes:
    """Compile a model with free dimensions; the arguments are those of `make_artifact`.

    Raises:
        UnsupportedError: `free-dimension`, the model is another one at other sizes, or a kernel of
            it cannot be told its sizes.
        XyntraError: the model is wrong or cannot be compiled.
    """
    request = replace(request, tuned={})  # schedules are found for one size
    symbols = symbols_of(request.ranges, _relations(request))
    check_conditions(request, symbols)

    def compiled(kept: frozenset[str]) -> bytes:
        with recording(FoldRecord(kept, sizes_are_free=True)):
            return _artifact(request, symbols, server, meanwhile)

    with make_context(), ir.Location.unknown():
        kept = _sized_folds(request, symbols)
        try:
            return compiled(kept)
        except UnsupportedError as error:
            if not kept:
                raise
            try:
                return compiled(frozenset())
            except UnsupportedError:
                raise error from None


def _artifact(
    request: Request,
    symbols: tuple[FreeSymbol, ...],
    server: ForkServer | None,
    meanwhile: Callable[[], None],
) -> bytes:
    failure: CompileError | None = None
    left = [meanwhile]
    for found in islice(agreements(request, symbols), _MOST_SETS):
        if not request.keeps_slices and not _slices_are_settled(found, symbols):
            return _artifact(replace(request, keeps_slices=True), symbols, server, meanwhile)

        def compare(found: Agreed = found) -> None:
            if left:
                _check_ends(request, found, symbols)
                left.pop()()

        sources = _sources(request, found)
        if forget_constants(found, told_kernels(sources, found)):
            sources = _sources(request, found)
        first = found.models[0]
        graph = build_source_graph(first.imported, ModelImport(request).op_types())
        try:
            plan, code = FreeKernels(request, server, compare, found, symbols).compiled(sources)
        except CompileError as error:
            if error.code != NOT_FREE:
                raise
            failure = failure or error
        else:
            return pack_artifact(request, plan, code, first.text, graph.to_bytes()).to_bytes()
    raise refused(symbols, failure)


def _slices_are_settled(found: Agreed, symbols: tuple[FreeSymbol, ...]) -> bool:
    """Tell whether what slices hold of concatenations is the same at all sizes."""
    models = [model.imported for model in found.models]
    ranges = {each.identifier: (each.low, each.high) for each in symbols}
    definitions = {each.identifier: each.definition for each in symbols if each.definition}
    try:
        agreement = agree(models, found.samples)
    except CompileError:
        return False
    return are_settled(models[0], agreement, ranges, definitions)


def _sources(request: Request, found: Agreed) -> list[dict[str, KernelSource]]:
    """Return the kernels at each sample, by name."""
    return [
        {each.name: each for each in sources_of(model.module, model.plan, request)}
        for model in found.models
    ]


def _sized_folds(request: Request, symbols: tuple[FreeSymbol, ...]) -> frozenset[str]:
    """Return what is folded to other shapes at other sizes, to be computed in calls instead."""
    samples = next(sample_sets(symbols), None)
    if samples is None:
        return frozenset()

    def import_at(sizes: Mapping[str, int]) -> ir.Module:
        return import_module(request_at(request, symbols, sizes))

    least = with_defined(symbols, {each.identifier: each.low for each in symbols})
    try:
        return sized_folds(request, [samples[0], least], import_at)
    except XyntraError:
        return frozenset()


def _relations(request: Request) -> dict[str, Expr]:
    """Return what dimensions are decided by those that are free, as expressions of their names."""
    found = {name: parse(text) for name, text in request.relations.items()}
    if request.kind == "onnx":
        from xyntra.frontends.onnx.inputs.related_sizes import related_sizes_of

        known = {name: constant(size) for name, size in request.dims.items()}
        for name, expression in related_sizes_of(request.model).items():
            relation = expression.replaced(known)
            if len(relation.terms) > 1 and relation.symbols <= set(request.ranges):
                found.setdefault(name, relation)
    return found


def _check_ends(request: Request, found: Agreed, symbols: tuple[FreeSymbol, ...]) -> None:
    """Check that the model is the same one at sizes that are no samples.

    Raises:
        UnsupportedError: `free-dimension`, it is another one there.
    """

    def import_at(sizes: Mapping[str, int]) -> ir.Operation:
        return import_module(request_at(request, symbols, sizes)).operation

    imported = [model.imported for model in found.models]
    try:
        check_ends(symbols, found.samples, imported, import_at)
    except CompileError as error:
        raise refused(symbols, error) from error

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compiles a model once for all sizes of its free dimensions."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from torch_mlir import ir

from xyntra.compiler.free.agreement import agree_plans
from xyntra.compiler.free.classes import SizeClass, size_classes
from xyntra.compiler.free.conditions import check_conditions
from xyntra.compiler.free.ends import check_ends
from xyntra.compiler.free.folds import sized_folds
from xyntra.compiler.free.samples import Samples, combinations, sample_sets, symbols_of
from xyntra.compiler.kernels.module import compile_sources, sources_of, with_code
from xyntra.compiler.levels import LoweredModel, lower_model, pack_artifact
from xyntra.compiler.model_import import ModelImport, import_module
from xyntra.compiler.worker.fork_server import ForkServer
from xyntra.compiler.worker.request import Request
from xyntra.dialects import make_context
from xyntra.dialects.sizes import Expr, constant, parse
from xyntra.errors import CompileError, UnsupportedError, XyntraError
from xyntra.frontends.onnx.folding.record import FoldRecord, recording
from xyntra.plan.build_source import build_source_graph
from xyntra.plan.free import FreeSizes, FreeSymbol, KernelVariants, with_defined
from xyntra.plan.plan import Plan
from xyntra.targets.base import CALLS
from xyntra.targets.kernel import CompiledKernel, FreeSource, KernelSource
from xyntra.targets.table import backend_for

__all__ = ["make_free_artifact"]


_CLASH = "sample-clash"


@dataclass(frozen=True)
class _Agreed:
    """A model at several samples, alike but for sizes."""

    samples: Samples
    models: tuple[LoweredModel, ...]
    plan: Plan
    free: FreeSizes
    names: list[dict[str, str]]


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
    with make_context(), ir.Location.unknown():
        try:
            return _artifact(request, symbols, server, meanwhile)
        except UnsupportedError as error:
            kept = _sized_folds(request, symbols)
            if not kept or error.code != "free-dimension":
                raise
            with recording(FoldRecord(kept)):
                return _artifact(request, symbols, server, meanwhile)


def _artifact(
    request: Request,
    symbols: tuple[FreeSymbol, ...],
    server: ForkServer | None,
    meanwhile: Callable[[], None],
) -> bytes:
    found = _agreed(request, symbols)
    graph = build_source_graph(found.models[0].imported, ModelImport(request).op_types())

    def compare() -> None:
        _check_ends(request, found, symbols)
        meanwhile()

    sources = [
        {each.name: each for each in sources_of(model.module, model.plan, request)}
        for model in found.models
    ]
    compiler = _Kernels(request, server, compare, found, symbols)
    plan, code = compiler.compiled(sources)
    text = found.models[0].text
    return pack_artifact(request, plan, code, text, graph.to_bytes()).to_bytes()


def _sized_folds(request: Request, symbols: tuple[FreeSymbol, ...]) -> frozenset[str]:
    samples = next(sample_sets(symbols), None)
    if samples is None:
        return frozenset()

    def import_at(sizes: Mapping[str, int]) -> ir.Module:
        return import_module(request_at(request, symbols, sizes))

    least = with_defined(symbols, {each.identifier: each.low for each in symbols})
    try:
        return sized_folds(request, [*samples[:2], least], import_at)
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


def _check_ends(request: Request, found: _Agreed, symbols: tuple[FreeSymbol, ...]) -> None:
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
        raise _refused(symbols, error) from error


def _agreed(request: Request, symbols: tuple[FreeSymbol, ...]) -> _Agreed:
    failure: XyntraError | None = None
    lowered: dict[tuple[int, ...], LoweredModel] = {}
    tried = [(each, strict) for strict in (True, False) for each in sample_sets(symbols)]
    for samples, strict in tried:
        try:
            models: list[LoweredModel] = []
            for sample in samples:
                models.append(_lowered(request, symbols, sample, lowered))
                if strict and len(models) == 2:
                    _check_numbers(models, samples)
            agreed = agree_plans([model.plan for model in models], samples, symbols)
            return _Agreed(samples, tuple(models), *agreed)
        except XyntraError as error:
            if failure is None or error.code == "plan-not-free" or failure.code == _CLASH:
                failure = error
    raise _refused(symbols, failure)


def _check_numbers(models: Sequence[LoweredModel], samples: Samples) -> None:
    """Check that no size of a sample is a number that the model has anyway.

    Raises:
        CompileError: `sample-clash`, one is.
    """
    texts = [set(re.findall(r"\d+", str(model.imported))) for model in models]
    sizes = {str(size) for sample in samples for size in sample.values()}
    if clash := sizes & set.intersection(*texts):
        raise CompileError(_CLASH, f"{min(clash)} is a size and another number")


def _lowered(
    request: Request,
    symbols: Sequence[FreeSymbol],
    sample: Mapping[str, int],
    known: dict[tuple[int, ...], LoweredModel],
) -> LoweredModel:
    key = tuple(sample.values())
    if key not in known:
        at = request_at(request, symbols, sample)
        known[key] = lower_model(at, ModelImport(at))
    return known[key]


def request_at(
    request: Request, symbols: Sequence[FreeSymbol], sizes: Mapping[str, int]
) -> Request:
    """Return the request for one size of each dimension, by identifiers."""
    known = {each.name: each.unit * sizes[each.identifier] for each in symbols}
    said = {*request.ranges, *request.relations}
    shapes = dict(request.shapes)
    for name, names in request.named.items():
        pairs = zip(names, shapes[name], strict=True)
        shapes[name] = tuple(known.get(each, size) for each, size in pairs)
    placed = {each for names in request.named.values() for each in names}
    dims = {name: size for name, size in known.items() if name in said - placed}
    dims.update(request.dims)
    return replace(request, dims=dims, shapes=shapes, ranges={}, named={}, relations={})


def _refused(symbols: Sequence[FreeSymbol], failure: XyntraError | None) -> XyntraError:
    names = ", ".join(f"'{each.name}'" for each in symbols)
    if failure is not None and not isinstance(failure, CompileError):
        return failure
    cause = failure.message if failure is not None else "its range has too few sizes"
    place = failure.place if failure is not None else None
    return UnsupportedError(
        "free-dimension",
        f"the model cannot be compiled once for all sizes of {names}",
        place=place or "",
        cause=cause,
        hint="give a size, and compile the model once for each: "
        + f"dims={{{symbols[0].name!r}: {symbols[0].hint * symbols[0].unit}}}",
    )


@dataclass
class _Kernels:
    """The compilation of the kernels of a model, of which some are told their sizes."""

    request: Request
    server: ForkServer | None
    meanwhile: Callable[[], None]
    found: _Agreed
    symbols: tuple[FreeSymbol, ...]

    def compiled(
        self, sources: Sequence[Mapping[str, KernelSource]]
    ) -> tuple[Plan, dict[str, CompiledKernel]]:
        """Return the plan and machine code by name."""
        backend = backend_for(self.request.architecture)
        usual, *others = backend.free_variants()
        classes = size_classes(self.symbols) if backend.schedules_by_size else ()
        free = self._free_sources(sources, classes)
        fixed = [each for name, each in sources[0].items() if name not in free]
        # Plain loops come last, where nothing else covers all sizes.
        rounds = [[each.word for each in classes] or [usual], others[:-1], others[-1:]]
        code: dict[str, CompiledKernel] = {}
        found: dict[str, list[tuple[str, CompiledKernel]]] = {name: [] for name in free}
        failures: dict[str, CompileError] = {}
        for number, words in enumerate(rounds):
            open_ones = [name for name in free if self._is_open(found[name])]
            wanted = [free[name].named(word) for name in open_ones for word in words]
            if number == 0:
                wanted += fixed
            meanwhile = self.meanwhile if number == 0 else _nothing
            outcomes = compile_sources(wanted, self.request, self.server, meanwhile, stop=False)
            for each in fixed if number == 0 else ():
                code[each.name] = _checked(outcomes[each.name])
            if CALLS in outcomes:
                code[CALLS] = _checked(outcomes[CALLS])
            for name in open_ones:
                for word in words:
                    outcome = outcomes[free[name].named(word).name]
                    if isinstance(outcome, CompileError):
                        failures.setdefault(name, outcome)
                    elif self._is_open(found[name]):
                        known = found[name]
                        own = free[name].guarded(word, outcome)
                        if any(_is_wider(each, own) for _, each in known):
                            continue
                        if known and _is_wider(own, known[-1][1]):
                            del code[free[name].named(known.pop()[0]).name]
                        known.append((word, own))
                        code[free[name].named(word).name] = own
        for name in free:
            if self._is_open(found[name]):
                raise self._refused(name, failures.get(name))
        return self._plan(free, found, code), code

    def _free_sources(
        self, sources: Sequence[Mapping[str, KernelSource]], classes: Sequence[SizeClass]
    ) -> dict[str, _FreeKernelSource]:
        free = {}
        for name, first in sources[0].items():
            texts = [
                own[names[name]].mlir.replace(f"@{names[name]}(", f"@{name}(")
                for own, names in zip(sources, self.found.names, strict=True)
            ]
            if any(text != texts[0] for text in texts):
                free[name] = _FreeKernelSource(
                    first, tuple(texts), self.found.samples, self.symbols, classes
                )
        return free

    def _is_open(self, compiled: Sequence[tuple[str, CompiledKernel]]) -> bool:
        """Tell whether there are sizes that no variant allows."""
        guards = [each.guards for _, each in compiled]
        if not all(guards):
            return not guards
        conditions = [
            [(kind, parse(left), parse(right)) for kind, left, right in each] for each in guards
        ]
        return any(
            not any(
                all(
                    left.at(sizes) < right.at(sizes)
                    if kind == "<"
                    else left.at(sizes) <= right.at(sizes)
                    for kind, left, right in each
                )
                for each in conditions
            )
            for sizes in combinations(self.symbols)
        )

    def _refused(self, name: str, failure: CompileError | None) -> XyntraError:
        nodes = [
            node for step in self.found.plan.steps if step.kernel == name for node in step.nodes
        ]
        kernel = KernelSource(name, "", tuple(dict.fromkeys(nodes)))
        cause = "no variant of it can have all sizes" if failure is None else failure.message
        return _refused(self.symbols, CompileError("kernel-not-free", cause, place=kernel.place))

    def _plan(
        self,
        free: Mapping[str, _FreeKernelSource],
        found: Mapping[str, Sequence[tuple[str, CompiledKernel]]],
        code: Mapping[str, CompiledKernel],
    ) -> Plan:
        plan = self.found.plan
        kernels = dict(plan.kernels)
        entries, first = [], {}
        for name, compiled in found.items():
            names = tuple(free[name].named(word).name for word, _ in compiled)
            kernels.update(dict.fromkeys(names, plan.kernels[name]))
            first[name] = names[0]
            entries.append(
                KernelVariants(
                    names[0],
                    names,
                    tuple(word for word, _ in compiled),
                    tuple(each.sizes for _, each in compiled),
                    tuple(each.guards for _, each in compiled),
                )
            )
        sizes = replace(
            self.found.free, kernels=tuple(entries), words=_words(self.request.architecture)
        )
        steps = tuple(
            replace(step, kernel=first.get(step.kernel, step.kernel)) for step in plan.steps
        )
        full = with_code(replace(plan, steps=steps, kernels=kernels, free=sizes), code)
        return _in_calls(full, sizes)


def _in_calls(plan: Plan, sizes: FreeSizes) -> Plan:
    """Return a plan that computes in calls what depends on weights and sizes.

    Raises:
        UnsupportedError: `free-dimension`, a kernel prepares such a value when it is loaded.
    """
    variants = {name: kernel.variants for kernel in sizes.kernels for name in kernel.variants[:1]}
    moved: set[int] = set()
    steps = []
    for step in plan.steps:
        is_free = step.kernel in variants or not moved.isdisjoint(step.inputs)
        if step.once and is_free:
            moved.update(step.outputs)
            steps.append(replace(step, once=False))
            continue
        read = {step.inputs[each] for each in plan.kernels[step.kernel].constants}
        names = variants.get(step.kernel, (step.kernel,))
        if moved & read and any(plan.kernels[name].prepared for name in names):
            raise _refused(
                sizes.symbols,
                CompileError(
                    "kernel-not-free",
                    "it prepares when the model is loaded what depends on sizes",
                    place=", ".join(step.nodes),
                ),
            )
        steps.append(step)
    buffers = tuple(
        replace(buffer, kind="temporary") if number in moved else buffer
        for number, buffer in enumerate(plan.buffers)
    )
    return replace(plan, steps=tuple(steps), buffers=buffers)


@dataclass(frozen=True)
class _FreeKernelSource:
    """A kernel at all samples."""

    first: KernelSource
    texts: tuple[str, ...]
    samples: Samples
    symbols: tuple[FreeSymbol, ...]
    classes: Sequence[SizeClass] = ()

    def guarded(self, word: str, compiled: CompiledKernel) -> CompiledKernel:
        """Return the code of a variant, with what holds of the sizes that it is for."""
        guards = next((each.guards for each in self.classes if each.word == word), ())
        return replace(compiled, guards=(*guards, *compiled.guards))

    def named(self, word: str) -> KernelSource:
        """Return the kernel with schedules of a variant."""
        name = f"{self.first.name}_{word}" if word else self.first.name
        texts = tuple(text.replace(f"@{self.first.name}(", f"@{name}(") for text in self.texts)
        ranges = {each.identifier: (each.low, each.high) for each in self.symbols}
        usual = {each.identifier: each.hint for each in self.symbols}
        hints = next((each.hints for each in self.classes if each.word == word), usual)
        free = FreeSource(texts, self.samples, hints, ranges, word)
        return replace(self.first, name=name, mlir=texts[0], free=free.to_json())


def _is_wider(one: CompiledKernel, other: CompiledKernel) -> bool:
    """Tell whether code that is scheduled as other code is allows all that this one does."""
    return one.schedules == other.schedules and set(one.guards) <= set(other.guards)


def _checked(outcome: CompiledKernel | CompileError) -> CompiledKernel:
    if isinstance(outcome, CompileError):
        raise outcome
    return outcome


def _nothing() -> None: ...


def _words(architecture: str) -> int:
    from xyntra.passes.analysis.sizes.session import MOST_SIZES

    return 0 if backend_for(architecture).sizes_by_value else MOST_SIZES

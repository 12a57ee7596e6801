# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compiles the kernels of a model with free dimensions, those that are told sizes in variants."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from xyntra.compiler.free.agreed import NOT_FREE, Agreed
from xyntra.compiler.free.classes import SizeClass, size_classes
from xyntra.compiler.free.in_calls import in_calls
from xyntra.compiler.free.samples import Samples, combinations
from xyntra.compiler.kernels.module import compile_sources, with_code
from xyntra.compiler.worker.fork_server import ForkServer
from xyntra.compiler.worker.request import Request
from xyntra.dialects.sizes import parse
from xyntra.errors import CompileError
from xyntra.plan.free.expressions import FreeSymbol, KernelVariants
from xyntra.plan.plan import Plan
from xyntra.targets.base import CALLS
from xyntra.targets.kernel import CompiledKernel, FreeSource, KernelSource
from xyntra.targets.table import backend_for

__all__ = ["FreeKernels", "told_kernels"]


@dataclass
class FreeKernels:
    """The compilation of the kernels of a model, of which some are told their sizes."""

    request: Request
    server: ForkServer | None
    meanwhile: Callable[[], None]
    found: Agreed
    symbols: tuple[FreeSymbol, ...]

    def compiled(
        self, sources: Sequence[Mapping[str, KernelSource]]
    ) -> tuple[Plan, dict[str, CompiledKernel]]:
        """Return the plan and machine code by name.

        Args:
            sources: the kernels at each sample.

        Raises:
            CompileError: `kernel-not-free`, no variants of a kernel cover all sizes; or another
                kernel cannot be compiled.
        """
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
                        if any(_is_wider(each, outcome) for _, each in known):
                            continue
                        if known and _is_wider(outcome, known[-1][1]):
                            del code[free[name].named(known.pop()[0]).name]
                        known.append((word, outcome))
                        code[free[name].named(word).name] = outcome
        for name in free:
            if self._is_open(found[name]):
                raise self._failed(name, failures.get(name))
        return self._plan(free, found, code), code

    def _free_sources(
        self, sources: Sequence[Mapping[str, KernelSource]], classes: Sequence[SizeClass]
    ) -> dict[str, _FreeKernelSource]:
        return {
            name: _FreeKernelSource(
                sources[0][name], texts, self.found.samples, self.symbols, classes
            )
            for name, texts in told_kernels(sources, self.found).items()
        }

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

    def _failed(self, name: str, failure: CompileError | None) -> CompileError:
        nodes = [
            node for step in self.found.plan.steps if step.kernel == name for node in step.nodes
        ]
        kernel = KernelSource(name, "", tuple(dict.fromkeys(nodes)))
        cause = "no variant of it can have all sizes" if failure is None else failure.message
        return CompileError(NOT_FREE, cause, place=kernel.place)

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
        return in_calls(full, sizes)


@dataclass(frozen=True)
class _FreeKernelSource:
    """A kernel at all samples."""

    first: KernelSource
    texts: tuple[str, ...]
    samples: Samples
    symbols: tuple[FreeSymbol, ...]
    classes: Sequence[SizeClass] = ()

    def named(self, word: str) -> KernelSource:
        """Return the kernel with schedules of a variant."""
        name = f"{self.first.name}_{word}" if word else self.first.name
        texts = tuple(text.replace(f"@{self.first.name}(", f"@{name}(") for text in self.texts)
        ranges = {each.identifier: (each.low, each.high) for each in self.symbols}
        usual = SizeClass(word, {each.identifier: each.hint for each in self.symbols})
        own = next((each for each in self.classes if each.word == word), usual)
        defined = {each.identifier: each.definition for each in self.symbols if each.definition}
        sizes = own.hints, own.narrowed(ranges), word, defined, own.limit
        free = FreeSource(texts, self.samples, *sizes)
        return replace(self.first, name=name, mlir=texts[0], free=free.to_json())


def told_kernels(
    sources: Sequence[Mapping[str, KernelSource]], found: Agreed
) -> dict[str, tuple[str, ...]]:
    """Return the kernels that depend on sizes: by name, their texts at the samples.

    Args:
        sources: the kernels at each sample.
        found: the model there.
    """
    told = {}
    for name in sources[0]:
        texts = tuple(
            own[names[name]].mlir.replace(f"@{names[name]}(", f"@{name}(")
            for own, names in zip(sources, found.names, strict=True)
        )
        if any(text != texts[0] for text in texts):
            told[name] = texts
    return told


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

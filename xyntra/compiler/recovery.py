# SPDX-License-Identifier: MIT OR Apache-2.0
"""Goes on compiling when a pass of ours fails: finds the pass at fault and does without it.

A pass may fail where an earlier one is at fault: what `fold-transposes` leaves behind may be found
by `check-fusion`, or by nobody before the plan is built. So the pass at fault is the one without
which the model compiles. Regions that `check-fusion` refuses are split first.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from torch_mlir import ir

from xyntra.compiler.worker.answers import unexpected
from xyntra.compiler.worker.pass_marks import markers
from xyntra.errors import CompileError, XyntraError
from xyntra.passes.fallbacks import note_fallback
from xyntra.passes.manager import Runnable, resolve, run_steps
from xyntra.passes.optional import OPTIONAL_PASSES
from xyntra.passes.pipelines import name_of_element
from xyntra.passes.safety.refusal import refusal_of
from xyntra.passes.targets.table import DEFAULT, TargetName

__all__ = ["Compilation", "Lowered", "compile_levels", "defect", "reason", "without_passes"]

Result = TypeVar("Result")

_FORMS = "form-kernels"
_SPLIT = "split-regions"
_FUSION = "fuse-operations"
_MOST_FAULTS = 4
"""Passes at fault for which one after the other is looked; beyond that, all are left out."""


@dataclass(frozen=True)
class Compilation(Generic[Result]):
    """The compilation of a model: its module, its pipeline and the end of it.

    Attributes:
        imported: the module as it came from the frontend; stays as it is.
        elements: the pipeline that leads to the level that is wanted.
        finish: makes what is wanted of the module at that level.
        target: whose limits regions have to keep.
        sentences: what to note of passes that `elements` are already without.
    """

    imported: ir.Operation
    elements: tuple[str, ...]
    finish: Callable[[ir.Operation], Result]
    target: TargetName = DEFAULT
    sentences: tuple[str, ...] = ()


@dataclass(frozen=True)
class Lowered(Generic[Result]):
    """A module at the level that was wanted, and what was made of it."""

    module: ir.Operation
    result: Result


@dataclass(frozen=True)
class _Remedy:
    """Changes of the pipeline, and what to say of them."""

    without: frozenset[str] = frozenset()
    split: bool = False
    sentences: tuple[str, ...] = ()

    def on(self, compilation: Compilation[Result]) -> list[str]:
        """Return the pipeline with this change."""
        kept = without_passes(compilation.elements, self.without)
        if not self.split:
            return kept
        place = max(i for i, each in enumerate(kept) if name_of_element(each) == _FORMS) + 1
        return [*kept[:place], f"{_SPLIT}{{target={compilation.target}}}", *kept[place:]]

    def with_(self, other: _Remedy) -> _Remedy:
        """Return this change and `other` together."""
        return _Remedy(
            self.without | other.without,
            self.split or other.split,
            (*self.sentences, *other.sentences),
        )


def compile_levels(
    module: ir.Operation,
    compilation: Compilation[Result],
    steps: Sequence[Runnable],
    *,
    strict: bool = False,
) -> Lowered[Result]:
    """Take a model down to the level that is wanted.

    Args:
        module: the model; it is changed.
        compilation: what to do with it.
        steps: the elements of the pipeline, resolved.
        strict: raise where a pass fails, instead of doing without the pass at fault.

    Raises:
        CompileError: a pass failed, and `strict` is set or there is no way around it; names the
            pass at fault.
        XyntraError: the model is wrong, or has something that is not supported.
    """
    try:
        run_steps(module, steps, verify_each=False, hooks=markers())
        for sentence in compilation.sentences:
            note_fallback(module, sentence)
        return Lowered(module, compilation.finish(module))
    except CompileError as error:
        refusal = refusal_of(error)
        if refusal is not None:
            raise refusal from None
        failure = error
    except XyntraError:
        raise
    except Exception as error:
        failure = unexpected(error)
    if _has_regions(compilation.imported):
        raise failure  # the user's own decisions are carried out, or refused
    return _recover(compilation, strict=strict)


def _recover(compilation: Compilation[Result], *, strict: bool) -> Lowered[Result]:
    """Compile without the pass at fault, where several are without all of these.

    The first attempt is the usual one once more, verified after each pass, which names the first
    that leaves invalid IR.
    """
    outcome = _attempt(compilation, _Remedy(), verify_each=True)
    applied = _Remedy()
    first = outcome
    for _ in range(_MOST_FAULTS):
        if isinstance(outcome, Lowered):
            return outcome
        found = _best_remedy(compilation, outcome, applied)
        if found is None:
            break
        remedy, after = found
        if strict:
            raise _blamed(outcome, remedy)
        applied, outcome = applied.with_(remedy), after
    if isinstance(first, Lowered):
        return first
    if not isinstance(outcome, Lowered) and not strict:
        outcome = _attempt(compilation, _without_all(compilation, first))
    if isinstance(outcome, Lowered):
        return outcome
    raise defect(first, name_of_element(first.during))


def _attempt(
    compilation: Compilation[Result], remedy: _Remedy, *, verify_each: bool = False
) -> Lowered[Result] | CompileError:
    """Compile a copy of the model with `remedy`; returns the error where that fails."""
    module = compilation.imported.clone()
    try:
        steps = resolve(remedy.on(compilation))
        run_steps(module, steps, verify_each=verify_each, hooks=markers())
        for sentence in (*compilation.sentences, *remedy.sentences):
            note_fallback(module, sentence)
        return Lowered(module, compilation.finish(module))
    except CompileError as error:
        return error
    except XyntraError:
        raise
    except Exception as error:
        return unexpected(error)


def _best_remedy(
    compilation: Compilation[Result], failure: CompileError, applied: _Remedy
) -> tuple[_Remedy, Lowered[Result] | CompileError] | None:
    """Return the first remedy with which the model compiles, else one that leads further."""
    further: tuple[_Remedy, CompileError] | None = None
    for remedy in _remedies(compilation, failure, applied):
        outcome = _attempt(compilation, applied.with_(remedy))
        if isinstance(outcome, Lowered):
            return remedy, outcome
        if further is None and _signature(outcome) != _signature(failure):
            further = remedy, outcome
    return further


def _remedies(
    compilation: Compilation[Result], failure: CompileError, applied: _Remedy
) -> Iterator[_Remedy]:
    if failure.code == "illegal-fusion" and not applied.split:
        yield _Remedy(split=True)  # says itself what it splits
    optional = [
        name
        for name in map(name_of_element, compilation.elements)
        if name in OPTIONAL_PASSES - applied.without
    ]
    optional = list(dict.fromkeys(reversed(optional)))
    guilty = name_of_element(failure.during)
    if guilty in optional:
        optional.remove(guilty)
        optional.insert(0, guilty)
    for name in optional:
        yield _Remedy(frozenset({name}), sentences=(_sentence(name, failure),))


def _has_regions(module: ir.Operation) -> bool:
    """Tell whether the model came with fused regions or kernel functions."""
    found = False

    def visit(op: ir.Operation) -> ir.WalkResult:
        nonlocal found
        found = found or op.name == "xyntra.fused" or "xyntra.kernel" in op.attributes
        return ir.WalkResult.INTERRUPT if found else ir.WalkResult.ADVANCE

    module.walk(visit)
    return found


def _without_all(compilation: Compilation[Result], failure: CompileError) -> _Remedy:
    names = frozenset(map(name_of_element, compilation.elements)) & OPTIONAL_PASSES
    return _Remedy(names, sentences=(_sentence(_FUSION, failure),))


def _sentence(name: str, failure: CompileError) -> str:
    if name == _FUSION:
        return f"every operation became a kernel of its own, {reason(failure)}"
    return f"pass '{name}' was left out, {reason(failure)}"


def reason(failure: CompileError) -> str:
    """Return the end of a sentence on what was left out or changed because of `failure`."""
    cause = f": {failure.cause}" if failure.cause else ""
    return f"because compiling failed with it: {failure.message}{cause} [{failure.code}]"


def without_passes(elements: Sequence[str], names: Collection[str]) -> list[str]:
    """Return the elements of a pipeline without passes of these names."""
    return [each for each in elements if name_of_element(each) not in names]


def _signature(failure: CompileError) -> tuple[str, str, str]:
    return failure.code, failure.during, failure.message


def _blamed(failure: CompileError, remedy: _Remedy) -> CompileError:
    return defect(failure, _FUSION if remedy.split else min(remedy.without))


def defect(failure: CompileError, guilty: str) -> CompileError:
    """Say that a failure is a mistake of ours, and of which pass, where that is known."""
    named = f" in pass '{guilty}'" if guilty else ""
    failure.hint = (
        f"this is a defect of Xyntra{named}, not of the model: please report it;\n"
        "`xyntra compile MODEL --reproduce DIR` writes a small model that shows it"
    )
    return failure

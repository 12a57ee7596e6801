# SPDX-License-Identifier: MIT OR Apache-2.0
"""Takes a model down to kernels at several samples of its sizes, which have to be alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from torch_mlir import ir

from xyntra.compiler.free.agreement import agree_plans
from xyntra.compiler.free.samples import Samples, sample_sets
from xyntra.compiler.levels import LoweredModel, lower_model
from xyntra.compiler.model_import import ModelImport, import_module
from xyntra.compiler.worker.request import Request
from xyntra.errors import CompileError, UnsupportedError, XyntraError
from xyntra.passes.analysis.sizes.instances import numbers_in
from xyntra.plan.free.expressions import FreeSizes, FreeSymbol
from xyntra.plan.plan import Plan

__all__ = ["NOT_FREE", "Agreed", "agreements", "refused", "request_at"]

NOT_FREE = "kernel-not-free"
_CLASH = "sample-clash"


@dataclass(frozen=True)
class Agreed:
    """A model at several samples, alike but for sizes.

    Attributes:
        samples: the sizes of each.
        models: the model at each.
        plan: of the first one.
        free: its sizes, without kernels.
        names: of kernels at each sample, by those of the first one.
    """

    samples: Samples
    models: tuple[LoweredModel, ...]
    plan: Plan
    free: FreeSizes
    names: list[dict[str, str]]


def agreements(request: Request, symbols: tuple[FreeSymbol, ...]) -> Iterator[Agreed]:
    """Yield the model at one set of samples after the other, as far as it is alike there.

    Raises:
        UnsupportedError: `free-dimension`, at none it is.
        XyntraError: the model is wrong, or cannot be lowered.
    """
    failure: XyntraError | None = None
    lowered: dict[tuple[int, ...], LoweredModel] = {}
    done: list[Samples] = []
    avoided: set[int] = set()
    for strict in (True, False):
        for samples in sample_sets(symbols, avoided):
            if samples in done:
                continue
            try:
                if strict:
                    both = [import_module(request_at(request, symbols, s)) for s in samples[:2]]
                    _check_numbers(both, symbols, samples, avoided)
                models = [_lowered(request, symbols, sample, lowered) for sample in samples]
                agreed = agree_plans([model.plan for model in models], samples, symbols)
            except XyntraError as error:
                if failure is None or error.code == "plan-not-free" or failure.code == _CLASH:
                    failure = error
                continue
            done.append(samples)
            yield Agreed(samples, tuple(models), *agreed)
    if not done:
        raise refused(symbols, failure)


def _check_numbers(
    imported: Sequence[ir.Module],
    symbols: Sequence[FreeSymbol],
    samples: Samples,
    avoided: set[int],
) -> None:
    """Check that no size of a sample is a number that the model has anyway.

    Args:
        imported: the model at the first samples, two or more.
        symbols: what has sizes.
        samples: all of them.
        avoided: what no further samples should have.

    Raises:
        CompileError: `sample-clash`, one is.
    """
    shared = frozenset.intersection(*(numbers_in(str(each)) for each in imported))
    avoided.update(near for number in shared for near in (number - 1, number, number + 1))
    units = {each.identifier: each.unit for each in symbols}
    sizes = [(size, units[name]) for sample in samples for name, size in sample.items()]
    # A row ahead of others, a shift by one place: sizes beside those of a sample are frequent.
    near = {each for size, unit in sizes for each in (size - 1, size, size + 1, unit * size)}
    if clash := shared & near:
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
    sample = replace(request, dims=dims, shapes=shapes, is_sample=True)
    return replace(sample, ranges={}, named={}, relations={})


def refused(symbols: Sequence[FreeSymbol], failure: XyntraError | None) -> XyntraError:
    """Return the error for a model that is not compiled for all sizes, because of another one."""
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
        hint=(failure.hint if failure is not None else None)
        or "give a size, and compile the model once for each: "
        + f"dims={{{symbols[0].name!r}: {symbols[0].hint * symbols[0].unit}}}",
    )

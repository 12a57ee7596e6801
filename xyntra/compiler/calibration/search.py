# SPDX-License-Identifier: MIT OR Apache-2.0
"""Searches for the products that stay in f32, so that errors of outputs stay within a budget."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from xyntra.compiler.artifacts import find_artifact, load_artifact
from xyntra.compiler.calibration.factors import Factors, observe_factors
from xyntra.compiler.code_target import CodeTarget
from xyntra.compiler.inputs.source import ModelSource
from xyntra.compiler.sampling import checked_call
from xyntra.compiler.worker.request import Request
from xyntra.config import Config
from xyntra.errors import InputError, UnsupportedError
from xyntra.executable import Executable
from xyntra.passes.precision.quantization import FactorRange
from xyntra.passes.precision.quantize_products import SWITCHES

__all__ = ["Quantization", "output_error", "quantize"]

Array = np.ndarray[Any, Any]
_RANKING = 4
"""Samples by which products are ranked, each with a run of the model for every product."""


@dataclass(frozen=True)
class Quantization:
    """What samples have decided of a model.

    Attributes:
        nodes: names of the nodes that became each product with a weight, in order.
        ranges: how the factor of each is rounded, or why it stays in f32.
        errors: for products, by number, the error of the outputs where that one alone is computed
            in 8 bits, relative, as root mean square; of those that were ranked.
        error: that of the outputs with all that are.
    """

    nodes: tuple[tuple[str, ...], ...]
    ranges: tuple[FactorRange, ...]
    errors: Mapping[int, float]
    error: float


def quantize(
    source: ModelSource,
    request: Request,
    config: Config,
    kind: str,
    samples: Sequence[Any],
    *,
    ranked: bool = False,
) -> Quantization:
    """Choose which products of `source` are computed in 8 bits.

    All that can be are tried first. Where the outputs then differ by more than
    `config.tolerance` from those of f32, products are ranked by what each alone changes in the
    outputs, and the fewest first ones of these stay in f32 that a bisection finds to be enough.

    Args:
        source: the model.
        request: how it is to be compiled, without a quantization.
        config: how it is to be compiled.
        kind: for which target, "cpu" or "cuda".
        samples: inputs of calls.
        ranked: whether products are ranked in any case.

    Raises:
        InputError: there are no samples, or one does not fit the inputs of the model.
        UnsupportedError: the model is quantized, or something in the settings does not go with it.
    """
    _check(request, samples)
    factors = observe_factors(source, request, config, kind, samples)
    ranges = factors.ranges(config.calibration, symmetric=config.symmetric)
    usable = [number for number, each in enumerate(ranges) if not each.reason]
    if not usable:
        return Quantization(factors.nodes, tuple(ranges), {}, 0.0)
    model = _SwitchedModel(_switched(source, request, config, kind, ranges), factors)
    errors: dict[int, float] = {}
    kept: Collection[int] = []
    error = model.error(usable)
    if ranked or error > config.tolerance:
        errors = {number: model.error([number], _RANKING) for number in usable}
    if error > config.tolerance:
        order = sorted(usable, key=lambda number: -errors[number])
        kept, error = _fewest(model, order, config.tolerance)
    for number in kept:
        reason = (
            f"8 bits in it alone change outputs by {errors[number]:.1g}, in all of them by more"
            f" than the tolerance of {config.tolerance:g}"
        )
        ranges[number] = FactorRange(1.0, 0, reason)
    return Quantization(factors.nodes, tuple(ranges), errors, error)


def _check(request: Request, samples: Sequence[Any]) -> None:
    if not len(samples):
        raise InputError(
            "samples-missing",
            "precision 'int8' needs samples",
            cause="the range of every factor is that of its values in usual calls",
            hint="samples=[{'x': x0}, …], or --samples DIR; or precision 'w8', which needs none",
        )
    if request.ranges or not request.fuse:
        what = "free dimensions" if request.ranges else "fuse=False"
        raise UnsupportedError(
            "precision-int8",
            f"precision 'int8' does not go with {what}",
            hint="give every dimension one size" if request.ranges else "leave out fuse",
        )


def _switched(
    source: ModelSource, request: Request, config: Config, kind: str, ranges: Sequence[FactorRange]
) -> Executable:
    """Compile the model for this processor, with an input that switches 8 bits on."""
    own = replace(
        request, architecture="", precision="f32", narrow_io=False, observe=kind,
        quantization=tuple(ranges),
    )  # fmt: skip
    host = CodeTarget.of("cpu")
    how = replace(config, target="cpu", precision="f32", io="model")
    return load_artifact(find_artifact(own, how, host), source, host, config.threads)


class _SwitchedModel:
    """Computes the errors of outputs with some products in 8 bits."""

    def __init__(self, executable: Executable, factors: Factors) -> None:
        self.executable, self.factors = executable, factors

    def error(self, numbers: Collection[int], samples: int | None = None) -> float:
        """Return the error with these products, over all samples or the first ones."""
        switches = np.zeros(len(self.factors.nodes), np.float32)
        switches[list(numbers)] = 1
        found = [
            checked_call(self.executable, {**sample, SWITCHES: switches}, number)
            for number, sample in enumerate(self.factors.samples[:samples])
        ]
        return output_error(found, self.factors.outputs[:samples])


def _fewest(
    model: _SwitchedModel, order: Sequence[int], tolerance: float
) -> tuple[Sequence[int], float]:
    """Return the fewest products of the start of `order` that have to stay, and the error then."""
    too_few, enough, best = 0, len(order), 0.0
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        error = model.error(order[middle:])
        if error <= tolerance:
            enough, best = middle, error
        else:
            too_few = middle
    return order[:enough], best


def output_error(
    found: Sequence[Mapping[str, Array]], exact: Sequence[Mapping[str, Array]]
) -> float:
    """Return the largest error of a float output over all samples, relative, as root mean square.

    Where no output is one of floats, it is the share of elements that differ.
    """
    names = [name for name, array in exact[0].items() if array.dtype.kind == "f"]
    if not names:
        pairs = [(x[name], y[name]) for x, y in zip(found, exact, strict=True) for name in y]
        return max((float(np.mean(x != y)) for x, y in pairs if y.size), default=0.0)
    largest = 0.0
    for name in names:
        difference = size = 0.0
        for x, y in zip(found, exact, strict=True):
            left, right = x[name].astype(np.float64), y[name].astype(np.float64)
            usable = np.isfinite(right)
            difference += float(np.square(left[usable] - right[usable]).sum())
            size += float(np.square(right[usable]).sum())
        error = math.sqrt(difference / size) if size else math.sqrt(difference)
        largest = max(largest, error if math.isfinite(error) else math.inf)
    return largest

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Searches for the products that stay in f32, so that errors of outputs stay within a budget."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
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
_EXACT, _WHOLE, _ROWS = 0, 1, 2
"""What a switch says: f32, 8 bits with one scale for a factor, or with one for each row of it."""
_NEAR = 4.0
"""Logarithm of the ratio of the two largest probabilities of a row that may change its class."""
_UNSURE = 12.0
"""The same of a row whose error may tell how far those of others go."""
_NEIGHBOURS = 2
"""Rows on either side, in the mean, for which one row that is close to a change stands, too."""
_FEW = 16
"""Rows that tell how far logarithms move: those nearest to a change, where fewer may."""
_FLIP = 20.0
"""What a share of rows that get another class counts as, beside relative errors.

The usual budget of 0.1 lets one row in 200 be expected to change.
"""


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
    by_rows: bool = True,
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
        by_rows: whether rows of a factor may have scales of their own.

    Raises:
        InputError: there are no samples, or one does not fit the inputs of the model.
        UnsupportedError: the model is quantized, or something in the settings does not go with it.
    """
    _check(request, samples)
    factors = observe_factors(source, request, config, kind, samples)
    how, symmetric = config.calibration, config.symmetric
    ranges = factors.ranges(how, symmetric=symmetric)
    # Errors are measured with ranges of half of the samples: what others hold lies outside of some.
    tried = factors.ranges(how, symmetric=symmetric, half=True)
    usable = [number for number, each in enumerate(ranges) if not each.reason]
    if not usable:
        return Quantization(factors.nodes, tuple(ranges), {}, 0.0)
    model = _SwitchedModel(_switched(source, request, config, kind, tried), factors)
    found = _search(model, usable, config.tolerance, ranked=ranked, by_rows=by_rows)
    for number in usable:
        if found.levels[number] == _ROWS:
            ranges[number] = ranges[number].of_rows
        elif found.levels[number] == _EXACT:
            reason = (
                f"8 bits in it alone change outputs by {found.errors[number]:.1g}, in all of them"
                f" by more than the tolerance of {config.tolerance:g}"
            )
            ranges[number] = FactorRange(1.0, 0, reason)
    return Quantization(factors.nodes, tuple(ranges), found.errors, found.error)


@dataclass(frozen=True)
class _Found:
    levels: Mapping[int, int]
    errors: Mapping[int, float]
    error: float


def _search(
    model: _SwitchedModel, usable: Sequence[int], tolerance: float, *, ranked: bool, by_rows: bool
) -> _Found:
    """Choose a level for every product.

    All are tried with one scale for a factor first. The fewest of those that change outputs most
    get a scale for each row then, and if all of them are not enough, the fewest stay in f32.
    """
    levels = dict.fromkeys(usable, _WHOLE)
    error = model.error(levels)
    if not ranked and error <= tolerance:
        return _Found(levels, {}, error)
    errors = {number: model.change({number: _WHOLE}) for number in usable}
    if error <= tolerance:
        return _Found(levels, errors, error)
    order = [each for each in _ordered(errors) if by_rows and model.factors.rows[each]]
    if order:
        raised = levels | dict.fromkeys(order, _ROWS)
        error = model.error(raised)
        if error <= tolerance:
            return _Found(*_fewest(model, levels, order, _ROWS, tolerance, error, errors))
        levels = raised
        errors |= {number: model.change({number: _ROWS}) for number in order}
    # Without any of them, outputs are those of f32.
    return _Found(*_fewest(model, levels, _ordered(errors), _EXACT, tolerance, 0.0, errors))


def _ordered(errors: Mapping[int, float]) -> list[int]:
    return sorted(errors, key=lambda number: -errors[number])


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

    def error(self, levels: Mapping[int, int]) -> float:
        """Return the error of the outputs with these levels, over all samples."""
        return output_error(self._outputs(levels), self.factors.outputs)

    def change(self, levels: Mapping[int, int]) -> float:
        """Return how far a few samples tell that outputs move, to compare products by."""
        return _change(self._outputs(levels, _RANKING), self.factors.outputs[:_RANKING])

    def _outputs(
        self, levels: Mapping[int, int], samples: int | None = None
    ) -> list[Mapping[str, Array]]:
        switches = np.zeros(len(self.factors.nodes), np.float32)
        for number, level in levels.items():
            switches[number] = level
        return [
            checked_call(self.executable, {**sample, SWITCHES: switches}, number)
            for number, sample in enumerate(self.factors.samples[:samples])
        ]


def _fewest(
    model: _SwitchedModel,
    levels: Mapping[int, int],
    order: Sequence[int],
    level: int,
    tolerance: float,
    best: float,
    errors: Mapping[int, float],
) -> tuple[Mapping[int, int], Mapping[int, float], float]:
    """Give the fewest products of the start of `order` another level.

    Returns:
        The levels, `errors`, and the error with these levels; `best` is that with all of `order`.
    """
    too_few, enough = 0, len(order)
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        error = model.error({**levels, **dict.fromkeys(order[:middle], level)})
        if error <= tolerance:
            enough, best = middle, error
        else:
            too_few = middle
    return {**levels, **dict.fromkeys(order[:enough], level)}, errors, best


def output_error(
    found: Sequence[Mapping[str, Array]], exact: Sequence[Mapping[str, Array]]
) -> float:
    """Return the largest error of a float output over all samples, relative, as root mean square.

    Where rows of an output are probabilities, so is `_FLIP` times the share of them that is to be
    expected to have another largest one. Where no output is one of floats, it is the share of
    elements that differ.
    """
    names = [name for name, array in exact[0].items() if array.dtype.kind == "f"]
    if not names:
        pairs = [(x[name], y[name]) for x, y in zip(found, exact, strict=True) for name in y]
        return max((float(np.mean(x != y)) for x, y in pairs if y.size), default=0.0)
    errors = [_relative([x[name] for x in found], [y[name] for y in exact]) for name in names]
    flips = [_flips([x[name] for x in found], [y[name] for y in exact]) for name in names]
    return max(*errors, *(_FLIP * each for each in flips))


def _change(found: Sequence[Mapping[str, Array]], exact: Sequence[Mapping[str, Array]]) -> float:
    """As `output_error` for few rows, of probabilities by their logarithms.

    Where one of them is close to 1, hardly anything moves it.
    """
    largest = output_error(found, exact)
    for name, array in exact[0].items():
        if array.dtype.kind == "f":
            ratios = _largest_two([x[name] for x in found], [y[name] for y in exact])
            if ratios is not None:
                largest = max(largest, _deviation(ratios[1] - ratios[0]))
    return largest


def _relative(found: Sequence[Array], exact: Sequence[Array]) -> float:
    """Return the root mean square of errors, relative to that of finite values."""
    difference = size = 0.0
    for x, y in zip(found, exact, strict=True):
        left, right = x.astype(np.float64), y.astype(np.float64)
        usable = np.isfinite(right)
        difference += float(np.square(left[usable] - right[usable]).sum())
        size += float(np.square(right[usable]).sum())
    error = math.sqrt(difference / size) if size else math.sqrt(difference)
    return error if math.isfinite(error) else math.inf


def _flips(found: Sequence[Array], exact: Sequence[Array]) -> float:
    """Return the share of rows of probabilities that may be expected to get another largest one.

    A few samples hold few rows that are close to a change. So errors of the difference between the
    logarithms of the two largest ones are taken to be normal, and of one deviation in all rows that
    are not sure; and one row that is close stands for others that are a little less, or more.
    """
    ratios = _largest_two(found, exact)
    if ratios is None:
        return 0.0
    before, after = ratios
    limit = max(_NEAR, float(np.sort(before)[min(_FEW, len(before)) - 1]))
    near = before[before <= limit]
    is_unsure = before <= max(_UNSURE, limit)
    deviation = _deviation((after - before)[is_unsure])
    if not math.isfinite(deviation):
        return 1.0
    width = _NEIGHBOURS * limit / len(near)
    return sum(_flip(float(each), width, deviation) for each in near) / len(before)


def _flip(distance: float, width: float, deviation: float) -> float:
    """Return how likely a normal error exceeds a distance, on average around `distance`."""
    if not deviation:
        return 0.0

    def integral(limit: float) -> float:
        scaled = limit / deviation
        tail = math.erfc(scaled / math.sqrt(2)) / 2
        return limit * tail + deviation * (1 - math.exp(-scaled * scaled / 2)) / math.sqrt(math.tau)

    low, high = max(0.0, distance - width), distance + width
    return (integral(high) - integral(low)) / (high - low)


def _largest_two(found: Sequence[Array], exact: Sequence[Array]) -> tuple[Array, Array] | None:
    """Return, for rows of probabilities, the logarithms of the ratios of the two largest ones.

    The first are those of `exact`, the second of `found`; None where rows are no probabilities.
    """
    if not exact[0].ndim or exact[0].shape[-1] < 2:
        return None
    classes = exact[0].shape[-1]
    x, y = (np.concatenate([each.reshape(-1, classes) for each in side]) for side in (found, exact))
    if not y.size or not (np.all(y >= 0) and np.allclose(y.sum(-1), 1, atol=1e-3)):
        return None
    two = np.argpartition(y, -2, -1)[:, -2:]
    before, after = (_log_ratios(np.take_along_axis(each, two, -1)) for each in (y, x))
    return before, after


def _deviation(differences: Array) -> float:
    return math.sqrt(float(np.square(differences).mean()))


def _log_ratios(pairs: Array) -> Array:
    """Return the logarithm of the second of two probabilities, less that of the first."""
    found: Array = np.diff(np.log(np.maximum(pairs.astype(np.float64), 1e-30)))[:, 0]
    return found

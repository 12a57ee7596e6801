# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs a model on samples, and counts the values of what its products multiply."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from xyntra.compiler.artifacts import find_artifact, load_artifact
from xyntra.compiler.calibration.histogram import Histogram
from xyntra.compiler.code_target import CodeTarget
from xyntra.compiler.inputs.source import ModelSource
from xyntra.compiler.sampling import checked_call
from xyntra.compiler.worker.request import Request
from xyntra.config import Config
from xyntra.passes.precision.observe_products import FACTOR, KEPT, SAME
from xyntra.passes.precision.quantization import FactorRange

__all__ = ["Factors", "observe_factors"]

Array = np.ndarray[Any, Any]
_PREFIXES = "|".join(re.escape(each) for each in (FACTOR, SAME, KEPT))
_ENOUGH = 8
"""Samples of which half tell the ranges that errors are measured with."""
_NAME = re.compile(rf"({_PREFIXES}) (\d+) (\d+) ([01]) (.*)", re.DOTALL)


@dataclass(frozen=True)
class Factors:
    """What samples have shown of the products of a model with weights, in order.

    Attributes:
        nodes: names of the nodes that became each product.
        histograms: values of the factor that a call computes; None for products that stay in f32
            whatever it holds.
        halves: the same of every second sample, for errors that others tell of; of all samples
            where there are few.
        rows: whether rows of that factor may have scales of their own.
        samples: the inputs, by name.
        outputs: of the model in f32, for each sample.
    """

    nodes: tuple[tuple[str, ...], ...]
    histograms: tuple[Histogram | None, ...]
    halves: tuple[Histogram | None, ...]
    rows: tuple[bool, ...]
    samples: tuple[Mapping[str, Any], ...]
    outputs: tuple[Mapping[str, Array], ...]

    def ranges(self, calibration: str, *, symmetric: bool, half: bool = False) -> list[FactorRange]:
        """Return how each factor is rounded; those of one tensor are rounded alike.

        Args:
            calibration: "minmax", "percentile" or "mse".
            symmetric: whether integers are signed, with 0 for 0.
            half: whether every second sample alone says so.
        """
        known: dict[int, FactorRange] = {}
        found = []
        for histogram in self.halves if half else self.histograms:
            if histogram is None:
                found.append(FactorRange(1.0, 0, "it is left alone"))
            elif not histogram.is_finite:
                found.append(FactorRange(1.0, 0, "its factor has values that are not finite"))
            else:
                key = id(histogram)
                if key not in known:
                    known[key] = histogram.range_of(calibration, symmetric=symmetric)
                found.append(known[key])
        return found


def observe_factors(
    source: ModelSource, request: Request, config: Config, kind: str, samples: Sequence[Any]
) -> Factors:
    """Run `source` in f32 on this processor, on every one of `samples`.

    Args:
        source: the model.
        request: how it is to be compiled.
        config: how it is to be compiled.
        kind: for which target, "cpu" or "cuda".
        samples: inputs of calls: mappings by name, sequences in order, or single arrays.

    Raises:
        InputError: a sample does not fit the inputs of the model.
    """
    own = replace(
        request, architecture="", precision="f32", narrow_io=False, magnitudes={}, observe=kind,
        observe_errors="int8",
    )  # fmt: skip
    host = CodeTarget.of("cpu")
    how = replace(config, target="cpu", precision="f32", io="model")
    executable = load_artifact(find_artifact(own, how, host), source, host, config.threads)
    names = [port.name for port in executable.inputs]
    collected = _Collected()
    for number, sample in enumerate(samples):
        collected.add(checked_call(executable, sample, number))
        is_named = isinstance(sample, Mapping)
        given = sample if isinstance(sample, (list, tuple)) else [sample]
        collected.samples.append(sample if is_named else dict(zip(names, given, strict=True)))
    return collected.factors()


class _Collected:
    """What is known after some of the samples."""

    def __init__(self) -> None:
        self.nodes: dict[int, tuple[str, ...]] = {}
        self.rows: dict[int, bool] = {}
        self.factor_of: dict[int, int] = {}
        self.histograms: dict[int, Histogram] = {}
        self.halves: dict[int, Histogram] = {}
        self.samples: list[Mapping[str, Any]] = []
        self.outputs: list[dict[str, Array]] = []

    def add(self, results: Mapping[str, Array]) -> None:
        """Take in the results of one call."""
        outputs = {}
        for name, array in results.items():
            match = _NAME.fullmatch(name)
            if match is None:
                outputs[name] = array
                continue
            number, factor = int(match[2]), int(match[3])
            self.nodes[number] = tuple(map(str, json.loads(match[5])))
            self.rows[number] = match[4] == "1"
            if match[1] == FACTOR:
                self.histograms.setdefault(number, Histogram()).add(array)
                if len(self.outputs) % 2 == 0:
                    self.halves.setdefault(number, Histogram()).add(array)
            if match[1] != KEPT:
                self.factor_of[number] = factor
        self.outputs.append(outputs)

    def factors(self) -> Factors:
        """Return the result."""
        numbers = range(len(self.nodes))
        halves = self.halves if len(self.outputs) >= _ENOUGH else self.histograms
        factors = [self.factor_of.get(number) for number in numbers]
        return Factors(
            tuple(self.nodes[number] for number in numbers),
            tuple(None if each is None else self.histograms[each] for each in factors),
            tuple(None if each is None else halves[each] for each in factors),
            tuple(self.rows[number] for number in numbers),
            tuple(self.samples),
            tuple(self.outputs),
        )

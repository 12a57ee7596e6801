# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs a model on samples, to see how large its tensors become and what rounding costs."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from xyntra.compiler.artifacts import find_artifact, load_artifact
from xyntra.compiler.code_target import CodeTarget
from xyntra.compiler.inputs.source import ModelSource
from xyntra.compiler.worker.request import Request
from xyntra.config import Config
from xyntra.errors import InputError, XyntraError
from xyntra.executable import Executable
from xyntra.passes.precision.observe_magnitudes import ERROR, PEAK, SIZE

__all__ = ["Observations", "checked_call", "observe"]

_NAME = re.compile(r"(\S+) (\d+)(?: of (\d+))? ?(.*)", re.DOTALL)


@dataclass(frozen=True)
class Observations:
    """What samples have shown.

    Attributes:
        peaks: for every operation, the largest magnitude of its result, rounded up to a power of
            two, which the results of few other samples would change; 0 for those not observed.
        errors: for nodes with products, the relative root mean square error that rounding their
            factors and results adds.
    """

    peaks: tuple[float, ...]
    errors: dict[str, float]


def observe(
    source: ModelSource,
    request: Request,
    config: Config,
    target: str,
    samples: Sequence[Any],
    errors: str = "none",
) -> Observations:
    """Run `source` in f32 on this processor, on every one of `samples`.

    Args:
        source: the model.
        request: how it is to be compiled.
        config: how it is to be compiled.
        target: for which, "cpu" or "cuda".
        samples: inputs of calls: mappings by name, sequences in order, or single arrays.
        errors: "f16" or "bf16" to measure the errors of products, too.

    Raises:
        InputError: a sample does not fit the inputs of the model.
    """
    own = replace(
        request, architecture="", precision="f32", narrow_io=False, magnitudes={},
        observe=target, observe_errors=errors,
    )  # fmt: skip
    host = CodeTarget.of("cpu")
    how = replace(config, target="cpu", precision="f32", io="model")
    executable = load_artifact(find_artifact(own, how, host), source, host, config.threads)
    found: dict[str, float] = {}
    for number, sample in enumerate(samples):
        for name, array in checked_call(executable, sample, number).items():
            value = float(array) if _NAME.fullmatch(name) and not array.shape else 0.0
            is_sum = name.startswith((ERROR, SIZE))
            found[name] = found.get(name, 0.0) + value if is_sum else max(found.get(name, 0), value)
    return _observations(found)


def checked_call(executable: Executable, sample: Any, number: int) -> dict[str, Any]:
    """Run `executable` on one sample; messages call it by its number.

    Raises:
        InputError: it does not fit the inputs.
    """
    try:
        if isinstance(sample, Mapping):
            return executable.run(sample)
        given = sample if isinstance(sample, (list, tuple)) else [sample]
        names = [port.name for port in executable.inputs]
        if len(given) != len(names):
            raise InputError(
                "sample-inputs",
                f"a sample has {len(given)} arrays, the model {len(names)} inputs",
            )
        return executable.run(dict(zip(names, given, strict=True)))
    except XyntraError as error:
        error.place = f"sample {number}" + (f", {error.place}" if error.place else "")
        raise


def _observations(found: Mapping[str, float]) -> Observations:
    peaks: list[float] = []
    sums: dict[tuple[str, int], float] = {}
    nodes: dict[int, str] = {}
    for name, value in found.items():
        match = _NAME.fullmatch(name)
        if match is None or match[1] not in (PEAK, ERROR, SIZE):
            continue
        number = int(match[2])
        if match[1] == PEAK:
            peaks = peaks or [0.0] * int(match[3])
            peaks[number] = _power_above(value)
        else:
            sums[match[1], number], nodes[number] = value, match[4]
    errors: dict[str, float] = {}
    for number, label in nodes.items():
        size = sums[SIZE, number]
        error = math.sqrt(sums[ERROR, number] / size) if size > 0 else 0.0
        errors[label] = max(errors.get(label, 0.0), error)
    return Observations(tuple(peaks), errors)


def _power_above(value: float) -> float:
    """The smallest power of two that is no smaller; f32's largest number for what is not finite."""
    if not value > 0:
        return 0.0
    largest = float(np.finfo(np.float32).max)
    return min(2.0 ** math.ceil(math.log2(value)), largest) if math.isfinite(value) else largest

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tunes a model in the process of the user, with workers that list, compile and measure."""

from __future__ import annotations

from dataclasses import replace

from xyntra.compiler.artifacts import run_request
from xyntra.compiler.code_target import CodeTarget
from xyntra.compiler.driver import check_supported, make_request, target_of_source
from xyntra.compiler.inputs.sizes import Sizes
from xyntra.compiler.inputs.source import ModelSource
from xyntra.compiler.worker.request import SPACES, Request
from xyntra.config import Config
from xyntra.errors import UnsupportedError
from xyntra.tune.space import KernelSpace, spaces_from_json

__all__ = ["model_spaces"]


def model_spaces(source: ModelSource, sizes: Sizes, config: Config) -> list[KernelSpace]:
    """Return what every kernel of a model could be told.

    Args:
        source: the model.
        sizes: of its free dimensions.
        config: how it is compiled.

    Raises:
        XyntraError: the model is wrong, or cannot be compiled down to kernels.
    """
    target = target_of_source(source, config)
    return spaces_from_json(run_request(untuned_request(source, sizes, config, target), config))


def untuned_request(
    source: ModelSource, sizes: Sizes, config: Config, target: CodeTarget, level: str = SPACES
) -> Request:
    """Return the request for a model whose kernels get no schedules from a database.

    Raises:
        UnsupportedError: `tuning-unsupported`, it has free dimensions, or is code already.
    """
    check_supported(config, target)
    if sizes.ranges:
        name = next(iter(sizes.ranges))
        raise UnsupportedError(
            "tuning-unsupported",
            f"a schedule is measured at one size of each dimension, and '{name}' is free",
            hint=f"--dim {name}=128, or dims={{{name!r}: 128}}",
        )
    if source.target:
        raise UnsupportedError(
            "tuning-unsupported",
            "this text holds kernels as code, with their schedules",
            hint="tune the model that it came from",
        )
    return replace(make_request(source, sizes, config, level, target), tuned={})

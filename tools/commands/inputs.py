# SPDX-License-Identifier: MIT OR Apache-2.0
"""Input arrays for a model: from .npy files, or random."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from xyntra.errors import InputError
from xyntra.plan.plan import Port, numpy_dtype

Array = np.ndarray[Any, Any]


def read_inputs(given: Sequence[tuple[str, str]]) -> dict[str, Array]:
    """Arrays from `(name, path of a .npy file)` pairs; InputError where one cannot be read."""
    arrays = {}
    for name, path in given:
        try:
            with open(path, "rb") as file:
                arrays[name] = np.lib.format.read_array(file, allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise InputError(
                "input-file", f"input '{name}' cannot be read", place=path, cause=str(error)
            ) from None
    return arrays


def random_inputs(ports: Sequence[Port], seed: int) -> dict[str, Array]:
    """Normally distributed floats, and integers and booleans of zeros and ones, by input name.

    Small integers are valid as indices and as masks, whatever a model does with them.
    """
    generator = np.random.default_rng(seed)
    return {port.name: _random(port, generator) for port in ports}


def _random(port: Port, generator: np.random.Generator) -> Array:
    dtype = numpy_dtype(port.dtype)
    if "float" in port.dtype:
        return generator.standard_normal(port.shape).astype(dtype)
    return generator.integers(0, 2, port.shape).astype(dtype)

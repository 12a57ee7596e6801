# SPDX-License-Identifier: MIT OR Apache-2.0
"""The values that a user binds inputs to when compiling: `constants=` and `--constant`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xyntra.errors import InputError

__all__ = ["MAX_BYTES", "Constants", "constants_of", "parse_constant"]

Constants = Mapping[str, Mapping[str, Any]]
"""By input: "values", nested lists; and, of arrays alone, "dtype" and "shape"."""

MAX_BYTES = 1 << 20
"""Largest array that an input is bound to; it is stored in the code."""


def constants_of(given: Any, argument: str = "constants") -> dict[str, dict[str, Any]]:
    """Read `constants=`, or another `argument`: numbers, lists of numbers or arrays, by name.

    Raises:
        InputError: it holds something else.
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise _wrong(f"{argument}=", given)
    found = {}
    for name, value in given.items():
        if not isinstance(name, str):
            raise InputError(
                "constant-type", f"{name!r} is no name of an input", place=f"{argument}="
            )
        found[name] = _value(value, f"{argument}[{name!r}]")
    return found


def _value(value: Any, place: str) -> dict[str, Any]:
    if isinstance(value, (bool, int, float)):
        return {"values": value}
    import numpy as np  # only with constants: it takes a while to load

    is_array = hasattr(value, "dtype")
    try:
        array = np.asarray(value)
    except (TypeError, ValueError, RuntimeError):
        raise _wrong(place, value) from None
    if array.dtype.kind not in "biufV" or array.dtype.name.startswith("void"):
        raise _wrong(place, value)
    if array.nbytes > MAX_BYTES:
        raise InputError(
            "constant-too-large",
            f"an array of {array.nbytes:,} bytes is too large to bind",
            place=place,
            cause=f"the limit is {MAX_BYTES:,} bytes",
            hint="keep it an input, or make it an initializer of the model",
        )
    if not is_array:
        return {"values": array.tolist()}
    flat = array.reshape(-1)
    values = flat.astype("float32") if array.dtype.kind == "V" else flat
    return {"values": values.tolist(), "dtype": array.dtype.name, "shape": list(array.shape)}


def _wrong(place: str, value: Any) -> InputError:
    return InputError(
        "constant-type",
        f"expected numbers or arrays, got {repr(value)[:60]}",
        place=place,
        hint="constants={'sr': 16000}, or constants={'mask': array}",
    )


def parse_constant(text: str) -> tuple[str, dict[str, Any]]:
    """`NAME=16000`, `NAME=true`, `NAME=1.5` or `NAME=[1, 2]`; ValueError for anything else."""
    import json

    name, equals, value = text.partition("=")
    if not equals or not name:
        raise ValueError(text)
    found = json.loads(value)
    if isinstance(found, (str, dict)) or found is None:
        raise ValueError(text)
    return name, constants_of({name: found})[name]

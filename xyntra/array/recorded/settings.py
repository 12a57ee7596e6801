# SPDX-License-Identifier: MIT OR Apache-2.0
"""Holds where arrays are computed, and moves them there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from xyntra.errors import UnsupportedError

__all__ = ["ArraySettings", "check_device", "device", "device_name", "on_device"]


class ArraySettings:
    """What the process records for.

    Attributes:
        target: where graphs run, as `compile` takes it.
        chosen: whether that was said for what is computed now; else a graph runs where its arrays
            lie, if one lies on a GPU.
    """

    target = "cpu"
    chosen = False


@contextmanager
def device(name: str) -> Iterator[None]:
    """Compute arrays on another device for as long as the context lasts: "cuda", "cuda:1", "cpu".

    Arrays are copied to a GPU when they are first read there, and results stay there.
    """
    before = ArraySettings.target, ArraySettings.chosen
    ArraySettings.target, ArraySettings.chosen = str(name), True
    try:
        yield
    finally:
        ArraySettings.target, ArraySettings.chosen = before


def check_device(device: Any) -> None:
    """Refuse a device that arrays are not computed on now.

    Raises:
        UnsupportedError: `array-device`.
    """
    if device is None or str(device) == ArraySettings.target:
        return
    raise UnsupportedError(
        "array-device",
        f"arrays are computed on '{ArraySettings.target}' here, not on '{device}'",
        hint=f"with xyntra.array.device({str(device)!r}): …",
    )


def device_name(_: Any) -> str:
    """Return the name of the device of a value."""
    return ArraySettings.target


def on_device(array: Any, device: Any, stream: Any) -> Any:
    """Return an array on a device; see `Array.to_device`."""
    if stream is not None:
        raise UnsupportedError("array-device", "arrays take no stream", hint="leave out stream")
    check_device(device)
    return array

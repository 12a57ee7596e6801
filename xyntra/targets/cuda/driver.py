# SPDX-License-Identifier: MIT OR Apache-2.0
"""NVIDIA's driver: its bindings, imported on first use, and its errors as ours."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from xyntra.errors import DeviceError, MissingExtraError

_OUT_OF_MEMORY = 2
# After these the context is lost: every later call of this process fails.
_STICKY = frozenset({700, 701, 702, 710, 714, 715, 716, 717, 718, 719})


@lru_cache(maxsize=1)
def driver() -> Any:
    """Return `cuda.bindings.driver`, initialised.

    Raises:
        MissingExtraError: the bindings are not installed.
        DeviceError: this machine has no driver or no GPU.
    """
    try:
        from cuda.bindings import driver as bindings
    except ImportError:
        raise MissingExtraError.for_extra(
            "cuda", "cuda-bindings", purpose="running on a GPU"
        ) from None
    try:
        result = bindings.cuInit(0)
    except RuntimeError as error:
        raise _no_device(str(error)) from None
    if int(result[0]):
        raise _no_device(_words(bindings, result[0]))
    return bindings


def checked(result: tuple[Any, ...], what: str, place: str | None = None) -> Any:
    """Return the value of a call of the driver, a tuple of several, or None.

    Args:
        result: what the call returned: a status and values.
        what: what was tried, to complete "… failed".
        place: the kernel that it was for.

    Raises:
        DeviceError: the status is an error.
    """
    status, *values = result
    if int(status):
        raise _failure(int(status), _words(driver(), status), what, place)
    return values[0] if len(values) == 1 else tuple(values) or None


def _failure(status: int, cause: str, what: str, place: str | None) -> DeviceError:
    if status == _OUT_OF_MEMORY:
        message = f"{what} failed: the GPU is out of memory"
        return DeviceError("gpu-memory", message, place=place, cause=cause)
    hint = "the GPU is lost to this process: start a new one" if status in _STICKY else None
    return DeviceError("gpu-error", f"{what} failed", place=place, cause=cause, hint=hint)


def _no_device(cause: str) -> DeviceError:
    return DeviceError(
        "no-gpu",
        "no NVIDIA GPU can be used",
        cause=cause,
        hint="target='cuda:sm_90a' generates code without one",
    )


def _words(bindings: Any, status: Any) -> str:
    _, name = bindings.cuGetErrorName(status)
    _, text = bindings.cuGetErrorString(status)
    return " ".join(part.decode() for part in (name, text) if part)

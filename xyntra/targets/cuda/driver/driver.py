# SPDX-License-Identifier: MIT OR Apache-2.0
"""NVIDIA's driver: its bindings, imported on first use, and its errors as ours."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from xyntra.errors import DeviceError, MissingExtraError

_OUT_OF_MEMORY = 2
_MIN_VERSION = 12000  # CUDA 12.0: the first driver with all that is called
# The code or the bindings are newer than the driver.
_TOO_OLD = frozenset({36, 222, 803, 804})
_WRONG_ARCHITECTURE = frozenset({209, 218})
# After these the context is lost: every later call of this process fails.
_STICKY = frozenset({700, 701, 702, 710, 714, 715, 716, 717, 718, 719, 720})
LOST = "the GPU is lost to this process: start a new one"
"""The hint of errors after which the context cannot be used any more."""


@lru_cache(maxsize=1)
def driver() -> Any:
    """Return `cuda.bindings.driver`, initialised.

    Raises:
        MissingExtraError: the bindings are not installed.
        DeviceError: this machine has no driver or no GPU, or the driver is too old.
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
    if int(result[0]) in _TOO_OLD:
        raise _too_old(_words(bindings, result[0]))
    if int(result[0]):
        raise _no_device(_words(bindings, result[0]))
    status, version = bindings.cuDriverGetVersion()
    if not int(status) and version < _MIN_VERSION:
        raise _too_old(f"it supports CUDA {version // 1000}.{version % 1000 // 10}")
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
        raise failure(int(status), what, place)
    return values[0] if len(values) == 1 else tuple(values) or None


def failure(status: int, what: str, place: str | None = None) -> DeviceError:
    """Return the error for a status that is not zero; arguments as those of `checked`."""
    cause = _cause(driver(), status)
    if status == _OUT_OF_MEMORY:
        message = f"{what} failed: the GPU is out of memory"
        return DeviceError("gpu-memory", message, place=place, cause=cause)
    if status in _TOO_OLD:
        return _too_old(cause, place)
    if status in _WRONG_ARCHITECTURE:
        message = f"{what} failed: the code is for another architecture"
        return DeviceError(
            "gpu-architecture",
            message,
            place=place,
            cause=cause,
            hint="compile the model for this GPU",
        )
    hint = LOST if status in _STICKY else None
    return DeviceError("gpu-error", f"{what} failed", place=place, cause=cause, hint=hint)


def lost_again(first: DeviceError) -> DeviceError:
    """Return the error for a call on a GPU that `first` has lost to this process."""
    return DeviceError(
        "gpu-lost",
        "the GPU is lost to this process since an earlier error",
        place=first.place,
        cause=f"{first.message}: {first.cause}",
        hint="start a new process",
    )


def _no_device(cause: str) -> DeviceError:
    return DeviceError(
        "no-gpu",
        "no NVIDIA GPU can be used",
        cause=cause,
        hint="target='cuda:sm_90a' generates code without one",
    )


def _too_old(cause: str, place: str | None = None) -> DeviceError:
    return DeviceError(
        "driver-old",
        "NVIDIA's driver is too old",
        place=place,
        cause=cause,
        hint="update the driver; CUDA 12.8 or newer runs code for every architecture",
    )


def _cause(bindings: Any, status: int) -> str:
    try:
        return _words(bindings, bindings.CUresult(status))
    except ValueError:  # a driver newer than the bindings
        return f"status {status}"


def _words(bindings: Any, status: Any) -> str:
    _, name = bindings.cuGetErrorName(status)
    _, text = bindings.cuGetErrorString(status)
    return " ".join(part.decode() for part in (name, text) if part)

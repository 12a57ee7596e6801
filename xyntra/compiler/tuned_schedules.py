# SPDX-License-Identifier: MIT OR Apache-2.0
"""Takes the schedules that a tuning database, or else the package, has for a device."""

from __future__ import annotations

import warnings

from xyntra.compiler.code_target import CodeTarget
from xyntra.config import Config
from xyntra.errors import ArchiveError, DeviceError, MissingExtraError, UnsupportedError
from xyntra.tune.packaged.reader import packaged_schedules
from xyntra.tune.tuned import Tuned, versions

__all__ = ["TuningWarning", "packaged_for", "tuned_schedules"]


class TuningWarning(UserWarning):
    """Tuned schedules cannot be used; everything works without them, but kernels are not tuned."""


def tuned_schedules(config: Config, target: CodeTarget) -> dict[str, Tuned]:
    """Return schedules by the key of the kernel: what was found on this device before all else.

    They become part of the request, and so of the key of what is cached: what another process adds
    to the database meanwhile is for the next time.
    """
    found = packaged_for(config, target) | _searched(config, target)
    return dict(sorted(found.items()))


def packaged_for(config: Config, target: CodeTarget) -> dict[str, Tuned]:
    """Return the schedules that come with the package for devices of a target's class."""
    device_class = target.backend.tuning_class(target.architecture, config.threads)
    try:
        return packaged_schedules(device_class)
    except ArchiveError as error:
        _warn(error)
        return {}


def _searched(config: Config, target: CodeTarget) -> dict[str, Tuned]:
    """Return what the database has; nothing where there is none."""
    if not config.tuning_database.is_file():
        return {}
    from xyntra.tune.database import best_schedules, tuned_devices

    backend = target.backend
    try:
        # A device is asked what it is only where there is something for one of its kind.
        known = tuned_devices(config.tuning_database)
        if not any(each.startswith(f"{backend.name} ") for each in known):
            return {}
        device = backend.tuning_key(target.ordinal, config.threads)
        return best_schedules(config.tuning_database, device, versions())
    except (DeviceError, MissingExtraError, UnsupportedError):
        return {}  # code for a GPU that is not here
    except ArchiveError as error:
        _warn(error)
        return {}


def _warn(error: ArchiveError) -> None:
    cause = f"{error.message}: {error.cause} ({error.place})"
    warnings.warn(TuningWarning(f"kernels are not tuned: {cause}"), stacklevel=4)

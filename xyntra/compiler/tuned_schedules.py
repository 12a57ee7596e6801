# SPDX-License-Identifier: MIT OR Apache-2.0
"""Takes the schedules that a tuning database has for a device."""

from __future__ import annotations

import warnings

from xyntra.compiler.code_target import CodeTarget
from xyntra.config import Config
from xyntra.errors import ArchiveError, DeviceError, MissingExtraError, UnsupportedError

__all__ = ["TuningWarning", "tuned_schedules"]


class TuningWarning(UserWarning):
    """A tuning database cannot be used; everything works without it, but kernels are not tuned."""


def tuned_schedules(config: Config, target: CodeTarget) -> dict[str, tuple[str, float]]:
    """Return schedules and times by the key of the kernel; nothing where there is no database.

    They become part of the request, and so of the key of what is cached: what another process adds
    to the database meanwhile is for the next time.
    """
    if not config.tuning_database.is_file():
        return {}
    from xyntra.tune.database import best_schedules, tuned_devices
    from xyntra.tune.records import versions

    backend = target.backend
    try:
        # A device is asked what it is only where there is something for one of its kind.
        known = tuned_devices(config.tuning_database)
        if not any(each.startswith(f"{backend.name} ") for each in known):
            return {}
        device = backend.tuning_key(target.ordinal, config.threads)
        found = best_schedules(config.tuning_database, device, versions())
    except (DeviceError, MissingExtraError, UnsupportedError):
        return {}  # code for a GPU that is not here
    except ArchiveError as error:
        cause = f"{error.message}: {error.cause} ({config.tuning_database})"
        warnings.warn(TuningWarning(f"kernels are not tuned: {cause}"), stacklevel=2)
        return {}
    return {key: (each.schedules, each.nanoseconds) for key, each in sorted(found.items())}

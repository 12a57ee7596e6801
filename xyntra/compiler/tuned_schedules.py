# SPDX-License-Identifier: MIT OR Apache-2.0
"""Takes the schedules that a tuning database has for a device."""

from __future__ import annotations

import warnings

from xyntra.compiler.code_target import CodeTarget
from xyntra.config import Config
from xyntra.errors import ArchiveError, DeviceError

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
    from xyntra.tune.database import best_schedules
    from xyntra.tune.records import versions

    try:
        device = target.backend.tuning_key(target.ordinal, config.threads)
    except DeviceError:
        return {}  # code for a GPU that is not here
    try:
        found = best_schedules(config.tuning_database, device, versions())
    except ArchiveError as error:
        cause = f"{error.message}: {error.cause} ({config.tuning_database})"
        warnings.warn(TuningWarning(f"kernels are not tuned: {cause}"), stacklevel=2)
        return {}
    return {key: (each.schedules, each.nanoseconds) for key, each in sorted(found.items())}

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds, and renews, the costs of kernels that were fitted to the device that a model runs on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xyntra.config import Config
from xyntra.errors import DeviceError
from xyntra.observe.timing.cost_file import add_samples, costs_beside, read_costs
from xyntra.observe.timing.fitted_costs import NEAR, FittedCosts, sample_of, share_near
from xyntra.targets.table import backend_of

if TYPE_CHECKING:
    from xyntra.executable import Executable

__all__ = ["fit_model", "fitted_costs"]


def fitted_costs(executable: Executable, settings: Config) -> FittedCosts | None:
    """Return the costs of the device; None where there are none, or it is not there.

    Raises:
        ArchiveError: the file of costs holds something else.
    """
    path = costs_beside(settings.tuning_database)
    if not path.exists():
        return None
    try:
        return read_costs(path, _device(executable, settings))
    except DeviceError:
        return None


def fit_model(
    executable: Executable, nanoseconds: Sequence[int], name: str, settings: Config
) -> str:
    """Fit the costs of the device again with a model's times; returns what has become of it.

    Args:
        executable: the model.
        nanoseconds: of each kernel of a call.
        name: of the model, whose earlier times are replaced.
        settings: say where the file is.

    Raises:
        ArchiveError: the file of costs holds something else, or cannot be written.
    """
    pairs = zip(executable.kernels, nanoseconds, strict=True)
    samples = [sample_of(kernel, taken) for kernel, taken in pairs if taken > 0]
    if not samples:
        return "nothing to fit: no kernel takes any time"
    path = costs_beside(settings.tuning_database)
    device = _device(executable, settings)
    costs = add_samples(path, device, name, samples)
    share = share_near(costs, samples)
    within = f"{share:.0%} of its {len(samples)} launches within a factor of {NEAR:g}"
    return f"fitted costs of {device}: {within}, in {path}"


def _device(executable: Executable, settings: Config) -> str:
    backend = backend_of(executable.artifact.target)
    _, ordinal = backend.locate_saved(executable.artifact.target, "auto")
    return backend.tuning_key(ordinal, settings.threads)

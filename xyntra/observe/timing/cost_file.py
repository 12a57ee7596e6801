# SPDX-License-Identifier: MIT OR Apache-2.0
"""Keeps measured launches and the costs that were fitted to them in a file, device by device."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import astuple
from pathlib import Path
from typing import Any

from xyntra.errors import ArchiveError
from xyntra.observe.timing.fitted_costs import FittedCosts, Sample, fit_costs
from xyntra.plan.storage.files import replace_file

__all__ = ["add_samples", "costs_beside", "read_costs"]

_VERSION = 1
_MOST_BYTES = 64 << 20
_MOST_MODELS = 100
Devices = dict[str, dict[str, Any]]


def costs_beside(database: Path) -> Path:
    """Return where the file lies: in the folder of the tuning database."""
    return database.with_name("costs.json")


def read_costs(path: Path, device: str) -> FittedCosts | None:
    """Return what was fitted for a device; None where nothing was.

    Raises:
        ArchiveError: `costs-invalid`, the file holds something else.
    """
    entry = _read(path).get(device)
    return None if entry is None else _costs(path, entry)


def add_samples(path: Path, device: str, model: str, samples: Sequence[Sample]) -> FittedCosts:
    """Fit the costs of a device again with the launches of a model, which replace earlier ones.

    Args:
        path: the file; it is made if it is not there.
        device: what the times hold for.
        model: whose launches they are, in words.
        samples: measured launches of a call.

    Raises:
        ArchiveError: the file holds something else, or cannot be written.
        ValueError: no launch was ever measured on the device.
    """
    devices = _read(path)
    entry = devices.setdefault(device, {"models": {}})
    models = entry["models"]
    models.pop(model, None)
    models[model] = [list(astuple(each)) for each in samples]
    for name in list(models)[:-_MOST_MODELS]:
        del models[name]
    costs = fit_costs(_samples(path, entry))
    entry["costs"] = costs.to_json()
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"version": _VERSION, "devices": devices})
    replace_file(str(path), [text.encode() + b"\n"])
    return costs


def _read(path: Path) -> Devices:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise _invalid(path, "it is too large")
        found = json.loads(path.read_bytes())
        if found["version"] != _VERSION:
            raise _invalid(path, f"it is of version {found['version']}, not {_VERSION}")
        devices: Devices = found["devices"]
        if not all(isinstance(each["models"], dict) for each in devices.values()):
            raise _invalid(path, "a device has no models")
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _invalid(path, repr(error)) from None
    return devices


def _costs(path: Path, entry: dict[str, Any]) -> FittedCosts:
    try:
        return FittedCosts.from_json(entry["costs"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _invalid(path, repr(error)) from None


def _samples(path: Path, entry: dict[str, Any]) -> list[Sample]:
    try:
        return [
            Sample(str(group), int(nests), int(size), int(flops), float(nanoseconds))
            for rows in entry["models"].values()
            for group, nests, size, flops, nanoseconds in rows
        ]
    except (ValueError, TypeError) as error:
        raise _invalid(path, repr(error)) from None


def _invalid(path: Path, cause: str) -> ArchiveError:
    return ArchiveError(
        "costs-invalid",
        f"{path} holds no costs of kernels",
        cause=cause,
        hint="remove it; `xyntra bench MODEL --fit` writes another",
    )

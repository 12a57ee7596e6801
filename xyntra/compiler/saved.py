# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads models that `Executable.save` has written."""

from __future__ import annotations

import mmap
import os
from typing import Any

import numpy as np

from xyntra.compiler.code_target import target_of
from xyntra.errors import ArchiveError, CompileError
from xyntra.executable import WEIGHT, Executable
from xyntra.plan.artifact import Artifact
from xyntra.plan.container import Container, read_container
from xyntra.plan.plan import numpy_dtype


def load_saved(path: str | os.PathLike[str], threads: int | None = None) -> Executable:
    """Load the saved model at `path`; its weights are mapped, not read.

    Args:
        path: the file.
        threads: how many threads work on one call; None means one for each core.

    Raises:
        ArchiveError: the file is missing, damaged, of another version, or for another machine.
    """
    place = os.fspath(path)
    container = read_container(_map(place), place)
    artifact = Artifact.from_container(container, place)
    target = target_of(artifact, place)
    weights = _weights(container, place)
    try:
        program = target.program(artifact, weights, threads)
    except CompileError as error:
        raise ArchiveError(
            "archive-invalid", "the saved model cannot run", place=place, cause=error.message
        ) from None
    return Executable(artifact, program, weights)


def _map(place: str) -> memoryview:
    try:
        with open(place, "rb") as file:
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except OSError as error:
        raise ArchiveError(
            "archive-missing", "the saved model cannot be read", place=place, cause=error.strerror
        ) from None
    except ValueError:
        raise ArchiveError("archive-invalid", "the file is empty", place=place) from None


def _weights(container: Container, place: str) -> dict[str, np.ndarray[Any, Any]]:
    try:
        return {
            name: np.frombuffer(container.blobs[WEIGHT + name], numpy_dtype(dtype)).reshape(shape)
            for name, (dtype, shape) in container.meta["weights"].items()
        }
    except (KeyError, TypeError, ValueError) as error:
        raise ArchiveError(
            "archive-invalid", "the weights do not fit", place=place, cause=repr(error)
        ) from None
